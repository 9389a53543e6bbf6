//! The mail of an invitation to a merchant's team.

use uuid::Uuid;

use super::{About, new_mail};
use crate::{
    account::Role,
    mail::{
        Language,
        compose::{Contents, Invitation},
    },
    merchant::secret::KeyRing,
    storage::mail::NewMail,
};

/// An invitation that is to be mailed.
pub(crate) struct Invited<'a> {
    /// The membership on offer.
    pub membership_id: Uuid,
    pub merchant_id: Uuid,
    pub merchant: &'a str,
    pub role: Role,
    /// The account that invites.
    pub by: &'a str,
    pub url: &'a str,
}

/// Its address is sealed: until it was sent, whoever reads the row or a backup of it could accept
/// it in the place of the invited. In English, as the dashboard is.
pub(crate) fn invitation(keys: &KeyRing, invited: &Invited<'_>, address: &str) -> NewMail {
    let sealed = keys.seal_invitation(invited.membership_id, invited.url);
    let contents = Contents::Invitation(Invitation {
        merchant: invited.merchant.to_owned(),
        role: invited.role.to_string(),
        by: invited.by.to_owned(),
        sealed_url: hex::encode(sealed),
        url: String::new(),
    });
    let about = About {
        subject: invited.membership_id,
        merchant_id: invited.merchant_id,
        link: None,
        subscription: None,
        renewal_cycle: None,
    };
    new_mail(about, address, Language::English, &contents)
}
