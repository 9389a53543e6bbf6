//! Submitting: signed transactions are compared with what was built, stored in one commit, and only then sent.

use std::time::Duration;

use chrono::TimeDelta;
use uuid::Uuid;

use super::{
    NcPayoutError, allowed,
    build::{asset_of, check_gas, contract_of},
    read::locked,
};
use crate::{
    app::Gateway,
    chain::pay::{Account, Payer, Wanted},
    fail_point::fail_point,
    money::BaseUnits,
    nc_payout::{
        check::check,
        lifecycle::{self, Event, Verdict},
    },
    payout::{
        batch::Seen,
        eip1559::{Signed, Transaction},
        transfer::{self, Asset},
    },
    storage::{
        self, StorageError,
        nc_payouts::{
            self, NcPayout, Standing,
            parts::{self, Part},
        },
    },
};

/// The request sends by itself; whoever follows takes over if it dies.
const LEFT_TO_THE_REQUEST: TimeDelta = TimeDelta::seconds(5);
const SEND_WITHIN: Duration = Duration::from_secs(4);
/// What refuses bytes whose nonce was submitted before.
const NONCE_ONCE: &str = "nc_payout_nonce_once";

impl Gateway {
    /// Takes the signed transactions of a payout. The same bytes again change nothing.
    pub async fn submit_nc_payout(
        &self,
        merchant_id: Uuid,
        payout_id: &str,
        signed: &[Vec<u8>],
    ) -> Result<String, NcPayoutError> {
        let (payout, parts) = self.nc_payout(merchant_id, payout_id).await?;
        let mut connection = self.db.connection().await?;
        let now = storage::now(&mut connection).await?;
        drop(connection);
        let arrived = Event::SignaturesArrived { known: same_bytes(&parts, signed) };
        let step = lifecycle::step(payout.state, payout.expires_at, arrived, now);
        allowed(payout.state, &step)?;
        if step.verdict == Verdict::Moved {
            let checked = check(&built(&parts), &payout.sender, signed)?;
            self.can_still_be_paid(&payout, &checked).await?;
            if self.store_signed(&payout, signed).await? {
                self.send_now(&payout).await;
            }
        }
        self.read_nc_payout(merchant_id, payout_id).await
    }

    /// Stores the bytes with the new state, before any node has them. Everything is decided again under the row's lock:
    /// the payout may have been built anew, cancelled, or submitted by a request beside this one. `false` if the very
    /// bytes were stored already.
    async fn store_signed(
        &self,
        payout: &NcPayout,
        signed: &[Vec<u8>],
    ) -> Result<bool, NcPayoutError> {
        let mut tx = self.db.begin().await?;
        let (payout, parts) = locked(&mut tx, payout.id).await?;
        let now = storage::now(&mut tx).await?;
        let arrived = Event::SignaturesArrived { known: same_bytes(&parts, signed) };
        let step = lifecycle::step(payout.state, payout.expires_at, arrived, now);
        allowed(payout.state, &step)?;
        if step.verdict != Verdict::Moved {
            return Ok(false);
        }
        let checked = check(&built(&parts), &payout.sender, signed)?;
        parts::store_signed(&mut tx, payout.id, &checked).await.map_err(|error| {
            if error.is_constraint(NONCE_ONCE) {
                let reason = "another payout has submitted one of these nonces; refresh this one";
                NcPayoutError::Rejected(reason.to_owned())
            } else {
                error.into()
            }
        })?;
        let look_at = now + LEFT_TO_THE_REQUEST;
        let standing = Standing { state: step.state, look_at, changed: true };
        nc_payouts::set_standing(&mut tx, payout.id, standing).await?;
        fail_point("nc_payout.storing");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("nc_payout.stored");
        tracing::info!(payout.id = payout.payout_id, transactions = checked.len(), "submitted");
        Ok(true)
    }

    /// What cannot be sent now is sent later: the bytes are stored.
    async fn send_now(&self, payout: &NcPayout) {
        let sending = tokio::time::timeout(SEND_WITHIN, self.follow_nc_payout(payout.id)).await;
        match sending {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(payout.id = payout.payout_id, %error, "sending waits");
            }
            Err(_) => tracing::warn!(payout.id = payout.payout_id, "sending takes long"),
        }
    }

    /// Refuses bytes that no node would take, while nothing is stored and the merchant can still build anew.
    async fn can_still_be_paid(
        &self,
        payout: &NcPayout,
        signed: &[Signed],
    ) -> Result<(), NcPayoutError> {
        let node = self.nc_node(payout.currency.network)?;
        let asset = asset_of(payout.currency)?;
        let account = node.account(&payout.sender, contract_of(asset)).await?;
        let used: Vec<_> =
            signed.iter().filter(|signed| signed.transaction.nonce < account.next_nonce).collect();
        if !used.is_empty() {
            return self.are_ours(&node, payout, &used).await;
        }
        let transactions: Vec<_> = signed.iter().map(|one| one.transaction.clone()).collect();
        check_fee(&transactions, &account)?;
        if let Asset::Token(_) = asset {
            check_tokens(&transactions, &account)?;
        }
        check_gas(&transactions, &account)
    }

    /// The merchant may have handed his transactions in himself. Any other transaction in their place ends them.
    async fn are_ours(
        &self,
        node: &Payer,
        payout: &NcPayout,
        used: &[&Signed],
    ) -> Result<(), NcPayoutError> {
        let wanted: Vec<_> = used.iter().map(|signed| wanted(signed)).collect();
        let required = self.required(payout.currency.network);
        let standings = node.standings(&wanted, required).await?;
        for (signed, standing) in used.iter().zip(&standings) {
            if matches!(standing.seen, Seen::Nowhere | Seen::Displaced) {
                let nonce = signed.transaction.nonce;
                let reason = format!(
                    "nonce {nonce} of fromAddress was used by another transaction meanwhile; refresh the payout"
                );
                return Err(NcPayoutError::Rejected(reason));
            }
        }
        Ok(())
    }
}

fn wanted(signed: &Signed) -> Wanted {
    Wanted {
        sender: signed.sender.clone(),
        nonce: signed.transaction.nonce,
        hashes: vec![signed.hash.clone()],
        raw: signed.raw.clone(),
    }
}

pub(super) fn built(parts: &[Part]) -> Vec<Transaction> {
    parts.iter().map(|part| part.transaction.clone()).collect()
}

/// Whether exactly these bytes are stored, in whatever order they came.
fn same_bytes(parts: &[Part], signed: &[Vec<u8>]) -> bool {
    let stored = |part: &Part| part.raw.as_ref().is_some_and(|raw| signed.contains(raw));
    parts.len() == signed.len() && parts.iter().all(stored)
}

/// A fee below what every block asks keeps a transaction out of all of them.
fn check_fee(transactions: &[Transaction], account: &Account) -> Result<(), NcPayoutError> {
    let base = account.base_fee;
    match transactions.iter().find(|transaction| transaction.max_fee < base) {
        None => Ok(()),
        Some(low) => Err(NcPayoutError::Rejected(format!(
            "the network asks {base} wei per gas by now, and {} were signed; refresh the payout",
            low.max_fee
        ))),
    }
}

fn check_tokens(transactions: &[Transaction], account: &Account) -> Result<(), NcPayoutError> {
    let needs = transactions.iter().try_fold(BaseUnits::ZERO, |sum, transaction| {
        let (_, output) = transfer::paid(transaction)?;
        sum.checked_add(output.amount)
    });
    let needs = needs.ok_or(NcPayoutError::TooLarge)?;
    let has = account.tokens;
    if has < needs { Err(NcPayoutError::insufficient_funds(has, needs)) } else { Ok(()) }
}
