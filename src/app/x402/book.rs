//! Deposits at addresses of resources: booked for their merchant, once, whether a settlement of
//! ours brought them or a plain transfer did.

use serde_json::json;
use uuid::Uuid;

use crate::{
    app::Gateway,
    asset::{Fiat, catalogue::Catalogue},
    broker::{
        envelope::{self, DepositRef},
        route::Route,
    },
    deposit::BookedAs,
    ledger::{Account, Entry, EntryKind},
    payout::id,
    storage::{
        PgConnection, StorageError,
        deposits::{self, DepositRow, returned},
        events::{self, NewEvent},
        ledger, outbox,
        x402::{reorgs, resources},
    },
    webhook::event::EventKind,
    x402,
};

/// Deposits that are booked in one transaction. The rest waits behind the messages of others, for
/// anybody may send any number of them.
const BATCH: usize = 50;

impl Gateway {
    /// Books the final deposits at the address of a resource that `deposit_id` reached, or one
    /// batch of them, and returns how many there were. Zero if the address is no resource's. The
    /// caller commits.
    pub(in crate::app) async fn book_x402(
        &self,
        tx: &mut PgConnection,
        deposit_id: Uuid,
    ) -> Result<usize, StorageError> {
        let Some(address_id) = deposits::address_without_owner(tx, deposit_id).await? else {
            return Ok(0);
        };
        let Some((merchant_id, resource_id)) = resources::of_address(tx, address_id).await? else {
            return Ok(0);
        };
        let with_next = i64::try_from(BATCH + 1).unwrap_or(i64::MAX);
        let mut waiting = deposits::lock_final_at(tx, address_id, with_next).await?;
        if let Some(next) = waiting.get(BATCH).map(|deposit| deposit.id) {
            let body = envelope::encode(&DepositRef { deposit_id: next });
            outbox::insert(tx, Route::Deposit.as_str(), &body).await?;
            waiting.truncate(BATCH);
        }
        for deposit in &waiting {
            book(tx, merchant_id, &resource_id, deposit).await?;
        }
        Ok(waiting.len())
    }
}

async fn book(
    tx: &mut PgConnection,
    merchant_id: Uuid,
    resource_id: &str,
    deposit: &DepositRow,
) -> Result<(), StorageError> {
    let (Some(asset), Some(amount)) = (deposit.token_id.clone(), deposit.amount) else {
        return deposits::settle(tx, deposit, BookedAs::Suspicious, Fiat::Usd).await;
    };
    let own = x402::token_of(deposit.network).map(|token| token.token_id());
    let is_own = own.as_deref() == Some(asset.as_str());
    let (kind, credit, booked_as) = if is_own {
        (EntryKind::X402Payment, Account::Merchant(merchant_id), BookedAs::Credit)
    } else {
        (EntryKind::ForeignDeposit, Account::Foreign(merchant_id), BookedAs::Foreign)
    };
    let debit = Account::Custody(deposit.network);
    let entry = Entry { kind, source: deposit.id, asset: asset.clone(), debit, credit, amount };
    ledger::book(tx, &entry).await?;
    deposits::settle(tx, deposit, booked_as, Fiat::Usd).await?;
    if is_own && !was_told(tx, deposit).await? {
        let event = paid(merchant_id, resource_id, deposit, &asset);
        events::tell(tx, &[event], Route::Ipn.as_str()).await?;
        metrics::counter!("x402_booked_total", "network" => deposit.network.name()).increment(1);
    }
    Ok(())
}

/// True if the payment was told before it left the chain. Its loss was not told, so neither is its
/// return, in the same transaction or in another version of it.
async fn was_told(tx: &mut PgConnection, deposit: &DepositRow) -> Result<bool, StorageError> {
    if deposit.replaces.is_some()
        && returned::counted_before(tx, deposit.id).await? == Some(BookedAs::Credit)
    {
        return Ok(true);
    }
    reorgs::was_told(tx, deposit.id).await
}

/// The event `x402.paid`, which the feed alone tells: a resource has no address for webhooks.
fn paid(merchant_id: Uuid, resource_id: &str, deposit: &DepositRow, asset: &str) -> NewEvent {
    let currency = Catalogue::get().by_token_id(asset);
    let decimals = currency.map_or(0, |currency| u32::from(currency.decimals));
    let payload = json!({
        "resource_id": resource_id,
        "amount": deposit.amount.unwrap_or_default().to_decimal(decimals),
        "currency": currency.map(|currency| currency.code),
        "network": deposit.network.name(),
        "tx_hash": deposit.tx_hash,
    });
    NewEvent {
        event_id: id::event(),
        kind: EventKind::X402Paid,
        merchant_id,
        payment_id: resource_id.to_owned(),
        subject: Some(deposit.id),
        payload: payload.to_string(),
        delivery: None,
    }
}

/// Takes a deposit at the address of a resource that left the chain out of the books, one in
/// another currency too. A payment counts as told, so that one which comes back is not told as
/// another.
pub(in crate::app) async fn reverse(
    tx: &mut PgConnection,
    lost: &DepositRow,
    booked_as: BookedAs,
) -> Result<(), StorageError> {
    let Some(address_id) = deposits::address_without_owner(tx, lost.id).await? else {
        return Ok(());
    };
    let Some((merchant_id, _)) = resources::of_address(tx, address_id).await? else {
        return Ok(());
    };
    let (Some(amount), Some(asset)) = (lost.amount, &lost.token_id) else { return Ok(()) };
    let debit = match booked_as {
        BookedAs::Credit => Account::Merchant(merchant_id),
        BookedAs::Foreign => Account::Foreign(merchant_id),
        BookedAs::Late | BookedAs::Suspicious | BookedAs::Nothing | BookedAs::Gas => return Ok(()),
    };
    let entry = Entry {
        kind: EntryKind::Reversal,
        source: lost.id,
        asset: asset.clone(),
        debit,
        credit: Account::Custody(lost.network),
        amount,
    };
    ledger::book(tx, &entry).await
}
