//! Mails to buyers, to owners of merchants and to whoever is invited: written with the change that
//! causes them, sent by the role `mail-delivery`.

mod announcement;
pub mod deliver;
pub(crate) mod invitation;
mod receipt;
pub(crate) mod reminder;
pub mod requeue;
pub mod unsubscribe;

pub use announcement::MailedAnnouncement;
use uuid::Uuid;

use crate::{
    broker::{
        envelope::{self, MailRef, Turn},
        route::Route,
    },
    mail::{self, Language, compose::Contents},
    storage::mail::NewMail,
};

/// A mail whose message was not worked on for this long has lost it: longer than a slow relay keeps
/// a full queue waiting, since each such mail gets another message.
const LOST_AFTER_SECONDS: i32 = 600;
/// The route of a mail's message, and the time after which that counts as lost.
pub(crate) const QUEUE: (&str, i32) = (Route::Mail.as_str(), LOST_AFTER_SECONDS);

/// The rows that a mail refers to.
#[derive(Debug, Clone, Copy)]
struct About {
    /// With the kind and the address it is the mail's key.
    subject: Uuid,
    merchant_id: Uuid,
    /// `None` for an invitation.
    link: Option<Uuid>,
    subscription: Option<Uuid>,
    renewal_cycle: Option<u32>,
}

/// A mail, with the message of its first attempt.
fn new_mail(about: About, address: &str, language: Language, contents: &Contents) -> NewMail {
    let id = Uuid::now_v7();
    let message = envelope::encode(&MailRef::new(id, Turn { cycle: 1, attempt: 1 }));
    NewMail {
        id,
        kind: contents.kind(),
        subject: about.subject,
        recipient: mail::recipient(address),
        merchant_id: about.merchant_id,
        link: about.link,
        subscription: about.subscription,
        renewal_cycle: about.renewal_cycle,
        language,
        address: address.to_owned(),
        contents: serde_json::to_string(contents).unwrap_or_default(),
        message,
    }
}
