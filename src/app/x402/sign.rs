//! Signing settlements: nonce, bytes and the most that the gas may cost in one commit, before
//! anything is sent.

use std::collections::HashMap;

use rust_decimal::Decimal;

use super::{GasWallet, X402Error, token::Token};
use crate::{
    app::{Gateway, payout::payers::Payers},
    asset::{Fiat, catalogue::Catalogue},
    chain::pay::{Call, Work},
    fail_point::fail_point,
    money::BaseUnits,
    payout::{eip1559::Transaction, fee::Fee, limit::value_usd, transfer::address_bytes},
    storage::{
        StorageError, alerts,
        x402::following::{self, End, OpenSettlement, Signed, Version},
    },
    x402::{
        Reason, Word,
        authorization::spelt,
        call,
        check::SECONDS_LEFT_MIN,
        settlement::{Event, after},
    },
};

/// Transactions of the wallet that wait for a block at a time: nodes keep only so many of one
/// account.
const WINDOW: usize = 16;
const TABLE: &str = "x402_settlement";
/// Alert of an empty wallet; its subject is the network.
pub(super) const GAS_EMPTY: &str = "x402_gas_empty";
const GAS_LIMIT_ALERT: &str = "x402_gas_limit";

impl Gateway {
    /// Signs the next settlements of a network. `true` if anything changed.
    pub(super) async fn sign_settlements(
        &self,
        token: &Token,
        open: &[OpenSettlement],
        (payers, wallet): (&Payers, &GasWallet),
    ) -> Result<bool, X402Error> {
        let waiting: Vec<_> = open.iter().filter(|one| one.versions.is_empty()).collect();
        let mut changed = false;
        let mut able = Vec::new();
        for settlement in waiting {
            match refusal(token, settlement) {
                Some((reason, why)) => {
                    changed |= self.refuse_settlement(settlement, reason, why).await?;
                }
                None => able.push(settlement),
            }
        }
        let is_pending = |one: &&OpenSettlement| !one.versions.is_empty() && one.height.is_none();
        let room = WINDOW.saturating_sub(open.iter().filter(is_pending).count());
        if room == 0 || able.is_empty() || self.is_x402_stopped(token).await? {
            return Ok(changed);
        }
        let able = covered(token, open, (able, room), payers).await?;
        if able.is_empty() {
            return Ok(changed);
        }
        let Some(fee) = self.affordable_gas(token, payers).await? else { return Ok(changed) };
        let calls: Vec<_> = able
            .iter()
            .map(|one| Call { to: token.domain.token, value: 0, data: one.call.clone() })
            .collect();
        let works = payers.gas(wallet.address(), &calls).await?;
        for (settlement, work) in able.into_iter().zip(works) {
            let gas = match work {
                Work::Units(gas) if gas <= u128::from(call::GAS_MAX) => gas,
                Work::Units(_) => {
                    let why = "the token asks for more gas than a transfer needs";
                    changed |= self.refuse_settlement(settlement, Reason::Transaction, why).await?;
                    continue;
                }
                Work::Refused(why) => {
                    changed |=
                        self.refuse_settlement(settlement, Reason::Transaction, &why).await?;
                    continue;
                }
            };
            if !self.sign_settlement(token, settlement, (gas, fee), (payers, wallet)).await? {
                break;
            }
            changed = true;
        }
        Ok(changed)
    }

    /// The price of gas now, if the operator's bound allows it. Settlements wait until it falls,
    /// as long as their authorizations are valid.
    pub(super) async fn affordable_gas(
        &self,
        token: &Token,
        payers: &Payers,
    ) -> Result<Option<Fee>, X402Error> {
        let node = payers.payer.evm().ok_or(X402Error::NotOffered)?;
        let fee = node.gas_price().await?;
        let cap = self.config.chain(token.network).fee_rate_max;
        let fee = fee.within(cap, u128::from(call::GAS_MAX));
        if fee.is_none() {
            tracing::warn!(network = %token.network, cap, "gas costs more than chains.*.fee_rate_max");
        }
        Ok(fee)
    }

    async fn is_x402_stopped(&self, token: &Token) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        let reason = following::stopped(&mut connection, token.network).await?;
        if let Some(reason) = &reason {
            tracing::warn!(network = %token.network, reason, "nothing is signed: the stop switch is thrown");
        }
        Ok(reason.is_some())
    }

    /// The most that gas may cost, in USD. Without a rate it has no bound, and nothing is signed.
    pub(super) async fn gas_usd(
        &self,
        token: &Token,
        units: u128,
    ) -> Result<Option<Decimal>, StorageError> {
        let coin = Catalogue::get().native(token.network);
        let market = self.market().await?;
        let rate = market.fresh_rate(coin.symbol, Fiat::Usd).ok();
        Ok(rate.map(|rate| value_usd(BaseUnits::new(units), coin.decimals, rate.price)))
    }

    /// Signs one settlement. `false` if nothing more may be signed now.
    async fn sign_settlement(
        &self,
        token: &Token,
        settlement: &OpenSettlement,
        (gas, fee): (u128, Fee),
        (payers, wallet): (&Payers, &GasWallet),
    ) -> Result<bool, X402Error> {
        let node = payers.payer.evm().ok_or(X402Error::NotOffered)?;
        let most = fee.most(gas);
        let Some(cost) = self.gas_usd(token, most).await? else { return Ok(false) };
        let coins = payers.payer.coins_for_gas(wallet.address()).await?;
        let network = token.network;
        let mut tx = self.db.begin().await?;
        if let Some(why) = self.beyond_gas_limits(&mut tx, cost).await? {
            alerts::raise(&mut tx, GAS_LIMIT_ALERT, network.name(), &why).await?;
            tx.commit().await.map_err(StorageError::from)?;
            return Ok(false);
        }
        // Each of a full window may cost as much before the balance shows it.
        let needed = most.saturating_mul(u128::try_from(WINDOW).unwrap_or(u128::MAX));
        if coins.is_some_and(|coins| coins.get() < needed) {
            let held = coins.unwrap_or_default().get();
            let why =
                format!("{} holds {held} wei on {network} and needs {needed}", wallet.address());
            alerts::raise(&mut tx, GAS_EMPTY, network.name(), &why).await?;
            tx.commit().await.map_err(StorageError::from)?;
            return Ok(false);
        }
        let tx_nonce = following::next_nonce(&mut tx, network, wallet.address()).await?;
        let gas_limit = u64::try_from(gas).unwrap_or(call::GAS_MAX);
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
            Ok(false) => return Ok(false),
            Err(error) if error.is_constraint("x402_settlement_tx_once") => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        alerts::withdraw(&mut tx, GAS_EMPTY, network.name()).await?;
        alerts::withdraw(&mut tx, GAS_LIMIT_ALERT, network.name()).await?;
        fail_point("x402.signing");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("x402.signed");
        tracing::info!(settlement.id = %settlement.id, %network, tx_nonce, "a settlement is signed and stored");
        Ok(true)
    }

    async fn beyond_gas_limits(
        &self,
        tx: &mut crate::storage::PgConnection,
        cost: Decimal,
    ) -> Result<Option<String>, StorageError> {
        let limits = &self.config.x402;
        let (hour, day) = following::gas_lately(tx).await?;
        let all = [
            ("one transaction", cost, limits.gas_transaction_usd_max),
            ("an hour", hour + cost, limits.gas_hour_usd_max),
            ("a day", day + cost, limits.gas_day_usd_max),
        ];
        let exceeded = all.into_iter().find(|(_, sum, most)| *sum > Decimal::from(*most));
        Ok(exceeded.map(|(limit, sum, most)| {
            format!("gas of {sum} USD would exceed the limit of {limit}, {most} USD")
        }))
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

/// Why a stored settlement is not signed. Its row was written by another program, so the call is
/// read again: the wallet signs nothing but a transfer of this token, as it was verified.
fn refusal(token: &Token, settlement: &OpenSettlement) -> Option<(Reason, &'static str)> {
    let transaction = Transaction {
        chain_id: token.domain.chain_id,
        nonce: 0,
        priority_fee: 0,
        max_fee: 0,
        gas_limit: 0,
        to: token.domain.token,
        value: 0,
        data: settlement.call.clone(),
    };
    let is_own = call::read(&transaction).is_some_and(|(_, signed)| {
        settlement.asset == token.contract
            && spelt(&signed.to) == settlement.pay_to
            && spelt(&signed.from) == settlement.payer
            && signed.value == Word::from(settlement.amount.get())
    });
    if !is_own {
        return Some((Reason::Payload, "the stored call is not the payment that was verified"));
    }
    let soon = i64::try_from(SECONDS_LEFT_MIN).unwrap_or(0);
    let ends = settlement.valid_before < settlement.now.saturating_add(soon);
    ends.then_some((Reason::ValidBefore, "the authorization ended before a transaction was signed"))
}
