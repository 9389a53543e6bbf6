//! Authentication of a request.

use secrecy::ExposeSecret;

use super::LegacyError;
use crate::{
    app::Gateway,
    legacy::{Refusal, keys, sign},
    storage::{
        StorageError,
        access::{self, Caller},
        legacy_keys,
    },
};

/// The credentials of a request, and the bytes that are signed.
pub struct Signed<'a> {
    pub public_key: &'a str,
    /// The header's value, if there is one.
    pub signature: Option<&'a str>,
    /// As it was sent; `None` if the request has none.
    pub nonce: Option<&'a str>,
    pub body: &'a [u8],
}

/// The merchant of a request, and the permission of its key.
#[derive(Debug, Clone)]
pub struct LegacyCaller {
    pub caller: Caller,
    pub may_withdraw: bool,
}

impl Gateway {
    /// Finds the merchant of a request and takes one request from the budget that `/v1` has too.
    ///
    /// The signature is checked before the budget: a stranger who knows a public key uses up
    /// none of the merchant's requests. So is the nonce, where there is one: a request that was
    /// recorded and is sent again does nothing and costs nothing.
    pub async fn admit_legacy(&self, request: &Signed<'_>) -> Result<LegacyCaller, LegacyError> {
        if !keys::is_public_key(request.public_key) {
            return Err(Refusal::PublicKey.into());
        }
        let mut connection = self.db.connection().await?;
        let key = legacy_keys::by_public_key(&mut connection, request.public_key).await?;
        let key = key.ok_or(Refusal::PublicKey)?;
        let signature = request.signature.ok_or(Refusal::NoSignature)?;
        let opened = self.master_keys.open_legacy_key(key.merchant_id, &key.sealed);
        let (private_key, _) =
            opened.map_err(|error| StorageError::damaged("legacy_key", error))?;
        if !sign::is_signature(private_key.expose_secret(), request.body, signature) {
            return Err(Refusal::Signature.into());
        }
        let caller = access::caller(&mut connection, key.merchant_id).await?;
        let caller = caller.ok_or(Refusal::PublicKey)?;
        if caller.suspended {
            return Err(Refusal::Suspended.into());
        }
        if let Some(nonce) = request.nonce {
            let nonce = nonce.parse::<i64>().ok().filter(|nonce| *nonce > 0);
            let nonce = nonce.ok_or(Refusal::Nonce)?;
            if !legacy_keys::take_nonce(&mut connection, request.public_key, nonce).await? {
                return Err(Refusal::Nonce.into());
            }
        }
        drop(connection);
        if self.take_request(caller.merchant_id).await? {
            Ok(LegacyCaller { caller, may_withdraw: key.may_withdraw })
        } else {
            Err(Refusal::TooManyRequests.into())
        }
    }
}
