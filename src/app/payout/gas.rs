//! Gas for token orders: the gas wallet puts the network's coin on an order's address, and takes
//! the remainder back.
//!
//! One wallet serves all orders, so its nonces are taken under its own lock. All else is as with
//! every payment: nonce and bytes are stored in one commit before anything is sent, and after any
//! doubt the same bytes go out again.

use k256::ecdsa::SigningKey;
use rust_decimal::Decimal;
use uuid::Uuid;

use super::{
    bind::Bound,
    booking::book_network_fee,
    errors::AdvanceError,
    intent::TAKEN,
    order::{locked, may_owe_refund},
    permit::{Allowed, Signing, is_held, permit},
    together::work_of,
    wallet::Wallet,
};
use crate::{
    app::Gateway,
    asset::{Family, address, catalogue::Catalogue},
    chain::pay::{Means, Output, Payer, Unsigned, Work},
    fail_point::fail_point,
    ledger::{Account, Entry, EntryKind},
    money::BaseUnits,
    payout::{
        State,
        fee::Fee,
        gas::Gas,
        hold::{Hold, HoldCause},
        limit,
        payment::Purpose,
        quote::{self, GAS_PER_COIN_TRANSFER, UnitPrice},
    },
    storage::{
        PgConnection, StorageError, Tx, ledger,
        payouts::{
            self, PayoutOrder,
            gas::{self, OrderGas, Promised},
            items,
            payments::{self, Ended, NewPayment, OpenPayment},
            safety,
        },
    },
};

/// Nodes keep only so many payments of one account.
const ON_THE_WAY_MAX: u32 = 16;

/// The direction of a gas payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GasMove {
    /// From the gas wallet to an order's address.
    Fronted,
    /// Back to the gas wallet.
    Returned,
}

fn needs_gas(order: &PayoutOrder, payer: &Payer) -> bool {
    !order.currency.is_native() && matches!(payer, Payer::Evm(_))
}

/// The gas of an order's address by the rows, with the most that its open payments may take at
/// `at_least` or more.
fn gas_of(order: &PayoutOrder, rows: OrderGas, open: &[OpenPayment], at_least: Fee) -> Gas {
    let most = |payment: &OpenPayment| {
        let rates = payment.versions.iter().map(|version| version.fee.rate);
        let rate = rates.max().unwrap_or(0).max(at_least.rate);
        let (work, transfers) = match payment.purpose {
            Purpose::Gas | Purpose::GasReturn => (GAS_PER_COIN_TRANSFER, 1),
            Purpose::Pay | Purpose::Refund | Purpose::Bump | Purpose::Allowance => {
                work_of(order, payment)
            }
        };
        let data = at_least.data.saturating_mul(transfers);
        Fee { rate, data, ..at_least }.most(work)
    };
    let own = open.iter().filter(|payment| payment.purpose != Purpose::Gas);
    Gas {
        arrived: rows.arrived.get(),
        fronted: rows.fronted.get(),
        used: rows.used.get(),
        reserved: own.map(most).fold(0, u128::saturating_add),
    }
}

impl Gateway {
    /// For how many further payments there is gas at the order's address; no bound where none is
    /// needed.
    pub(super) async fn payments_with_gas(
        &self,
        order: &PayoutOrder,
        open: &[OpenPayment],
        payer: &Payer,
        fee: Fee,
    ) -> Result<usize, AdvanceError> {
        if !needs_gas(order, payer) {
            return Ok(usize::MAX);
        }
        let mut connection = self.db.connection().await?;
        let rows = gas::of_order(&mut connection, order.id).await?;
        let each = fee.most(quote::gas_per_transfer(order.currency));
        Ok(gas_of(order, rows, open, Fee { rate: 0, ..fee }).pays_for(each))
    }

    /// Returns whether the address can pay the fee that a payment's next version offers. The
    /// missing part is fronted first.
    pub(super) async fn gas_covers(
        &self,
        order: &PayoutOrder,
        payment: &OpenPayment,
        fee: Fee,
        payer: &Payer,
    ) -> Result<bool, AdvanceError> {
        if !needs_gas(order, payer) || payment.purpose.moves_gas() {
            return Ok(true);
        }
        let mut connection = self.db.connection().await?;
        let open = payments::open(&mut connection, order.id).await?;
        let rows = gas::of_order(&mut connection, order.id).await?;
        let last = payment.versions.last().map_or(0, |version| version.fee.rate);
        let more = work_of(order, payment).0.saturating_mul(fee.rate.saturating_sub(last));
        Ok(gas_of(order, rows, &open, Fee { rate: 0, ..fee }).free() >= more)
    }

    /// Signs the next portion of gas that a token order needs. `true` if it did.
    pub(super) async fn front_gas(
        &self,
        order_id: Uuid,
        payer: &Payer,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        let mut connection = self.db.connection().await?;
        let order = payouts::by_id(&mut connection, order_id).await?;
        let order = order.ok_or(AdvanceError::UnknownOrder)?;
        if !needs_gas(&order, payer) || is_held(&order, Signing::Gas) {
            return Ok(false);
        }
        // A refund that will not be sent needs no gas, and one that pays for itself may offer more
        // than was quoted.
        let mut refund = None;
        let waiting = if order.state == State::Processing {
            count(items::tally(&mut connection, order_id).await?.pending)
        } else if order.state.is_terminal() && order.refund_address.is_some() {
            if may_owe_refund(&order) {
                refund = self.refund_due(&order, payer).await?;
            }
            refund = refund.filter(|due| due.is_worth_sending(&order));
            usize::from(refund.is_some())
        } else {
            return Ok(false);
        };
        let open = payments::open(&mut connection, order_id).await?;
        let rows = gas::of_order(&mut connection, order_id).await?;
        drop(connection);
        if waiting == 0 && open.is_empty() {
            return Ok(false);
        }
        let fee = match refund {
            Some(due) => Some(due.offer),
            None => self.affordable_fee(&order, payer).await?,
        };
        let Some(fee) = fee else { return Ok(false) };
        let each = fee.most(quote::gas_per_transfer(order.currency));
        let Some(amount) = gas_of(&order, rows, &open, fee).to_front(waiting, each) else {
            return self.end_wait_for_gas(&order).await;
        };
        if beyond_quote(&order, rows, amount, fee)? {
            let hold = Hold::for_review("its gas would exceed the quote");
            return self.hold_for_gas(&order, "payout_gas_limit", &hold).await;
        }
        let Some(mut payment) = to_order(&order, amount, fee, wallet) else { return Ok(false) };
        let Some(balance) = payer.coins_for_gas(&payment.sender).await? else { return Ok(false) };
        if let Some(lacks) = lacks(&order, &payment, balance, Promised::default()) {
            let hold = Hold::new(HoldCause::Gas, &lacks);
            return self.hold_for_gas(&order, "payout_gas_empty", &hold).await;
        }
        match payer.work(&payment).await? {
            Work::Units(work) => payment.work = work.min(payment.work),
            Work::Refused(why) => {
                let hold = Hold::for_review(&why);
                return self.hold_for_gas(&order, "payout_gas_limit", &hold).await;
            }
        }
        self.store_gas(order_id, payment, balance, payer, wallet).await
    }

    /// Ends the hold of an order that waited for gas and has enough by now: its merchant cancelled
    /// it, or the network asks less. Returns true if it was held.
    async fn end_wait_for_gas(&self, order: &PayoutOrder) -> Result<bool, AdvanceError> {
        if order.held.is_none() {
            return Ok(false);
        }
        let mut tx = self.db.begin().await?;
        let order = locked(&mut tx, order.id).await?;
        let waits = order.held.as_ref().is_some_and(Hold::ends_by_itself);
        if waits {
            safety::end_hold(&mut tx, order.id).await?;
            tx.commit().await.map_err(StorageError::from)?;
        }
        Ok(waits)
    }

    /// Decides again under the order's lock and the wallet's, and stores nonce, bytes and promise
    /// in one commit.
    async fn store_gas(
        &self,
        order_id: Uuid,
        payment: Unsigned,
        balance: BaseUnits,
        payer: &Payer,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        let mut tx = self.db.begin().await?;
        let order = locked(&mut tx, order_id).await?;
        let network = order.currency.network;
        let Allowed::Now(()) = permit(&mut tx, &order, Signing::Gas).await? else {
            return Ok(false);
        };
        let rows = gas::of_order(&mut tx, order_id).await?;
        let day = gas::fronted_lately(&mut tx).await?;
        payments::lock_sender(&mut tx, network, &payment.sender).await?;
        let promised = gas::promised(&mut tx, network).await?;
        // Another worker has fronted meanwhile, or the wallet has enough under way.
        let amount = sum_of(&payment);
        if promised.payments >= ON_THE_WAY_MAX || beyond_quote(&order, rows, amount, payment.fee)? {
            return Ok(false);
        }
        let value = coins_usd(&order, amount);
        if day + value > Decimal::from(self.config.payouts.gas_day_usd_max) {
            drop(tx);
            let reason = format!("{value} USD more are above the limit of a day");
            let hold = Hold::new(HoldCause::Gas, &reason);
            return self.hold_for_gas(&order, "payout_gas_limit", &hold).await;
        }
        // A balance that does not cover the payments on their way may only be older than they are:
        // the next look knows more.
        if lacks(&order, &payment, balance, promised).is_some() {
            return Ok(false);
        }
        let Some(bound) = self.bound(&mut tx, &order).await? else {
            tx.commit().await.map_err(StorageError::from)?;
            return Ok(false);
        };
        if !bound.covers(&order, &payment, (Purpose::Gas, &[])) {
            return Ok(false);
        }
        if order.held.is_some() {
            safety::end_hold(&mut tx, order_id).await?;
        }
        gas::set_open(&mut tx, order_id, true).await?;
        let key = Some(wallet.gas_key(&bound));
        store(tx, &order, Purpose::Gas, payment, value, payer, key).await
    }

    /// Sends back the remainder at the address of an order that has ended and owes nothing. `true`
    /// if it was signed.
    pub(super) async fn return_gas(
        &self,
        order_id: Uuid,
        payer: &Payer,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        let mut connection = self.db.connection().await?;
        let order = payouts::by_id(&mut connection, order_id).await?;
        let order = order.ok_or(AdvanceError::UnknownOrder)?;
        let owes = may_owe_refund(&order) && order.refund_address.is_some();
        if !order.gas_open || !order.state.is_terminal() || owes || order.held.is_some() {
            return Ok(false);
        }
        let open = payments::open(&mut connection, order_id).await?;
        let rows = gas::of_order(&mut connection, order_id).await?;
        drop(connection);
        if !open.is_empty() {
            return Ok(false);
        }
        let Some(fee) = payer.fee().await? else { return Ok(false) };
        let cost = fee.most(GAS_PER_COIN_TRANSFER);
        let Some(amount) = gas_of(&order, rows, &open, fee).to_return(cost) else {
            // It stays in the books, at this address.
            let mut connection = self.db.connection().await?;
            gas::set_open(&mut connection, order_id, false).await?;
            return Ok(false);
        };
        let Some(mut payment) = to_wallet(&order, amount, fee, wallet) else { return Ok(false) };
        let Work::Units(work) = payer.work(&payment).await? else { return Ok(false) };
        payment.work = work.min(payment.work);
        let mut tx = self.db.begin().await?;
        let order = locked(&mut tx, order_id).await?;
        let Allowed::Now(()) = permit(&mut tx, &order, Signing::Payment).await? else {
            return Ok(false);
        };
        let Some(bound) = self.bound(&mut tx, &order).await? else {
            tx.commit().await.map_err(StorageError::from)?;
            return Ok(false);
        };
        if !bound.covers(&order, &payment, (Purpose::GasReturn, &[])) {
            return Ok(false);
        }
        let key = wallet.key(Family::Evm, &bound);
        let value = coins_usd(&order, amount);
        store(tx, &order, Purpose::GasReturn, payment, value, payer, key.as_ref()).await
    }

    async fn hold_for_gas(
        &self,
        order: &PayoutOrder,
        kind: &str,
        hold: &Hold,
    ) -> Result<bool, AdvanceError> {
        if order.held.is_none() {
            let mut tx = self.db.begin().await?;
            self.hold_payout(&mut tx, order, kind, hold).await?;
            tx.commit().await.map_err(StorageError::from)?;
        }
        Ok(false)
    }

    /// A gas payment as it is signed again with a higher fee, and its key.
    pub(super) fn gas_unsigned(
        &self,
        order: &PayoutOrder,
        (payment, way): (&OpenPayment, GasMove),
        fee: Fee,
        (wallet, bound): (&Wallet, &Bound),
    ) -> Option<(Unsigned, Option<SigningKey>)> {
        let (purpose, unsigned, key) = match way {
            GasMove::Fronted => {
                let unsigned = to_order(order, payment.amount, fee, wallet)?;
                (Purpose::Gas, unsigned, Some(wallet.gas_key(bound).clone()))
            }
            GasMove::Returned => {
                let unsigned = to_wallet(order, payment.amount, fee, wallet)?;
                (Purpose::GasReturn, unsigned, wallet.key(Family::Evm, bound))
            }
        };
        bound.covers(order, &unsigned, (purpose, &[])).then_some((unsigned, key))
    }

    /// Books gas that arrived, or came back. Both are ours before and after; only the network took
    /// something.
    pub(super) async fn end_gas(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
        (payment, source, way): (&OpenPayment, Uuid, GasMove),
        ended: &Ended,
    ) -> Result<(), StorageError> {
        let network = order.currency.network;
        let (wallet, custody) = (Account::GasWallet(network), Account::Custody(network));
        let (kind, debit, credit) = match way {
            GasMove::Fronted => (EntryKind::GasFronted, custody, wallet),
            GasMove::Returned => (EntryKind::GasReturned, wallet, custody),
        };
        book_network_fee(tx, order, source, ended.fee, credit).await?;
        if !ended.succeeded {
            let hold = Hold::for_review("its gas did not arrive");
            return self.hold_payout(tx, order, "payout_gas_limit", &hold).await;
        }
        let asset = Catalogue::get().native(network).token_id();
        let entry = Entry { kind, source, asset, debit, credit, amount: payment.amount };
        ledger::book(tx, &entry).await?;
        if way == GasMove::Returned {
            gas::set_open(tx, order.id, false).await?;
        }
        Ok(())
    }
}

/// Gas for an order's address, from the wallet.
fn to_order(order: &PayoutOrder, amount: BaseUnits, fee: Fee, wallet: &Wallet) -> Option<Unsigned> {
    let to = order.deposit.as_ref()?.address.clone();
    Some(transfer(order, &wallet.gas_address(), to, amount, fee))
}

fn to_wallet(
    order: &PayoutOrder,
    amount: BaseUnits,
    fee: Fee,
    wallet: &Wallet,
) -> Option<Unsigned> {
    let from = &order.deposit.as_ref()?.address;
    Some(transfer(order, from, wallet.gas_address(), amount, fee))
}

fn transfer(order: &PayoutOrder, from: &str, to: String, amount: BaseUnits, fee: Fee) -> Unsigned {
    Unsigned {
        sender: address::match_key(order.currency.family(), from),
        nonce: 0,
        outputs: vec![Output { address: to, amount }],
        means: Means::Transfer,
        contract: None,
        work: GAS_PER_COIN_TRANSFER,
        fee,
        spendable: None,
    }
}

/// Stores a gas payment with its nonce and its bytes. `false` if another worker took the nonce
/// first.
async fn store(
    mut tx: Tx,
    order: &PayoutOrder,
    purpose: Purpose,
    mut payment: Unsigned,
    value_usd: Decimal,
    payer: &Payer,
    key: Option<&SigningKey>,
) -> Result<bool, AdvanceError> {
    let network = order.currency.network;
    let nonce = payments::next_nonce(&mut tx, network, &payment.sender).await?;
    payment.nonce = u64::try_from(nonce).unwrap_or(u64::MAX);
    let signed = payer.sign(key, &payment)?;
    let returned_to = payment.outputs.first().filter(|_| purpose == Purpose::GasReturn);
    let family = order.currency.family();
    let returned_to = returned_to.map(|output| address::match_key(family, &output.address));
    let new = NewPayment {
        id: Uuid::now_v7(),
        order_id: order.id,
        purpose,
        network,
        nonce,
        amount: sum_of(&payment),
        sender: payment.sender,
        value_usd,
        raw: signed.raw,
        tx_hash: signed.hash,
        fee: payment.fee,
        spent: None,
        returned_to,
    };
    match payments::insert(&mut tx, &new).await {
        Err(error) if TAKEN.iter().any(|name| error.is_constraint(name)) => return Ok(false),
        other => other?,
    }
    fail_point("payout.gas_signing");
    tx.commit().await.map_err(StorageError::from)?;
    fail_point("payout.gas_signed");
    tracing::info!(
        order.id = order.order_id,
        purpose = purpose.as_str(),
        "gas is signed and stored"
    );
    Ok(true)
}

fn count(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn sum_of(payment: &Unsigned) -> BaseUnits {
    payment.outputs.first().map_or(BaseUnits::ZERO, |output| output.amount)
}

/// Returns whether gas in all, with `amount` more, would exceed the most that the order's payments
/// may use at the quoted price. Only a refund that pays for itself is ever offered a higher one.
fn beyond_quote(
    order: &PayoutOrder,
    rows: OrderGas,
    amount: BaseUnits,
    fee: Fee,
) -> Result<bool, StorageError> {
    let payments = count(order.item_count.saturating_add(rows.refunds));
    let gas = quote::gas_per_transfer(order.currency);
    let rate = fee.all_in(gas).max(order.quote.fee_rate);
    let price = UnitPrice { rate, gas };
    let most = quote::native_fee(order.currency, (payments, count(order.batch_count)), price)
        .map_err(|fault| StorageError::damaged("payout_order", fault))?;
    Ok(rows.fronted.checked_add(amount).is_none_or(|sum| sum > most))
}

/// The shortfall of the wallet, in words; `None` if it can pay beside its `promised` amount.
fn lacks(
    order: &PayoutOrder,
    payment: &Unsigned,
    balance: BaseUnits,
    promised: Promised,
) -> Option<String> {
    let transfers = u128::from(promised.payments) + 1;
    let fees = payment.fee.most(payment.work).saturating_mul(transfers);
    let parts = [promised.amount.get(), fees];
    let needed = parts.into_iter().fold(sum_of(payment).get(), u128::saturating_add);
    if balance.get() >= needed {
        return None;
    }
    let coin = Catalogue::get().native(order.currency.network);
    let coins = |units| BaseUnits::new(units).to_decimal(u32::from(coin.decimals));
    Some(format!(
        "the gas wallet {} on {} holds {} {} and needs {}; it continues by itself once the wallet is filled",
        payment.sender,
        order.currency.network,
        coins(balance.get()),
        coin.symbol,
        coins(needed),
    ))
}

/// An amount of the network's coin in USD at the quoted price, rounded up to the cent.
fn coins_usd(order: &PayoutOrder, amount: BaseUnits) -> Decimal {
    let decimals = Catalogue::get().native(order.currency.network).decimals;
    limit::value_usd(amount, decimals, order.quote.native_price_usd)
}
