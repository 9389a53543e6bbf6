//! Sentences with values in them, and addresses, as safe HTML.

use askama::filters::Safe;
use chrono::{DateTime, Utc};
use gateway::invoice::payment::iso_8601;
pub use gateway::link::button::escaped;

use super::language::Texts;

/// `text` with `{name}` replaced by each value in bold. Everything is escaped. Each value is
/// isolated from the direction of the surrounding text, so that no value can reverse it.
pub fn filled(text: &str, values: &[(&str, &str)]) -> Safe<String> {
    let bold: Vec<_> = values.iter().map(|(name, value)| (*name, bold(&escaped(value)))).collect();
    woven_html(text, &bold)
}

/// `text`, escaped, with values that are HTML already.
pub fn woven_html(text: &str, values: &[(&str, String)]) -> Safe<String> {
    let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Safe(woven(&escaped(text), &values, str::to_owned))
}

/// HTML as a value that stands out, isolated from the direction of the text around it.
pub fn bold(html: &str) -> String {
    format!("<strong><bdi>{html}</bdi></strong>")
}

/// A time of a day in UTC, which the page's script replaces by the buyer's own.
pub fn clock_time(at: DateTime<Utc>, t: &Texts) -> String {
    let (iso, text) = (escaped(&iso_8601(at)), escaped(&t.locale.time(at)));
    format!("<time class=\"at\" datetime=\"{iso}\">{text}</time>")
}

/// The same without markup, for titles and labels; escaped by the template.
pub fn plain(text: &str, values: &[(&str, &str)]) -> String {
    woven(text, values, str::to_owned)
}

/// Replaces all placeholders in one pass, so that a value which looks like a placeholder stays
/// unchanged.
fn woven(text: &str, values: &[(&str, &str)], dress: impl Fn(&str) -> String) -> String {
    let mut parts = text.split('{');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            whole.push_str(&dress(value));
        }
        whole.push_str(rest);
    }
    whole
}

/// Characters per group: a length that is easy to read aloud.
const GROUP: usize = 4;
/// Groups in bold at each end: those that people compare with the address shown by their wallet.
const ENDS: usize = 2;

/// An address in groups, the ends in bold. The gaps are pure styling: the copied text has no
/// spaces.
pub fn grouped(address: &str) -> Safe<String> {
    let letters: Vec<char> = address.chars().collect();
    let groups: Vec<String> = letters.chunks(GROUP).map(|group| group.iter().collect()).collect();
    let last = groups.len().saturating_sub(ENDS);
    let html = groups.iter().enumerate().map(|(at, group)| {
        let tag = if at < ENDS || at >= last { "b" } else { "i" };
        format!("<{tag}>{}</{tag}>", escaped(group))
    });
    Safe(html.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped_isolated_and_never_read_as_placeholders() {
        let html = filled("a <{x}> {y}", &[("x", "<script>"), ("y", "1")]).0;
        assert_eq!(
            html,
            "a &lt;<strong><bdi>&lt;script&gt;</bdi></strong>&gt; <strong><bdi>1</bdi></strong>"
        );
        assert_eq!(plain("{x} of {y}", &[("x", "{y}"), ("y", "2")]), "{y} of 2");
    }

    #[test]
    fn an_address_shown_in_groups_copies_as_one_string() {
        for address in ["0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "abc", "", "abcdefghi"] {
            let html = grouped(address).0;
            let text = ["<b>", "</b>", "<i>", "</i>"]
                .into_iter()
                .fold(html.clone(), |html, tag| html.replace(tag, ""));
            assert_eq!(text, address);
        }
        assert_eq!(
            grouped("aaaabbbbccccddddeeee").0,
            "<b>aaaa</b><b>bbbb</b><i>cccc</i><b>dddd</b><b>eeee</b>"
        );
    }
}
