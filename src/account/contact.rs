//! Where a merchant's buyers write to.

use url::{Position, Url, form_urlencoded};

use super::email;

const URL_CHARS_MAX: usize = 500;

/// Where buyers write to: an e-mail address, or a page of the merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contact {
    Mail(String),
    Page(Url),
}

impl Contact {
    /// Reads an e-mail address, or an https address with a host and without a password.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("https://") {
            let url = Url::parse(text).ok()?;
            let plain = url.username().is_empty() && url.password().is_none();
            let whole = !rest.is_empty() && url.has_host() && url.as_str().len() <= URL_CHARS_MAX;
            return (plain && whole).then_some(Self::Page(url));
        }
        email::normalised(text).ok().map(Self::Mail)
    }

    /// The text that is stored, which [`parse`](Self::parse) reads again.
    pub fn as_text(&self) -> &str {
        match self {
            Self::Mail(address) => address,
            Self::Page(url) => url.as_str(),
        }
    }

    /// The address of a link to it. A mail begins with `subject`.
    pub fn link(&self, subject: &str) -> String {
        match self {
            Self::Mail(address) => {
                let (user, host) = address.rsplit_once('@').unwrap_or((address.as_str(), ""));
                format!("mailto:{}@{}?subject={}", encoded(user), encoded(host), encoded(subject))
            }
            Self::Page(url) => url.as_str().to_owned(),
        }
    }

    /// Returns true for a page, which can be shown beside another one.
    pub const fn is_page(&self) -> bool {
        matches!(self, Self::Page(_))
    }

    /// The words of that link, with its real host, so that no buyer is led somewhere unseen.
    pub fn label(&self) -> &str {
        match self {
            Self::Mail(address) => address,
            Self::Page(url) => url[Position::BeforeHost..Position::AfterPath].trim_end_matches('/'),
        }
    }
}

/// Percent-encoded, so that no part begins another one. A plus would stand for itself (RFC 6068).
fn encoded(part: &str) -> String {
    form_urlencoded::byte_serialize(part.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_is_an_address_of_a_mailbox_or_of_a_page_and_says_where_it_leads() {
        for (text, shown) in [
            (
                "help@shop.example",
                Some(("help@shop.example", "mailto:help@shop.example?subject=pzi_1")),
            ),
            (
                " help@shop.example ",
                Some(("help@shop.example", "mailto:help@shop.example?subject=pzi_1")),
            ),
            ("https://shop.example/help", Some(("shop.example/help", "https://shop.example/help"))),
            ("https://shop.example/", Some(("shop.example", "https://shop.example/"))),
            (
                "https://p\u{430}ypal.com/",
                Some(("xn--pypal-4ve.com", "https://xn--pypal-4ve.com/")),
            ),
            ("https://bank.example@evil.example/", None),
            ("http://shop.example/help", None),
            ("javascript:alert(1)", None),
            ("mailto:help@shop.example", None),
            ("help@shop.example?bcc=x@evil.example", None),
            ("a@b.example, c@d.example", None),
            ("https://", None),
            ("help", None),
            ("", None),
        ] {
            let contact = Contact::parse(text);
            let found = contact.as_ref().map(|one| (one.label().to_owned(), one.link("pzi_1")));
            let expected = shown.map(|(label, link)| (label.to_owned(), link.to_owned()));
            assert_eq!(found, expected, "{text}");
            if let Some(contact) = contact {
                assert_eq!(Contact::parse(contact.as_text()), Some(contact));
            }
        }
    }
}
