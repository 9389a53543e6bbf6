//! The texts of a mail: subject, plain text and HTML. Nothing is loaded from anywhere, and all
//! links lead to the checkout, but for that of an invitation, which leads to the dashboard.

use serde::{Deserialize, Serialize};

use super::{Language, MailKind, texts::Texts};
use crate::link::{button::escaped, words};

/// Facts that a mail tells, as they are stored until it was sent. Not printable: the link of a
/// reminder is a credential.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contents {
    Receipt(Receipt),
    Reminder(Reminder),
    Announcement(Announced),
    Invitation(Invitation),
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Receipt {
    /// The title of the link, which its merchant wrote.
    pub title: String,
    /// Amount and currency, in the language of the mail.
    pub price: String,
    /// Amount, symbol and network of what was received.
    pub paid: String,
    /// In the language of the mail.
    pub date: String,
    pub payment_id: String,
    /// The payment's page at the checkout.
    pub url: String,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Reminder {
    /// The title of the link, which its merchant wrote.
    pub title: String,
    pub price: String,
    /// The date of the renewal, in the language of the mail.
    pub date: String,
    /// Days after the renewal; negative before it.
    pub day: i8,
    /// The subscriber's own page at the checkout.
    pub url: String,
}

/// An announcement, as its operator wrote it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Announced {
    pub title: String,
    pub body: String,
}

/// An invitation to a merchant's team.
#[derive(Clone, Serialize, Deserialize)]
pub struct Invitation {
    /// The merchant's name.
    pub merchant: String,
    pub role: String,
    /// The e-mail address of whoever invites.
    pub by: String,
    /// The address that accepts it, under the master key, in hex.
    pub sealed_url: String,
    /// The same opened, which is stored nowhere.
    #[serde(skip)]
    pub url: String,
}

/// The texts of one mail.
#[derive(Clone, PartialEq, Eq)]
pub struct Letter {
    /// It holds amounts and dates alone, or an operator's title, and no word of a merchant or a
    /// visitor.
    pub subject: String,
    pub text: String,
    pub html: String,
}

impl Contents {
    pub const fn kind(&self) -> MailKind {
        match self {
            Self::Receipt(_) => MailKind::Receipt,
            Self::Reminder(_) => MailKind::Reminder,
            Self::Announcement(_) => MailKind::Announcement,
            Self::Invitation(_) => MailKind::Invitation,
        }
    }

    /// The page that it leads to. An announcement leads nowhere: a mail that asked an owner to sign
    /// in by its link would look like a thief's.
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::Receipt(receipt) => Some(&receipt.url),
            Self::Reminder(reminder) => Some(&reminder.url),
            Self::Announcement(_) => None,
            Self::Invitation(invitation) => Some(&invitation.url),
        }
    }
}

/// Writes a mail. `unsubscribe` is the address at which a subscriber stops the reminders.
pub fn compose(contents: &Contents, language: Language, unsubscribe: Option<&str>) -> Letter {
    let t = language.texts();
    let page = match contents {
        Contents::Receipt(receipt) => of_receipt(receipt, language, t),
        Contents::Reminder(reminder) => of_reminder(reminder, language, t),
        Contents::Announcement(announced) => of_announcement(announced, t),
        Contents::Invitation(invitation) => of_invitation(invitation),
    };
    let stop = unsubscribe.map(|url| (t.unsubscribe, url));
    Letter {
        text: text(&page, stop, language),
        html: html(&page, stop, language),
        subject: page.subject,
    }
}

/// The parts of a mail, in their order.
struct Page<'a> {
    subject: String,
    /// Lines of one paragraph, of which an empty one ends it.
    intro: Vec<String>,
    rows: Vec<(&'static str, String)>,
    action: Option<(&'static str, &'a str)>,
    foot: Vec<&'static str>,
}

fn of_receipt<'a>(receipt: &'a Receipt, language: Language, t: &'static Texts) -> Page<'a> {
    Page {
        subject: filled(t.receipt_subject, "price", &receipt.price, language),
        intro: vec![t.receipt_intro.to_owned()],
        rows: vec![
            (t.title, title(&receipt.title)),
            (t.price, receipt.price.clone()),
            (t.paid, receipt.paid.clone()),
            (t.date, receipt.date.clone()),
            (t.payment, receipt.payment_id.clone()),
        ],
        action: Some((t.receipt_open, &receipt.url)),
        foot: vec![t.receipt_why],
    }
}

fn of_reminder<'a>(reminder: &'a Reminder, language: Language, t: &'static Texts) -> Page<'a> {
    let (subject, intro) = match reminder.day {
        ..=-1 => (t.reminder_subject_before, t.reminder_intro_before),
        0 => (t.reminder_subject_today, t.reminder_intro_before),
        1.. => (t.reminder_subject_after, t.reminder_intro_after),
    };
    let dated = |text| filled(text, "date", &reminder.date, language);
    Page {
        subject: dated(subject),
        intro: vec![dated(intro)],
        rows: vec![(t.title, title(&reminder.title)), (t.price, reminder.price.clone())],
        action: Some((t.reminder_open, &reminder.url)),
        foot: vec![t.reminder_secret, t.reminder_why],
    }
}

fn of_announcement(announced: &Announced, t: &'static Texts) -> Page<'static> {
    Page {
        subject: title(&announced.title),
        intro: announced.body.lines().map(words::line).collect(),
        rows: Vec::new(),
        action: None,
        foot: vec![t.announcement_why, t.announcement_secret],
    }
}

/// In English alone, as the dashboard is that it leads to.
fn of_invitation(invitation: &Invitation) -> Page<'_> {
    Page {
        subject: "An invitation to a payment gateway's dashboard".to_owned(),
        intro: vec![
            "You are offered a role in a team. It counts from the moment you accept it.".to_owned(),
        ],
        rows: vec![
            ("Merchant", title(&invitation.merchant)),
            ("Role", invitation.role.clone()),
            ("Invited by", title(&invitation.by)),
        ],
        action: Some(("Accept the invitation", &invitation.url)),
        foot: vec![
            "It works once, within 72 hours. Whoever opens it first accepts it: do not pass this mail on.",
            "If you do not know who invites you, do nothing, and nothing happens.",
        ],
    }
}

/// A merchant's words on one line, without characters that act on the text around them.
fn title(text: &str) -> String {
    words::message(text).ok().flatten().unwrap_or_default()
}

fn filled(text: &str, name: &str, value: &str, language: Language) -> String {
    text.replace(&format!("{{{name}}}"), &isolated(value, language))
}

/// A value as it stands in text of this language: in one that is written from the right, amounts
/// and dates keep their own direction (Unicode's first strong isolate).
fn isolated(value: &str, language: Language) -> String {
    if language.is_right_to_left() { format!("\u{2068}{value}\u{2069}") } else { value.to_owned() }
}

/// Addresses stand on lines of their own, without isolates, which would be copied with them.
fn text(page: &Page<'_>, stop: Option<(&str, &str)>, language: Language) -> String {
    let mut text = format!("{}\n\n", page.intro.join("\n"));
    for (label, value) in &page.rows {
        text.push_str(&format!("{label}: {}\n", isolated(value, language)));
    }
    if let Some((label, url)) = page.action {
        text.push_str(&format!("\n{label}:\n{url}\n\n"));
    }
    text.push_str("-- \n");
    for line in &page.foot {
        text.push_str(&format!("{line}\n"));
    }
    if let Some((label, url)) = stop {
        text.push_str(&format!("{label}:\n{url}\n"));
    }
    text
}

const BODY: &str = "margin:0 auto;padding:24px;max-width:560px;font:16px/1.5 sans-serif";
const BUTTON: &str = "display:inline-block;padding:12px 20px;border-radius:6px;background:#1d4ed8;color:#ffffff;text-decoration:none";
const FOOT: &str = "margin:32px 0 0;font-size:14px;opacity:0.8";

/// What a mail tells line by line, and the button below it.
fn facts(page: &Page<'_>) -> String {
    let mut html = String::new();
    if !page.rows.is_empty() {
        html.push_str("<p>\n");
        for (label, value) in &page.rows {
            html.push_str(&format!(
                "{}: <strong><bdi>{}</bdi></strong><br>\n",
                escaped(label),
                escaped(value)
            ));
        }
        html.push_str("</p>\n");
    }
    if let Some((label, url)) = page.action {
        html.push_str(&format!(
            "<p><a href=\"{}\" style=\"{BUTTON}\">{}</a></p>\n",
            escaped(url),
            escaped(label)
        ));
    }
    html
}

/// One column, styles in its attributes alone: mail programs drop the rest.
fn html(page: &Page<'_>, stop: Option<(&str, &str)>, language: Language) -> String {
    let direction = if language.is_right_to_left() { "rtl" } else { "ltr" };
    let subject = escaped(&page.subject);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"{language}\" dir=\"{direction}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{subject}</title>\n</head>\n\
         <body dir=\"{direction}\" style=\"{BODY}\">\n<h1 style=\"font-size:20px\">{subject}</h1>\n<p>{}</p>\n",
        page.intro.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("<br>\n")
    );
    html.push_str(&facts(page));
    html.push_str(&format!("<p style=\"{FOOT}\">\n"));
    for line in &page.foot {
        html.push_str(&format!("{}<br>\n", escaped(line)));
    }
    if let Some((label, url)) = stop {
        html.push_str(&format!("<a href=\"{}\">{}</a>\n", escaped(url), escaped(label)));
    }
    html.push_str("</p>\n</body>\n</html>\n");
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKOUT: &str = "https://pay.example/";

    fn receipt(title: &str) -> Contents {
        Contents::Receipt(Receipt {
            title: title.to_owned(),
            price: "12.50 USD".to_owned(),
            paid: "12.5 USDT (polygon)".to_owned(),
            date: "2026-11-25".to_owned(),
            payment_id: "pzi_1".to_owned(),
            url: format!("{CHECKOUT}pay/pzi_1"),
        })
    }

    fn reminder(day: i8) -> Contents {
        Contents::Reminder(Reminder {
            title: "Coffee club".to_owned(),
            price: "10.00 EUR".to_owned(),
            date: "2026-12-24".to_owned(),
            day,
            url: format!("{CHECKOUT}renew/pzr_1"),
        })
    }

    #[test]
    fn a_receipt_tells_what_was_paid_for() {
        let letter = compose(&receipt("Two cups"), Language::English, None);
        assert_eq!(letter.subject, "Receipt for 12.50 USD");
        for part in
            ["For: Two cups", "Paid: 12.5 USDT (polygon)", "\nhttps://pay.example/pay/pzi_1\n"]
        {
            assert!(letter.text.contains(part), "{part}: {}", letter.text);
        }
        assert!(!letter.text.contains("Stop these"), "a receipt cannot be unsubscribed from");
    }

    #[test]
    fn a_reminder_says_its_day_and_how_to_stop() {
        let stop = format!("{CHECKOUT}unsubscribe/pzu_1");
        for (day, subject) in [
            (-3, "Your subscription renews on 2026-12-24"),
            (0, "Your subscription renews today"),
            (2, "Your subscription was due on 2026-12-24"),
        ] {
            let letter = compose(&reminder(day), Language::English, Some(&stop));
            assert_eq!(letter.subject, subject);
            assert!(letter.text.contains(&format!("Stop these reminders:\n{stop}\n")));
            assert!(letter.html.contains(&format!("href=\"{stop}\"")));
        }
    }

    #[test]
    fn nothing_is_loaded_and_every_link_leads_to_the_checkout() {
        let stop = format!("{CHECKOUT}unsubscribe/pzu_1");
        for language in Language::ALL {
            for contents in [receipt("https://evil.example"), reminder(-1)] {
                let html = compose(&contents, language, Some(&stop)).html;
                for loads in ["src=", "url(", "<link", "<script", "<img", "@import", "http-equiv"] {
                    assert!(!html.contains(loads), "{loads}: {html}");
                }
                let mut links = html.split("href=\"").skip(1);
                assert!(links.clone().count() >= 2);
                assert!(links.all(|link| link.starts_with(CHECKOUT)), "{html}");
            }
        }
    }

    #[test]
    fn a_title_is_plain_text_in_the_body_and_never_in_the_subject() {
        let title = "\u{202e}<script>alert(1)</script>\r\nBcc: x@evil.example";
        let letter = compose(&receipt(title), Language::English, None);
        assert!(!letter.subject.contains("Bcc"), "{}", letter.subject);
        assert!(!letter.html.contains("<script") && !letter.html.contains('\u{202e}'));
        assert!(letter.text.contains("For: <script>alert(1)</script> Bcc: x@evil.example\n"));
        for part in [letter.subject.as_str(), letter.text.as_str()] {
            assert!(!part.contains('\r'), "{part:?}");
        }
    }

    #[test]
    fn an_announcement_is_its_operator_s_words_without_a_link() {
        let said = Contents::Announcement(Announced {
            title: "The old <b>API</b>\r\nBcc: x@evil.example".to_owned(),
            body: "It ends in May.\r\n\r\nUse /v1 & \u{202e}read on.".to_owned(),
        });
        let letter = compose(&said, Language::English, None);
        assert_eq!(letter.subject, "The old <b>API</b> Bcc: x@evil.example");
        assert!(letter.text.starts_with("It ends in May.\n\nUse /v1 & read on.\n\n-- \n"));
        assert!(letter.html.contains("It ends in May.<br>\n<br>\nUse /v1 &amp; read on.</p>"));
        assert!(!letter.html.contains("<a ") && !letter.html.contains("<b>"), "{}", letter.html);
        assert!(said.url().is_none() && said.kind() == MailKind::Announcement);
    }

    #[test]
    fn an_invitation_says_who_offers_what_and_stores_no_address_in_clear() {
        let url = "https://desk.example/invite/0123";
        let offered = Contents::Invitation(Invitation {
            merchant: "Roastery\r\nBcc: x@evil.example <b>".to_owned(),
            role: "viewer".to_owned(),
            by: "o@example.com".to_owned(),
            sealed_url: "5e".to_owned(),
            url: url.to_owned(),
        });
        let letter = compose(&offered, Language::English, None);
        assert!(!letter.subject.contains("Roastery"), "{}", letter.subject);
        for part in [
            "Merchant: Roastery Bcc: x@evil.example <b>\n",
            "Role: viewer\n",
            "Invited by: o@example.com\n",
        ] {
            assert!(letter.text.contains(part), "{part}: {}", letter.text);
        }
        assert!(letter.text.contains(&format!("Accept the invitation:\n{url}\n")));
        assert!(letter.html.contains(&format!("href=\"{url}\"")) && !letter.html.contains("<b>"));
        let stored = serde_json::to_string(&offered).unwrap();
        assert!(!stored.contains("invite"), "{stored}");
    }

    #[test]
    fn the_language_written_from_the_right_isolates_values_and_not_addresses() {
        let letter = compose(&receipt("Two cups"), Language::Arabic, None);
        assert!(letter.html.contains("<html lang=\"ar\" dir=\"rtl\">"));
        assert!(letter.subject.contains("\u{2068}12.50 USD\u{2069}"), "{}", letter.subject);
        assert!(letter.text.contains("\nhttps://pay.example/pay/pzi_1\n"), "{}", letter.text);
        let german = compose(&receipt("Two cups"), Language::German, None);
        assert!(german.html.contains("dir=\"ltr\"") && !german.text.contains('\u{2068}'));
    }

    #[test]
    fn contents_read_back_from_what_is_stored() {
        for contents in [receipt("Two cups"), reminder(-3)] {
            let stored = serde_json::to_string(&contents).unwrap();
            let read: Contents = serde_json::from_str(&stored).unwrap();
            let letters = [&contents, &read].map(|one| compose(one, Language::German, None));
            assert!(letters[0] == letters[1], "{stored}");
        }
    }
}
