//! Markdown as the site shows it: headings with anchors, links that lead to pages of the site, and
//! one example in several languages as a switch.

use std::collections::HashMap;

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

use super::page;

/// Languages between which a reader switches: the mark of a block of code, and its name.
pub const LANGUAGES: [(&str, &str); 6] = [
    ("sh", "curl"),
    ("ts", "TypeScript"),
    ("python", "Python"),
    ("php", "PHP"),
    ("go", "Go"),
    ("rust", "Rust"),
];

/// The head of a table whose columns have no names.
const EMPTY_HEAD: &str = "<thead><tr></tr></thead>";

/// A document as HTML.
#[derive(Debug)]
pub struct Rendered {
    pub title: String,
    /// Its sections, not those below them.
    pub headings: Vec<Heading>,
    pub html: String,
    /// Anchors of all headings.
    pub anchors: Vec<String>,
}

#[derive(Debug)]
pub struct Heading {
    pub anchor: String,
    pub text: String,
}

/// Renders the document at `path` of the repository, whose links start from there.
pub fn render(path: &str, text: &str) -> Rendered {
    let events: Vec<_> =
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS).collect();
    let mut writer = Writer { path, ..Writer::default() };
    let mut rest = events.as_slice();
    while let Some(taken) = writer.write(rest) {
        rest = &rest[taken..];
    }
    let mut body = String::with_capacity(text.len() * 2);
    html::push_html(&mut body, writer.out.into_iter());
    // Text that reads so is escaped and stays.
    let html = body.replace(EMPTY_HEAD, "");
    Rendered { title: writer.title, headings: writer.headings, html, anchors: writer.anchors }
}

#[derive(Default)]
struct Writer<'a> {
    path: &'a str,
    out: Vec<Event<'a>>,
    title: String,
    headings: Vec<Heading>,
    anchors: Vec<String>,
    /// Headings by anchor so far: a second one of a name gets a number.
    named: HashMap<String, usize>,
    switches: usize,
    /// Ends of the open links: nothing, or the file that is not here.
    links: Vec<Option<String>>,
}

impl<'a> Writer<'a> {
    /// Writes what stands first and returns the number of events that it was.
    fn write(&mut self, events: &[Event<'a>]) -> Option<usize> {
        let event = events.first()?;
        if let Event::Start(Tag::Heading { level, .. }) = event {
            return Some(self.heading(*level, events));
        }
        if let Event::Start(Tag::CodeBlock(_)) = event {
            return Some(self.code(events));
        }
        if let Event::Start(Tag::TableHead) = event {
            return Some(self.table_head(events));
        }
        if let Event::Start(Tag::Image { .. }) = event {
            return Some(self.image(events));
        }
        self.event(event);
        Some(1)
    }

    fn event(&mut self, event: &Event<'a>) {
        if let Event::Start(Tag::Table(_)) = event {
            // Wide tables scroll by themselves, also by keyboard.
            self.markup("<div class=\"table\" tabindex=\"0\">");
            // Alignments would be inline styles, which the page's policy forbids.
            self.out.push(Event::Start(Tag::Table(Vec::new())));
        } else if let Event::End(TagEnd::Table) = event {
            self.out.push(event.clone());
            self.markup("</div>");
        } else if let Event::TaskListMarker(_) = event {
            // A list to go through on paper, not a form.
            self.markup("<span class=\"box\" aria-hidden=\"true\"></span> ");
        } else if let Event::Start(Tag::Link { dest_url, .. }) = event {
            self.link(dest_url);
        } else if let Event::End(TagEnd::Link) = event {
            self.end_link();
        } else if let Event::Html(text) | Event::InlineHtml(text) = event {
            // Documents have no markup of their own.
            self.out.push(Event::Text(text.clone()));
        } else {
            self.out.push(event.clone());
        }
    }

    fn markup(&mut self, markup: impl Into<CowStr<'a>>) {
        self.out.push(Event::InlineHtml(markup.into()));
    }

    fn heading(&mut self, level: HeadingLevel, events: &[Event<'a>]) -> usize {
        let end = until(events, |tag| matches!(tag, TagEnd::Heading(_)));
        let text = plain(&events[..end]);
        let anchor = self.anchor(&text);
        self.markup(format!("<{level} id=\"{anchor}\">"));
        let mut rest = &events[1..end];
        while let Some(taken) = self.write(rest) {
            rest = &rest[taken..];
        }
        self.markup(format!("</{level}>\n"));
        match level {
            HeadingLevel::H1 => self.title = text,
            HeadingLevel::H2 => self.headings.push(Heading { anchor: anchor.clone(), text }),
            HeadingLevel::H3 | HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => {}
        }
        self.anchors.push(anchor);
        end + 1
    }

    fn anchor(&mut self, heading: &str) -> String {
        let anchor = slug(heading);
        let before = self.named.entry(anchor.clone()).or_default();
        *before += 1;
        if *before == 1 { anchor } else { format!("{anchor}-{}", *before - 1) }
    }

    /// Leaves out a head without words; a single empty cell is no heading of a column.
    fn table_head(&mut self, events: &[Event<'a>]) -> usize {
        let end = until(events, |tag| matches!(tag, TagEnd::TableHead));
        self.out.push(Event::Start(Tag::TableHead));
        let is_empty = plain(&events[..end]).trim().is_empty();
        let mut rest = if is_empty { &[] } else { &events[1..end] };
        while !rest.is_empty() {
            let cell = until(rest, |tag| matches!(tag, TagEnd::TableCell));
            let tag = if cell == 1 { "td" } else { "th" };
            self.markup(format!("<{tag}>"));
            let mut inner = &rest[1..cell];
            while let Some(taken) = self.write(inner) {
                inner = &inner[taken..];
            }
            self.markup(format!("</{tag}>"));
            rest = &rest[cell + 1..];
        }
        self.out.push(Event::End(TagEnd::TableHead));
        end + 1
    }

    /// Pictures are not served; their description stands for them.
    fn image(&mut self, events: &[Event<'a>]) -> usize {
        let end = until(events, |tag| matches!(tag, TagEnd::Image));
        self.markup("<em class=\"picture\">");
        self.out.push(Event::Text(plain(&events[..end]).into()));
        self.markup("</em>");
        end + 1
    }

    fn link(&mut self, target: &str) {
        let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let anchor = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
        let path = beside(self.path, file);
        let address = match (is_elsewhere, file) {
            (true, _) => Some(target.to_owned()),
            (false, "") => Some(anchor),
            (false, _) => page::address(&path).map(|address| address + &anchor),
        };
        let Some(address) = address else {
            self.links.push(Some(path));
            return;
        };
        self.links.push(None);
        self.markup(format!(
            "<a href=\"{}\">",
            address.replace('&', "&amp;").replace('"', "&quot;")
        ));
    }

    /// A file that is only in the repository is named, not linked.
    fn end_link(&mut self) {
        match self.links.pop().flatten() {
            None => self.markup("</a>"),
            Some(path) => {
                self.markup(" <span class=\"file\">(in the repository: <code>");
                self.out.push(Event::Text(path.into()));
                self.markup("</code>)</span>");
            }
        }
    }

    /// A block of code, or several that stand together in different languages.
    fn code(&mut self, events: &[Event<'a>]) -> usize {
        let mut blocks: Vec<(&str, String)> = Vec::new();
        let mut taken = 0;
        while let Some(Event::Start(Tag::CodeBlock(kind))) = events.get(taken) {
            let language = language(kind);
            let is_other = blocks.iter().all(|(before, _)| *before != language);
            let switches = blocks.is_empty() || !language.is_empty() && !blocks[0].0.is_empty();
            if !is_other || !switches {
                break;
            }
            let end = until(&events[taken..], |tag| matches!(tag, TagEnd::CodeBlock));
            blocks.push((language, plain(&events[taken..taken + end])));
            taken += end + 1;
        }
        match blocks.as_slice() {
            [(_, code)] => self.block("tabindex=\"0\"", code),
            _ => self.switch(&blocks),
        }
        taken
    }

    fn block(&mut self, attributes: &str, code: &str) {
        self.markup(format!("<pre {attributes}><code>"));
        self.out.push(Event::Text(code.to_owned().into()));
        self.markup("</code></pre>\n");
    }

    /// Radio buttons and as many blocks: the style sheet shows the one that is chosen.
    fn switch(&mut self, blocks: &[(&str, String)]) {
        self.switches += 1;
        let number = self.switches;
        self.markup("<fieldset class=\"switch\"><legend>Language</legend>\n");
        for (index, (mark, _)) in blocks.iter().enumerate() {
            let (id, checked) =
                (format!("{mark}-{number}"), if index == 0 { " checked" } else { "" });
            let name = name_of(mark);
            self.markup(format!(
                "<input type=\"radio\" name=\"language-{number}\" value=\"{mark}\" id=\"{id}\"{checked}><label for=\"{id}\">{name}</label>\n"
            ));
        }
        for (mark, code) in blocks {
            let name = name_of(mark);
            self.block(&format!("tabindex=\"0\" data-language=\"{name}\""), code);
        }
        self.markup("</fieldset>\n");
    }
}

/// The mark of a block that takes part in a switch; empty otherwise.
fn language(kind: &CodeBlockKind<'_>) -> &'static str {
    let CodeBlockKind::Fenced(mark) = kind else { return "" };
    let known = LANGUAGES.iter().find(|(known, _)| **known == **mark);
    known.map_or("", |(mark, _)| mark)
}

fn name_of(mark: &str) -> &'static str {
    LANGUAGES.iter().find(|(known, _)| *known == mark).map_or("", |(_, name)| name)
}

/// The number of events before the end of what begins with the first one.
fn until(events: &[Event<'_>], is_end: impl Fn(&TagEnd) -> bool) -> usize {
    let end = events.iter().position(|event| matches!(event, Event::End(tag) if is_end(tag)));
    end.unwrap_or(events.len())
}

/// The words without their markup.
fn plain(events: &[Event<'_>]) -> String {
    let mut words = String::new();
    for event in events {
        if let Event::Text(text) | Event::Code(text) = event {
            words.push_str(text);
        } else if let Event::SoftBreak | Event::HardBreak = event {
            words.push(' ');
        }
    }
    words
}

/// The anchor of a heading, as the repository's own host makes it.
fn slug(heading: &str) -> String {
    let text = heading.trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// `link` in the document at `path`, from the root of the repository.
fn beside(path: &str, link: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        render("docs/x.md", text).html
    }

    #[test]
    fn a_heading_has_the_anchor_by_which_documents_link_to_it() {
        let rendered = render("docs/x.md", "# The `step`, twice\n\n## A b\n\n### c\n\n## A b\n");
        assert_eq!(rendered.title, "The step, twice");
        assert_eq!(rendered.anchors, ["the-step-twice", "a-b", "c", "a-b-1"]);
        let listed: Vec<_> = rendered.headings.iter().map(|heading| &heading.anchor).collect();
        assert_eq!(listed, ["a-b", "a-b-1"]);
        assert!(
            rendered.html.contains("<h1 id=\"the-step-twice\">The <code>step</code>, twice</h1>")
        );
    }

    #[test]
    fn links_lead_to_pages_and_files_elsewhere_are_named() {
        for (link, expected) in [
            ("[w](webhooks.md#the-feed)", "<a href=\"/docs/webhooks#the-feed\">w</a>"),
            ("[s](../sdk/README.md)", "<a href=\"/docs/sdk\">s</a>"),
            ("[h](#here)", "<a href=\"#here\">h</a>"),
            ("[i](README.md)", "<a href=\"/docs\">i</a>"),
            ("[o](../api/openapi.json)", "<a href=\"/v1/openapi.json\">o</a>"),
            ("[e](https://a.example/?a=1&b)", "<a href=\"https://a.example/?a=1&amp;b\">e</a>"),
            (
                "[c](../deploy/CUSTODY.md#x)",
                "c <span class=\"file\">(in the repository: <code>deploy/CUSTODY.md</code>)</span>",
            ),
        ] {
            assert_eq!(html(link), format!("<p>{expected}</p>\n"), "{link}");
        }
    }

    #[test]
    fn markup_in_a_document_is_text() {
        let shown = html("a <script>x</script>\n\n<b>\n");
        assert!(!shown.contains("<script>") && shown.contains("&lt;script&gt;"), "{shown}");
        assert!(!shown.contains("<b>"), "{shown}");
    }

    #[test]
    fn neighbouring_blocks_of_different_languages_are_a_switch() {
        let shown = html("```sh\na\n```\n```ts\nb < c\n```\n\n```sh\nd\n```\n");
        assert_eq!(shown.matches("<fieldset").count(), 1, "{shown}");
        assert_eq!(shown.matches("type=\"radio\"").count(), 2, "{shown}");
        assert!(shown.contains("b &lt; c"), "{shown}");
        let apart = html("```sh\na\n```\n```sh\nb\n```\n```\nc\n```\n");
        assert!(!apart.contains("<fieldset"), "{apart}");
    }

    #[test]
    fn an_empty_cell_is_no_heading_of_a_column() {
        let without = html("| | |\n|---|---|\n| a | b |\n");
        assert!(!without.contains("<th") && without.contains("<tbody>\n<tr><td>a"), "{without}");
        let half = html("| | B |\n|---|---|\n| a | b |\n");
        assert!(half.contains("<thead><tr><td></td><th>B</th></tr></thead>"), "{half}");
    }
}
