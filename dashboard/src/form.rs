//! A posted form: names and values, of which a route reads those that it knows.

use axum::body::Bytes;
use url::form_urlencoded;

/// No form of ours is longer.
pub const BYTES_MAX: usize = 64 * 1024;
/// Checked by the guard of every route.
pub const TOKEN: &str = "token";

/// Fields in their order, and chosen files. Values are never printed: passwords are among them.
#[derive(Clone, Default)]
pub struct Form(Vec<(String, String)>, Vec<(String, Bytes)>);

impl Form {
    pub fn parse(body: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in form_urlencoded::parse(body) {
            form.add(name.into_owned(), value.into_owned());
        }
        form
    }

    /// Leaves zeros out of the value: no text of the database can hold one.
    pub fn add(&mut self, name: String, value: String) {
        self.0.push((name, value.replace('\0', "")));
    }

    pub fn add_file(&mut self, name: String, content: Bytes) {
        self.1.push((name, content));
    }

    /// The content of a chosen file; `None` if there is none, or nothing in it.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        let found = self.1.iter().find(|(known, content)| known == name && !content.is_empty());
        found.map(|(_, content)| content.as_ref())
    }

    /// The value of a field; empty if it is missing.
    pub fn text(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// The same without the space around it; `None` if nothing is left.
    pub fn filled(&self, name: &str) -> Option<&str> {
        Some(self.text(name).trim()).filter(|text| !text.is_empty())
    }

    /// All values of a field that may be checked several times.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
