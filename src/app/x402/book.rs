//! Deposits at addresses of resources: booked for their merchant, once, whether a settlement of
//! ours brought them or a plain transfer did.

use serde_json::json;
use uuid::Uuid;

use crate::{
    app::Gateway,
    asset::{Fiat, catalogue::Catalogue},
    broker::route::Route,
    deposit::BookedAs,
    ledger::{Account, Entry, EntryKind},
    payout::id,
    storage::{
        PgConnection, StorageError,
        deposits::{self, DepositRow},
        events::{self, NewEvent},
        ledger,
        x402::resources,
    },
    webhook::event::EventKind,
    x402,
};

/// Deposits that are booked in one transaction; the sweeper sends another message for the rest.
const DEPOSITS_MAX: i64 = 50;

impl Gateway {
    /// Books the final deposits at the address of a resource; `None` if the address has none.
    pub(in crate::app) async fn book_x402(
        &self,
        tx: &mut PgConnection,
        address_id: Uuid,
    ) -> Result<Option<usize>, StorageError> {
        let Some((merchant_id, resource_id)) = resources::of_address(tx, address_id).await? else {
            return Ok(None);
        };
        let waiting = deposits::lock_final_at(tx, address_id, DEPOSITS_MAX).await?;
        for deposit in &waiting {
            book(tx, merchant_id, &resource_id, deposit).await?;
        }
        Ok(Some(waiting.len()))
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
    if is_own {
        let event = paid(merchant_id, resource_id, deposit, &asset);
        events::tell(tx, &[event], Route::Ipn.as_str()).await?;
        metrics::counter!("x402_booked_total", "network" => deposit.network.name()).increment(1);
    }
    Ok(())
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

/// Takes a payment for a resource that left the chain out of the books. `true` if it was one.
pub(in crate::app) async fn reverse(
    tx: &mut PgConnection,
    lost: &DepositRow,
    booked_as: BookedAs,
) -> Result<bool, StorageError> {
    let Some(address_id) = deposits::address_without_owner(tx, lost.id).await? else {
        return Ok(false);
    };
    let Some((merchant_id, _)) = resources::of_address(tx, address_id).await? else {
        return Ok(false);
    };
    // As with payouts, what was foreign stays booked until an operator has looked.
    let (Some(amount), Some(asset), BookedAs::Credit) = (lost.amount, &lost.token_id, booked_as)
    else {
        return Ok(true);
    };
    let entry = Entry {
        kind: EntryKind::Reversal,
        source: lost.id,
        asset: asset.clone(),
        debit: Account::Merchant(merchant_id),
        credit: Account::Custody(lost.network),
        amount,
    };
    ledger::book(tx, &entry).await?;
    Ok(true)
}
