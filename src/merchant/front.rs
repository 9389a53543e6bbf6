//! The name of a merchant as buyers read it: none that resembles another by trickery.

/// Returns true if a name holds a character without a sight of its own, or a word that mixes Latin
/// letters with ones of Cyrillic or Greek, which look alike.
pub fn is_deceptive(name: &str) -> bool {
    let hidden = |letter: char| letter.is_control() || is_invisible(letter);
    name.chars().any(hidden) || name.split_whitespace().any(is_mixed)
}

fn is_mixed(word: &str) -> bool {
    let is_latin =
        |letter: char| letter.is_ascii_alphabetic() || matches!(letter, '\u{c0}'..='\u{24f}');
    let is_like_latin = |letter: char| matches!(letter, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{1f00}'..='\u{1fff}');
    word.chars().any(is_latin) && word.chars().any(is_like_latin)
}

/// A stored name as a page shows it: without hidden characters, which an older row may hold.
pub fn shown_name(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control() && !is_invisible(*letter)).collect()
}

/// Marks of direction, and characters without a width of their own but for those that join the
/// letters of a script or an emoji.
pub const fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_looks_like_another_by_trickery_is_deceptive() {
        for (name, deceptive) in [
            ("Coffee & Sons", false),
            ("Кофейня № 1", false),
            ("Ελληνικός καφές", false),
            ("Apple Яблоко", false),
            ("Café Ωmega", true),
            ("\u{430}pple", true),
            ("p\u{430}ypal", true),
            ("shop\u{202e}gpj", true),
            ("sh\u{200b}op", true),
            ("two\nlines", true),
            ("مقهى", false),
            ("日本 Coffee", false),
        ] {
            assert_eq!(is_deceptive(name), deceptive, "{name}");
        }
        assert_eq!(shown_name("shop\u{202e}gpj\n"), "shopgpj");
    }
}
