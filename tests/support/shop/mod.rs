//! A merchant's shop on a stack of its own: invoices, buyers and webhooks for scenario tests.
//!
//! Statuses are read from the gateway and not over HTTP, because polling would use up the rate
//! limits.

pub mod announced;
pub mod grown;
pub mod payable;
pub mod paying;
pub mod payout_events;
pub mod payouts;
pub mod receiver;
pub mod roastery;
pub mod trade;

use std::sync::Arc;

use gateway::{
    app::{
        deposit::follow_chain::{Look, follower_of},
        sandbox::simulate::{Deposit, PaidIn, Payee, Simulated},
    },
    asset::{
        Family, Network,
        address::{AccountKey, Realm, sandbox},
    },
    invoice::Status,
    merchant::settings::Settings,
    storage::{
        deliveries::{self, AttemptRow, DeliveryRow},
        deposits, invoices, ledger,
    },
};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::{
    server::{
        broker::eventually,
        stack::{Merchant, Stack, with_configured_stack},
    },
    shop::receiver::{Received, Receiver},
};

/// The networks a shop's stack follows; the others would only keep the machine busy.
pub const FOLLOWED: [Network; 2] = [Network::Polygon, Network::Bsc];

/// One merchant with one receiver for its webhooks.
pub struct Shop {
    pub stack: Arc<Stack>,
    pub merchant: Merchant,
    pub receiver: Receiver,
}

/// An entry of the books, in whole base units.
#[derive(Debug, PartialEq, Eq)]
pub struct Booked {
    pub kind: String,
    pub asset: String,
    pub debit: String,
    pub credit: String,
    pub amount: u128,
}

/// Runs `test` in a fresh shop. No worker runs until the test starts it.
pub async fn with_shop<F: Future<Output = ()>>(test: impl FnOnce(Shop) -> F) {
    with_configured_shop("", Settings::default(), test).await;
}

/// The same, for a merchant with `settings`.
pub async fn with_shop_of<F: Future<Output = ()>>(
    settings: Settings,
    test: impl FnOnce(Shop) -> F,
) {
    with_configured_shop("", settings, test).await;
}

/// The same, with `toml` on top of the configuration.
pub async fn with_configured_shop<F: Future<Output = ()>>(
    toml: &str,
    settings: Settings,
    test: impl FnOnce(Shop) -> F,
) {
    let quiet = Network::ALL.into_iter().filter(|network| !FOLLOWED.contains(network));
    let off = quiet.map(|network| format!("chains.{network}.source = \"off\"\n"));
    let toml = off.collect::<String>() + toml;
    with_configured_stack(&toml, |stack| async move {
        test(Shop::open(&stack, settings).await).await;
    })
    .await;
}

impl Shop {
    pub async fn open(stack: &Arc<Stack>, settings: Settings) -> Self {
        let merchant = stack.merchant_with(settings).await;
        Self { stack: stack.clone(), merchant, receiver: Receiver::answering(200).await }
    }

    /// 100 dollars in USDT on Polygon, which the fixed rates make 100 USDT.
    pub async fn invoice(&self) -> String {
        self.invoice_of(json!({})).await
    }

    /// The same with other or further fields; `null` leaves one out.
    pub async fn invoice_of(&self, fields: Value) -> String {
        let mut body = json!({
            "price_amount": 100, "price_currency": "usd", "pay_currency": "usdtmatic",
            "ipn_callback_url": self.receiver.url,
        });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let created = self.merchant.client.post("/v1/payment", &body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        created.json()["payment_id"].as_str().unwrap().to_owned()
    }

    /// A confirmed deposit of the invoice's own token.
    pub async fn pay(&self, id: &str, amount: &str) -> Simulated {
        self.send(&deposit(id, amount)).await
    }

    pub async fn send(&self, deposit: &Deposit) -> Simulated {
        self.stack.gateway.simulate_deposit(deposit).await.unwrap()
    }

    /// The internal status.
    pub async fn status(&self, id: &str) -> Status {
        self.stack.gateway.buyer_status(id).await.unwrap().unwrap().status
    }

    pub async fn becomes(&self, id: &str, status: Status) {
        let what = format!("{id} is {}", status.as_str());
        eventually(&what, async || (self.status(id).await == status).then_some(())).await;
    }

    /// The payment as the merchant reads it.
    pub async fn payment(&self, id: &str) -> Value {
        self.merchant.client.get(&format!("/v1/payment/{id}")).await.json()
    }

    /// Waits for the `count`th webhook, verifies it, and returns its body.
    pub async fn webhook(&self, count: usize) -> Value {
        let received = self.receiver.wait_for(count).await;
        self.verified(&received[count - 1])
    }

    /// Waits for the `count`th webhook about one invoice.
    pub async fn webhook_about(&self, id: &str, count: usize) -> Value {
        let about = |received: &Received| received.json()["payment_id"] == id;
        let received = eventually(&format!("{count} webhooks about {id}"), async || {
            self.receiver.received().into_iter().filter(about).nth(count - 1)
        })
        .await;
        self.verified(&received)
    }

    pub fn verified(&self, received: &Received) -> Value {
        received.verify(self.merchant.new.webhook_secret.reveal());
        received.json()
    }

    /// All events written for an invoice. They are written with the change that causes them, so an
    /// event that is missing here is not on its way either.
    pub async fn events(&self, id: &str) -> Vec<String> {
        // First, because dozens of concurrent calls that each held one connection and asked for
        // another would deadlock.
        let row = self.row_id(id).await;
        let mut connection = self.stack.gateway.db.connection().await.unwrap();
        let rows = deliveries::of_invoice(&mut connection, row).await.unwrap();
        rows.into_iter().map(|row| row.kind).collect()
    }

    /// Everything booked for an invoice, oldest first.
    pub async fn books(&self, id: &str) -> Vec<Booked> {
        let row = self.row_id(id).await;
        let mut connection = self.stack.gateway.db.connection().await.unwrap();
        let rows = ledger::of_invoice(&mut connection, row).await.unwrap();
        rows.into_iter()
            .map(|row| Booked {
                kind: row.kind.to_string(),
                asset: row.asset,
                debit: row.debit,
                credit: row.credit,
                amount: row.amount.get(),
            })
            .collect()
    }

    /// The invoice's row id.
    pub async fn row_id(&self, id: &str) -> Uuid {
        let mut connection = self.stack.gateway.db.connection().await.unwrap();
        invoices::by_payment_id(&mut connection, id).await.unwrap().unwrap().id
    }

    /// An invoice that has just expired, with its event queued. Needs no worker and no chain.
    pub async fn expired(&self, fields: Value) -> String {
        let mut draft = json!({ "pay_currency": "all" });
        draft.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let id = self.invoice_of(draft).await;
        self.end_window(&id, 1).await;
        self.stack.gateway.expire_invoice(self.row_id(&id).await).await.unwrap();
        assert_eq!(self.events(&id).await, ["expired"]);
        id
    }

    /// The only delivery of an invoice, and its attempts.
    pub async fn delivery(&self, id: &str) -> (DeliveryRow, Vec<AttemptRow>) {
        let row = self.row_id(id).await;
        let mut connection = self.stack.gateway.db.connection().await.unwrap();
        let mut rows = deliveries::of_invoice(&mut connection, row).await.unwrap();
        assert_eq!(rows.len(), 1);
        let row = rows.remove(0);
        let attempts = deliveries::attempts(&mut connection, row.id).await.unwrap();
        (row, attempts)
    }

    /// Waits until the only delivery of an invoice is in `state`.
    pub async fn delivery_becomes(&self, id: &str, state: &str) -> (DeliveryRow, Vec<AttemptRow>) {
        eventually(&format!("the delivery for {id} is {state}"), async || {
            Some(self.delivery(id).await).filter(|(row, _)| row.state.as_str() == state)
        })
        .await
    }

    /// The id of the deposit that an invoice received first.
    pub async fn deposit_of(&self, id: &str) -> Uuid {
        let row = self.row_id(id).await;
        let mut connection = self.stack.gateway.db.connection().await.unwrap();
        let rows = deposits::of_invoice(&mut connection, row).await.unwrap();
        rows[0].id
    }

    /// One statement about everything in the stack's database.
    pub async fn run(&self, statement: &'static str) -> u64 {
        let mut connection = self.stack.database.connect().await;
        let done = sqlx::query(statement).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        done.rows_affected()
    }

    /// One statement, with `$1` as the row id of `id`.
    pub async fn sql(&self, statement: &'static str, id: &str) -> u64 {
        let row_id = self.row_id(id).await;
        let mut connection = self.stack.database.connect().await;
        let done = sqlx::query(statement).bind(row_id).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        done.rows_affected()
    }

    /// One number about everything in the stack's database.
    pub async fn number(&self, query: &'static str) -> i64 {
        let mut connection = self.stack.database.connect().await;
        let number = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        number
    }

    /// Moves an invoice and its deadline into the past, as if its window had ended `seconds` ago.
    pub async fn end_window(&self, id: &str, seconds: i32) {
        let row_id = self.row_id(id).await;
        let mut connection: PgConnection = self.stack.database.connect().await;
        let moved = "with moved as (update invoice set deadline_at = now() - $2::int * interval '1 second' \
                     where id = $1 returning id, deadline_at) \
                     update timer set due_at = moved.deadline_at from moved where ref = moved.id";
        sqlx::query(moved).bind(row_id).bind(seconds).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// Looks at a network directly until no block is left to read, as its watcher would.
    pub async fn look(&self, network: Network) -> Look {
        let gateway = &self.stack.gateway;
        let mut follower = follower_of(gateway, gateway.config.chain(network)).unwrap().unwrap();
        let mut total = Look::default();
        while !total.complete {
            let look = follower.look(gateway).await.unwrap();
            total.blocks += look.blocks;
            total.rewound += look.rewound;
            total.sightings += look.sightings;
            total.finalized += look.finalized;
            total.complete = look.complete;
        }
        total
    }

    /// The merchant's account in the books.
    pub fn account(&self, kind: &str) -> String {
        format!("{kind}:{}", self.merchant.new.id)
    }
}

/// Address that the sandbox derives for EVM networks at `index`.
pub fn evm_address(index: i64) -> String {
    let key = sandbox::account_key(Realm::Main, Family::Evm).unwrap();
    let key = AccountKey::parse(Family::Evm, key).unwrap();
    key.address(u32::try_from(index).unwrap()).unwrap()
}

/// A confirmed deposit to an invoice in its own token.
pub fn deposit(id: &str, amount: &str) -> Deposit {
    Deposit {
        payee: Payee::Invoice(id.to_owned()),
        paid_in: PaidIn::default(),
        amount: amount.to_owned(),
        txid: None,
        unconfirmed: false,
    }
}

/// The same, waiting in the mempool.
pub fn unconfirmed(id: &str, amount: &str) -> Deposit {
    Deposit { unconfirmed: true, ..deposit(id, amount) }
}
