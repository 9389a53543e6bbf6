//! Settling: one row for each authorization, and the wait for its block.

use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::verify::{Checked, For, UNDER_WAY, Verdict};
use crate::{
    app::Gateway,
    asset::Network,
    fail_point::fail_point,
    invoice::Status,
    storage::{
        PgConnection, StorageError, invoices,
        x402::{
            self as rows, Asking,
            settlements::{self, NewSettlement, Outcome},
        },
    },
    x402::{
        Reason, Word,
        authorization::{Authorization, spelt},
        call,
        settlement::State,
        wire::Request,
    },
};

/// Pauses between looks at the row: short at first, because many blocks come within a second.
const LOOKS: [Duration; 3] =
    [Duration::from_millis(40), Duration::from_millis(100), Duration::from_millis(250)];
const LOOKS_OF_EACH: usize = 20;

const CHANGED: &str = "the invoice was changed or has ended meanwhile; ask what it wants now";

/// The outcome of a settlement, so far.
#[derive(Debug, Clone)]
pub enum Settled {
    /// A block holds the payment.
    Done {
        payer: String,
        transaction: String,
        amount: u128,
    },
    Refused {
        reason: Reason,
        why: String,
        payer: Option<String>,
    },
}

/// The answer to one request.
#[derive(Debug, Clone)]
pub struct Answer {
    pub settled: Settled,
    /// Another request got the success: who sells by this answer has sold already.
    pub is_replay: bool,
}

impl Answer {
    const fn first(settled: Settled) -> Self {
        Self { settled, is_replay: false }
    }
}

enum Stored {
    Refused(Settled),
    Row,
}

impl Gateway {
    /// Settles a payment for a merchant, and waits for its block. Every repeat of the same
    /// authorization gets the first result; `request_key` tells repeats of one request, whose
    /// answer was lost, from replays.
    pub async fn settle_x402(
        &self,
        merchant_id: Uuid,
        request: &Request,
        request_key: Option<&str>,
    ) -> Result<Answer, StorageError> {
        self.settle_for(For::Merchant(merchant_id), request, request_key).await
    }

    pub(super) async fn settle_for(
        &self,
        asks: For,
        request: &Request,
        request_key: Option<&str>,
    ) -> Result<Answer, StorageError> {
        let started = Instant::now();
        let answer = self.settle_or_find(asks, request, request_key).await?;
        let result = match &answer.settled {
            Settled::Done { .. } => "done",
            Settled::Refused { reason, .. } => reason.as_str(),
        };
        metrics::counter!("x402_settle_answers_total", "result" => result).increment(1);
        metrics::histogram!("x402_settle_seconds").record(started.elapsed());
        Ok(answer)
    }

    async fn settle_or_find(
        &self,
        asks: For,
        request: &Request,
        request_key: Option<&str>,
    ) -> Result<Answer, StorageError> {
        // Not what is asked for, whatever it has paid for elsewhere: the checks say why.
        let is_asked_for = is_asked_for(asks, request);
        // A repeat after the end would fail the checks: its nonce is used by now.
        if is_asked_for
            && let Some(known) = self.known_settlement(asks, request, request_key).await?
        {
            return Ok(known);
        }
        let checked = match self.check_x402(asks, request, false).await? {
            Ok(checked) => checked,
            Err(Verdict::Refused { reason, why, payer }) => {
                // It may have been settled between the two looks.
                let known = if is_asked_for {
                    self.known_settlement(asks, request, request_key).await?
                } else {
                    None
                };
                let refused = || Answer::first(Settled::Refused { reason, why, payer });
                return Ok(known.unwrap_or_else(refused));
            }
            Err(Verdict::Valid { payer }) => {
                let (reason, why, payer) = (Reason::Settling, String::new(), Some(payer));
                return Ok(Answer::first(Settled::Refused { reason, why, payer }));
            }
        };
        match self.store_settlement(request, &checked).await? {
            Stored::Refused(refused) => return Ok(Answer::first(refused)),
            Stored::Row => {}
        }
        fail_point("x402.verified");
        let known = self.known_settlement(asks, request, request_key).await?;
        known.ok_or_else(|| StorageError::damaged("x402_settlement", "a stored row is not there"))
    }

    /// Stores the settlement. Another request may have stored it first.
    async fn store_settlement(
        &self,
        request: &Request,
        checked: &Checked,
    ) -> Result<Stored, StorageError> {
        let signed = &request.payment.authorization;
        let payer = spelt(&signed.from);
        let refused = |reason, why: &str| {
            let (why, payer) = (why.to_owned(), Some(payer.clone()));
            Ok(Stored::Refused(Settled::Refused { reason, why, payer }))
        };
        let merchant_id = checked.recipient.merchant_id;
        let (network, asset) = (checked.token.network, checked.token.contract.clone());
        let mut tx = self.db.begin().await?;
        let open = settlements::count_open(&mut tx, merchant_id).await?;
        if open >= i64::from(self.config.x402.open_settlements_max) {
            return refused(Reason::Settling, "too many payments wait for a block; try again");
        }
        // Payments under way are not in the balance yet: of two that it covers one at a time, the
        // second would be reverted at our expense. The same authorization is not another payment.
        let of_payer = (asset.as_str(), payer.as_str());
        let promised = settlements::promised(&mut tx, network, of_payer, &signed.nonce).await?;
        if checked.holdings.balance < promised.saturating_add(request.terms.amount) {
            return refused(
                Reason::InsufficientFunds,
                "other payments of this payer are under way",
            );
        }
        let call = call::data(signed, &request.payment.signature.bytes, checked.signer);
        let new = NewSettlement {
            id: Uuid::now_v7(),
            merchant_id,
            address_id: checked.recipient.address_id,
            network,
            asset,
            payer: payer.clone(),
            nonce: signed.nonce,
            amount: request.terms.amount,
            call_sha256: digest(signed),
            call,
            valid_before: seconds(&signed.valid_before),
        };
        if let Some(invoice) = &checked.recipient.invoice {
            let token_id = checked.token.currency.token_id();
            let asked = (invoice.id, token_id.as_str());
            if let Some(why) = untaken(&mut tx, &new, asked, &signed.to).await? {
                return refused(Reason::Requirements, why);
            }
        }
        settlements::insert(&mut tx, &new).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(Stored::Row)
    }

    /// The outcome of an authorization that has a settlement, once there is one or the time is up;
    /// `None` without a settlement.
    async fn known_settlement(
        &self,
        asks: For,
        request: &Request,
        request_key: Option<&str>,
    ) -> Result<Option<Answer>, StorageError> {
        let signed = &request.payment.authorization;
        let Some(network) = self.x402_network(request.terms.chain_id) else { return Ok(None) };
        let (asset, payer) = (spelt(&request.terms.asset), spelt(&signed.from));
        let started = Instant::now();
        let wait = Duration::from_secs(self.config.x402.settle_wait_seconds);
        let key = (network, (asset.as_str(), payer.as_str()), &signed.nonce);
        let pauses = LOOKS.into_iter().flat_map(|pause| [pause; LOOKS_OF_EACH]);
        let mut pauses = pauses.chain(std::iter::repeat(LOOKS[2]));
        loop {
            let Some(outcome) = self.outcome_of(key).await? else { return Ok(None) };
            let refused = |reason, why: &str| {
                let (why, payer) = (why.to_owned(), Some(payer.clone()));
                Ok(Some(Answer::first(Settled::Refused { reason, why, payer })))
            };
            if !is_of(&outcome, asks, signed) {
                let why = "the nonce of this authorization is used by another payment";
                return refused(Reason::Transaction, why);
            }
            if let Some(settled) = settled(&outcome)? {
                let is_replay = self.is_replay(asks, &outcome, request_key).await?;
                return Ok(Some(Answer { settled, is_replay }));
            }
            if started.elapsed() >= wait {
                let why = "no block holds the payment yet; repeat the request to get its outcome";
                return refused(Reason::Settling, why);
            }
            tokio::time::sleep(pauses.next().unwrap_or(LOOKS[2])).await;
        }
    }

    /// Returns whether another request of the seller got the success of a settlement. The first one
    /// to ask gets it, not the one that stored it: that one may have run out of time.
    async fn is_replay(
        &self,
        asks: For,
        outcome: &Outcome,
        request_key: Option<&str>,
    ) -> Result<bool, StorageError> {
        if outcome.answered_hash.is_none() || matches!(asks, For::Invoice(_)) {
            return Ok(false);
        }
        let mut connection = self.db.connection().await?;
        Ok(!settlements::tell_once(&mut connection, outcome.id, request_key).await?)
    }

    async fn outcome_of(
        &self,
        (network, of_payer, nonce): (Network, (&str, &str), &Word),
    ) -> Result<Option<Outcome>, StorageError> {
        let mut connection = self.db.connection().await?;
        settlements::of_authorization(&mut connection, network, of_payer, nonce).await
    }
}

/// Why an invoice does not take a payment after all, if so. Two at once were each checked before
/// the other was stored, and a buyer may have changed the currency or cancelled since, for which he
/// needs the invoice's row.
async fn untaken(
    tx: &mut PgConnection,
    new: &NewSettlement,
    (invoice_id, token_id): (Uuid, &str),
    pay_to: &[u8; 20],
) -> Result<Option<&'static str>, StorageError> {
    rows::lock_recipient(tx, new.address_id).await?;
    let (asset, payer) = (new.asset.as_str(), new.payer.as_str());
    let known = settlements::of_authorization(tx, new.network, (asset, payer), &new.nonce).await?;
    if known.is_some() {
        return Ok(None);
    }
    let invoice = invoices::lock(tx, invoice_id).await?;
    let is_asked_for = invoice.is_some_and(|invoice| {
        let is_open = matches!(invoice.view.status, Status::Pending | Status::Partial);
        is_open && invoice.token_id.as_deref() == Some(token_id)
    });
    if !is_asked_for {
        return Ok(Some(CHANGED));
    }
    let asking = Asking { network: new.network, asset, payer, nonce: &new.nonce };
    let found = rows::recipient(tx, &spelt(pay_to), Some(asking)).await?;
    let asked = found.recipient.and_then(|recipient| recipient.invoice);
    let is_taken = asked.is_some_and(|asked| new.amount <= asked.left());
    Ok((!is_taken).then_some(UNDER_WAY))
}

/// Returns whether the payer signed for what is asked of him. One who paid for something else has
/// not paid for this, so nothing of that payment is told here.
fn is_asked_for(asks: For, request: &Request) -> bool {
    let (signed, terms) = (&request.payment.authorization, &request.terms);
    let is_amount = match asks {
        For::Merchant(_) => signed.value == Word::from(terms.amount.get()),
        // Once it is paid, an invoice asks for less than it was paid with.
        For::Invoice(_) => true,
    };
    is_amount && signed.to == terms.pay_to
}

/// The fields that the payer signed, without the signature: a repeat may carry it in its other
/// spelling, and is the same payment.
pub(super) fn digest(signed: &Authorization) -> Vec<u8> {
    let Authorization { from, to, value, valid_after, valid_before, nonce } = signed;
    let parts: [&[u8]; 6] =
        [from, to, value.bytes(), valid_after.bytes(), valid_before.bytes(), nonce.bytes()];
    Sha256::digest(parts.concat()).to_vec()
}

/// Returns whether a row is of this very authorization and of the caller. A stranger learns nothing
/// of it.
fn is_of(outcome: &Outcome, asks: For, signed: &Authorization) -> bool {
    let is_caller = match asks {
        For::Merchant(merchant_id) => outcome.merchant_id == merchant_id,
        // The recipient is among the fields of the digest.
        For::Invoice(_) => true,
    };
    is_caller && outcome.call_sha256 == digest(signed)
}

/// The outcome in a row; `None` while it has no answer.
fn settled(outcome: &Outcome) -> Result<Option<Settled>, StorageError> {
    let payer = outcome.payer.clone();
    if let Some(transaction) = outcome.answered_hash.clone() {
        let amount = outcome.amount.get();
        return Ok(Some(Settled::Done { payer, transaction, amount }));
    }
    if outcome.state != State::Failed {
        return Ok(None);
    }
    let reason = outcome.reason.as_deref().unwrap_or_default().parse::<Reason>();
    let reason = reason.map_err(|error| StorageError::damaged("x402_settlement", error))?;
    let why = outcome.message.clone().unwrap_or_default();
    Ok(Some(Settled::Refused { reason, why, payer: Some(payer) }))
}

/// Unix seconds as a column holds them: an authorization without an end ends far away.
fn seconds(word: &Word) -> i64 {
    const FAR: i64 = 1 << 62;
    word.to_u128().and_then(|n| i64::try_from(n).ok()).map_or(FAR, |n| n.min(FAR))
}
