//! Accepting deposits that came back, by signed-in accounts: large ones take two of them.

use rust_decimal::Decimal;
use sha2::{Digest, Sha256};

use super::{
    accept::{AcceptDepositError, AcceptedDeposit},
    explain::{Told, TransactionStory, Verdict},
};
use crate::app::Gateway;
use crate::{
    asset::{Network, fiat::Fiat},
    invoice::quote,
    money::BaseUnits,
    storage::{PgConnection, StorageError, accounts::team, audit, deposits::returned, rates},
};

/// The audit name of an acceptance that waits for a second account.
const PROPOSED: (&str, &str) = ("deposit", "accept-proposed");

#[derive(Debug, thiserror::Error)]
pub enum AcceptTogetherError {
    #[error(
        "this transaction is not what the page showed; look at it as it is now, and decide again"
    )]
    ChangedMeanwhile,
    #[error(
        "this account may not be one of the two: another account let it in after the deposit was booked, or its role has changed"
    )]
    LetInMeanwhile,
    #[error(transparent)]
    Accept(#[from] AcceptDepositError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The result of one account's word.
#[derive(Debug, Clone)]
pub struct AcceptedTogether {
    pub accepted: u32,
    /// How many other accounts must accept the same.
    pub people_missing: u32,
}

/// A digest of the returned transfers of a transaction: keys, receivers and amounts.
pub fn digest(story: &TransactionStory) -> String {
    let mut text = format!("{}\n{}\n{:?}", story.network, story.tx_hash, story.place);
    for told in transfers(story) {
        text = format!("{text}\n{} {} {}", told.key, told.to, told.amount_text);
    }
    hex::encode(Sha256::digest(text))
}

fn transfers(story: &TransactionStory) -> impl Iterator<Item = &Told> {
    story.transfers.iter().filter(|told| told.verdict == Verdict::Returned)
}

impl Gateway {
    /// Returns whether the returned transfers of a transaction are together worth more than one
    /// account decides about. A token without a price is.
    pub async fn takes_two_to_accept(
        &self,
        story: &TransactionStory,
    ) -> Result<bool, StorageError> {
        let limit = self.config.payouts.two_people_above_usd;
        if limit == 0 {
            return Ok(false);
        }
        let mut connection = self.db.connection().await?;
        let mut left = Decimal::from(limit);
        for told in transfers(story) {
            let (Some(currency), Ok(units)) = (told.currency, told.amount_text.parse::<u128>())
            else {
                return Ok(true);
            };
            let price =
                rates::last_price(&mut connection, currency.symbol, Fiat::Usd.code()).await?;
            let Some(price) = price else { return Ok(true) };
            let units = BaseUnits::new(units);
            if quote::amount_meets_minimum(units, currency.decimals, price, left).unwrap_or(true) {
                return Ok(true);
            }
            left -= crate::payout::limit::value_usd(units, currency.decimals, price);
            if left <= Decimal::ZERO {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Accepts the returned deposits of a transaction that was seen as the digest `seen` names it.
    /// Above the limit of two people the first account's word is noted for a day, and the second
    /// one's, of the same content, accepts them.
    pub async fn accept_deposit_together(
        &self,
        (network, tx_hash, height): (Network, &str, Option<u64>),
        seen: &str,
        (by, reason): (&str, &str),
    ) -> Result<AcceptedTogether, AcceptTogetherError> {
        let story = self.explain_transaction(network, tx_hash, height).await;
        let story = story.map_err(AcceptDepositError::from)?;
        if digest(&story) != seen {
            return Err(AcceptTogetherError::ChangedMeanwhile);
        }
        if self.takes_two_to_accept(&story).await? {
            let mut tx = self.db.begin().await?;
            let is_second = is_second_word(&mut tx, &story, seen, by).await?;
            tx.commit().await.map_err(StorageError::from)?;
            if !is_second {
                return Ok(AcceptedTogether { accepted: 0, people_missing: 1 });
            }
        }
        let done = self.accept_deposit(network, tx_hash, height, Some((by, reason))).await?;
        let AcceptedDeposit { accepted, .. } = done;
        Ok(AcceptedTogether { accepted, people_missing: 0 })
    }
}

/// Returns whether another account has said the same; notes the word of this one if none has.
async fn is_second_word(
    connection: &mut PgConnection,
    story: &TransactionStory,
    seen: &str,
    by: &str,
) -> Result<bool, AcceptTogetherError> {
    let subject = format!("{} {}", story.network, story.tx_hash);
    let keys: Vec<_> = transfers(story).map(|told| told.key.clone()).collect();
    audit::lock(connection, PROPOSED, &subject).await?;
    let since = returned::booked_at(connection, story.network, &keys).await?;
    if !team::may_decide(connection, by, since).await? {
        return Err(AcceptTogetherError::LetInMeanwhile);
    }
    let word = (by, seen);
    if audit::was_said_by_another_account(connection, PROPOSED, &subject, word, since).await? {
        return Ok(true);
    }
    audit::note(connection, PROPOSED, &subject, by, seen).await?;
    Ok(false)
}
