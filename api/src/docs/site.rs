//! The pages as they are served, rendered once: the documents with the contents of the site beside
//! them, and the reference.

use std::{collections::BTreeMap, sync::LazyLock};

use askama::Template;

use crate::{
    docs::{
        markdown::{self, Rendered},
        page::{self, PARTS, Page},
        reference::{Reference, Span},
    },
    openapi,
};

/// The contents of the site: parts with their pages.
pub struct Contents {
    pub site: String,
    pub parts: Vec<Entries>,
}

pub struct Entries {
    pub title: &'static str,
    pub links: Vec<Entry>,
}

pub struct Entry {
    pub address: String,
    pub label: &'static str,
    pub about: &'static str,
    pub is_current: bool,
}

impl Contents {
    fn of(site: &str, current: &str) -> Self {
        let entry = |page: &'static Page| Entry {
            address: format!("/docs/{}", page.name),
            label: page.label,
            about: page.about,
            is_current: page.name == current,
        };
        let parts = PARTS.iter().map(|part| Entries {
            title: part.title,
            links: part.pages.iter().map(entry).collect(),
        });
        Self { site: site.to_owned(), parts: parts.collect() }
    }
}

/// A document of the repository as a page.
#[derive(Template)]
#[template(path = "guide.html")]
struct GuidePage {
    contents: Contents,
    document: Rendered,
    previous: Option<&'static Page>,
    next: Option<&'static Page>,
}

/// The reference, which is also the site's first page.
#[derive(Template)]
#[template(path = "docs.html")]
struct ReferencePage<'a> {
    contents: Contents,
    reference: &'a Reference,
    /// Forms that send requests, where nothing real can be paid.
    is_sandbox: bool,
}

/// All pages, rendered.
pub struct Site {
    reference: String,
    sandbox_reference: String,
    guides: BTreeMap<&'static str, String>,
}

/// The site; nothing if a template failed, which was logged.
pub static SITE: LazyLock<Option<Site>> = LazyLock::new(|| {
    let site = Site::render();
    site.inspect_err(|error| tracing::error!(%error, "the documentation cannot be rendered")).ok()
});

impl Site {
    fn render() -> askama::Result<Self> {
        let reference = Reference::read(openapi::json());
        let show = |is_sandbox| {
            let contents = Contents::of(&reference.title, "");
            ReferencePage { contents, reference: &reference, is_sandbox }.render()
        };
        let pages: Vec<_> = page::pages().collect();
        let mut guides = BTreeMap::new();
        for (index, page) in pages.iter().enumerate() {
            let guide = GuidePage {
                contents: Contents::of(&reference.title, page.name),
                document: markdown::render(page.path, page.text),
                previous: index.checked_sub(1).map(|before| pages[before]),
                next: pages.get(index + 1).copied(),
            };
            guides.insert(page.name, guide.render()?);
        }
        Ok(Self { reference: show(false)?, sandbox_reference: show(true)?, guides })
    }

    pub fn reference(&self, is_sandbox: bool) -> &str {
        if is_sandbox { &self.sandbox_reference } else { &self.reference }
    }

    pub fn guide(&self, name: &str) -> Option<&str> {
        self.guides.get(name).map(String::as_str)
    }
}
