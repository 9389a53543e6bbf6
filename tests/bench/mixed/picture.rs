//! The percentiles of each minute as a picture: `.run/bench-mixed.svg`.

use std::path::Path;

use plotters::prelude::{
    BLACK, ChartBuilder, Color, IntoDrawingArea, LineSeries, RGBColor, SVGBackend,
    SeriesLabelPosition, WHITE,
};

use super::{Kind, Samples};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../.run/bench-mixed.svg");
const PANEL: (u32, u32) = (860, 220);
/// Empty minutes at the right, where the legend hides no line.
const LEGEND_MINUTES: usize = 1;
const LINES: [(&str, f64, RGBColor); 3] = [
    ("p50", 0.5, RGBColor(0x2b, 0x6c, 0xb0)),
    ("p95", 0.95, RGBColor(0xb7, 0x79, 0x1f)),
    ("p99", 0.99, RGBColor(0xc5, 0x30, 0x30)),
];

/// A panel for each kind of request.
pub fn draw(samples: &Samples) {
    let panels = Kind::ALL.len();
    let (width, height) = PANEL;
    let height = height * u32::try_from(panels).unwrap();
    std::fs::create_dir_all(Path::new(FILE).parent().unwrap()).unwrap();
    let sheet = SVGBackend::new(FILE, (width, height)).into_drawing_area();
    sheet.fill(&WHITE).unwrap();
    for (panel, kind) in sheet.split_evenly((panels, 1)).iter().zip(Kind::ALL) {
        let lines =
            LINES.map(|(name, share, colour)| (name, samples.per_minute(kind, share), colour));
        let figures = lines.iter().flat_map(|(_, figures, _)| figures.iter().copied());
        let greatest = figures.fold(0.0, f64::max);
        let minutes = lines[0].1.len();
        let mut chart = ChartBuilder::on(panel)
            .caption(format!("{}, ms", kind.name()), ("sans-serif", 16))
            .margin(10)
            .x_label_area_size(36)
            .y_label_area_size(48)
            .build_cartesian_2d(1..minutes + LEGEND_MINUTES, 0.0..greatest * 1.1)
            .unwrap();
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_desc("minute")
            .x_labels(minutes + LEGEND_MINUTES)
            .x_label_formatter(&|minute| {
                if *minute <= minutes { minute.to_string() } else { String::new() }
            })
            .y_labels(5)
            .light_line_style(WHITE)
            .draw()
            .unwrap();
        for (name, figures, colour) in lines {
            let points = figures.into_iter().enumerate().map(|(at, figure)| (at + 1, figure));
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)))
                .unwrap()
                .label(name)
                .legend(move |(x, y)| {
                    plotters::prelude::PathElement::new(
                        [(x, y), (x + 16, y)],
                        colour.stroke_width(2),
                    )
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .border_style(BLACK)
            .background_style(WHITE)
            .draw()
            .unwrap();
    }
    sheet.present().unwrap();
    eprintln!("    a picture of the minutes: .run/bench-mixed.svg");
}
