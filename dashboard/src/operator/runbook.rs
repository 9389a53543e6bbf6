//! The runbook's sections, as an alert's page shows them: taken from the document itself.

use std::{collections::HashMap, sync::LazyLock};

const RUNBOOK: &str = include_str!("../../../deploy/RUNBOOK.md");

/// A piece of a paragraph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub is_code: bool,
}

pub type Paragraph = Vec<Span>;

static SECTIONS: LazyLock<HashMap<String, Vec<Paragraph>>> = LazyLock::new(|| sections(RUNBOOK));

/// The paragraphs of an alert's section, or of a kind of `operator_alert`; none if it has none.
pub fn section(name: &str) -> &'static [Paragraph] {
    SECTIONS.get(name).map_or(&[], Vec::as_slice)
}

fn sections(document: &str) -> HashMap<String, Vec<Paragraph>> {
    let mut sections = HashMap::new();
    let (mut names, mut lines) = (Vec::new(), Vec::new());
    let mut keep = |names: &mut Vec<String>, lines: &mut Vec<&str>| {
        let paragraphs = paragraphs(lines);
        for name in names.drain(..) {
            sections.insert(name, paragraphs.clone());
        }
        lines.clear();
    };
    for line in document.lines() {
        if line.starts_with('#') {
            keep(&mut names, &mut lines);
            let heading = line.trim_start_matches(['#', ' ']);
            names = heading.split(", ").map(|name| name.trim_matches('`').to_owned()).collect();
        } else {
            lines.push(line);
        }
    }
    keep(&mut names, &mut lines);
    sections
}

/// An empty line or an item of a list begins a paragraph.
fn paragraphs(lines: &[&str]) -> Vec<Paragraph> {
    let mut texts: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in lines {
        let text = line.trim();
        let is_item = text.starts_with("- ")
            || text.split_once(". ").is_some_and(|(number, _)| {
                !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
            });
        match texts.last_mut().filter(|_| is_open && !is_item) {
            Some(last) if !text.is_empty() => {
                last.push(' ');
                last.push_str(text);
            }
            _ if !text.is_empty() => texts.push(text.replacen("- ", "• ", usize::from(is_item))),
            _ => {}
        }
        is_open = !text.is_empty();
    }
    texts.iter().map(|text| spans(&without_marks(text))).collect()
}

/// Takes the marks of links and of emphasis out.
fn without_marks(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        match after.split_once("](").and_then(|(label, end)| Some((label, end.split_once(')')?.1)))
        {
            Some((label, end)) => {
                plain.push_str(label);
                rest = end;
            }
            None => {
                plain.push('[');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain.replace("**", "")
}

fn spans(text: &str) -> Paragraph {
    let pieces = text.split('`').enumerate();
    let spans = pieces.map(|(place, text)| Span { text: text.to_owned(), is_code: place % 2 == 1 });
    spans.filter(|span| !span.text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_read_without_its_marks() {
        let text = "## GatewayOld\n**Meaning.** See [the other](#other),\nor `gatewayctl doctor`.\n\n\
                    - *one* thing\n- another\n  thing\n\n### `a_kind`, `b_kind`\nDecide.\n";
        let sections = sections(text);
        let plain = |name: &str| -> Vec<String> {
            let texts = |paragraph: &Paragraph| {
                paragraph.iter().map(|span| span.text.as_str()).collect::<String>()
            };
            sections[name].iter().map(texts).collect()
        };
        assert_eq!(
            plain("GatewayOld"),
            ["Meaning. See the other, or gatewayctl doctor.", "• *one* thing", "• another thing"]
        );
        assert!(sections["GatewayOld"][0][1].is_code);
        assert_eq!(
            (plain("a_kind"), plain("b_kind")),
            (plain("a_kind"), vec!["Decide.".to_owned()])
        );
    }
}
