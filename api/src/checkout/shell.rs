//! The parts that all pages share: language, links, and the headers that fence them in.

use std::{convert::Infallible, sync::LazyLock};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, header, request::Parts},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use gateway::app::merchant::front::Front;
use sha2::{Digest, Sha256};
use url::{Url, form_urlencoded};

use super::{
    asset::{ASSETS, STYLE},
    brand::Brand,
    language::{Language, Texts},
};
use crate::State;

/// The language, theme and place that a request asks for. Rubbish is ignored, never an error: the
/// page matters more.
#[derive(Debug, Clone)]
pub struct Visit {
    pub place: Place,
    pub language: Language,
    /// Asked for in the address, and so kept in links.
    language_asked: bool,
    theme: Option<Theme>,
    /// The buyer wants another currency.
    pub choosing: bool,
    /// The page that frames this one; only that one may.
    origin: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

impl<S: Send + Sync> FromRequestParts<S> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let query = parts.uri.query().unwrap_or_default();
        let accepted = parts.headers.get(header::ACCEPT_LANGUAGE);
        Ok(Self::read(parts.uri.path(), query, accepted.and_then(|value| value.to_str().ok())))
    }
}

impl Visit {
    fn read(path: &str, query: &str, accepted: Option<&str>) -> Self {
        let asked = |name: &str| {
            let found = form_urlencoded::parse(query.as_bytes()).find(|(known, _)| known == name);
            found.map(|(_, value)| value.into_owned())
        };
        let language = asked("lang");
        Self {
            place: if path.starts_with("/embed/") { Place::Frame } else { Place::Window },
            language: Language::choose(language.as_deref(), accepted),
            language_asked: language.is_some(),
            theme: match asked("theme").as_deref() {
                Some("light") => Some(Theme::Light),
                Some("dark") => Some(Theme::Dark),
                _ => None,
            },
            choosing: asked("choose").is_some(),
            origin: asked("origin").filter(|origin| is_origin(origin)),
        }
    }
}

/// Scheme, host and port exactly as a browser writes them, and nothing else.
fn is_origin(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        // Letters of a host to the URL standard. To a content security policy a star is every host,
        // and the others end the directive or the policy.
        matches!(url.scheme(), "http" | "https")
            && !text.contains(['*', ';', ','])
            && url.origin().ascii_serialization() == text
    })
}

/// Where the page is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a window of its own; no page may frame it.
    Window,
    /// In a shop's page.
    Frame,
}

impl Place {
    const fn folder(self) -> &'static str {
        match self {
            Self::Window => "pay",
            Self::Frame => "embed",
        }
    }

    /// The folder of payment links' pages.
    const fn folder_of_links(self) -> &'static str {
        match self {
            Self::Window => "l",
            Self::Frame => "embed/l",
        }
    }
}

/// The frame of a page, for its template.
pub struct Shell {
    pub t: &'static Texts,
    pub language: Language,
    visit: Visit,
    /// The path of `checkout_url`, for a checkout that lives in a folder of its host.
    prefix: String,
    /// The merchant that is paid; `None` on pages that belong to no merchant, or to the merchant's
    /// own people.
    pub brand: Option<Brand>,
}

impl Shell {
    pub fn new(gateway: &State, visit: Visit) -> Self {
        let url = Url::parse(&gateway.config.checkout_url);
        let prefix = url.map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
        let language = visit.language;
        Self { t: language.texts(), language, visit, prefix, brand: None }
    }

    /// The page with its merchant on it. A mail to the merchant begins with `subject`.
    pub fn of(self, front: Option<Front>, subject: &str) -> Self {
        let brand = front.map(|front| Brand::new(front, &self.prefix, subject));
        Self { brand, ..self }
    }

    /// The merchant's name in a sentence.
    pub fn shop(&self) -> &str {
        self.brand.as_ref().map_or("", |brand| brand.name.as_str())
    }

    /// A page or an action of an invoice, in the same place and language. Never made of the
    /// request's host.
    pub fn link(&self, payment_id: &str, action: &str) -> String {
        let folder = self.visit.place.folder();
        self.link_in(self.asked_language(), folder, &format!("{payment_id}{action}"), None)
    }

    /// The page of an invoice with its currencies, to choose another one.
    pub fn choose_link(&self, payment_id: &str) -> String {
        let page = self.link(payment_id, "");
        let mark = if page.contains('?') { '&' } else { '?' };
        format!("{page}{mark}choose=1")
    }

    /// The page of a payment link, in the same place and language, with an amount filled in.
    pub fn link_page(&self, link_id: &str, amount: Option<&str>) -> String {
        self.link_in(self.asked_language(), self.visit.place.folder_of_links(), link_id, amount)
    }

    /// The same page in another language.
    pub fn link_page_to(&self, language: &Language, link_id: &str, amount: Option<&str>) -> String {
        self.link_in(Some(*language), self.visit.place.folder_of_links(), link_id, amount)
    }

    /// A subscriber's own page or an action of it.
    pub fn renew_page(&self, token: &str, action: &str) -> String {
        self.link_in(self.asked_language(), "renew", &format!("{token}{action}"), None)
    }

    /// The same page in another language.
    pub fn renew_page_to(&self, language: &Language, token: &str) -> String {
        self.link_in(Some(*language), "renew", token, None)
    }

    /// The page that stops a subscriber's reminders.
    pub fn unsubscribe_page(&self, token: &str) -> String {
        self.link_in(self.asked_language(), "unsubscribe", token, None)
    }

    /// The same page in another language.
    pub fn unsubscribe_page_to(&self, language: &Language, token: &str) -> String {
        self.link_in(Some(*language), "unsubscribe", token, None)
    }

    /// The page of a till or an action of it.
    pub fn till_page(&self, link_id: &str, action: &str) -> String {
        self.link_in(self.asked_language(), "pos", &format!("{link_id}{action}"), None)
    }

    /// The same page in another language.
    pub fn till_page_to(&self, language: &Language, link_id: &str, action: &str) -> String {
        self.link_in(Some(*language), "pos", &format!("{link_id}{action}"), None)
    }

    fn asked_language(&self) -> Option<Language> {
        self.visit.language_asked.then_some(self.language)
    }

    /// The same page in another language.
    pub fn link_to(&self, language: &Language, payment_id: &str) -> String {
        self.action_to(language, payment_id, "")
    }

    /// A further page of an invoice in another language.
    pub fn action_to(&self, language: &Language, payment_id: &str, action: &str) -> String {
        let folder = self.visit.place.folder();
        self.link_in(Some(*language), folder, &format!("{payment_id}{action}"), None)
    }

    fn link_in(
        &self,
        language: Option<Language>,
        folder: &str,
        page: &str,
        amount: Option<&str>,
    ) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(language) = language {
            query.append_pair("lang", language.code());
        }
        if let Some(theme) = self.theme() {
            query.append_pair("theme", theme);
        }
        if let Some(origin) = &self.visit.origin {
            query.append_pair("origin", origin);
        }
        if let Some(amount) = amount {
            query.append_pair("amount", amount);
        }
        let query = query.finish();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}/{folder}/{page}{mark}{query}", self.prefix)
    }

    pub fn status_link(&self, payment_id: &str) -> String {
        format!("{}/v1/invoices/{payment_id}/status", self.prefix)
    }

    pub fn theme(&self) -> Option<&'static str> {
        self.visit.theme.map(|theme| match theme {
            Theme::Light => "light",
            Theme::Dark => "dark",
        })
    }

    pub fn languages(&self) -> [Language; Language::ALL.len()] {
        Language::ALL
    }

    pub fn is_framed(&self) -> bool {
        self.visit.place == Place::Frame
    }

    /// The one page that may hold this one.
    pub fn origin(&self) -> &str {
        self.visit.origin.as_deref().unwrap_or_default()
    }

    pub fn style(&self) -> &'static str {
        STYLE
    }

    /// The colours of the merchant; empty without any.
    pub fn brand_style(&self) -> &str {
        self.brand.as_ref().map_or("", |brand| brand.style.as_str())
    }

    /// The address of an asset by its name.
    pub fn asset(&self, name: &str) -> String {
        format!("{}/assets/{name}", self.prefix)
    }

    pub fn icon(&self) -> String {
        self.asset(&ASSETS.icon.name)
    }

    pub fn pay_script(&self) -> String {
        self.asset(&ASSETS.pay.name)
    }

    pub fn choose_script(&self) -> String {
        self.asset(&ASSETS.choose.name)
    }

    pub fn receipt_script(&self) -> String {
        self.asset(&ASSETS.receipt.name)
    }

    pub fn embed_script(&self) -> String {
        self.asset(&ASSETS.embed.name)
    }

    /// Headers of every page: nothing from elsewhere, nothing kept, nothing disclosed to others,
    /// framed by one page at most.
    pub fn headers(&self, headers: &mut HeaderMap) {
        let framed_by = match (self.visit.place, &self.visit.origin) {
            (Place::Frame, Some(origin)) => origin.as_str(),
            (Place::Frame, None) | (Place::Window, _) => "'none'",
        };
        let policy = match self.brand_style() {
            "" => CONTENT_SECURITY_POLICY.clone(),
            style => policy(&[STYLE, style]),
        };
        let policy = format!("{policy}; frame-ancestors {framed_by}");
        if let Ok(policy) = HeaderValue::from_str(&policy) {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        for (name, value) in [
            (header::CACHE_CONTROL, "no-store"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::VARY, "accept-language"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        let language = HeaderValue::from_static(self.language.code());
        headers.insert(header::CONTENT_LANGUAGE, language);
        for (name, value) in [
            ("x-robots-tag", "noindex"),
            ("permissions-policy", "camera=(), microphone=(), geolocation=(), payment=()"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

static CONTENT_SECURITY_POLICY: LazyLock<String> = LazyLock::new(|| policy(&[STYLE]));

/// Scripts of our own alone; the inline styles by their hashes.
pub(crate) fn policy(styles: &[&str]) -> String {
    let hash = |style: &&str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(style)));
    let styles = styles.iter().map(hash).collect::<Vec<_>>().join(" ");
    format!(
        "default-src 'none'; script-src 'self'; style-src {styles}; connect-src 'self'; img-src 'self'; \
         form-action 'self'; base-uri 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exact_origin_may_frame_the_page() {
        for (text, taken) in [
            ("https://shop.example", true),
            ("http://127.0.0.1:8080", true),
            ("https://shop.example/", false),
            ("https://shop.example:443", false),
            ("https://SHOP.example", false),
            ("https://shop.example/path", false),
            ("https://user@shop.example", false),
            ("https://shop.example; script-src *", false),
            ("https://*.example", false),
            ("https://shop;sandbox.example", false),
            ("https://shop.example;script-src", false),
            ("https://shop,evil.example", false),
            ("javascript:alert(1)", false),
            ("null", false),
            ("*", false),
        ] {
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("origin", text)
                .finish();
            assert_eq!(Visit::read("/embed/x", &query, None).origin.is_some(), taken, "{text}");
        }
    }
}
