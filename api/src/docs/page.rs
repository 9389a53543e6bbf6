//! The pages of the site: documents of the repository, embedded when the program is built.

/// One document that is a page.
pub struct Page {
    /// The last part of its address, below `/docs/`.
    pub name: &'static str,
    /// The words that lead to it.
    pub label: &'static str,
    /// Its content in a few words; empty where the label says it.
    pub about: &'static str,
    /// Its path in the repository, by which other documents link to it.
    pub path: &'static str,
    /// Markdown.
    pub text: &'static str,
}

/// Pages for one kind of reader.
pub struct Part {
    pub title: &'static str,
    pub pages: &'static [Page],
}

macro_rules! page {
    ($name:literal, $label:literal, $about:literal, $path:literal) => {
        Page {
            name: $name,
            label: $label,
            about: $about,
            path: $path,
            text: include_str!(concat!("../../../", $path)),
        }
    };
}

const GUIDES: &[Page] = &[
    page!("first-payment", "A first payment", "from nothing to paid", "docs/first-payment.md"),
    page!("checkout", "Checkout and widget", "the buyer's page", "docs/checkout.md"),
    page!(
        "payment-links",
        "Payment links",
        "buttons and donations without a server",
        "docs/payment-links.md"
    ),
    page!("subscriptions", "Subscriptions", "cycles, reminders, renewals", "docs/subscriptions.md"),
    page!("till", "The till", "charges at a counter", "docs/till.md"),
    page!("mail", "Mail", "receipts, reminders and announcements", "docs/mail.md"),
    page!("webhooks", "Webhooks", "verify, then act once", "docs/webhooks.md"),
    page!(
        "receiver-down",
        "When your receiver was down",
        "catch up, send again, test",
        "docs/receiver-down.md"
    ),
    page!(
        "nowpayments",
        "Coming from NOWPayments",
        "what differs, client by client",
        "docs/nowpayments.md"
    ),
    page!(
        "legacy",
        "Moving from CoinPayments",
        "clients of the old API, unmodified",
        "docs/legacy.md"
    ),
    page!("x402", "Sell an API call", "programs pay over HTTP (x402)", "docs/x402.md"),
    page!("payouts", "Mass payouts", "one order, many recipients", "docs/payouts.md"),
    page!(
        "non-custodial-payouts",
        "Non-custodial payouts",
        "transactions that you sign",
        "docs/non-custodial-payouts.md"
    ),
    page!("accounting", "Accounting", "exports, and what they say", "docs/accounting.md"),
    page!("going-live", "Going live", "a checklist", "docs/going-live.md"),
];

const SDKS: &[Page] = &[
    page!("sdk", "All SDKs", "what they have in common", "sdk/README.md"),
    page!("sdk-typescript", "TypeScript", "", "sdk/typescript/README.md"),
    page!("sdk-python", "Python", "", "sdk/python/README.md"),
    page!("sdk-php", "PHP", "", "sdk/php/README.md"),
    page!("sdk-go", "Go", "", "sdk/go/README.md"),
    page!("sdk-rust", "Rust", "", "sdk/rust/README.md"),
];

const LOOKED_UP: &[Page] = &[
    page!("examples", "Examples", "one program in six languages", "docs/examples.md"),
    page!("errors", "Errors", "every code, and a request that produces it", "docs/errors.md"),
    page!("specification", "Specification", "every promise of the API", "docs/specification.md"),
    page!("glossary", "Glossary", "", "docs/glossary.md"),
];

const OPERATORS: &[Page] = &[
    page!(
        "getting-started",
        "Getting started",
        "the sandbox on your machine",
        "docs/getting-started.md"
    ),
    page!("operating", "Operating", "from zero to mainnet", "docs/operating.md"),
    page!(
        "collecting",
        "Where is my money",
        "addresses, books and the treasury",
        "docs/collecting.md"
    ),
    page!(
        "containers",
        "Containers and units",
        "Docker, systemd, TLS in front",
        "docs/containers.md"
    ),
    page!("backup", "Backup and restore", "what is lost at most, and the drill", "docs/backup.md"),
    page!("upgrades", "Upgrades", "without a pause, and back again", "docs/upgrades.md"),
    page!("nodes", "Nodes", "which ones, how many calls, how to check them", "docs/nodes.md"),
    page!("networks", "Networks", "what is proven on each", "docs/networks.md"),
    page!("benchmarks", "Benchmarks", "", "docs/benchmarks.md"),
    page!("fault-report", "Fault report", "", "docs/fault-report.md"),
];

/// All pages in reading order.
pub const PARTS: &[Part] = &[
    Part { title: "Guides", pages: GUIDES },
    Part { title: "Reference", pages: LOOKED_UP },
    Part { title: "SDKs", pages: SDKS },
    Part { title: "Operators", pages: OPERATORS },
];

/// All pages, one after the other.
pub fn pages() -> impl Iterator<Item = &'static Page> + Clone {
    PARTS.iter().flat_map(|part| part.pages)
}

/// The address of a file of the repository on this server, if it is here.
pub fn address(path: &str) -> Option<String> {
    match path {
        "docs/README.md" => return Some("/docs".to_owned()),
        "api/openapi.json" => return Some("/v1/openapi.json".to_owned()),
        _ => {}
    }
    let page = pages().find(|page| page.path == path)?;
    Some(format!("/docs/{}", page.name))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;

    #[test]
    fn every_document_of_the_folder_is_a_page_under_a_name_of_its_own() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = std::fs::read_dir(root.join("docs")).unwrap();
        let files = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let documents: BTreeSet<_> = files
            .filter(|name| name.ends_with(".md") && name != "README.md")
            .map(|name| format!("docs/{name}"))
            .collect();
        let shown: BTreeSet<_> = pages()
            .map(|page| page.path.to_owned())
            .filter(|path| path.starts_with("docs/"))
            .collect();
        assert_eq!(shown, documents);
        let names: BTreeSet<_> = pages().map(|page| page.name).collect();
        assert_eq!(names.len(), pages().count());
        assert!(names.iter().all(|name| !name.contains('.')), "files of the site have a dot");
    }
}
