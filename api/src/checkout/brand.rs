//! The merchant on the buyer's pages: name, logo, contact, and colours that can be read.

use gateway::{
    app::merchant::front::Front,
    merchant::colour::{Palette, palettes},
};

/// A merchant as pages show it.
#[derive(Debug, Clone)]
pub struct Brand {
    pub name: String,
    pub logo: Option<Logo>,
    pub contact: Option<Contact>,
    /// Replaces the colours of the style sheet; empty without a colour of the merchant's own.
    pub style: String,
}

#[derive(Debug, Clone)]
pub struct Logo {
    /// The path of its picture, from the checkout's own host.
    pub src: String,
    /// Half of its pixels, for screens with two of them per point.
    pub width: u32,
    pub height: u32,
}

/// Where the buyer writes to.
#[derive(Debug, Clone)]
pub struct Contact {
    pub link: String,
    pub label: String,
    /// A page opens beside the payment, which goes on.
    pub is_page: bool,
}

impl Brand {
    /// `prefix` is the path of the checkout; a mail begins with `subject`.
    pub fn new(front: Front, prefix: &str, subject: &str) -> Self {
        let logo = front.logo.map(|logo| Logo {
            src: format!("{prefix}/logo/{}.png", logo.name),
            width: logo.width.div_ceil(2),
            height: logo.height.div_ceil(2),
        });
        let contact = front.contact.map(|contact| Contact {
            link: contact.link(subject),
            label: contact.label().to_owned(),
            is_page: contact.is_page(),
        });
        let style = front.colour.map(|colour| style(palettes(colour))).unwrap_or_default();
        Self { name: front.name, logo, contact, style }
    }
}

/// In the order and with the conditions of `checkout.css`, so that each rule wins over its own.
fn style([light, dark]: [Palette; 2]) -> String {
    let rules = |palette: Palette| {
        let [accent, on_accent, tint, on_tint] =
            [palette.accent, palette.on_accent, palette.tint, palette.on_tint]
                .map(|colour| colour.to_hex());
        format!("--accent:{accent};--on-accent:{on_accent};--tint:{tint};--on-tint:{on_tint}")
    };
    let (light, dark) = (rules(light), rules(dark));
    format!(
        ":root{{{light}}}\
         @media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\
         :root[data-theme=dark]{{{dark}}}"
    )
}

#[cfg(test)]
mod tests {
    use gateway::merchant::colour::Colour;

    use super::*;

    #[test]
    fn a_style_holds_colours_and_nothing_that_could_end_it() {
        let style = style(palettes(Colour::parse("#ff0000").unwrap()));
        assert!(style.starts_with(":root{--accent:#"), "{style}");
        assert!(!style.contains('<') && style.matches("--accent:").count() == 3, "{style}");
    }
}
