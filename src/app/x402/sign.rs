//! Signing settlements: nonce, bytes and the most that the gas may cost in one commit, before
//! anything is sent.

use std::collections::HashMap;

use super::{
    GasWallet, X402Error,
    price::Prices,
    reread::{forgery, refusal},
    token::Token,
};
use crate::{
    app::{Gateway, payout::payers::Payers},
    chain::pay::{Call, Work},
    fail_point::fail_point,
    money::BaseUnits,
    payout::{fee::Fee, transfer::address_bytes},
    storage::{
        StorageError, alerts,
        x402::following::{self, End, OpenSettlement, Signed, Version},
    },
    x402::{
        Reason, call,
        gas::{self, Exceeded, Limits},
        settlement::{Event, after},
    },
};

/// Transactions of the wallet that wait for a block at a time: nodes keep only so many of one
/// account.
const WINDOW: usize = 16;
pub(super) const TABLE: &str = "x402_settlement";
/// Alert of an empty wallet; its subject is the network.
pub(super) const GAS_EMPTY: &str = "x402_gas_empty";
/// Alert of a limit that is used up; its subject is the network, or the settlement whose price was
/// not raised.
pub(super) const GAS_LIMIT: &str = "x402_gas_limit";

/// What came of one attempt to sign.
enum Attempt {
    Signed,
    /// Nothing more can be signed now.
    Later,
    /// Something of this settlement keeps it back: others may be signed.
    PutOff,
    Beyond(Exceeded),
}

impl Gateway {
    /// Signs the next settlements of a network. `true` if anything changed.
    pub(super) async fn sign_settlements(
        &self,
        token: &Token,
        open: &[OpenSettlement],
        parts: (&Payers, &GasWallet),
    ) -> Result<bool, X402Error> {
        let (mut changed, mut is_one_put_off) = (false, false);
        let mut able = Vec::new();
        for settlement in open.iter().filter(|one| one.versions.is_empty()) {
            match refusal(token, settlement) {
                Some((reason, why)) => {
                    changed |= self.refuse_settlement(settlement, reason, why).await?;
                }
                None if self.x402.put_off.has(settlement.id) => is_one_put_off = true,
                None => able.push(settlement),
            }
        }
        let is_pending = |one: &&OpenSettlement| !one.versions.is_empty() && one.height.is_none();
        let room = WINDOW.saturating_sub(open.iter().filter(is_pending).count());
        if room == 0 || able.is_empty() || self.is_x402_stopped(token).await? {
            return Ok(changed);
        }
        let mut next = Vec::new();
        for settlement in covered(token, open, (able, room), parts.0).await? {
            match forgery(token, settlement) {
                Some((reason, why)) => {
                    changed |= self.refuse_settlement(settlement, reason, why).await?;
                }
                None => next.push(settlement),
            }
        }
        Ok(self.sign_able_settlements(token, (next, is_one_put_off), parts).await? || changed)
    }

    /// Signs settlements in their order, as far as the limits and the coins go. `true` if anything
    /// changed, or if others than these are to be tried.
    async fn sign_able_settlements(
        &self,
        token: &Token,
        (next, is_one_put_off): (Vec<&OpenSettlement>, bool),
        (payers, wallet): (&Payers, &GasWallet),
    ) -> Result<bool, X402Error> {
        if next.is_empty() {
            return Ok(false);
        }
        let to = token.domain.token;
        let calls = next.iter().map(|one| Call { to, value: 0, data: one.call.clone() });
        let works = payers.gas(wallet.address(), &calls.collect::<Vec<_>>()).await?;
        let mut prices = Prices::new(self, token, payers);
        let (mut changed, mut was_signed, mut beyond) = (false, false, None);
        for (settlement, work) in next.into_iter().zip(works) {
            let gas = match usable(work) {
                Ok(gas) => gas,
                Err(why) => {
                    changed |=
                        self.refuse_settlement(settlement, Reason::Transaction, &why).await?;
                    continue;
                }
            };
            let attempt = match prices.of(&settlement.call).await? {
                Some(fee) => {
                    self.sign_settlement(token, settlement, (gas, fee), (payers, wallet)).await?
                }
                None => Attempt::PutOff,
            };
            match attempt {
                Attempt::Signed => was_signed = true,
                Attempt::Later => break,
                Attempt::PutOff => self.x402.put_off.note(settlement.id),
                Attempt::Beyond(Exceeded { is_of_all: true, why }) => {
                    beyond = Some(why);
                    break;
                }
                Attempt::Beyond(Exceeded { is_of_all: false, why }) => {
                    beyond = Some(format!("{why}: settlement {}", settlement.id));
                    self.x402.put_off.note(settlement.id);
                    changed = true;
                }
            }
        }
        self.tell_of_limits(token, was_signed && !is_one_put_off, beyond).await?;
        Ok(changed || was_signed)
    }

    /// Alerts to a limit that keeps settlements back, until one is signed while none is kept back.
    async fn tell_of_limits(
        &self,
        token: &Token,
        is_over: bool,
        beyond: Option<String>,
    ) -> Result<(), StorageError> {
        let network = token.network.name();
        let mut connection = self.db.connection().await?;
        match beyond {
            Some(why) => alerts::raise(&mut connection, GAS_LIMIT, network, &why).await.map(drop),
            None if is_over => alerts::withdraw(&mut connection, GAS_LIMIT, network).await,
            None => Ok(()),
        }
    }

    pub(super) async fn is_x402_stopped(&self, token: &Token) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        let reason = following::stopped(&mut connection, token.network).await?;
        if let Some(reason) = &reason {
            tracing::warn!(network = %token.network, reason, "nothing is signed: the stop switch is thrown");
        }
        Ok(reason.is_some())
    }

    async fn sign_settlement(
        &self,
        token: &Token,
        settlement: &OpenSettlement,
        (units, fee): (u128, Fee),
        (payers, wallet): (&Payers, &GasWallet),
    ) -> Result<Attempt, X402Error> {
        let node = payers.payer.evm().ok_or(X402Error::NotOffered)?;
        let most = fee.most(units);
        let Some(cost) = self.gas_usd(token, most).await? else { return Ok(Attempt::Later) };
        let coins = payers.payer.coins_for_gas(wallet.address()).await?;
        let network = token.network;
        let mut tx = self.db.begin().await?;
        let spent = following::gas_lately(&mut tx, settlement.merchant_id, settlement.id).await?;
        if let Some(beyond) = gas::exceeded(cost, &spent, &self.gas_limits()) {
            return Ok(Attempt::Beyond(beyond));
        }
        // Each of a full window may cost as much before the balance shows it.
        let needed = most.saturating_mul(u128::try_from(WINDOW).unwrap_or(u128::MAX));
        if coins.is_some_and(|coins| coins.get() < needed) {
            let held = coins.unwrap_or_default().get();
            let why =
                format!("{} holds {held} wei on {network} and needs {needed}", wallet.address());
            alerts::raise(&mut tx, GAS_EMPTY, network.name(), &why).await?;
            tx.commit().await.map_err(StorageError::from)?;
            return Ok(Attempt::Later);
        }
        let tx_nonce = following::next_nonce(&mut tx, network, wallet.address()).await?;
        let gas_limit = u64::try_from(units).unwrap_or(call::GAS_MAX);
        let nonce = u64::try_from(tx_nonce).unwrap_or(u64::MAX);
        let made = node.sign_call(
            wallet.key(),
            wallet.address(),
            (nonce, gas_limit, fee),
            (token.domain.token, settlement.call.clone()),
        )?;
        let signed = Signed {
            id: settlement.id,
            network,
            sender: wallet.address().to_owned(),
            tx_nonce,
            gas_usd: cost,
            version: Version { version: 1, raw: made.raw, tx_hash: made.hash, fee },
        };
        match following::store_signed(&mut tx, &signed).await {
            Ok(true) => {}
            // Another worker was first: nothing of this transaction stays.
            Ok(false) => return Ok(Attempt::Later),
            Err(error) if error.is_constraint("x402_settlement_tx_once") => {
                return Ok(Attempt::Later);
            }
            Err(error) => return Err(error.into()),
        }
        alerts::withdraw(&mut tx, GAS_EMPTY, network.name()).await?;
        fail_point("x402.signing");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("x402.signed");
        tracing::info!(settlement.id = %settlement.id, %network, tx_nonce, "a settlement is signed and stored");
        Ok(Attempt::Signed)
    }

    pub(super) const fn gas_limits(&self) -> Limits {
        let settings = &self.config.x402;
        Limits {
            transaction: settings.gas_transaction_usd_max,
            hour: settings.gas_hour_usd_max,
            day: settings.gas_day_usd_max,
        }
    }

    /// Ends a settlement of which nothing was signed.
    async fn refuse_settlement(
        &self,
        settlement: &OpenSettlement,
        reason: Reason,
        why: &str,
    ) -> Result<bool, StorageError> {
        let message: String = why.chars().take(300).collect();
        let end = End {
            from: settlement.state,
            to: after(settlement.state, Event::Refused),
            reason: Some(reason.as_str()),
            message: Some(&message),
            tx_hash: None,
            fee: None,
            height: None,
        };
        let mut connection = self.db.connection().await?;
        metrics::counter!("x402_refused_total", "reason" => reason.as_str()).increment(1);
        following::end(&mut connection, settlement.id, &end).await
    }
}

/// Payments of one payer that no block holds yet, and his balance once it was asked for.
#[derive(Default)]
struct Promised {
    count: usize,
    sum: BaseUnits,
    held: Option<BaseUnits>,
}

impl Promised {
    fn add(&mut self, settlement: &OpenSettlement) {
        self.count += 1;
        self.sum = self.sum.saturating_add(settlement.amount);
    }
}

/// Up to `room` settlements that their payers' balances cover beside those that no block holds yet.
/// Each call succeeds by itself, so that a node finds nothing wrong with two from one balance, and
/// the second would be reverted at our expense. It waits until the first is in a block.
async fn covered<'a>(
    token: &Token,
    open: &[OpenSettlement],
    (able, room): (Vec<&'a OpenSettlement>, usize),
    payers: &Payers,
) -> Result<Vec<&'a OpenSettlement>, X402Error> {
    let node = payers.payer.evm().ok_or(X402Error::NotOffered)?;
    let mut all: HashMap<String, Promised> = HashMap::new();
    for one in open.iter().filter(|one| !one.versions.is_empty() && one.height.is_none()) {
        all.entry(one.payer.clone()).or_default().add(one);
    }
    let mut covered = Vec::with_capacity(room);
    for settlement in able {
        let promised = all.entry(settlement.payer.clone()).or_default();
        if is_at_risk(settlement, promised.count) {
            continue;
        }
        if promised.count > 0 && promised.held.is_none() {
            let payer = address_bytes(&settlement.payer);
            let unreadable = || StorageError::damaged(TABLE, "its payer is no address");
            let payer = payer.ok_or_else(unreadable)?;
            promised.held = Some(node.token_balance(&token.domain.token, &payer).await?);
        }
        let needed = promised.sum.saturating_add(settlement.amount);
        if promised.held.is_some_and(|held| held < needed) {
            continue;
        }
        promised.add(settlement);
        covered.push(settlement);
        if covered.len() == room {
            break;
        }
    }
    Ok(covered)
}

/// Returns whether a contract's payments would be reverted more often than it may be believed, if
/// all that no block holds were: its next one waits until they show how they end.
fn is_at_risk(settlement: &OpenSettlement, under_way: usize) -> bool {
    let under_way = i64::try_from(under_way).unwrap_or(i64::MAX);
    call::is_by_contract(&settlement.call)
        && gas::is_too_often_reverted(settlement.payer_reverted.saturating_add(under_way))
}

/// The gas of a call that is to be signed, or why it is not. A contract that decides about its
/// payer's signature may take any amount.
pub(super) fn usable(work: Work) -> Result<u128, String> {
    match work {
        Work::Units(gas) if gas <= u128::from(call::GAS_MAX) => Ok(gas),
        Work::Units(_) => Err(format!("the transfer takes more than {} gas", call::GAS_MAX)),
        Work::Refused(why) => Err(why),
    }
}
