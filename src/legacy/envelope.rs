//! The answer's envelope: `error` and `result`, as JSON or as XML.

use std::fmt::Write;

use serde_json::{Value, json};

/// What `error` says of a success. Clients compare it letter by letter.
pub const OK: &str = "ok";

/// Format of an answer. Any value but `xml` is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Json,
    Xml,
}

impl Format {
    pub fn named(text: &str) -> Self {
        if text.eq_ignore_ascii_case("xml") { Self::Xml } else { Self::Json }
    }

    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Xml => "text/xml; charset=utf-8",
        }
    }

    /// The body of an answer. A failure has an empty result, which must not be left out: clients
    /// read it before they look at `error`.
    pub fn render(self, answer: Result<&Value, &str>) -> String {
        let (error, empty) = (answer.err().unwrap_or(OK), json!([]));
        let result = answer.unwrap_or(&empty);
        match self {
            Self::Json => json!({ "error": error, "result": result }).to_string(),
            Self::Xml => {
                let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<response>".to_owned();
                element(&mut text, "error", &json!(error));
                element(&mut text, "result", result);
                text.push_str("</response>");
                text
            }
        }
    }
}

/// A name that XML does not allow, such as that of an id that begins with a digit, is an attribute
/// of an `item`. So are the members of a list, without a name.
fn element(text: &mut String, name: &str, value: &Value) {
    let named = is_xml_name(name);
    let tag = if named { name } else { "item" };
    let _infallible = write!(text, "<{tag}");
    if !named && !name.is_empty() {
        text.push_str(" key=\"");
        escape(text, name);
        text.push('"');
    }
    text.push('>');
    match value {
        Value::Null => {}
        Value::Array(items) => items.iter().for_each(|item| element(text, "", item)),
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| element(text, name, value));
        }
        Value::String(value) => escape(text, value),
        Value::Bool(_) | Value::Number(_) => text.push_str(&value.to_string()),
    }
    let _infallible = write!(text, "</{tag}>");
}

fn is_xml_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// Characters that XML 1.0 has no spelling for are left out.
fn escape(text: &mut String, value: &str) {
    for letter in value.chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\t' | '\n' | '\r' => text.push(letter),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            _ => text.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn an_answer_has_both_members_whatever_it_says() {
        let result = json!({ "id": "A" });
        for (answer, body) in [
            (Ok(&result), r#"{"error":"ok","result":{"id":"A"}}"#),
            (Err("Invalid version"), r#"{"error":"Invalid version","result":[]}"#),
        ] {
            assert_eq!(Format::Json.render(answer), body);
        }
        assert_eq!(Format::named("XML"), Format::Xml);
        assert_eq!(Format::named(""), Format::Json);
    }

    #[test]
    fn xml_escapes_values_and_names() {
        let result = json!({
            "1AB": { "amountf": "0.10000000", "amount": 10_000_000 },
            "USDT.ERC20": "a<b & \"c\"\u{1}",
            "list": ["x", 2, null, true],
        });
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <response><error>ok</error><result><item key="1AB"><amount>10000000</amount><amountf>0.10000000</amountf></item><USDT.ERC20>a&lt;b &amp; &quot;c&quot;</USDT.ERC20><list><item>x</item><item>2</item><item></item><item>true</item></list></result></response>"#]]
        .assert_eq(&Format::Xml.render(Ok(&result)));
        assert!(
            Format::Xml.render(Err("No > 1")).contains("<error>No &gt; 1</error><result></result>")
        );
    }
}
