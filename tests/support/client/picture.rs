//! Pictures that tests upload.

/// A PNG of noise, which hardly compresses.
pub fn noise(width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().unwrap();
    let mut state = 1_u32;
    let pixels = (0..width * height * 3).map(|_| {
        // Numerical Recipes' generator: the high bits look random enough.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    writer.write_image_data(&pixels.collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
    file
}
