//! Verifying: the payment's own fields, whose address is paid, and the payer on the chain.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use uuid::Uuid;

use super::{X402Error, token::Token};
use crate::{
    app::Gateway,
    asset::Network,
    chain::{
        ChainError,
        pay::{Call, Holdings, Work},
    },
    invoice::Status,
    storage::{
        StorageError,
        x402::{self as rows, Recipient},
    },
    x402::{
        Reason, Word,
        authorization::spelt,
        call,
        check::{self, Place, Signer},
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
        let mut connection = self.db.connection().await?;
        let signed = &payment.authorization;
        let (pay_to, payer) = (spelt(&terms.pay_to), spelt(&signed.from));
        let asking = Some((payer.as_str(), &signed.nonce));
        let (now, recipient) = rows::recipient(&mut connection, &pay_to, asking).await?;
        drop(connection);
        let place = Place {
            domain: &token.domain,
            minimum: token.minimum,
            now,
            seconds_left_min: check::seconds_left_min(network),
        };
        let signer = match check::check(payment, terms, &place) {
            Ok(signer) => signer,
            Err(reason) => return Ok(Err(Verdict::refused(reason, why(reason, &token)))),
        };
        let recipient = match owner(recipient, asks, &token, request) {
            Ok(recipient) => recipient,
            Err(refused) => return Ok(Err(refused)),
        };
        match self.payer_of(&token, request, signer, may_be_kept).await {
            Ok(Ok(holdings)) => Ok(Ok(Checked { token, recipient, signer, holdings })),
            Ok(Err(refused)) => Ok(Err(refused)),
            Err(X402Error::Storage(error)) => Err(error),
            Err(error) => Ok(Err(unavailable(&error))),
        }
    }

    /// The payer on the chain: his balance, his nonce, and, if no key signed, his contract's word.
    async fn payer_of(
        &self,
        token: &Token,
        request: &Request,
        signer: Signer,
        may_be_kept: bool,
    ) -> Result<Result<Holdings, Verdict>, X402Error> {
        let signed = &request.payment.authorization;
        let payers = self.x402_payers(token.network)?;
        let node = payers.payer.evm().ok_or(X402Error::NotOffered)?;
        if signer == Signer::Contract && !node.has_code(&signed.from).await? {
            return Ok(Err(Verdict::refused(Reason::Signature, "")));
        }
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
        if holdings.is_used {
            let why = "the nonce of this authorization is used";
            return Ok(Err(Verdict::refused(Reason::Transaction, why)));
        }
        if holdings.balance < request.terms.amount {
            return Ok(Err(Verdict::refused(Reason::InsufficientFunds, "")));
        }
        if signer == Signer::Contract {
            let data = call::data(signed, &request.payment.signature, signer);
            let ask = Call { to: token.domain.token, value: 0, data };
            let sender = self.x402_gas_address().unwrap_or_else(|| spelt(&signed.to));
            if let [Work::Refused(why)] = payers.gas(&sender, &[ask]).await?.as_slice() {
                return Ok(Err(Verdict::refused(Reason::Signature, why.as_str())));
            }
        }
        Ok(Ok(holdings))
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

fn why(reason: Reason, token: &Token) -> String {
    if reason != Reason::Requirements {
        return String::new();
    }
    format!(
        "asset must be {} and amount at least {} base units, as the payer accepted them",
        token.contract,
        token.minimum.get()
    )
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
