//! Verifying: the payment's own fields, whose address is paid, and the payer on the chain.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use uuid::Uuid;

use super::{X402Error, settle::digest, sign::usable, token::Token};
use crate::{
    app::{Gateway, payout::payers::Payers},
    asset::Network,
    chain::{
        ChainError,
        pay::{Call, Holdings},
    },
    invoice::Status,
    money::BaseUnits,
    storage::{
        StorageError,
        x402::{self as rows, Asking, Found, Known, Recipient},
    },
    x402::{
        Reason, Word,
        authorization::{Authorization, spelt},
        call,
        check::{self, Place, Signer},
        gas,
        settlement::State,
        wire::Request,
    },
};

/// Age of a chain's answer about a payer that still counts. A block changes it at any time, so
/// settling asks anew.
const KEPT_FOR: Duration = Duration::from_secs(1);
/// Answers that are kept at most; the oldest make room.
const KEPT_MAX: usize = 10_000;

/// Why an invoice takes no second payment: the first may still arrive.
pub(super) const UNDER_WAY: &str =
    "another payment of this invoice waits for a block; repeat that request to get its outcome";

/// Why a wallet without code pays nothing.
const UNDEPLOYED: &str = "there is no contract at the payer's address yet, and no payment makes one here: deploy the wallet first";
/// Why the signature of a wallet with code is none.
const NOT_SIGNED: &str = "the contract at the payer's address does not accept this signature";

/// The answer to a request.
#[derive(Debug, Clone)]
pub enum Verdict {
    Valid { payer: String },
    Refused { reason: Reason, why: String, payer: Option<String> },
}

impl Verdict {
    pub(super) fn refused(reason: Reason, why: impl Into<String>) -> Self {
        Self::Refused { reason, why: why.into(), payer: None }
    }

    fn of(self, payer: &str) -> Self {
        match self {
            Self::Refused { reason, why, .. } => {
                Self::Refused { reason, why, payer: Some(payer.to_owned()) }
            }
            valid @ Self::Valid { .. } => valid,
        }
    }
}

/// A payment that was found valid.
pub(super) struct Checked {
    pub token: std::sync::Arc<Token>,
    pub recipient: Recipient,
    pub signer: Signer,
    pub holdings: Holdings,
}

/// Whose payments may be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    Merchant(Uuid),
    /// The invoice whose page is asked; nobody is authenticated.
    Invoice(Uuid),
}

type Key = (Network, [u8; 20], Word);

#[derive(Default)]
pub(super) struct KeptHoldings(Mutex<HashMap<Key, (Instant, Holdings)>>);

impl KeptHoldings {
    fn get(&self, key: &Key) -> Option<Holdings> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(key).filter(|(at, _)| at.elapsed() < KEPT_FOR).map(|(_, holdings)| *holdings)
    }

    fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    fn note(&self, key: Key, holdings: Holdings) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.retain(|_, (at, _)| at.elapsed() < KEPT_FOR);
        }
        // A flood of payers within a second is asked about each time instead of being kept.
        if kept.len() < KEPT_MAX {
            kept.insert(key, (Instant::now(), holdings));
        }
    }
}

impl Gateway {
    /// Verifies a payment for a merchant. Nothing is stored.
    pub async fn verify_x402(
        &self,
        merchant_id: Uuid,
        request: &Request,
    ) -> Result<Verdict, StorageError> {
        let checked = self.check_x402(For::Merchant(merchant_id), request, true).await?;
        let verdict = match checked {
            Ok(_) => Verdict::Valid { payer: spelt(&request.payment.authorization.from) },
            Err(refused) => refused,
        };
        count(&verdict);
        Ok(verdict)
    }

    /// The checks in the order of their cost. `may_be_kept`: an answer of the chain that is a
    /// second old will do.
    pub(super) async fn check_x402(
        &self,
        asks: For,
        request: &Request,
        may_be_kept: bool,
    ) -> Result<Result<Checked, Verdict>, StorageError> {
        let payer = spelt(&request.payment.authorization.from);
        let checked = self.check_parts(asks, request, may_be_kept).await?;
        Ok(checked.map_err(|refused| refused.of(&payer)))
    }

    async fn check_parts(
        &self,
        asks: For,
        request: &Request,
        may_be_kept: bool,
    ) -> Result<Result<Checked, Verdict>, StorageError> {
        let Request { payment, terms } = request;
        let Some(network) = self.x402_network(terms.chain_id) else {
            return Ok(Err(Verdict::refused(Reason::Network, "this network is not offered")));
        };
        let token = match self.x402_token(network).await {
            Ok(token) => token,
            Err(X402Error::Storage(error)) => return Err(error),
            Err(error) => return Ok(Err(unavailable(&error))),
        };
        let minimum = self.x402_minimum(&token).await?;
        let signed = &payment.authorization;
        let (pay_to, payer) = (spelt(&terms.pay_to), spelt(&signed.from));
        let (asset, nonce) = (token.contract.as_str(), &signed.nonce);
        let asking = Asking { network, asset, payer: &payer, nonce };
        let mut connection = self.db.connection().await?;
        let found = rows::recipient(&mut connection, &pay_to, Some(asking)).await?;
        drop(connection);
        let Found { now, recipient, known, reverted } = found;
        let place = Place {
            domain: &token.domain,
            minimum,
            now,
            seconds_left_min: check::seconds_left_min(network),
        };
        let signer = match check::check(payment, terms, &place) {
            Ok(signer) => signer,
            Err(reason) => {
                return Ok(Err(Verdict::refused(reason, why(reason, &token, minimum, request))));
            }
        };
        let recipient = match owner(recipient, asks, &token, request) {
            Ok(recipient) => recipient,
            Err(refused) => return Ok(Err(refused)),
        };
        if let Some(why) = known.and_then(|known| used(&known, &recipient, signed)) {
            return Ok(Err(Verdict::refused(Reason::Transaction, why)));
        }
        match self.payer_of(&token, request, signer, may_be_kept).await {
            Ok(Ok((_, Signer::Contract))) if gas::is_too_often_reverted(reverted) => {
                Ok(Err(Verdict::refused(Reason::Transaction, gas::TOO_OFTEN_REVERTED)))
            }
            Ok(Ok((holdings, signer))) => Ok(Ok(Checked { token, recipient, signer, holdings })),
            Ok(Err(refused)) => Ok(Err(refused)),
            Err(X402Error::Storage(error)) => Err(error),
            Err(error) => Ok(Err(unavailable(&error))),
        }
    }

    /// The payer on the chain: his balance, his nonce, and his contract's word, if he has one.
    /// What is about to be settled is tried once, because the token may refuse it for reasons of
    /// its own: it is paused, or one of the two is on its list.
    async fn payer_of(
        &self,
        token: &Token,
        request: &Request,
        signer: Signer,
        may_be_kept: bool,
    ) -> Result<Result<(Holdings, Signer), Verdict>, X402Error> {
        let signed = &request.payment.authorization;
        let payers = self.x402_payers(token.network)?;
        let node = payers.payer.evm().ok_or(X402Error::NotOffered)?;
        let key = (token.network, signed.from, signed.nonce);
        let kept = self.x402.holdings.get(&key).filter(|_| may_be_kept);
        let holdings = match kept {
            Some(holdings) => holdings,
            None => {
                let told = node.holdings(&token.domain.token, &signed.from, &signed.nonce).await?;
                if may_be_kept {
                    self.x402.holdings.note(key, told);
                } else {
                    // It is about to be used, so what was kept holds no longer.
                    self.x402.holdings.forget(&key);
                }
                told
            }
        };
        // The token asks the code at the payer's address and not his key, whichever signed.
        let signer = match (signer, holdings.has_code) {
            (Signer::Contract, false) if request.payment.signature.is_wrapped => {
                return Ok(Err(Verdict::refused(Reason::Undeployed, UNDEPLOYED)));
            }
            (Signer::Contract, false) => return Ok(Err(Verdict::refused(Reason::Signature, ""))),
            (Signer::Key | Signer::Contract, true) => Signer::Contract,
            (Signer::Key, false) => Signer::Key,
        };
        if holdings.is_used {
            let why = "the nonce of this authorization is used";
            return Ok(Err(Verdict::refused(Reason::Transaction, why)));
        }
        if holdings.balance < request.terms.amount {
            return Ok(Err(Verdict::refused(Reason::InsufficientFunds, "")));
        }
        if (signer == Signer::Contract || !may_be_kept)
            && let Some(refused) = self.tried(token, request, signer, &payers).await?
        {
            return Ok(Err(refused));
        }
        Ok(Ok((holdings, signer)))
    }

    /// Why the token's call would not be carried out as things are, if so. Of a contract's payment
    /// the payer learns whether the contract refuses it or the token does.
    async fn tried(
        &self,
        token: &Token,
        request: &Request,
        signer: Signer,
        payers: &Payers,
    ) -> Result<Option<Verdict>, X402Error> {
        let (signed, signature) =
            (&request.payment.authorization, &request.payment.signature.bytes);
        let to = token.domain.token;
        let ask = Call { to, value: 0, data: call::data(signed, signature, signer) };
        let sender = self.x402_gas_address().unwrap_or_else(|| spelt(&signed.to));
        let work = payers.gas(&sender, &[ask]).await?.into_iter().next();
        let why = match work.map(usable) {
            Some(Err(why)) => why,
            Some(Ok(gas)) if signer == Signer::Contract => {
                // What asking the contract takes is ours to pay, so it may ask for no more than is
                // paid.
                let least = self.x402_minimum_of(token, gas).await?;
                let is_worth = request.terms.amount >= least;
                return Ok((!is_worth).then(|| below(least)));
            }
            Some(Ok(_)) | None => return Ok(None),
        };
        if signer == Signer::Contract {
            let node = payers.payer.evm().ok_or(X402Error::NotOffered)?;
            let digest = token.domain.digest(signed);
            if !node.contract_signed(&to, &signed.from, (&digest, signature)).await? {
                return Ok(Some(Verdict::refused(Reason::Signature, NOT_SIGNED)));
            }
        }
        Ok(Some(Verdict::refused(Reason::Transaction, why)))
    }
}

/// The owner of `payTo`, if he is the one who asks and the payment is one that he wants.
fn owner(
    recipient: Option<Recipient>,
    asks: For,
    token: &Token,
    request: &Request,
) -> Result<Recipient, Verdict> {
    let stranger = || {
        let why = "payTo is no address of this merchant: take it from a resource or an invoice";
        Verdict::refused(Reason::Recipient, why)
    };
    let recipient = recipient.ok_or_else(stranger)?;
    let is_asked = match asks {
        For::Merchant(merchant_id) => recipient.merchant_id == merchant_id,
        For::Invoice(id) => recipient.invoice.as_ref().is_some_and(|invoice| invoice.id == id),
    };
    if !is_asked {
        return Err(stranger());
    }
    let refused = |why: &str| Err(Verdict::refused(Reason::Requirements, why));
    if recipient.is_suspended {
        return refused("the merchant takes no payments at present");
    }
    if let Some(invoice) = &recipient.invoice {
        let is_open = matches!(invoice.status, Status::Pending | Status::Partial);
        if !is_open || invoice.seconds_left <= 0 {
            return refused("the invoice takes no payments any more");
        }
        if invoice.token_id.as_deref() != Some(token.currency.token_id().as_str()) {
            return refused("the invoice is to be paid in another currency");
        }
        if request.terms.amount > invoice.remaining {
            return refused("the amount is more than the invoice asks for");
        }
        if request.terms.amount > invoice.left() {
            return refused(UNDER_WAY);
        }
    }
    let is_named = |names: &Vec<String>| names.iter().any(|name| name == token.network.name());
    if recipient.networks.as_ref().is_some_and(|names| !is_named(names)) {
        return refused("the resource is not sold on this network");
    }
    Ok(recipient)
}

/// Why an authorization that has a settlement pays for nothing more. One that is on its way for the
/// same payment is still valid: its repeats get the same outcome.
fn used(known: &Known, recipient: &Recipient, signed: &Authorization) -> Option<&'static str> {
    if known.merchant_id != recipient.merchant_id || known.call_sha256 != digest(signed) {
        return Some("the nonce of this authorization is used by another payment");
    }
    match known.state {
        State::Failed => Some("this authorization could not be settled; sign another"),
        State::Settled => Some("this authorization has paid already"),
        State::Verified | State::Submitted => {
            known.is_answered.then_some("this authorization has paid already")
        }
    }
}

fn why(reason: Reason, token: &Token, minimum: BaseUnits, request: &Request) -> String {
    if reason != Reason::Requirements {
        return String::new();
    }
    if request.terms.asset == token.domain.token && request.terms.amount < minimum {
        return too_little(minimum);
    }
    format!(
        "asset must be {} and amount at least {} base units, as the payer accepted them",
        token.contract,
        minimum.get()
    )
}

fn too_little(minimum: BaseUnits) -> String {
    let minimum = minimum.get();
    format!(
        "the amount is below the minimum, {minimum} base units: settling costs as much at present"
    )
}

fn below(least: BaseUnits) -> Verdict {
    let why = format!("{}, by a contract's signature", too_little(least));
    Verdict::refused(Reason::Requirements, why)
}

/// The chain could not be asked. Its words may name our node, so they are logged and not told.
pub(super) fn unavailable(error: &X402Error) -> Verdict {
    let is_ours = matches!(error, X402Error::Chain(ChainError::Refused { .. }));
    tracing::warn!(%error, is_ours, "a payment of a program cannot be verified");
    Verdict::refused(Reason::Verifying, "the network cannot be asked at the moment; try again")
}

fn count(verdict: &Verdict) {
    let result = match verdict {
        Verdict::Valid { .. } => "valid",
        Verdict::Refused { reason, .. } => reason.as_str(),
    };
    metrics::counter!("x402_verified_total", "result" => result).increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authorization() -> Authorization {
        Authorization {
            from: [1; 20],
            to: [2; 20],
            value: 10_000_u64.into(),
            valid_after: 0_u64.into(),
            valid_before: 9_u64.into(),
            nonce: 7_u64.into(),
        }
    }

    /// Whether it pays for nothing more, after a settlement that `change` makes of one under way.
    fn is_used(change: impl Fn(&mut Known)) -> bool {
        let merchant_id = Uuid::from_u128(1);
        let (address_id, signed) = (Uuid::from_u128(2), authorization());
        let recipient = Recipient {
            address_id,
            merchant_id,
            is_suspended: false,
            invoice: None,
            networks: None,
        };
        let call_sha256 = digest(&signed);
        let mut known =
            Known { merchant_id, call_sha256, state: State::Verified, is_answered: false };
        change(&mut known);
        used(&known, &recipient, &signed).is_some()
    }

    #[test]
    fn an_authorization_with_a_settlement_is_valid_only_while_it_is_on_its_way_for_the_same() {
        assert!(!is_used(|_| ()));
        assert!(!is_used(|known| known.state = State::Submitted));
        assert!(is_used(|known| known.is_answered = true));
        assert!(is_used(|known| known.state = State::Settled));
        assert!(is_used(|known| known.state = State::Failed));
        assert!(is_used(|known| known.merchant_id = Uuid::from_u128(3)));
        let other = Authorization { value: 10_001_u64.into(), ..authorization() };
        assert!(is_used(|known| known.call_sha256 = digest(&other)));
    }
}
