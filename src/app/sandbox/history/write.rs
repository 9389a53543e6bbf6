//! Writing one order of the past: created, paid or not, told.

use chrono::{DateTime, TimeDelta, Utc};
use rand::Rng;
use uuid::Uuid;

use super::{
    HistoryError, Past,
    plan::{Ending, Order, Told},
};
use crate::{
    app::{address::give::NoAddress, delivery::emit, invoice::carry_out::interpret, market::Offer},
    asset::{Fiat, address},
    broker::{
        envelope::{self, InvoiceRef},
        route::Route,
    },
    deposit::BookedAs,
    invoice::{
        Status,
        deadline::{Sight, is_on_time},
        lifecycle::{self, Effect, Event, Step},
        payment::Payment,
    },
    ledger::{Account, Entry, EntryKind},
    money::BaseUnits,
    storage::{
        PgConnection, StorageError,
        addresses::NewAddress,
        creation::{self, Opening},
        history::{self, PastAttempt, PastDeposit, PastEvent},
        invoices::Invoice,
        simulation::{self, SimTransfer},
    },
    webhook::{event::EventKind, ipn, retry::DeliveryState},
};

const ATTEMPTS_MAX: i16 = 5;

impl Past<'_> {
    pub(super) async fn write(
        &self,
        tx: &mut PgConnection,
        mut invoice: Invoice,
        offer: &Offer,
        order: &Order,
    ) -> Result<(), HistoryError> {
        let address = self.open(tx, &mut invoice, offer).await?;
        let due = invoice.for_lifecycle().due;
        let half = BaseUnits::new(due.get() / 2);
        let over = due.saturating_add(BaseUnits::new(due.get() / 5));
        let created = invoice.view.created_at;
        let paid = created + TimeDelta::seconds(order.pays_after);
        let soon = paid + TimeDelta::seconds(150);
        let deadline = invoice.view.deadline;
        let late = deadline + TimeDelta::minutes(25);
        let payments = match order.ending {
            Ending::Paid => vec![(due, paid)],
            Ending::PaidInTwo => vec![(half, paid), (due.remaining_after(half), soon)],
            Ending::Overpaid => vec![(over, paid)],
            Ending::Half => vec![(half, paid)],
            Ending::Unpaid | Ending::Late | Ending::Cancelled => Vec::new(),
        };
        for (amount, at) in payments {
            self.pay(tx, &mut invoice, (offer, &address), (amount, at), order).await?;
        }
        match order.ending {
            Ending::Unpaid | Ending::Half | Ending::Late => {
                let now = deadline + TimeDelta::seconds(20);
                let event = Event::DeadlinePassed {
                    now,
                    sight: Sight::Complete,
                    in_sight: invoice.credited,
                    may_hold: false,
                };
                self.step(tx, &mut invoice, event, (now, None), order).await?;
            }
            Ending::Cancelled => {
                let event = Event::CancelRequested { now: paid, seen: false };
                self.step(tx, &mut invoice, event, (paid, None), order).await?;
            }
            Ending::Paid | Ending::PaidInTwo | Ending::Overpaid => {}
        }
        if order.ending == Ending::Late {
            self.pay(tx, &mut invoice, (offer, &address), (due, late), order).await?;
        }
        history::close(tx, &invoice).await?;
        Ok(())
    }

    /// Creates the invoice as the API does, then dates its rows back.
    async fn open(
        &self,
        tx: &mut PgConnection,
        invoice: &mut Invoice,
        offer: &Offer,
    ) -> Result<NewAddress, HistoryError> {
        let given = self.gateway.give_address(tx, offer.currency.family()).await;
        let address = given.map_err(|error| match error {
            NoAddress::Storage(error) => error,
            other @ (NoAddress::NoKey { .. }
            | NoAddress::PoolEmpty { .. }
            | NoAddress::NotDerivable { .. }) => StorageError::damaged("deposit_address", other),
        })?;
        if let Some(asset) = &mut invoice.view.asset {
            asset.pay_address.clone_from(&address.address);
        }
        let payment = Payment::render(&invoice.view, &self.gateway.config.checkout_url);
        let event_id = emit::new_id();
        let message = envelope::encode(&InvoiceRef { invoice_id: invoice.id });
        let opening = Opening {
            invoice,
            event: (&event_id, &ipn::snapshot(&payment, None, None, None)),
            address: Some(&address),
            route: Route::InvoiceCreated.as_str(),
            message: &message,
        };
        creation::open(tx, &opening).await?;
        history::age_opening(tx, invoice.id, &event_id, invoice.view.created_at).await?;
        Ok(address)
    }

    /// Pays on the simulated chain, and books the deposit as the lifecycle says.
    async fn pay(
        &self,
        tx: &mut PgConnection,
        invoice: &mut Invoice,
        (offer, to): (&Offer, &NewAddress),
        (amount, at): (BaseUnits, DateTime<Utc>),
        order: &Order,
    ) -> Result<(), HistoryError> {
        let currency = offer.currency;
        let network = currency.network;
        let contract = currency.contract.map(|text| address::match_key(network.family(), text));
        let txid = transaction_id(network.evm_chain_id().is_some());
        let transfer = SimTransfer {
            txid: txid.clone(),
            output: 0,
            address: to.match_key.clone(),
            contract: contract.clone(),
            amount: amount.get().to_string(),
            height: None,
        };
        simulation::add_transfer(tx, network, &transfer).await?;
        let block = simulation::mine(tx, network).await?;
        simulation::include(tx, network, Some(&txid), block.height).await?;
        let on_time = is_on_time(invoice.view.deadline, at, None);
        let id = Uuid::now_v7();
        let confirmed = at + TimeDelta::seconds(75);
        let rate = invoice.rate.unwrap_or_default();
        let deposit = PastDeposit {
            id,
            network,
            deposit_key: format!("{txid}:0"),
            tx_hash: txid,
            address_id: to.id,
            invoice_id: invoice.id,
            token_id: currency.token_id(),
            contract,
            amount,
            height: block.height,
            block_hash: block.hash,
            seen_at: at,
            final_at: confirmed,
            booked_as: if on_time { BookedAs::Credit } else { BookedAs::Late },
            fiat: Fiat::Usd,
            rate,
            rate_source: invoice.rate_source.clone().unwrap_or_default(),
            decimals: i32::from(currency.decimals),
        };
        history::deposit(tx, &deposit).await?;
        let event = Event::DepositConfirmed { amount, on_time };
        self.step(tx, invoice, event, (confirmed, Some(id)), order).await
    }

    /// Lets the lifecycle decide, and writes its bookings and its events.
    async fn step(
        &self,
        tx: &mut PgConnection,
        invoice: &mut Invoice,
        event: Event,
        (at, deposit): (DateTime<Utc>, Option<Uuid>),
        order: &Order,
    ) -> Result<(), HistoryError> {
        let step = lifecycle::step(&invoice.for_lifecycle(), event);
        let outcome = interpret(invoice, &step);
        invoice.view.updated_at = at;
        for entry in entries(invoice, &step, deposit) {
            history::book(tx, &entry, at).await?;
        }
        for kind in outcome.kinds(invoice.view.status) {
            self.tell(tx, invoice, kind, (at, None), order).await?;
        }
        // A late deposit has a notice of its own.
        if let Some(id) = deposit
            && step.effects.iter().any(|effect| matches!(effect, Effect::BookLate(_)))
        {
            self.tell(tx, invoice, EventKind::LateDeposit, (at, Some(id)), order).await?;
        }
        if matches!(invoice.view.status, Status::Paid | Status::Overpaid) {
            history::finish(tx, invoice.id, at).await?;
        }
        Ok(())
    }

    async fn tell(
        &self,
        tx: &mut PgConnection,
        invoice: &Invoice,
        kind: EventKind,
        (at, subject): (DateTime<Utc>, Option<Uuid>),
        order: &Order,
    ) -> Result<(), HistoryError> {
        let payment = Payment::render(&invoice.view, &self.gateway.config.checkout_url);
        let url = kind.channel().and(self.ipn_url);
        let event = PastEvent {
            event_id: emit::new_id(),
            kind,
            merchant_id: invoice.merchant_id,
            invoice_id: invoice.id,
            payment_id: invoice.view.payment_id.clone(),
            subject,
            payload: ipn::snapshot(&payment, None, None, None),
            at,
            delivery: url.map(|url| (url.to_owned(), state(order.told), attempts(order, at))),
        };
        history::tell(tx, &event).await?;
        Ok(())
    }
}

/// The bookings of a step, as `invoice::carry_out` makes them.
fn entries(invoice: &Invoice, step: &Step, deposit: Option<Uuid>) -> Vec<Entry> {
    let merchant = invoice.merchant_id;
    let asset = || invoice.token_id.clone().unwrap_or_default();
    let (Some(network), Some(source)) = (invoice.network(), deposit) else { return Vec::new() };
    let custody = Account::Custody(network);
    let entry = |kind, source, debit, credit, amount| Entry {
        kind,
        source,
        asset: asset(),
        debit,
        credit,
        amount,
    };
    let booked = step.effects.iter().filter_map(|effect| match *effect {
        Effect::Credit(amount) => {
            let to = Account::Merchant(merchant);
            Some(entry(EntryKind::Deposit, source, custody, to, amount))
        }
        Effect::BookLate(amount) => {
            let to = Account::Late(merchant);
            Some(entry(EntryKind::LateDeposit, source, custody, to, amount))
        }
        Effect::RouteExcess(excess) => {
            let from = Account::Merchant(merchant);
            Some(entry(EntryKind::Excess, invoice.id, from, Account::Treasury, excess))
        }
        Effect::SendIpn(_) | Effect::SendNotice(_) | Effect::TakeBack(_) => None,
    });
    booked.collect()
}

const fn state(told: Told) -> DeliveryState {
    match told {
        Told::AtOnce | Told::SecondTime => DeliveryState::Delivered,
        Told::GivenUp => DeliveryState::Dead,
    }
}

fn attempts(order: &Order, at: DateTime<Utc>) -> Vec<PastAttempt> {
    let attempt = |number: i16, status: i16| PastAttempt {
        number,
        started_at: at + TimeDelta::seconds(1 + i64::from(number - 1) * 31),
        duration_ms: order.answer_ms,
        status,
    };
    match order.told {
        Told::AtOnce => vec![attempt(1, 200)],
        Told::SecondTime => vec![attempt(1, 502), attempt(2, 200)],
        Told::GivenUp => (1..=ATTEMPTS_MAX).map(|number| attempt(number, 503)).collect(),
    }
}

fn transaction_id(is_evm: bool) -> String {
    let mut bytes = [0_u8; 32];
    rand::rng().fill_bytes(&mut bytes);
    let digits = hex::encode(bytes);
    if is_evm { format!("0x{digits}") } else { digits }
}
