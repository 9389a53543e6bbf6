//! A merchant's colour on the checkout, changed until every text in it or upon it can be read.
//!
//! Contrast is that of WCAG 2.2 in whole numbers: brightness as parts of [`FULL`].

/// A colour of the sRGB space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour([u8; 3]);

/// Colours of one scheme that replace the checkout's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// Links, buttons and marks.
    pub accent: Colour,
    /// Text upon the accent.
    pub on_accent: Colour,
    /// The ground of what is chosen or loud.
    pub tint: Colour,
    /// Text upon the tint.
    pub on_tint: Colour,
}

const WHITE: Colour = Colour([255; 3]);
const BLACK: Colour = Colour([0; 3]);
/// Grounds of the light scheme: the page and its cards, as in `checkout.css`.
pub const LIGHT: [Colour; 2] = [Colour([0xf3, 0xf5, 0xf7]), WHITE];
/// The same of the dark scheme.
pub const DARK: [Colour; 2] = [Colour([0x0d, 0x11, 0x15]), Colour([0x16, 0x1c, 0x22])];

/// Contrast of text, times ten (WCAG 2.2, 1.4.3).
pub const TEXT_TENTHS: u64 = 45;
/// Contrast of the loud text that must not be overlooked, times ten (1.4.6).
const LOUD_TENTHS: u64 = 70;
/// A full step from one colour to another.
const STEPS: u16 = 64;
/// Steps from the accent towards the ground that make a tint.
const TINT_LIGHT: u16 = 57;
const TINT_DARK: u16 = 50;

impl Colour {
    /// Reads `#rrggbb`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        let mut parts = [0; 3];
        hex::decode_to_slice(digits, &mut parts).ok()?;
        Some(Self(parts))
    }

    /// `#rrggbb` in lower case.
    pub fn to_hex(self) -> String {
        format!("#{}", hex::encode(self.0))
    }

    /// Relative luminance (WCAG 2.2), of [`FULL`].
    fn luminance(self) -> u64 {
        let of = |part: u8| u64::from(LINEAR[usize::from(part)]);
        let [red, green, blue] = self.0.map(of);
        2126 * red + 7152 * green + 722 * blue
    }

    /// Returns true if the contrast with `other` is at least `tenths` / 10.
    pub fn contrasts(self, other: Self, tenths: u64) -> bool {
        let (one, two) = (self.luminance() + FLARE, other.luminance() + FLARE);
        one.max(two) * 10 >= one.min(two) * tenths
    }

    /// `steps` of [`STEPS`] of the way to `other`.
    fn towards(self, other: Self, steps: u16) -> Self {
        let mut parts = [0; 3];
        for (part, (from, to)) in parts.iter_mut().zip(self.0.into_iter().zip(other.0)) {
            let mixed = u16::from(from) * (STEPS - steps) + u16::from(to) * steps;
            // A mean of two bytes is one.
            *part = u8::try_from(mixed / STEPS).unwrap_or(u8::MAX);
        }
        Self(parts)
    }

    /// The nearest colour on the way to `end` that can be read on all `grounds`.
    fn readable(self, end: Self, grounds: &[Self], tenths: u64) -> Self {
        (0..STEPS)
            .map(|steps| self.towards(end, steps))
            .find(|one| grounds.iter().all(|ground| one.contrasts(*ground, tenths)))
            .unwrap_or(end)
    }
}

/// The colours of the light scheme and of the dark one.
pub fn palettes(colour: Colour) -> [Palette; 2] {
    let of = |grounds: [Colour; 2], end: Colour, tint_steps: u16| {
        let accent = colour.readable(end, &grounds, TEXT_TENTHS);
        let on_accent = if WHITE.contrasts(accent, TEXT_TENTHS) { WHITE } else { BLACK };
        let tint = accent.towards(grounds[1], tint_steps);
        let on_tint = accent.readable(end, &[tint], LOUD_TENTHS);
        Palette { accent, on_accent, tint, on_tint }
    };
    [of(LIGHT, BLACK, TINT_LIGHT), of(DARK, WHITE, TINT_DARK)]
}

/// The luminance of white.
const FULL: u64 = 10_000 * 65_535;
/// Light that every screen adds: a twentieth of white.
const FLARE: u64 = FULL / 20;

/// Linear light of each value of a channel, of 65,535.
#[rustfmt::skip]
const LINEAR: [u16; 256] = [
    0, 20, 40, 60, 80, 99, 119, 139, 159, 179, 199, 219, 241, 264, 288, 313, 340, 367, 396, 427,
    458, 491, 526, 562, 599, 637, 677, 718, 761, 805, 851, 898, 947, 997, 1048, 1101, 1156, 1212,
    1270, 1330, 1391, 1453, 1517, 1583, 1651, 1720, 1790, 1863, 1937, 2013, 2090, 2170, 2250,
    2333, 2418, 2504, 2592, 2681, 2773, 2866, 2961, 3058, 3157, 3258, 3360, 3464, 3570, 3678,
    3788, 3900, 4014, 4129, 4247, 4366, 4488, 4611, 4736, 4864, 4993, 5124, 5257, 5392, 5530,
    5669, 5810, 5953, 6099, 6246, 6395, 6547, 6700, 6856, 7014, 7174, 7335, 7500, 7666, 7834,
    8004, 8177, 8352, 8528, 8708, 8889, 9072, 9258, 9445, 9635, 9828, 10022, 10219, 10417, 10619,
    10822, 11028, 11235, 11446, 11658, 11873, 12090, 12309, 12530, 12754, 12980, 13209, 13440,
    13673, 13909, 14146, 14387, 14629, 14874, 15122, 15371, 15623, 15878, 16135, 16394, 16656,
    16920, 17187, 17456, 17727, 18001, 18277, 18556, 18837, 19121, 19407, 19696, 19987, 20281,
    20577, 20876, 21177, 21481, 21787, 22096, 22407, 22721, 23038, 23357, 23678, 24002, 24329,
    24658, 24990, 25325, 25662, 26001, 26344, 26688, 27036, 27386, 27739, 28094, 28452, 28813,
    29176, 29542, 29911, 30282, 30656, 31033, 31412, 31794, 32179, 32567, 32957, 33350, 33745,
    34143, 34544, 34948, 35355, 35764, 36176, 36591, 37008, 37429, 37852, 38278, 38706, 39138,
    39572, 40009, 40449, 40891, 41337, 41785, 42236, 42690, 43147, 43606, 44069, 44534, 45002,
    45473, 45947, 46423, 46903, 47385, 47871, 48359, 48850, 49344, 49841, 50341, 50844, 51349,
    51858, 52369, 52884, 53401, 53921, 54445, 54971, 55500, 56032, 56567, 57105, 57646, 58190,
    58737, 59287, 59840, 60396, 60955, 61517, 62082, 62650, 63221, 63795, 64372, 64952, 65535,
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_colour_has_six_digits_and_nothing_else() {
        for (text, taken) in [
            ("#0b6b63", true),
            ("#FFFFFF", true),
            ("0b6b63", false),
            ("#fff", false),
            ("#0b6b63;", false),
            ("#0b6b6g", false),
            ("red", false),
            ("#\u{ff11}\u{ff11}", false),
            ("", false),
        ] {
            assert_eq!(Colour::parse(text).is_some(), taken, "{text}");
        }
        assert_eq!(Colour::parse("#FFA500").unwrap().to_hex(), "#ffa500");
    }

    #[test]
    fn contrast_is_that_of_the_recommendation() {
        assert!(WHITE.contrasts(BLACK, 210) && !WHITE.contrasts(BLACK, 211));
        // Known pairs: #767676 is the lightest grey that text on white may have.
        let grey = |text| Colour::parse(text).unwrap();
        assert!(grey("#767676").contrasts(WHITE, 45));
        assert!(!grey("#777777").contrasts(WHITE, 45));
    }

    #[test]
    fn a_colour_that_can_be_read_stays_as_it_is() {
        let teal = Colour::parse("#0b6b63").unwrap();
        assert_eq!(palettes(teal)[0].accent, teal);
        let yellow = Colour::parse("#ffe000").unwrap();
        let [light, dark] = palettes(yellow);
        assert_ne!(light.accent, yellow);
        assert_eq!((dark.accent, dark.on_accent), (yellow, BLACK));
    }

    proptest! {
        #[test]
        fn every_colour_can_be_read_in_both_schemes(red: u8, green: u8, blue: u8) {
            let schemes = palettes(Colour([red, green, blue]));
            for (palette, grounds) in schemes.into_iter().zip([LIGHT, DARK]) {
                for ground in grounds {
                    prop_assert!(palette.accent.contrasts(ground, TEXT_TENTHS));
                }
                prop_assert!(palette.on_accent.contrasts(palette.accent, TEXT_TENTHS));
                prop_assert!(palette.on_tint.contrasts(palette.tint, LOUD_TENTHS));
            }
        }
    }
}
