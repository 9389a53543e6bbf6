//! The picture of a button that leads to a link's page, for other people's pages.

use axum::{
    extract,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::app::link::visit::LinkState;

use super::page::label;
use crate::{
    State,
    checkout::{language::Language, markup::escaped, route::Id, shell::Visit},
    error::ApiError,
};

const HEIGHT: usize = 48;
/// Width that is allowed for each character of the label: more than most need.
const CHAR_WIDTH: usize = 11;
/// The same for a character of Chinese or Japanese, which is as wide as it is high.
const WIDE_CHAR_WIDTH: usize = 19;
const PADDING: usize = 56;

/// `/l/<id>/button.svg`. A picture holds no script and no link; the HTML around it does.
pub async fn picture(
    extract::State(gateway): extract::State<State>,
    visit: Visit,
    id: Id,
) -> Response {
    let id = id.map(|extract::Path(id)| id).unwrap_or_default();
    let found = match gateway.visit_link(&id, None).await {
        Ok(found) => found.filter(|visit| visit.state == LinkState::Usable),
        Err(error) => return ApiError::from(error).into_response(),
    };
    let Some(found) = found else { return ApiError::LinkNotFound.into_response() };
    let label = label(&found.link.terms, visit.language.texts());
    let mut response = (StatusCode::OK, drawn(&label, visit.language)).into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE.as_str(), "image/svg+xml; charset=utf-8"),
        (header::CACHE_CONTROL.as_str(), "public, max-age=300"),
        (header::X_CONTENT_TYPE_OPTIONS.as_str(), "nosniff"),
        (header::VARY.as_str(), "accept-language"),
        (header::CONTENT_SECURITY_POLICY.as_str(), "default-src 'none'"),
        ("cross-origin-resource-policy", "cross-origin"),
    ] {
        if let Ok(name) = header::HeaderName::from_bytes(name.as_bytes()) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    response
}

const fn char_width(letter: char) -> usize {
    // From the radicals on; everything before is an alphabet.
    if letter < '\u{2e80}' { CHAR_WIDTH } else { WIDE_CHAR_WIDTH }
}

fn drawn(label: &str, language: Language) -> String {
    let width = label.chars().map(char_width).sum::<usize>() + PADDING;
    let (middle, text) = (width / 2, escaped(label));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" lang=\"{}\"><title>{text}</title>\
         <rect width=\"{width}\" height=\"{HEIGHT}\" rx=\"24\" fill=\"#0b6b63\"/>\
         <text x=\"{middle}\" y=\"30\" text-anchor=\"middle\" direction=\"{}\" \
         font-family=\"system-ui,sans-serif\" font-size=\"18\" font-weight=\"600\" \
         fill=\"#fff\">{text}</text></svg>",
        language.code(),
        language.direction()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_of_wide_letters_has_room() {
        assert!(drawn("Pay", Language::English).contains("width=\"89\""));
        assert!(drawn("\u{652f}\u{6255}", Language::English).contains("width=\"94\""));
    }
}
