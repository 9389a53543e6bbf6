//! The end of a settlement by an operator: its transaction is final and used the payer's nonce, and
//! nothing shows that it moved the money.
//!
//! An operator's word alone never ends one. Where any node of the network shows the payment, or the
//! balance of its address grew, or a deposit of it is known, it stays open.

use uuid::Uuid;

use super::{
    X402Error,
    follow::{UNEXPLAINED, alert_of_lost, book_gas, wanted},
    sign::{GAS_LIMIT, TABLE},
    token::Token,
};
use crate::{
    app::{Gateway, payout::payers::Payers},
    asset::Network,
    chain::{
        ChainError,
        pay::{Mined, Standing},
    },
    money::BaseUnits,
    payout::{batch::Seen, transfer::address_bytes},
    storage::{
        StorageError, alerts, audit,
        x402::{
            following::{self, End, OpenSettlement},
            operating,
        },
    },
    x402::{
        Reason,
        settlement::{Event, after},
    },
};

const WHY: &str = "the chain shows no payment; sign another authorization";

/// A settlement whose payment nothing shows.
#[derive(Debug, Clone)]
pub struct Unshown {
    pub id: Uuid,
    pub network: Network,
    pub payer: String,
    pub pay_to: String,
    pub amount: BaseUnits,
    pub tx_hash: String,
    pub height: u64,
    /// The balance of its address did not grow in that block; false if no node knows any more.
    pub is_compared: bool,
    /// It was answered as settled once, so its seller may have delivered.
    pub was_answered: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum GiveUpError {
    #[error("{0} is no settlement, or one that has ended; gatewayctl find {0} says what it is")]
    NotOpen(Uuid),
    #[error("nothing is signed for it; it fails by itself after ten minutes at most")]
    NotSigned,
    #[error("no block holds its transaction; the role x402-settlement sends it again")]
    InNoBlock,
    #[error(
        "{hash} in block {height} lacks confirmations, or another node of the network does not \
         confirm what the first shows: ask again in some blocks"
    )]
    NotFinal { hash: String, height: u64 },
    #[error(
        "the chain shows the payment, {hash} in block {height}; the role x402-settlement ends it"
    )]
    Shown { hash: String, height: u64 },
    #[error("the chain shows that it failed; the role x402-settlement ends it")]
    EndsItself,
    #[error(
        "the balance of {pay_to} grew by {grew} base units in block {height}, so the payment arrived: have the node \
         show its log, or record the deposit with gatewayctl deposit import"
    )]
    Arrived { pay_to: String, grew: u128, height: u64 },
    #[error(
        "a deposit of {hash} is known, so the payment arrived; gatewayctl find {hash} shows it"
    )]
    Deposited { hash: String },
    #[error("it ended meanwhile; nothing was changed")]
    EndedMeanwhile,
    #[error(transparent)]
    X402(#[from] X402Error),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Finds out whether a settlement may be given up. With an operator and his reason it fails,
    /// and its gas is booked.
    pub async fn give_up_x402(
        &self,
        id: Uuid,
        sure: Option<(&str, &str)>,
    ) -> Result<Unshown, GiveUpError> {
        let mut connection = self.db.connection().await?;
        let network = operating::network_of(&mut connection, id).await?;
        let network = network.ok_or(GiveUpError::NotOpen(id))?;
        let open = following::open(&mut connection, network, i64::MAX).await?;
        drop(connection);
        let settlement = open.into_iter().find(|one| one.id == id);
        let settlement = settlement.ok_or(GiveUpError::NotOpen(id))?;
        if settlement.versions.is_empty() {
            return Err(GiveUpError::NotSigned);
        }
        let (token, payers) = (self.x402_token(network).await?, self.x402_payers(network)?);
        let mined = self.unshown(&token, &settlement, &payers).await?;
        let mut connection = self.db.connection().await?;
        let deposited = operating::deposited(&mut connection, id, mined.height).await?;
        drop(connection);
        if let Some(hash) = deposited.own {
            return Err(GiveUpError::Deposited { hash });
        }
        let grew = grew(&token, &settlement, (&mined, payers.as_ref())).await?;
        let grew = grew.map(|grew| grew.remaining_after(deposited.beside));
        if let Some(grew) = grew.filter(|grew| *grew >= settlement.amount) {
            let (pay_to, grew, height) = (settlement.pay_to, grew.get(), mined.height);
            return Err(GiveUpError::Arrived { pay_to, grew, height });
        }
        let unshown = Unshown {
            id,
            network,
            payer: settlement.payer.clone(),
            pay_to: settlement.pay_to.clone(),
            amount: settlement.amount,
            tx_hash: mined.hash.clone(),
            height: mined.height,
            is_compared: grew.is_some(),
            was_answered: settlement.answered_hash.is_some(),
        };
        if let Some(sure) = sure {
            self.end_given_up(&token, &settlement, &mined, sure).await?;
        }
        Ok(unshown)
    }

    async fn end_given_up(
        &self,
        token: &Token,
        settlement: &OpenSettlement,
        mined: &Mined,
        (by, reason): (&str, &str),
    ) -> Result<(), GiveUpError> {
        let end = End {
            from: settlement.state,
            to: after(settlement.state, Event::GivenUp),
            reason: Some(Reason::Transaction.as_str()),
            message: Some(WHY),
            tx_hash: Some(&mined.hash),
            fee: Some(mined.fee),
            height: Some(mined.height),
        };
        let mut tx = self.db.begin().await?;
        if !following::end(&mut tx, settlement.id, &end).await? {
            return Err(GiveUpError::EndedMeanwhile);
        }
        book_gas(&mut tx, token, settlement, mined).await?;
        let subject = settlement.id.to_string();
        for kind in [GAS_LIMIT, UNEXPLAINED] {
            alerts::withdraw(&mut tx, kind, &subject).await?;
        }
        alert_of_lost(&mut tx, settlement, &mined.hash).await?;
        let detail = format!("{} in block {}: {reason}", mined.hash, mined.height);
        audit::note(&mut tx, ("x402_settlement", "give-up"), &subject, by, &detail).await?;
        tx.commit().await.map_err(StorageError::from)?;
        tracing::warn!(settlement.id = subject, by, detail, "a settlement is given up by hand");
        Ok(())
    }

    /// The final transaction of a settlement, if it used the payer's nonce and no node shows the
    /// token's log of the payment.
    async fn unshown(
        &self,
        token: &Token,
        settlement: &OpenSettlement,
        payers: &Payers,
    ) -> Result<Mined, GiveUpError> {
        let required = self.config.chain(token.network).confirmations;
        let standings = payers.standings(&[wanted(settlement)], required).await;
        let standing = standings.map_err(X402Error::from)?.pop();
        let (seen, mined) = match standing {
            Some(Standing { seen: Seen::Displaced, .. }) => return Err(GiveUpError::EndsItself),
            Some(Standing { seen, mined: Some(mined) }) => (seen, mined),
            Some(Standing { mined: None, .. }) | None => return Err(GiveUpError::InNoBlock),
        };
        let (hash, height) = (mined.hash.clone(), mined.height);
        match seen {
            Seen::Mined { succeeded: true, .. } => return Err(GiveUpError::Shown { hash, height }),
            Seen::Nowhere | Seen::Waiting => return Err(GiveUpError::InNoBlock),
            Seen::Unexplained { moved: false, .. } if !seen.is_final(required) => {
                return Err(GiveUpError::NotFinal { hash, height });
            }
            Seen::Unexplained { moved: false, .. } => {}
            Seen::Mined { succeeded: false, .. }
            | Seen::Unexplained { moved: true, .. }
            | Seen::Displaced => return Err(GiveUpError::EndsItself),
        }
        let (node, payer) = (evm(payers)?, address(&settlement.payer)?);
        let is_used = node.is_used(&token.domain.token, &payer, &settlement.nonce).await;
        if is_used.map_err(X402Error::from)? { Ok(mined) } else { Err(GiveUpError::EndsItself) }
    }
}

/// How much more the payment's address holds since that block; `None` if it is not known any more:
/// nodes keep the balances of the newest blocks alone.
async fn grew(
    token: &Token,
    settlement: &OpenSettlement,
    (mined, payers): (&Mined, &Payers),
) -> Result<Option<BaseUnits>, GiveUpError> {
    let (node, pay_to) = (evm(payers)?, address(&settlement.pay_to)?);
    let at = |height| node.balance_at(&token.domain.token, &pay_to, height);
    let told = tokio::try_join!(at(mined.height.saturating_sub(1)), at(mined.height));
    Ok(growth(told).map_err(X402Error::from)?)
}

/// The growth between two balances; `None` only if the node answered that it keeps them no longer.
/// One that did not answer may know that the payment arrived.
fn growth(
    told: Result<(BaseUnits, BaseUnits), ChainError>,
) -> Result<Option<BaseUnits>, ChainError> {
    match told {
        Ok((before, after)) => Ok(Some(after.remaining_after(before))),
        Err(error) if error.lacks_state() => Ok(None),
        Err(error) => Err(error),
    }
}

fn evm(payers: &Payers) -> Result<&crate::chain::pay::EvmPayer, X402Error> {
    payers.payer.evm().ok_or(X402Error::NotOffered)
}

fn address(text: &str) -> Result<[u8; 20], StorageError> {
    let unreadable = || StorageError::damaged(TABLE, "one of its addresses cannot be read");
    address_bytes(text).ok_or_else(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: Network = Network::Polygon;

    #[test]
    fn a_node_that_does_not_answer_is_no_word_that_nothing_arrived() {
        let units = BaseUnits::new;
        assert_eq!(growth(Ok((units(3), units(10)))).unwrap(), Some(units(7)));
        assert_eq!(growth(Ok((units(10), units(3)))).unwrap(), Some(units(0)));
        let refused = |code, reason: &str| ChainError::Refused {
            network: NETWORK,
            method: "eth_call",
            code,
            reason: reason.to_owned(),
        };
        for gone in [
            refused(-32000, "missing trie node c6ebfa (path ) state 0xc6ebfa is not available"),
            refused(-32000, "required historical state unavailable (reexec=128)"),
            refused(-32603, "State at block #11052984 is pruned"),
            refused(-32000, "No state available for block 0x992eac"),
            refused(4444, "pruned history unavailable"),
            refused(-32000, "old data not available due to pruning: requested block 6134861"),
        ] {
            assert_eq!(growth(Err(gone)).unwrap(), None);
        }
        let reason = || "missing trie node".to_owned();
        for silent in [
            refused(-32603, "Internal error"),
            refused(-32000, "execution timeout"),
            refused(-32005, "limit exceeded"),
            refused(-32000, "header not found"),
            ChainError::Unreachable { network: NETWORK, reason: reason() },
            ChainError::RateLimited { network: NETWORK },
            ChainError::Malformed { network: NETWORK, method: "eth_call", reason: reason() },
        ] {
            growth(Err(silent)).unwrap_err();
        }
    }
}
