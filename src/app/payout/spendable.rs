//! The coins and fees that a payment of a bitcoin-like order may spend, read under the order's row
//! lock.

use uuid::Uuid;

use super::price::quoted;
use crate::{
    asset::catalogue::Catalogue,
    chain::pay::{Spendable, utxo::transaction::virtual_size},
    money::BaseUnits,
    payout::{
        PayoutFamily, State,
        fee::Fee,
        quote::{self, Unearned},
    },
    storage::{
        PgConnection, StorageError,
        payouts::{
            PayoutOrder, coins, gas, items,
            payments::{self, OpenPayment},
        },
    },
};

/// For a new payment that pays `rows` of the order's rows and offers `fee`; `kept` is taken for it
/// beside the fees taken before.
pub(super) async fn of_order(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    fee: Fee,
    (rows, kept): (usize, BaseUnits),
) -> Result<Spendable, StorageError> {
    let coins = coins::spendable(tx, order.id).await?;
    let budget = budget(tx, order, None, fee.rate_least, (rows, kept)).await?;
    let Budget { most: fee_max, limit: fee_limit } = budget;
    Ok(Spendable { coins, every_coin: false, fee_extra: BaseUnits::ZERO, fee_max, fee_limit })
}

/// The amount that the order has kept for the network and not spent.
pub(super) async fn unspent(
    tx: &mut PgConnection,
    order: &PayoutOrder,
) -> Result<BaseUnits, StorageError> {
    most(tx, order, None).await
}

/// For another version of a payment: the same coins, all of them. A payment that is helped along is
/// helped within the quote alone.
pub(super) async fn of_version(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    payment: &OpenPayment,
) -> Result<Spendable, StorageError> {
    let coins = coins::inputs_of(tx, payment.id).await?;
    let fee_max = most(tx, order, Some(payment.id)).await?;
    let (fee_extra, fee_limit) = (BaseUnits::ZERO, fee_max);
    Ok(Spendable { coins, every_coin: true, fee_extra, fee_max, fee_limit })
}

/// For a child that pays for all that waits (CPFP), out of the change of `parent`; `None` if
/// nothing is left of that.
pub(super) async fn of_child(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    parent: Uuid,
    fee_rate: u128,
) -> Result<Option<Spendable>, StorageError> {
    let Some(change) = coins::waiting_change(tx, order.id).await?.remove(&parent) else {
        return Ok(None);
    };
    let open = payments::open(tx, order.id).await?;
    let waiting = open.iter().filter(|payment| payment.height.is_none());
    let (mut wanted, mut paid) = (0_u128, 0_u128);
    for version in waiting.filter_map(|payment| payment.versions.last()) {
        let bytes = virtual_size(&version.raw)
            .ok_or_else(|| StorageError::damaged("payout_version", "it is no transaction"))?;
        wanted = wanted.saturating_add(u128::from(bytes).saturating_mul(fee_rate));
        paid = paid.saturating_add(version.taken.unwrap_or_default().get());
    }
    let fee_extra = BaseUnits::new(wanted.saturating_sub(paid));
    let fee_max = most(tx, order, None).await?;
    let (coins, fee_limit) = (vec![change], fee_max);
    Ok(Some(Spendable { coins, every_coin: true, fee_extra, fee_max, fee_limit }))
}

/// Returns whether the order began to pay, and took the fees that it had quoted: those of rows that
/// never went out are given back at the end. An order that never began has kept only the fees of
/// its own refunds, and remainders.
pub(super) fn has_kept_its_fees(order: &PayoutOrder) -> bool {
    let has_begun = match order.state {
        State::Processing | State::Completed | State::PartialFailed => true,
        State::Draft
        | State::PendingDeposit
        | State::Funded
        | State::Expired
        | State::Cancelled => false,
    };
    has_begun && !order.books.kept.is_zero()
}

/// The fees of an order's rows that never went out, in its own asset.
pub(super) async fn unearned(
    tx: &mut PgConnection,
    order: &PayoutOrder,
) -> Result<Unearned, StorageError> {
    let (unsent, amount) = items::never_sent(tx, order.id).await?;
    let rows = usize::try_from(order.item_count).unwrap_or(usize::MAX);
    let decimals = Catalogue::get().native(order.currency.network).decimals;
    quote::unearned(order.currency, decimals, (rows, unsent), amount, &quoted(order))
        .map_err(|fault| StorageError::damaged("payout_order", fault))
}

/// The same as far as it may be given back: where payments take their fees out of outputs, the part
/// that those of other rows took beyond their quote is gone.
pub(super) async fn to_give_back(
    tx: &mut PgConnection,
    order: &PayoutOrder,
) -> Result<BaseUnits, StorageError> {
    let Unearned { network, service } = unearned(tx, order).await?;
    let sum = network.saturating_add(service);
    if order.family == PayoutFamily::Evm {
        return Ok(sum);
    }
    let signed = coins::fees_signed(tx, order.id, None).await?;
    let refund = quote::utxo_reserve((0, 0), order.quote.fee_rate);
    let ours = order.quote.service_fee.remaining_after(service);
    let free =
        [signed, refund, ours].into_iter().fold(order.books.kept, BaseUnits::remaining_after);
    Ok(sum.min(free))
}

/// The part of the network fee that an order on a real EVM network paid for nothing: what was
/// quoted, less the fees of all its payments so far and the cost of sending the rest back.
pub(super) async fn unused(
    tx: &mut PgConnection,
    order: &PayoutOrder,
) -> Result<BaseUnits, StorageError> {
    let paid = gas::paid(tx, order.id).await?;
    // The portions of gas that are not final yet.
    let open = u128::from(paid.open).saturating_mul(quote::GAS_PER_COIN_TRANSFER);
    let open = BaseUnits::new(open.saturating_mul(order.quote.fee_rate));
    let spent = paid.fees.saturating_add(open);
    let decimals = Catalogue::get().native(order.currency.network).decimals;
    let rows = usize::try_from(order.item_count).unwrap_or(usize::MAX);
    quote::unused(order.currency, decimals, rows, spent, &quoted(order))
        .map_err(|fault| StorageError::damaged("payout_order", fault))
}

/// The amount that a payment may take for the network.
struct Budget {
    /// The rest of the order's fees, less the quoted fees of the rows that are not signed yet and
    /// of the refund.
    most: BaseUnits,
    /// The same where that does not buy the lowest rate that is of use: our own fee gives way, the
    /// other rows are reckoned at that rate, and a refund pays for itself.
    limit: BaseUnits,
}

/// For payments signed already, whose rate gives way as far as the quote says.
async fn most(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    but: Option<Uuid>,
) -> Result<BaseUnits, StorageError> {
    Ok(budget(tx, order, but, 0, (0, BaseUnits::ZERO)).await?.most)
}

/// The rows that are not signed yet beside the `rows` of the payment at hand, and their batches.
async fn later(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    rows: usize,
) -> Result<(usize, usize), StorageError> {
    let (unsigned, batches) = items::unsigned_count(tx, order.id).await?;
    let this_one = usize::from(rows > 0);
    Ok((unsigned.saturating_sub(rows), batches.saturating_sub(this_one)))
}

/// Our own fee, less the part that is given back once the order has ended.
pub(super) async fn service_kept(
    tx: &mut PgConnection,
    order: &PayoutOrder,
) -> Result<BaseUnits, StorageError> {
    if !order.state.is_terminal() {
        return Ok(order.quote.service_fee);
    }
    Ok(order.quote.service_fee.remaining_after(unearned(tx, order).await?.service))
}

async fn budget(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    but: Option<Uuid>,
    rate_least: u128,
    (rows, kept): (usize, BaseUnits),
) -> Result<Budget, StorageError> {
    let for_us =
        if has_kept_its_fees(order) { service_kept(tx, order).await? } else { BaseUnits::ZERO };
    let unsigned = later(tx, order, rows).await?;
    let signed = coins::fees_signed(tx, order.id, but).await?;
    let (reserve, least) = if order.state.is_terminal() {
        (BaseUnits::ZERO, BaseUnits::ZERO)
    } else {
        let floor = quote::fee_rate_floor(order.currency.family()).max(rate_least);
        let rate = order.quote.fee_rate;
        (quote::utxo_reserve(unsigned, rate), quote::utxo_rows(unsigned, floor))
    };
    let kept = order.books.kept.saturating_add(kept);
    let less = |taken: &[BaseUnits]| taken.iter().copied().fold(kept, BaseUnits::remaining_after);
    let most = less(&[for_us, signed, reserve]);
    Ok(Budget { most, limit: less(&[signed, least]).max(most) })
}
