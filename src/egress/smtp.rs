//! Client of the operator's mail relay. It builds messages and hands them over by SMTP; what a mail
//! says, and when it is tried again, belongs to its callers.
//!
//! No error here holds the relay's words, which repeat addresses.

use std::{io, path::PathBuf, time::Duration};

use chrono::{DateTime, Utc};
use lettre::{
    Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    message::{
        Mailbox, MultiPart,
        header::{HeaderName, HeaderValue},
    },
    transport::smtp::{
        self, PoolConfig,
        authentication::Credentials,
        client::{Certificate, CertificateStore, Tls, TlsParameters},
        extension::ClientId,
    },
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use thiserror::Error;

/// Mails that one process hands over at once.
pub const CONNECTIONS_MAX: u16 = 8;
/// Limit of the whole attempt. RFC 5321 lets a server take ten minutes after the data; a relay of
/// one's own that takes longer than this is tried again later.
pub const ATTEMPT_MAX: Duration = Duration::from_secs(20);
const COMMAND_MAX: Duration = Duration::from_secs(15);

/// Encryption of the connection to the relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// From the first byte, usually on port 465.
    Tls,
    /// By STARTTLS, which is demanded, usually on port 587.
    StartTls,
    None,
}

/// The relay, and who the mails are from.
pub struct RelaySettings {
    pub host: String,
    pub port: u16,
    pub security: Security,
    /// `name@example.com` or `Name <name@example.com>`.
    pub from: String,
    pub credentials: Option<(String, SecretString)>,
    /// The certificates of the only authorities that are trusted; the system's if there is none.
    pub ca_file: Option<PathBuf>,
}

/// Reason why the settings make no client.
#[derive(Debug, Error)]
pub enum RelayError {
    #[error("mail.from must be an address such as Shop <receipts@example.com>")]
    Sender,
    #[error("the certificates of mail.ca_file cannot be used: {0}")]
    Authority(String),
    #[error("the connection to mail.server cannot be encrypted")]
    Tls(#[source] smtp::Error),
}

/// A mail, as it is handed over.
pub struct Outgoing<'a> {
    /// The part of its `Message-ID` before the host, the same in every attempt.
    pub id: &'a str,
    pub to: &'a str,
    pub date: DateTime<Utc>,
    pub subject: &'a str,
    pub text: String,
    pub html: String,
    /// The address that stops such mails with one click (RFC 8058).
    pub unsubscribe: Option<&'a str>,
}

/// Reason why the relay did not take a mail. The display text holds no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SmtpError {
    #[error("it cannot be written as a message")]
    Unwritable,
    #[error("the relay answered {0}")]
    Refused(u16),
    /// Its answer says that the mailbox does not exist or takes no mail (RFC 3463). A code alone
    /// does not: 550 is also the answer to a sender that the relay does not know.
    #[error("the relay answered {0}, there is no such mailbox")]
    NoMailbox(u16),
    #[error("the relay gave no answer in time")]
    TimedOut,
    #[error("the relay could not be reached, or the connection broke")]
    NoAnswer,
}

/// A client. Each mail has a connection of its own: one on which an answer is outstanding, as after
/// [`ATTEMPT_MAX`], would give that answer to the next mail.
pub struct Relay {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

/// The sender of all mails.
pub fn sender(text: &str) -> Result<(), RelayError> {
    mailbox(text).map(|_| ())
}

fn mailbox(text: &str) -> Result<Mailbox, RelayError> {
    if text.chars().any(char::is_control) {
        return Err(RelayError::Sender);
    }
    text.parse().map_err(|_| RelayError::Sender)
}

impl Relay {
    /// A client; it connects with the first mail. To be called within a runtime.
    pub fn new(settings: &RelaySettings) -> Result<Self, RelayError> {
        let from = mailbox(&settings.from)?;
        let tls = match settings.security {
            Security::Tls => Tls::Wrapper(parameters(settings)?),
            Security::StartTls => Tls::Required(parameters(settings)?),
            Security::None => Tls::None,
        };
        let pool = PoolConfig::new().max_size(0);
        let mut builder =
            AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(settings.host.as_str())
                .port(settings.port)
                .tls(tls)
                .timeout(Some(COMMAND_MAX))
                .hello_name(ClientId::Domain(from.email.domain().to_owned()))
                .pool_config(pool);
        if let Some((user, password)) = &settings.credentials {
            let password = password.expose_secret().to_owned();
            builder = builder.credentials(Credentials::new(user.clone(), password));
        }
        Ok(Self { transport: builder.build(), from })
    }

    /// Hands a mail over. `Ok` means that the relay has taken it. After [`SmtpError::TimedOut`] and
    /// [`SmtpError::NoAnswer`] it may have it too: its answer can be lost.
    pub async fn send(&self, mail: Outgoing<'_>) -> Result<(), SmtpError> {
        let message = self.message(mail).ok_or(SmtpError::Unwritable)?;
        match tokio::time::timeout(ATTEMPT_MAX, self.transport.send(message)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(fault(&error)),
            Err(_) => Err(SmtpError::TimedOut),
        }
    }

    /// `None` if it cannot be written. Line ends in a header's value would begin another header.
    fn message(&self, mail: Outgoing<'_>) -> Option<Message> {
        let unsubscribe = mail.unsubscribe.unwrap_or_default();
        let headers = [mail.id, mail.to, mail.subject, unsubscribe];
        if headers.iter().any(|text| text.chars().any(char::is_control)) {
            return None;
        }
        let to = Mailbox::new(None, mail.to.parse::<Address>().ok()?);
        let host = self.from.email.domain();
        let builder = Message::builder()
            .from(self.from.clone())
            .to(to)
            .subject(mail.subject)
            .message_id(Some(format!("<{}@{host}>", mail.id)))
            .date(mail.date.into());
        let body = MultiPart::alternative_plain_html(mail.text, mail.html);
        let mut message = builder.multipart(body).ok()?;
        let mut add = |name, value: String| {
            let name = HeaderName::new_from_ascii_str(name);
            let value = HeaderValue::dangerous_new_pre_encoded(name, value.clone(), value);
            message.headers_mut().insert_raw(value);
        };
        // Programs do not answer it (RFC 3834).
        add("Auto-Submitted", "auto-generated".to_owned());
        if !unsubscribe.is_empty() {
            add("List-Unsubscribe", format!("<{unsubscribe}>"));
            add("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned());
        }
        Some(message)
    }
}

fn parameters(settings: &RelaySettings) -> Result<TlsParameters, RelayError> {
    let mut builder = TlsParameters::builder(settings.host.clone());
    if let Some(path) = &settings.ca_file {
        let unusable = |error: &dyn std::fmt::Display| RelayError::Authority(error.to_string());
        let pem = std::fs::read(path).map_err(|error: io::Error| unusable(&error))?;
        let certificate = Certificate::from_pem(&pem).map_err(|error| unusable(&error))?;
        builder =
            builder.certificate_store(CertificateStore::None).add_root_certificate(certificate);
    }
    builder.build_rustls().map_err(RelayError::Tls)
}

fn fault(error: &smtp::Error) -> SmtpError {
    match error.status() {
        Some(code) if names_mailbox(error) => SmtpError::NoMailbox(code.into()),
        Some(code) => SmtpError::Refused(code.into()),
        None if error.is_timeout() => SmtpError::TimedOut,
        None => SmtpError::NoAnswer,
    }
}

/// Returns true if the answer has one of the enhanced status codes of RFC 3463 that are about the
/// recipient's mailbox. Of the answer's text nothing else is looked at.
fn names_mailbox(error: &smtp::Error) -> bool {
    let said = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    let codes = ["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"];
    said.split_ascii_whitespace().next().is_some_and(|first| codes.contains(&first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(from: &str) -> RelaySettings {
        RelaySettings {
            host: "127.0.0.1".to_owned(),
            port: 25,
            security: Security::None,
            from: from.to_owned(),
            credentials: None,
            ca_file: None,
        }
    }

    fn outgoing(subject: &str) -> Outgoing<'_> {
        Outgoing {
            id: "0195",
            to: "ada@example.com",
            date: DateTime::UNIX_EPOCH,
            subject,
            text: "plain".to_owned(),
            html: "<p>html</p>".to_owned(),
            unsubscribe: Some("https://pay.example/unsubscribe/pzu_1"),
        }
    }

    #[tokio::test]
    async fn a_message_has_an_id_of_its_own_and_one_click_unsubscription() {
        let relay = Relay::new(&settings("Shop <receipts@shop.example>")).unwrap();
        let message = relay.message(outgoing("Receipt for 10 USD")).unwrap();
        let raw = String::from_utf8(message.formatted()).unwrap();
        for line in [
            "From: Shop <receipts@shop.example>",
            "To: ada@example.com",
            "Message-ID: <0195@shop.example>",
            "Subject: Receipt for 10 USD",
            "Auto-Submitted: auto-generated",
            "List-Unsubscribe: <https://pay.example/unsubscribe/pzu_1>",
            "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
        ] {
            assert!(raw.contains(&format!("{line}\r\n")), "{line}: {raw}");
        }
        assert!(raw.contains("multipart/alternative"), "{raw}");
    }

    #[tokio::test]
    async fn a_line_end_in_a_header_makes_no_message() {
        let relay = Relay::new(&settings("receipts@shop.example")).unwrap();
        for subject in ["a\r\nBcc: x@evil.example", "a\nb", "a\rb", "a\0b"] {
            assert!(relay.message(outgoing(subject)).is_none(), "{subject:?}");
        }
        let to = Outgoing { to: "ada@example.com\r\nBcc: x@evil.example", ..outgoing("a") };
        assert!(relay.message(to).is_none());
        let url = Outgoing { unsubscribe: Some("https://x\r\nBcc: y@z"), ..outgoing("a") };
        assert!(relay.message(url).is_none());
    }

    #[test]
    fn the_sender_is_one_address() {
        for right in ["receipts@shop.example", "Shop <receipts@shop.example>"] {
            assert!(sender(right).is_ok(), "{right}");
        }
        for wrong in ["", "shop", "a@x, b@y", "Shop <a@x>\r\nBcc: b@y"] {
            assert!(sender(wrong).is_err(), "{wrong:?}");
        }
    }
}
