//! Writing an event for a merchant, in the transaction that causes it.

use uuid::Uuid;

use crate::{
    asset::catalogue::Catalogue,
    broker::{
        envelope::{self, DeliveryRef, Turn},
        route::Route,
    },
    invoice::{
        lifecycle::{Ipn, Notice},
        payment::{Payment, iso_8601},
    },
    money::digits_in_coins,
    storage::{
        PgConnection, StorageError,
        deliveries::{self, NewDelivery},
        deposits::DepositRow,
        invoices::Invoice,
    },
    webhook::ipn::{self, NoticeBody},
};

/// At most so many notices about foreign tokens per invoice: dust must not become a flood of
/// webhooks.
const FOREIGN_NOTICES_MAX: i64 = 5;

/// The events that transitions owe. One without a callback address, or written before, is left out.
pub(crate) async fn ipns(
    tx: &mut PgConnection,
    owed: &[(&Invoice, Ipn)],
    checkout_url: &str,
) -> Result<(), StorageError> {
    let event = |(invoice, event): &(&Invoice, Ipn)| {
        let kind = match event {
            Ipn::Finished => "finished",
            Ipn::Expired => "expired",
        };
        new_delivery(invoice, checkout_url, kind, Uuid::nil(), None)
    };
    announce(tx, &owed.iter().filter_map(event).collect::<Vec<_>>()).await
}

/// An informational event about one deposit.
pub(crate) async fn notice(
    tx: &mut PgConnection,
    invoice: &Invoice,
    checkout_url: &str,
    notice: Notice,
    deposit: &DepositRow,
) -> Result<(), StorageError> {
    let kind = match notice {
        Notice::WrongToken => "wrong_token_received",
        Notice::SuspiciousToken => "suspicious_token_received",
        Notice::LateDeposit => "late_deposit_received",
    };
    if notice != Notice::LateDeposit {
        let (network, contract) = (deposit.network, deposit.contract.as_deref());
        let (count, told) = deliveries::notices_of(tx, invoice.id, kind, network, contract).await?;
        if told || count >= FOREIGN_NOTICES_MAX {
            return Ok(());
        }
    }
    let body = notice_body(kind, deposit);
    let event = new_delivery(invoice, checkout_url, kind, deposit.id, Some(&body));
    announce(tx, event.as_slice()).await
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

async fn announce(tx: &mut PgConnection, events: &[NewDelivery]) -> Result<(), StorageError> {
    if !events.is_empty() {
        deliveries::announce(tx, events, Route::Ipn.as_str()).await?;
    }
    Ok(())
}

/// `None` for an invoice without a callback address.
fn new_delivery(
    invoice: &Invoice,
    checkout_url: &str,
    kind: &'static str,
    subject: Uuid,
    notice: Option<&NoticeBody>,
) -> Option<NewDelivery> {
    let url = invoice.view.ipn_callback_url.clone()?;
    let payment = Payment::render(&invoice.view, checkout_url);
    let id = Uuid::now_v7();
    let event_id = format!("evt_{}", Uuid::now_v7().simple());
    let message = DeliveryRef::new(id, &event_id, Turn { cycle: 1, attempt: 1 });
    Some(NewDelivery {
        id,
        kind,
        merchant_id: invoice.merchant_id,
        invoice_id: invoice.id,
        subject,
        url,
        payload: ipn::snapshot(&payment, notice),
        message: envelope::encode(&message),
        event_id,
    })
}
