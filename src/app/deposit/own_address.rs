//! Deposits at a merchant's own address, which belongs to no invoice: credited as they come, and
//! told once each.

use serde_json::Number;
use uuid::Uuid;

use crate::{
    app::{Gateway, delivery::emit},
    asset::{Fiat, catalogue::Catalogue, catalogue::Currency},
    broker::{
        envelope::{self, DeliveryRef, DepositRef, Turn},
        route::Route,
    },
    deposit::BookedAs,
    invoice::payment::{iso_8601, json_number},
    ledger::{Account, Entry, EntryKind},
    legacy::address::Purpose,
    money::BaseUnits,
    storage::{
        PgConnection, StorageError,
        deposits::{self, DepositRow, returned},
        events::{self, NewDelivery, NewEvent},
        ledger,
        legacy_addresses::{self, LegacyAddress},
        outbox,
    },
    webhook::{deposit::DepositBody, event::EventKind},
};

/// Deposits settled in one transaction: an address is open to everybody.
const BATCH: usize = 25;

impl Gateway {
    /// Settles the final deposits at the address that `deposit_id` reached, or one batch of them,
    /// and returns how many there were. Zero if the address has no owner. As with an invoice, a
    /// message about a booked deposit does nothing while more than a batch waits: the rest has a
    /// message already, and a flood would keep more and more of them on their way. The caller
    /// commits.
    pub(super) async fn settle_at_own_address(
        &self,
        tx: &mut PgConnection,
        deposit_id: Uuid,
    ) -> Result<usize, StorageError> {
        let Some(address) = legacy_addresses::of_deposit(tx, deposit_id).await? else {
            return Ok(0);
        };
        let with_next = i64::try_from(BATCH + 1).unwrap_or(i64::MAX);
        let mut waiting =
            legacy_addresses::lock_unsettled(tx, address.address_id, with_next).await?;
        if let Some(next) = waiting.get(BATCH).map(|deposit| deposit.id) {
            if deposits::is_booked(tx, deposit_id).await? {
                return Ok(0);
            }
            let body = envelope::encode(&DepositRef { deposit_id: next });
            outbox::insert(tx, Route::Deposit.as_str(), &body).await?;
            waiting.truncate(BATCH);
        }
        for deposit in &waiting {
            self.settle_own(tx, &address, deposit).await?;
        }
        Ok(waiting.len())
    }

    async fn settle_own(
        &self,
        tx: &mut PgConnection,
        address: &LegacyAddress,
        deposit: &DepositRow,
    ) -> Result<(), StorageError> {
        let (Some(amount), Some(token_id)) = (deposit.amount, &deposit.token_id) else {
            return deposits::settle(tx, deposit, BookedAs::Suspicious, Fiat::Usd).await;
        };
        // A token names its network too. Whoever reads an IPN may look at its amount alone, so
        // another currency than the one asked for is never told as a payment.
        let is_asked_for = *token_id == address.token_id;
        let (booked_as, kind, credit) = if is_asked_for {
            (BookedAs::Credit, EntryKind::Deposit, Account::Merchant(address.merchant_id))
        } else {
            (BookedAs::Foreign, EntryKind::ForeignDeposit, Account::Foreign(address.merchant_id))
        };
        let entry = Entry {
            kind,
            source: deposit.id,
            asset: token_id.clone(),
            debit: Account::Custody(deposit.network),
            credit,
            amount,
        };
        ledger::book(tx, &entry).await?;
        deposits::settle(tx, deposit, booked_as, Fiat::Usd).await?;
        // One that left the chain and came back was told, and its loss was not.
        let was_told = match deposit.replaces {
            Some(_) => returned::counted_before(tx, deposit.id).await? == Some(BookedAs::Credit),
            None => false,
        };
        if is_asked_for && !was_told {
            self.tell_credited(tx, address, deposit, amount).await?;
        }
        Ok(())
    }

    /// The event of the feed, and its IPN where the address has one.
    async fn tell_credited(
        &self,
        tx: &mut PgConnection,
        address: &LegacyAddress,
        deposit: &DepositRow,
        amount: BaseUnits,
    ) -> Result<(), StorageError> {
        let currency = Catalogue::get().by_token_id(&address.token_id);
        let unknown = || StorageError::damaged("legacy_address", "its currency is unknown");
        let currency = currency.ok_or_else(unknown)?;
        let body = self.credited(tx, address, deposit, (currency, amount)).await?;
        let payload = serde_json::to_string(&body);
        let payload = payload.map_err(|error| StorageError::damaged("deposit", error))?;
        let event_id = emit::new_id();
        let event = NewEvent {
            kind: EventKind::DepositCredited,
            merchant_id: address.merchant_id,
            payment_id: body.deposit_id,
            subject: Some(deposit.id),
            payload,
            delivery: delivery(address, &event_id),
            event_id,
        };
        events::tell(tx, &[event], Route::Ipn.as_str()).await
    }

    async fn credited(
        &self,
        tx: &mut PgConnection,
        address: &LegacyAddress,
        deposit: &DepositRow,
        (currency, amount): (&Currency, BaseUnits),
    ) -> Result<DepositBody, StorageError> {
        let confirmations = self.config.chain(deposit.network).confirmations;
        let minimum = u64::try_from(deposit.min_confirmations).unwrap_or(0);
        let value = legacy_addresses::value(tx, deposit.id).await?;
        let (fiat_currency, fiat_amount): (Option<String>, Option<Number>) =
            value.map(|(fiat, value)| (fiat, json_number(&value))).unzip();
        Ok(DepositBody {
            deposit_id: deposit.id.simple().to_string(),
            address: address.address.clone(),
            network: currency.network.name().to_owned(),
            currency: currency.code.to_owned(),
            amount: json_number(&amount.to_decimal(u32::from(currency.decimals))),
            tx_hash: deposit.tx_hash.clone(),
            confirmations: confirmations.max(minimum),
            label: address.label.clone(),
            fiat_currency,
            fiat_amount,
            received_at: iso_8601(deposit.first_seen_at),
        })
    }
}

fn delivery(address: &LegacyAddress, event_id: &str) -> Option<NewDelivery> {
    let url = address.ipn_url.clone().filter(|_| address.purpose == Purpose::Callback)?;
    let id = Uuid::now_v7();
    let message = DeliveryRef::new(id, event_id, Turn { cycle: 1, attempt: 1 });
    Some(NewDelivery { id, invoice_id: None, url, message: envelope::encode(&message) })
}
