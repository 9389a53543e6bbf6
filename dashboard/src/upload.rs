//! Bodies of posted forms, with or without files.
//!
//! A file comes as `multipart/form-data`, which every browser sends without a script; axum reads it
//! with a feature that the API needs anyway. A form without a chosen file may come either way.

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, Multipart, Request},
    http::{HeaderMap, header},
};
use gateway::account::Action;

use crate::{
    form::{BYTES_MAX, Form},
    problem::Problem,
};

/// The largest file of recipients or of signed transactions, with the other fields beside it: as
/// much as the API takes.
const UPLOAD_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The most that the form of an action may hold.
pub fn bytes_max(action: Action) -> usize {
    let takes_files = matches!(
        action,
        Action::PayoutPreview
            | Action::PayoutCreate
            | Action::NcPayoutCreate
            | Action::NcPayoutSubmit
            // A logo.
            | Action::SettingsChange
    );
    if takes_files { UPLOAD_BYTES_MAX } else { BYTES_MAX }
}

/// Reads a body that is all there.
pub async fn read(headers: &HeaderMap, body: Bytes) -> Result<Form, Problem> {
    let kind = headers.get(header::CONTENT_TYPE);
    let text = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    match kind {
        Some(kind) if essence.eq_ignore_ascii_case("multipart/form-data") => {
            let mut request = Request::new(Body::from(body));
            request.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
            multipart(request).await.ok_or(Problem::Unreadable)
        }
        _ => Ok(Form::parse(&body)),
    }
}

/// `None` for what no browser sends.
async fn multipart(request: Request) -> Option<Form> {
    let mut parts = Multipart::from_request(request, &()).await.ok()?;
    let mut form = Form::default();
    while let Some(part) = parts.next_field().await.ok()? {
        let name = part.name().unwrap_or_default().to_owned();
        let is_file = part.file_name().is_some();
        let content = part.bytes().await.ok()?;
        if is_file {
            form.add_file(name, content);
        } else {
            form.add(name, &String::from_utf8_lossy(&content));
        }
    }
    Some(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_as(kind: &str, body: &str) -> Result<Form, Problem> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
        read(&headers, Bytes::from(body.to_owned())).await
    }

    #[tokio::test]
    async fn fields_and_files_are_read_from_both_kinds_of_forms() {
        let plain = read_as("application/x-www-form-urlencoded", "a=1&b=x%20y").await.unwrap();
        assert_eq!((plain.text("a"), plain.text("b"), plain.file("f")), ("1", "x y", None));
        let body = "--X\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
                    --X\r\ncontent-disposition: form-data; name=\"f\"; filename=\"p.csv\"\r\n\r\nq,\u{e9}\r\n\
                    --X\r\ncontent-disposition: form-data; name=\"g\"; filename=\"\"\r\n\r\n\r\n--X--\r\n";
        let parts = read_as("Multipart/Form-Data; boundary=X", body).await.unwrap();
        assert_eq!((parts.text("a"), parts.file("f")), ("1", Some("q,\u{e9}".as_bytes())));
        assert_eq!((parts.file("g"), parts.file("a"), parts.text("f")), (None, None, ""));
        for (kind, body) in
            [("multipart/form-data", body), ("multipart/form-data; boundary=Y", body)]
        {
            assert!(read_as(kind, body).await.is_err(), "{kind}");
        }
    }
}
