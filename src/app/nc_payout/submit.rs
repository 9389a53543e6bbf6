//! Submission: signed transactions are compared with the built ones, stored in one commit, and sent
//! only afterwards.

use std::time::Duration;

use chrono::TimeDelta;
use rust_decimal::Decimal;
use uuid::Uuid;

use super::{NcPayoutError, allowed, read::locked, utxo};
use crate::{
    app::Gateway,
    asset::fiat::Fiat,
    chain::pay::Payer,
    fail_point::fail_point,
    money::BaseUnits,
    nc_payout::{
        Unsigned,
        check::check,
        lifecycle::{self, Event, Verdict},
        psbt::{self, Draft},
    },
    payout::{
        eip1559::{self, Transaction},
        limit,
    },
    storage::{
        self, StorageError,
        nc_payouts::{
            self, NcPayout, Standing, coins,
            parts::{self, Parts},
        },
    },
};

/// Time for the request to send by itself; the follower takes over if the request dies.
const LEFT_TO_THE_REQUEST: TimeDelta = TimeDelta::seconds(5);
const SEND_WITHIN: Duration = Duration::from_secs(4);
/// Constraints that refuse bytes with a nonce or an input that was submitted before.
const NONCE_ONCE: &str = "nc_payout_nonce_once";
const INPUT_ONCE: &str = "nc_payout_input_once";

/// Signed bytes that match the built transactions.
enum Checked {
    Evm(Vec<eip1559::Signed>),
    Utxo(psbt::check::Signed),
}

impl Checked {
    /// The bytes to store, each with its hash.
    fn bytes(&self) -> Vec<(Vec<u8>, String)> {
        match self {
            Self::Evm(all) => all.iter().map(|one| (one.raw.clone(), one.hash.clone())).collect(),
            Self::Utxo(one) => vec![(one.raw.clone(), one.hash.clone())],
        }
    }
}

impl Gateway {
    /// Accepts the signed transactions of a payout. The same bytes again change nothing.
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
        let arrived = Event::SignaturesArrived { known: known(&parts, signed) };
        let step = lifecycle::step(payout.state, payout.expires_at, arrived, now);
        allowed(payout.state, &step)?;
        if step.verdict == Verdict::Moved {
            let checked = checked(&parts, &payout.sender, signed)?;
            self.can_still_be_paid(&payout, &checked).await?;
            let required = self.required_at_submission(&payout, &parts).await?;
            if self.store_signed(&payout, signed, required).await? {
                self.send_now(&payout).await;
            }
        }
        self.read_nc_payout(merchant_id, payout_id).await
    }

    /// The confirmations that the payout needs: as many as a deposit of its worth, at the price of
    /// this moment. Without a fresh price it counts as large.
    async fn required_at_submission(
        &self,
        payout: &NcPayout,
        parts: &Parts,
    ) -> Result<u64, NcPayoutError> {
        let (currency, chain) = (payout.currency, self.config.chain(payout.currency.network));
        let market = self.market().await?;
        let Ok(rate) = market.fresh_rate(currency.symbol, Fiat::Usd) else {
            return Ok(chain.large_confirmations);
        };
        let amounts = parts.outputs.iter().map(|output| output.amount);
        let sum = amounts.fold(BaseUnits::ZERO, BaseUnits::saturating_add);
        let value = limit::value_usd(sum, currency.decimals, rate.price);
        let is_large = value >= Decimal::from(chain.large_amount_usd);
        Ok(if is_large { chain.large_confirmations } else { chain.confirmations })
    }

    /// Stores the bytes with the new state, before any node has them. All checks are repeated under
    /// the row lock: the payout may have been rebuilt, cancelled, or submitted by a concurrent
    /// request. `false` if the very same bytes were stored already.
    async fn store_signed(
        &self,
        payout: &NcPayout,
        signed: &[Vec<u8>],
        required: u64,
    ) -> Result<bool, NcPayoutError> {
        let mut tx = self.db.begin().await?;
        let (payout, parts) = locked(&mut tx, payout.id).await?;
        let now = storage::now(&mut tx).await?;
        let arrived = Event::SignaturesArrived { known: known(&parts, signed) };
        let step = lifecycle::step(payout.state, payout.expires_at, arrived, now);
        allowed(payout.state, &step)?;
        if step.verdict != Verdict::Moved {
            return Ok(false);
        }
        let checked = checked(&parts, &payout.sender, signed)?;
        let bytes = checked.bytes();
        parts::store_signed(&mut tx, payout.id, &bytes).await.map_err(taken)?;
        if let Checked::Utxo(_) = checked {
            coins::take(&mut tx, payout.id).await.map_err(taken)?;
        }
        nc_payouts::require_confirmations(&mut tx, payout.id, required).await?;
        let look_at = now + LEFT_TO_THE_REQUEST;
        let standing = Standing { state: step.state, look_at, changed: true };
        nc_payouts::set_standing(&mut tx, payout.id, standing).await?;
        fail_point("nc_payout.storing");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("nc_payout.stored");
        tracing::info!(payout.id = payout.payout_id, transactions = bytes.len(), "submitted");
        Ok(true)
    }

    /// Sends at once; a failure is only logged, because the bytes are stored and sent later.
    async fn send_now(&self, payout: &NcPayout) {
        let sending = tokio::time::timeout(SEND_WITHIN, self.follow_nc_payout(payout.id)).await;
        match sending {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(payout.id = payout.payout_id, %error, "signed transactions could not be sent yet and are sent again");
            }
            Err(_) => tracing::warn!(
                payout.id = payout.payout_id,
                "sending signed transactions timed out; they are sent again"
            ),
        }
    }

    /// Refuses bytes that every node would refuse, while nothing is stored and the merchant can
    /// still rebuild.
    async fn can_still_be_paid(
        &self,
        payout: &NcPayout,
        checked: &Checked,
    ) -> Result<(), NcPayoutError> {
        let payers = self.nc_payers(payout.currency.network)?;
        match (&payers.payer, checked) {
            (Payer::Utxo(node), Checked::Utxo(signed)) => {
                let mut connection = self.db.connection().await?;
                let inputs = coins::of_payout(&mut connection, payout.id).await?;
                drop(connection);
                utxo::check_payable(node, signed, &inputs).await
            }
            (node @ (Payer::Evm(_) | Payer::Simulated(_)), Checked::Evm(signed)) => {
                self.check_payable(node, payout, signed).await
            }
            // The network of a payout never changes, nor does the kind of node of a network.
            (Payer::Utxo(_), Checked::Evm(_))
            | (Payer::Evm(_) | Payer::Simulated(_), Checked::Utxo(_)) => {
                Err(NcPayoutError::UnsupportedNetwork)
            }
        }
    }
}

fn taken(error: StorageError) -> NcPayoutError {
    let reason = if error.is_constraint(NONCE_ONCE) {
        "another payout has submitted one of these nonces; refresh this one"
    } else if error.is_constraint(INPUT_ONCE) {
        "another payout has submitted one of these inputs; name others"
    } else {
        return error.into();
    };
    NcPayoutError::Rejected(reason.to_owned())
}

/// The submitted transactions, if they match the built ones.
fn checked(parts: &Parts, sender: &str, signed: &[Vec<u8>]) -> Result<Checked, NcPayoutError> {
    match draft(parts) {
        Some(draft) => Ok(Checked::Utxo(psbt::check::check(draft, signed)?)),
        None => Ok(Checked::Evm(check(&built(parts), sender, signed)?)),
    }
}

fn draft(parts: &Parts) -> Option<&Draft> {
    parts.transactions.iter().find_map(|one| match &one.unsigned {
        Unsigned::Utxo(draft) => Some(&**draft),
        Unsigned::Evm(_) => None,
    })
}

fn built(parts: &Parts) -> Vec<Transaction> {
    let evm = parts.transactions.iter().filter_map(|one| match &one.unsigned {
        Unsigned::Evm(transaction) => Some(transaction.clone()),
        Unsigned::Utxo(_) => None,
    });
    evm.collect()
}

/// True if exactly these bytes are stored, in any order. A PSBT stands for the transaction in it.
fn known(parts: &Parts, signed: &[Vec<u8>]) -> bool {
    let of_psbt = draft(parts).and_then(|draft| psbt::check::check(draft, signed).ok());
    let of_psbt = of_psbt.map(|signed| [signed.raw]);
    let signed = of_psbt.as_ref().map_or(signed, |raw| raw.as_slice());
    let stored = |raw: &Option<Vec<u8>>| raw.as_ref().is_some_and(|raw| signed.contains(raw));
    let transactions = &parts.transactions;
    transactions.len() == signed.len() && transactions.iter().all(|one| stored(&one.raw))
}
