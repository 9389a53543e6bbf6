//! The OpenAPI document as a page shows it: flat, in reading order, with every reference a link.

use serde_json::Value;

use crate::docs::request;

pub struct Reference {
    pub title: String,
    pub version: String,
    pub introduction: Vec<Paragraph>,
    pub groups: Vec<Group>,
    pub shapes: Vec<Shape>,
}

/// Operations that belong together.
pub struct Group {
    pub name: String,
    pub description: Rich,
    pub operations: Vec<Operation>,
}

pub struct Operation {
    pub id: String,
    pub method: String,
    pub path: String,
    pub summary: String,
    pub description: Option<Rich>,
    pub takes_key: bool,
    /// Whether we are the sender.
    pub is_webhook: bool,
    /// The request for a shell; of webhooks none.
    pub curl: Option<String>,
    pub parameters: Vec<Field>,
    pub bodies: Vec<Body>,
    pub answers: Vec<Answer>,
}

/// One way to write a body.
pub struct Body {
    pub content_type: String,
    pub shape: Option<Link>,
    pub example: Option<String>,
}

pub struct Answer {
    pub status: String,
    pub is_error: bool,
    pub description: Rich,
    /// Of JSON; other content by its type.
    pub shape: Option<Link>,
    pub content_type: Option<String>,
    pub headers: Vec<Field>,
}

/// A named object of the document, or a named kind of value.
pub struct Shape {
    pub name: String,
    pub kind: String,
    pub description: Rich,
    pub fields: Vec<Field>,
}

pub struct Field {
    pub name: String,
    /// `query`, `path` or `header`, for parameters.
    pub place: String,
    pub kind: String,
    pub link: Option<Link>,
    pub required: bool,
    pub limits: Vec<String>,
    pub description: Rich,
}

pub struct Link {
    pub name: String,
}

pub type Paragraph = Rich;

/// Text in which `code` and **words** are set apart; everything else is plain.
pub struct Rich(pub Vec<Span>);

pub enum Span {
    Plain(String),
    Code(String),
    Strong(String),
}

impl Reference {
    /// Reads our own document; missing parts show as nothing.
    pub fn read(document: &str) -> Self {
        let document: Value = serde_json::from_str(document).unwrap_or_default();
        let info = &document["info"];
        let introduction = text(&info["description"]);
        Self {
            title: text(&info["title"]),
            version: text(&info["version"]),
            introduction: introduction.split("\n\n").map(Rich::read).collect(),
            groups: each(&document["tags"]).map(|tag| Group::read(tag, &document)).collect(),
            shapes: members(&document["components"]["schemas"])
                .map(|(name, schema)| Shape::read(name, schema, &document))
                .collect(),
        }
    }
}

impl Group {
    fn read(tag: &Value, document: &Value) -> Self {
        let belongs = |operation: &Value| each(&operation["tags"]).any(|name| *name == tag["name"]);
        let mut operations = Vec::new();
        for (part, is_webhook) in [("paths", false), ("webhooks", true)] {
            for (path, item) in members(&document[part]) {
                let item = members(item).filter(|(_, operation)| belongs(operation));
                operations.extend(item.map(|(method, operation)| Operation {
                    is_webhook,
                    curl: (!is_webhook).then(|| request::curl(method, path, operation)),
                    ..Operation::read(path, method, operation)
                }));
            }
        }
        // The operation that one begins with comes first: creating, then by path.
        operations.sort_by_key(|operation| (operation.method != "POST", operation.path.clone()));
        let description = Rich::read(&text(&tag["description"]));
        Self { name: text(&tag["name"]), description, operations }
    }
}

impl Operation {
    fn read(path: &str, method: &str, operation: &Value) -> Self {
        let description = operation["description"].as_str().map(Rich::read);
        let parameters = each(&operation["parameters"]).map(|parameter| Field {
            place: text(&parameter["in"]),
            required: parameter["required"] == true,
            description: Rich::read(&text(&parameter["description"])),
            ..Field::read(&text(&parameter["name"]), &parameter["schema"])
        });
        Self {
            id: text(&operation["operationId"]),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: text(&operation["summary"]),
            description,
            takes_key: each(&operation["security"]).next().is_some(),
            is_webhook: false,
            curl: None,
            parameters: parameters.collect(),
            bodies: members(&operation["requestBody"]["content"])
                .map(|(content_type, body)| Body::read(content_type, body))
                .collect(),
            answers: members(&operation["responses"])
                .map(|(status, answer)| Answer::read(status, answer))
                .collect(),
        }
    }
}

impl Body {
    fn read(content_type: &str, body: &Value) -> Self {
        let example = body.get("example");
        // A file is shown as it is sent.
        let text = example.and_then(Value::as_str).map(str::to_owned);
        let json = example.and_then(|example| serde_json::to_string_pretty(example).ok());
        Self {
            content_type: content_type.to_owned(),
            shape: link(&body["schema"]),
            example: text.or(json),
        }
    }
}

impl Answer {
    fn read(status: &str, answer: &Value) -> Self {
        let headers = members(&answer["headers"]).map(|(name, header)| Field {
            description: Rich::read(&text(&header["description"])),
            ..Field::read(name, &header["schema"])
        });
        Self {
            status: status.to_owned(),
            is_error: !status.starts_with('2'),
            description: Rich::read(&text(&answer["description"])),
            shape: link(&answer["content"]["application/json"]["schema"]),
            content_type: members(&answer["content"])
                .map(|(content_type, _)| content_type.to_owned())
                .find(|content_type| content_type != "application/json"),
            headers: headers.collect(),
        }
    }
}

impl Shape {
    fn read(name: &str, schema: &Value, document: &Value) -> Self {
        let own = [schema];
        let parts = own.into_iter().chain(each(&schema["allOf"]));
        let parts = parts.map(|part| resolved(part, document));
        let mut fields = Vec::new();
        for part in parts {
            let required: Vec<_> = each(&part["required"]).map(text).collect();
            let mut here: Vec<_> = members(&part["properties"])
                .map(|(name, schema)| {
                    let place = required.iter().position(|it| it == name);
                    let field = Field { required: place.is_some(), ..Field::read(name, schema) };
                    // Required fields are listed in the order in which they were declared.
                    (place.unwrap_or(usize::MAX), field)
                })
                .collect();
            here.sort_by_key(|(place, _)| *place);
            fields.extend(here.into_iter().map(|(_, field)| field));
        }
        let Field { kind, mut limits, description, .. } = Field::read(name, schema);
        limits.insert(0, kind);
        let kind = if fields.is_empty() { limits.join(", ") } else { String::new() };
        Self { name: name.to_owned(), kind, description, fields }
    }
}

impl Field {
    fn read(name: &str, schema: &Value) -> Self {
        let variants = each(&schema["oneOf"]).chain(each(&schema["allOf"]));
        let described = [schema].into_iter().chain(variants.clone());
        let description = described.filter_map(|part| part["description"].as_str()).next();
        let (kind, limits) = (kind(schema), limits(schema));
        Self {
            name: name.to_owned(),
            place: String::new(),
            kind,
            link: link(schema),
            required: false,
            limits,
            description: Rich::read(description.unwrap_or_default()),
        }
    }
}

impl Rich {
    fn read(text: &str) -> Self {
        let mut spans = Vec::new();
        // Words in bold may have code between them.
        let mut is_strong = false;
        for (index, part) in text.split('`').enumerate() {
            if index % 2 == 1 {
                spans.push(Span::Code(part.to_owned()));
                continue;
            }
            for (index, part) in part.split("**").enumerate() {
                is_strong ^= index > 0;
                let span = if is_strong { Span::Strong } else { Span::Plain };
                spans.push(span(part.to_owned()));
            }
        }
        Self(spans)
    }
}

/// The type in words, with `or null` where it may be that; empty for a reference, which is a link.
fn kind(schema: &Value) -> String {
    let nullable = each(&schema["oneOf"]).any(|part| part["type"] == "null");
    let types: Vec<_> = each(&schema["type"]).chain([&schema["type"]]).map(text).collect();
    let mut words =
        types.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" or ");
    if words == "array" {
        words = if link(&schema["items"]).is_some() {
            "list of".to_owned()
        } else {
            format!("list of {}s", text(&schema["items"]["type"]))
        };
    }
    if nullable { format!("{words}or null") } else { words }
}

fn limits(schema: &Value) -> Vec<String> {
    let mut limits = Vec::new();
    for (key, words) in [
        ("format", ""),
        ("minLength", "at least {} characters"),
        ("maxLength", "at most {} characters"),
        ("minimum", "at least {}"),
        ("maximum", "at most {}"),
        ("maxItems", "at most {} entries"),
        ("pattern", "matches {}"),
    ] {
        let Some(value) = schema.get(key) else { continue };
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        limits.push(if words.is_empty() { value } else { words.replace("{}", &value) });
    }
    let values: Vec<_> = each(&schema["enum"]).map(text).collect();
    if !values.is_empty() {
        limits.push(format!("one of {}", values.join(", ")));
    }
    limits
}

/// The named part that a schema refers to, itself or through its first variant or its entries.
fn link(schema: &Value) -> Option<Link> {
    let variants = each(&schema["oneOf"]).chain(each(&schema["allOf"]));
    let mut parts = [schema, &schema["items"]].into_iter().chain(variants);
    let name = parts.find_map(|part| part["$ref"].as_str()?.rsplit('/').next())?;
    Some(Link { name: name.to_owned() })
}

fn resolved<'a>(schema: &'a Value, document: &'a Value) -> &'a Value {
    let path = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    path.and_then(|path| document.pointer(path)).unwrap_or(schema)
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(super) fn each(value: &Value) -> impl Iterator<Item = &Value> + Clone {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

pub(super) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bold_words_end_where_they_end_also_with_code_between_them() {
        let spans = Rich::read("act **once per `id` and `status`**: then `stop`.").0;
        let shown: Vec<_> = spans
            .iter()
            .filter_map(|span| match span {
                Span::Strong(words) => Some(words.as_str()),
                Span::Plain(_) | Span::Code(_) => None,
            })
            .collect();
        assert_eq!(shown, ["once per ", " and ", ""]);
    }
}
