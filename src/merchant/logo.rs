//! A merchant's logo: decoded within bounds, made small, and written anew, so that nothing of the
//! uploaded file reaches a buyer but its picture.

use std::io::Cursor;

use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Limits, Transformations};

/// Largest file that is read.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Longest side of an uploaded picture, in pixels.
pub const SIDE_MAX: u32 = 4096;
/// Most pixels of an uploaded picture: 64 MB while it is decoded, at 16 bits a channel.
pub const PIXELS_MAX: u64 = 8_000_000;
/// Shortest side: a smaller picture shows nothing, or is there to count readers.
pub const SIDE_MIN: u32 = 16;
/// Most bytes of what is served.
pub const SERVED_BYTES_MAX: usize = 64 * 1024;

/// Boxes into which a logo is fitted, the first whose file is small enough: twice the pixels of its
/// place on the page, and once.
const BOXES: [(u32, u32); 3] = [(320, 96), (160, 48), (80, 24)];

/// A logo as it is served: a PNG without anything beside its pixels.
#[derive(Clone, PartialEq, Eq)]
pub struct Logo {
    pub png: Vec<u8>,
    pub width: u32,
    pub height: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LogoError {
    #[error("a logo has at most 1 MB; export it smaller")]
    File,
    #[error("a logo is a PNG file; export it as PNG")]
    Format,
    #[error("a logo is one picture, not an animation; export a single frame")]
    Animated,
    #[error("other logos are being read; send this one once more in a moment")]
    Busy,
    #[error(
        "a logo has 16 to 4096 pixels a side, and at most eight million pixels; export it smaller"
    )]
    Pixels,
}

/// Pixels of four bytes each: red, green, blue and opacity.
struct Picture {
    width: u32,
    height: u32,
    pixels: Vec<[u8; 4]>,
}

/// Decodes an uploaded file, and encodes its picture in the size in which it is served.
pub fn reencode(file: &[u8]) -> Result<Logo, LogoError> {
    if file.len() > FILE_BYTES_MAX {
        return Err(LogoError::File);
    }
    let picture = decode(file)?;
    let fitted = BOXES.into_iter().map(|room| picture.fitted(room));
    for small in fitted {
        let png = encode(&small)?;
        if png.len() <= SERVED_BYTES_MAX {
            return Ok(Logo { png, width: small.width, height: small.height });
        }
    }
    // The last box holds 80 × 24 pixels, which are 8 kB however they are compressed.
    Err(LogoError::Pixels)
}

fn decode(file: &[u8]) -> Result<Picture, LogoError> {
    let limit = usize::try_from(PIXELS_MAX * 8).unwrap_or(usize::MAX);
    let mut decoder = Decoder::new_with_limits(Cursor::new(file), Limits { bytes: limit });
    // Compressed texts and colour profiles, which may be large when they are read, are not.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(
        Transformations::EXPAND | Transformations::STRIP_16 | Transformations::ALPHA,
    );
    // The size is checked before there is room for a pixel.
    let (width, height) = {
        let header = decoder.read_header_info().map_err(|_| LogoError::Format)?;
        (header.width, header.height)
    };
    let sides = SIDE_MIN..=SIDE_MAX;
    let pixels = u64::from(width) * u64::from(height);
    if !sides.contains(&width) || !sides.contains(&height) || pixels > PIXELS_MAX {
        return Err(LogoError::Pixels);
    }
    let mut reader = decoder.read_info().map_err(|_| LogoError::Format)?;
    if reader.info().animation_control().is_some_and(|animation| animation.num_frames > 1) {
        return Err(LogoError::Animated);
    }
    let size = reader.output_buffer_size().ok_or(LogoError::Pixels)?;
    let mut bytes = vec![0; size];
    let shown = reader.next_frame(&mut bytes).map_err(|_| LogoError::Format)?;
    // An animation's first picture may be smaller than the whole.
    if (shown.width, shown.height, shown.bit_depth) != (width, height, BitDepth::Eight) {
        return Err(LogoError::Format);
    }
    bytes.truncate(shown.buffer_size());
    let pixels = match shown.color_type {
        ColorType::Rgba => bytes.chunks_exact(4).map(|p| [p[0], p[1], p[2], p[3]]).collect(),
        ColorType::Rgb => bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2], u8::MAX]).collect(),
        ColorType::GrayscaleAlpha => {
            bytes.chunks_exact(2).map(|p| [p[0], p[0], p[0], p[1]]).collect()
        }
        ColorType::Grayscale => bytes.iter().map(|p| [*p, *p, *p, u8::MAX]).collect(),
        ColorType::Indexed => return Err(LogoError::Format),
    };
    Ok(Picture { width, height, pixels })
}

impl Picture {
    /// The picture within a box of pixels, in its own proportions and never larger.
    fn fitted(&self, (most_wide, most_high): (u32, u32)) -> Self {
        let wide = most_wide.min(self.width);
        let high = scaled(self.height, wide, self.width);
        let (wide, high) = if high <= most_high {
            (wide, high)
        } else {
            (scaled(self.width, most_high, self.height), most_high)
        };
        let mut pixels = Vec::new();
        for y in 0..high {
            for x in 0..wide {
                let columns = span(x, wide, self.width);
                pixels.push(self.mean(columns, span(y, high, self.height)));
            }
        }
        Self { width: wide, height: high, pixels }
    }

    /// The mean of a rectangle, in which colours count as much as they are opaque.
    fn mean(&self, columns: (u32, u32), rows: (u32, u32)) -> [u8; 4] {
        let (mut sums, mut opacity, mut count) = ([0_u64; 3], 0_u64, 0_u64);
        for y in rows.0..rows.1 {
            for x in columns.0..columns.1 {
                let at = u64::from(y) * u64::from(self.width) + u64::from(x);
                let found = usize::try_from(at).ok().and_then(|at| self.pixels.get(at));
                let [red, green, blue, alpha] = found.copied().unwrap_or_default().map(u64::from);
                for (sum, part) in sums.iter_mut().zip([red, green, blue]) {
                    *sum += part * alpha;
                }
                opacity += alpha;
                count += 1;
            }
        }
        let part = |sum: u64, of: u64| u8::try_from(sum.checked_div(of).unwrap_or(0)).unwrap_or(0);
        let [red, green, blue] = sums.map(|sum| part(sum, opacity));
        [red, green, blue, part(opacity, count)]
    }
}

/// `side` × `to` / `from`, at least one.
fn scaled(side: u32, to: u32, from: u32) -> u32 {
    let wide = u64::from(side) * u64::from(to) / u64::from(from.max(1));
    u32::try_from(wide).unwrap_or(u32::MAX).max(1)
}

/// Source pixels of one of `parts` equal parts of a side; at least one.
fn span(at: u32, parts: u32, side: u32) -> (u32, u32) {
    let bound = |part: u32| {
        let whole = u64::from(part) * u64::from(side) / u64::from(parts.max(1));
        u32::try_from(whole).unwrap_or(u32::MAX)
    };
    let (from, to) = (bound(at), bound(at + 1));
    (from, to.max(from + 1))
}

fn encode(picture: &Picture) -> Result<Vec<u8>, LogoError> {
    let mut png = Vec::new();
    let mut encoder = Encoder::new(&mut png, picture.width, picture.height);
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::High);
    let mut writer = encoder.write_header().map_err(|_| LogoError::Format)?;
    let bytes: Vec<u8> = picture.pixels.iter().flatten().copied().collect();
    writer.write_image_data(&bytes).map_err(|_| LogoError::Format)?;
    writer.finish().map_err(|_| LogoError::Format)?;
    Ok(png)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(width: u32, height: u32, color: ColorType, text: Option<&str>) -> Vec<u8> {
        let mut png = Vec::new();
        let mut encoder = Encoder::new(&mut png, width, height);
        encoder.set_color(color);
        encoder.set_depth(BitDepth::Eight);
        if let Some(text) = text {
            encoder.add_text_chunk("Comment".to_owned(), text.to_owned()).unwrap();
        }
        let size = usize::try_from(width * height).unwrap() * color.samples();
        let mut writer = encoder.write_header().unwrap();
        // No two neighbours are alike, so that nothing compresses by chance.
        let noise = |at: usize| u8::try_from(at * at % 251).unwrap();
        writer.write_image_data(&(0..size).map(noise).collect::<Vec<_>>()).unwrap();
        writer.finish().unwrap();
        png
    }

    #[test]
    fn every_kind_of_png_becomes_small_in_its_own_proportions() {
        for color in
            [ColorType::Rgba, ColorType::Rgb, ColorType::Grayscale, ColorType::GrayscaleAlpha]
        {
            for (size, expected) in [
                ((1000, 500), (192, 96)),
                ((2000, 100), (320, 16)),
                ((16, 16), (16, 16)),
                ((16, 1600), (1, 96)),
            ] {
                let logo = reencode(&file(size.0, size.1, color, None)).unwrap();
                assert_eq!((logo.width, logo.height), expected, "{color:?} {size:?}");
                assert!(logo.png.len() <= SERVED_BYTES_MAX);
                let again = decode(&logo.png);
                assert!(logo.width < SIDE_MIN || again.is_ok(), "{color:?} {size:?}");
            }
        }
    }

    #[test]
    fn a_mean_counts_colours_as_much_as_they_are_opaque() {
        let picture =
            Picture { width: 2, height: 1, pixels: vec![[200, 10, 0, 255], [0, 0, 255, 0]] };
        assert_eq!(picture.fitted((1, 1)).pixels, [[200, 10, 0, 127]]);
    }

    /// The checksum of a chunk.
    fn crc_32(bytes: &[u8]) -> u32 {
        let shifted = |sum: u32| (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 };
        let of_byte =
            |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), |sum, _| shifted(sum));
        !bytes.iter().fold(u32::MAX, of_byte)
    }

    #[test]
    fn an_animation_is_refused_before_a_frame_is_decoded() {
        let mut png = Vec::new();
        let mut encoder = Encoder::new(&mut png, 64, 64);
        encoder.set_color(ColorType::Rgb);
        encoder.set_animated(3, 0).unwrap();
        let mut writer = encoder.write_header().unwrap();
        for shade in [0, 100, 200] {
            writer.write_image_data(&[shade; 64 * 64 * 3]).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(reencode(&png).err(), Some(LogoError::Animated));
    }

    /// Attack: a profile of colours that is no data at all, or a gigabyte of it. It is not read.
    #[test]
    fn compressed_profiles_of_colours_are_not_read() {
        let plain = file(64, 64, ColorType::Rgb, None);
        let mut chunk = b"iCCPbomb\0\0".to_vec();
        chunk.resize(200_000, 0xff);
        // Behind the signature and the header, of 8 and 25 bytes.
        let mut sent = plain[..33].to_vec();
        sent.extend(u32::try_from(chunk.len() - 4).unwrap().to_be_bytes());
        sent.extend(&chunk);
        sent.extend(crc_32(&chunk).to_be_bytes());
        sent.extend(&plain[33..]);
        assert_eq!(reencode(&sent).unwrap().png, reencode(&plain).unwrap().png);
    }

    #[test]
    fn nothing_but_the_picture_is_kept() {
        let mut sent = file(64, 64, ColorType::Rgb, Some("<script>alert(1)</script>"));
        sent.extend_from_slice(b"<?php evil ?>");
        let logo = reencode(&sent).unwrap();
        for trace in [&b"script"[..], b"php", b"Comment"] {
            assert!(!logo.png.windows(trace.len()).any(|part| part == trace));
        }
    }

    #[test]
    fn giant_broken_and_foreign_files_are_refused_before_they_cost_anything() {
        let whole = file(64, 64, ColorType::Rgb, None);
        for cut in [0, 8, 20, 40, whole.len() / 2] {
            assert_eq!(reencode(&whole[..cut]).err(), Some(LogoError::Format), "{cut}");
        }
        for (bytes, refusal) in [
            (&b"<svg xmlns='http://www.w3.org/2000/svg'/>"[..], LogoError::Format),
            (b"GIF89a", LogoError::Format),
            (b"\xff\xd8\xff\xe0", LogoError::Format),
        ] {
            assert_eq!(reencode(bytes).err(), Some(refusal));
        }
        assert_eq!(reencode(&vec![0; FILE_BYTES_MAX + 1]).err(), Some(LogoError::File));
        assert_eq!(
            reencode(&file(8, 64, ColorType::Grayscale, None)).err(),
            Some(LogoError::Pixels)
        );
        // A header that claims a giant, with its checksum made right.
        let mut giant = whole;
        giant[16..24].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
        let refused = reencode(&giant).err();
        assert!(matches!(refused, Some(LogoError::Pixels | LogoError::Format)), "{refused:?}");
        assert_eq!(
            reencode(&file(4096, 4096, ColorType::Grayscale, None)).err(),
            Some(LogoError::Pixels),
            "sides within their limit, and too many pixels"
        );
    }
}
