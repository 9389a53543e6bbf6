//! Writing an event for a merchant, in the transaction that causes it.

use uuid::Uuid;

use crate::{
    asset::catalogue::Catalogue,
    broker::{
        envelope::{self, DeliveryRef, Turn},
        route::Route,
    },
    invoice::{
        lifecycle::Notice,
        payment::{Payment, iso_8601},
    },
    money::digits_in_coins,
    storage::{
        PgConnection, StorageError, deliveries,
        deposits::DepositRow,
        events::{self, NewDelivery, NewEvent},
        invoices::Invoice,
    },
    webhook::{
        event::EventKind,
        ipn::{self, NoticeBody},
    },
};

/// At most so many notices about foreign tokens per invoice: dust must not become a flood of
/// webhooks.
const FOREIGN_NOTICES_MAX: i64 = 5;

/// A new id of an event about an invoice.
pub(crate) fn new_id() -> String {
    format!("evt_{}", Uuid::now_v7().simple())
}

/// The events that transitions owe. One written before is left out; one without a callback address
/// is told by the feed alone.
pub(crate) async fn transitions(
    tx: &mut PgConnection,
    owed: &[(&Invoice, EventKind)],
    checkout_url: &str,
) -> Result<(), StorageError> {
    let event =
        |(invoice, kind): &(&Invoice, EventKind)| new_event(invoice, checkout_url, *kind, None);
    tell(tx, &owed.iter().map(event).collect::<Vec<_>>()).await
}

/// An informational event about one deposit, unless it was told before.
pub(crate) async fn notice(
    tx: &mut PgConnection,
    invoice: &Invoice,
    checkout_url: &str,
    notice: Notice,
    deposit: &DepositRow,
) -> Result<(), StorageError> {
    let kind = EventKind::from(notice);
    if notice != Notice::LateDeposit {
        let (network, contract) = (deposit.network, deposit.contract.as_deref());
        let (count, told) =
            deliveries::notices_of(tx, invoice.id, kind.as_str(), network, contract).await?;
        if told || count >= FOREIGN_NOTICES_MAX {
            return Ok(());
        }
    }
    let body = notice_body(kind.as_str(), deposit);
    let event = new_event(invoice, checkout_url, kind, Some((deposit.id, &body)));
    tell(tx, &[event]).await
}

fn notice_body(kind: &'static str, deposit: &DepositRow) -> NoticeBody {
    let currency = deposit.token_id.as_deref().and_then(|id| Catalogue::get().by_token_id(id));
    // An amount beyond 128 bits is known by its digits alone, and is still reported in coins.
    let coins = currency.and_then(|currency| {
        let decimals = u32::from(currency.decimals);
        let known = deposit.amount.map(|units| units.to_decimal(decimals));
        known.or_else(|| digits_in_coins(&deposit.amount_text, decimals))
    });
    let amount_unit = if coins.is_some() { ipn::IN_COINS } else { ipn::IN_BASE_UNITS };
    let amount = coins.unwrap_or_else(|| deposit.amount_text.clone());
    NoticeBody {
        kind,
        tx_hash: deposit.tx_hash.clone(),
        deposit_key: deposit.deposit_key.clone(),
        log_index: ipn::log_index(&deposit.deposit_key),
        network: deposit.network.name(),
        currency: currency.map(|currency| currency.code.to_owned()),
        contract_address: deposit.contract.clone(),
        amount,
        amount_unit,
        received_at: iso_8601(deposit.first_seen_at),
    }
}

async fn tell(tx: &mut PgConnection, new: &[NewEvent]) -> Result<(), StorageError> {
    if !new.is_empty() {
        events::tell(tx, new, Route::Ipn.as_str()).await?;
    }
    Ok(())
}

fn new_event(
    invoice: &Invoice,
    checkout_url: &str,
    kind: EventKind,
    notice: Option<(Uuid, &NoticeBody)>,
) -> NewEvent {
    let payment = Payment::render(&invoice.view, checkout_url);
    let event_id = new_id();
    let delivery = kind.channel().and_then(|_| delivery_of(invoice, &event_id));
    NewEvent {
        kind,
        merchant_id: invoice.merchant_id,
        payment_id: invoice.view.payment_id.clone(),
        subject: notice.map(|(deposit, _)| deposit),
        payload: ipn::snapshot(
            &payment,
            notice.map(|(_, body)| body),
            invoice.donation.as_ref(),
            None,
        ),
        delivery,
        event_id,
    }
}

/// The delivery of an IPN about an invoice; `None` if it has no callback address.
pub(crate) fn delivery_of(invoice: &Invoice, event_id: &str) -> Option<NewDelivery> {
    let url = invoice.view.ipn_callback_url.clone()?;
    let id = Uuid::now_v7();
    let message = DeliveryRef::new(id, event_id, Turn { cycle: 1, attempt: 1 });
    let (invoice_id, message) = (Some(invoice.id), envelope::encode(&message));
    Some(NewDelivery { id, invoice_id, url, message })
}
