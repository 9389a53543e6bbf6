//! Trade during a fault: merchants, orders that are created and paid, and an oracle that compares
//! the final state of every party: chain, ledger, receivers, dead letters, and the programs'
//! metrics.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use gateway::{
    app::{
        merchant::manage::NewMerchant,
        sandbox::simulate::{Deposit, PaidIn, Payee},
    },
    broker::{management::Management, route::DeadLetterQueue},
    merchant::settings::Settings,
};
use http::Method;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use crate::{
    client::{
        Answer,
        exchange::{Exchange, Lost},
    },
    server::{installation::Installation, metrics, processes::within},
    shop::receiver::{Received, Receiver},
};

/// Below the API's limit per merchant and minute.
const ORDERS_PER_MERCHANT: usize = 50;

pub struct Shop {
    merchants: Vec<NewMerchant>,
    pub receiver: Receiver,
    ordered: AtomicUsize,
    /// Distinguishes its order ids from those of other shops.
    name: String,
}

/// An invoice whose 201 has arrived.
#[derive(Debug, Clone)]
pub struct Order {
    pub order_id: String,
    pub payment_id: String,
    pub amount: String,
    pub address: String,
    merchant: usize,
}

/// Result of the trade.
#[derive(Debug)]
pub struct Outcome {
    /// Time from the request until everything was done.
    pub took: Duration,
    pub posts: usize,
    /// POSTs beyond the first of their event: allowed, and recognisable by their event id.
    pub repeats: usize,
    /// Programs that ran in the end, whose metrics agree.
    pub programs: usize,
}

impl Shop {
    /// Opens a shop for up to `orders` orders within one minute.
    pub async fn open(installation: &Installation, orders: usize) -> Self {
        let mut merchants = Vec::new();
        for _ in 0..orders.div_ceil(ORDERS_PER_MERCHANT) {
            let merchant = installation.gateway.create_merchant("Shop", Settings::default());
            merchants.push(merchant.await.unwrap());
        }
        let receiver = Receiver::answering(200).await;
        let name = format!("{:08x}", rand::random::<u32>());
        Self { merchants, receiver, ordered: AtomicUsize::new(0), name }
    }

    pub fn key(&self) -> &str {
        self.merchant().api_key.reveal()
    }

    /// The first of them.
    pub fn merchant(&self) -> &NewMerchant {
        &self.merchants[0]
    }

    /// API key of the merchant of the order.
    pub fn key_of(&self, order: &Order) -> &str {
        self.merchants[order.merchant].api_key.reveal()
    }

    /// The next order as a request, its id, and the index of its merchant.
    pub fn next(&self) -> (Exchange, String, usize) {
        let number = self.ordered.fetch_add(1, Ordering::Relaxed);
        let merchant = number % self.merchants.len();
        let order_id = format!("{}-{number}", self.name);
        let body = json!({
            "price_amount": 3 + number % 40, "price_currency": "usd", "pay_currency": "usdtmatic",
            "order_id": order_id, "ipn_callback_url": self.receiver.url,
        });
        let key = self.merchants[merchant].api_key.reveal();
        (Exchange::post("/v1/payment", key, body.to_string()), order_id, merchant)
    }

    /// Reads a 201.
    pub fn order(answer: &Answer, order_id: String, merchant: usize) -> Order {
        let payment = answer.json();
        assert_eq!(payment["order_id"], order_id.as_str(), "{}", answer.body);
        let payment_id = payment["payment_id"].as_str().unwrap().to_owned();
        let amount = payment["pay_amount"].to_string();
        let address = payment["pay_address"].as_str().unwrap().to_owned();
        Order { order_id, payment_id, amount, address, merchant }
    }

    /// Creates one order; returns it and the time until the response.
    pub async fn try_create(
        &self,
        installation: &Installation,
    ) -> Result<(Order, Duration), String> {
        let (exchange, order_id, merchant) = self.next();
        let started = Instant::now();
        match exchange.once(installation.api).await {
            Ok(answer) if answer.status == 201 => {
                Ok((Self::order(&answer, order_id, merchant), started.elapsed()))
            }
            Ok(answer) => Err(format!("{} {}", answer.status, answer.body)),
            Err(Lost::NotConnected(reason) | Lost::Cut(reason)) => Err(reason),
        }
    }

    pub async fn create(&self, installation: &Installation, count: usize) -> Vec<Order> {
        let mut orders = Vec::new();
        for _ in 0..count {
            orders.push(self.try_create(installation).await.unwrap().0);
        }
        orders
    }

    /// Pays on the simulated chain, exactly.
    pub async fn pay(&self, installation: &Installation, orders: &[Order]) {
        for order in orders {
            let deposit = Deposit {
                payee: Payee::Invoice(order.payment_id.clone()),
                paid_in: PaidIn::default(),
                amount: order.amount.clone(),
                txid: None,
                unconfirmed: false,
            };
            installation.gateway.simulate_deposit(&deposit).await.unwrap();
        }
    }

    /// Liveness: waits until all `orders` are finished everywhere. Safety: nothing happened twice,
    /// and nothing was given up.
    pub async fn converge(
        &self,
        installation: &Installation,
        orders: &[Order],
        limit: Duration,
    ) -> Outcome {
        let (_, took) = within(limit, "every order is paid, told and booked", async || {
            unfinished(installation, orders.len()).await?;
            let told = self.told();
            let missing = orders.iter().filter(|order| !told.contains_key(&order.payment_id));
            match missing.count() {
                0 => Ok(()),
                missing => Err(format!("{missing} IPNs did not arrive")),
            }
        })
        .await;
        self.check_ipns(orders);
        check_books(installation, orders.len()).await;
        check_chain(installation).await;
        check_credits(installation).await;
        self.check_repeats(installation).await;
        check_dead_letters(installation, limit).await;
        let programs = check_metrics(installation, orders.len(), limit).await;
        let posts = self.receiver.received().len();
        Outcome { took, posts, repeats: posts - orders.len(), programs }
    }

    /// All POSTs by payment id.
    fn told(&self) -> BTreeMap<String, Vec<Received>> {
        let mut told: BTreeMap<String, Vec<Received>> = BTreeMap::new();
        for received in self.receiver.received() {
            let payment_id = received.json()["payment_id"].as_str().unwrap().to_owned();
            told.entry(payment_id).or_default().push(received);
        }
        told
    }

    fn check_ipns(&self, orders: &[Order]) {
        let told = self.told();
        let mut event_ids = BTreeSet::new();
        for order in orders {
            let posts = &told[&order.payment_id];
            let secret = self.merchants[order.merchant].webhook_secret.reveal();
            let ids: BTreeSet<_> =
                posts.iter().map(|post| post.header("x-gateway-event-id")).collect();
            assert_eq!(ids.len(), 1, "{} was told as several events", order.order_id);
            event_ids.extend(ids);
            for post in posts {
                post.verify(secret);
                let ipn = post.json();
                assert_eq!(ipn["payment_status"], "finished", "{}", order.order_id);
                assert_eq!(ipn["actually_paid"].to_string(), order.amount);
            }
        }
        assert_eq!(event_ids.len(), orders.len(), "two orders share an event");
        assert_eq!(told.len(), orders.len(), "an IPN about no order of ours arrived");
    }

    /// At-least-once has a bound: an event is repeated by a recorded attempt, or by a crash before
    /// the record.
    async fn check_repeats(&self, installation: &Installation) {
        let mut posts: BTreeMap<String, i64> = BTreeMap::new();
        for received in self.receiver.received() {
            *posts.entry(received.header("x-gateway-event-id").to_owned()).or_default() += 1;
        }
        let attempts = attempts(installation).await;
        for (event_id, posts) in posts {
            let attempts = attempts.get(&event_id).copied().unwrap_or_default();
            assert!(posts <= attempts + 1, "{event_id}: {posts} POSTs, {attempts} attempts noted");
        }
    }
}

async fn connect(installation: &Installation) -> PgConnection {
    PgConnection::connect(&installation.database_url).await.unwrap()
}

/// Remaining work according to the database.
async fn unfinished(installation: &Installation, orders: usize) -> Result<(), String> {
    let connecting = PgConnection::connect(&installation.database_url);
    let mut connection = connecting.await.map_err(|error| error.to_string())?;
    let counts: (i64, i64, i64, i64, i64) = sqlx::query_as(
        "select (select count(*) from invoice where status = 'paid'),
                (select count(*) from delivery where state = 'delivered'),
                (select count(*) from deposit where state <> 'settled'),
                (select count(*) from outbox), (select count(*) from timer)",
    )
    .fetch_one(&mut connection)
    .await
    .map_err(|error| error.to_string())?;
    let all = i64::try_from(orders).unwrap();
    if counts == (all, all, 0, 0, 0) {
        return Ok(());
    }
    let (paid, delivered, unsettled, outbox, timers) = counts;
    Err(format!(
        "{paid} of {all} paid, {delivered} delivered, {unsettled} deposits unsettled, {outbox} messages in the \
         outbox, {timers} timers"
    ))
}

/// Every order exactly once: one invoice, one deposit, one event, one entry; the books hold exactly
/// the orders' amounts.
async fn check_books(installation: &Installation, orders: usize) {
    let mut connection = connect(installation).await;
    let counts: (i64, i64, i64, i64) = sqlx::query_as(
        "select (select count(*) from invoice), (select count(*) from deposit where booked_as = 'credit'),
                (select count(*) from delivery), (select count(*) from ledger_entry)",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    let all = i64::try_from(orders).unwrap();
    assert_eq!(counts, (all, all, all, all), "invoices, deposits, deliveries, entries");
    let sums: (String, String, String) = sqlx::query_as(
        "select (select sum(pay_amount) from invoice)::text, (select sum(amount) from deposit)::text,
                (select sum(amount) from ledger_entry where kind = 'deposit')::text",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    assert_eq!((&sums.0, &sums.0), (&sums.1, &sums.2), "ordered, deposited, booked");
}

/// Every movement on chain to one of our addresses is one deposit of that amount, and there is no
/// other deposit.
async fn check_chain(installation: &Installation) {
    let query = sqlx::query_as(
        "select coalesce(t.txid, d.tx_hash), t.amount::text, d.amount::text
         from sim_transfer t full join deposit d on d.network = t.network and d.tx_hash = t.txid
         where t.amount is distinct from d.amount",
    );
    let wrong: Vec<(String, Option<String>, Option<String>)> =
        query.fetch_all(&mut connect(installation).await).await.unwrap();
    assert!(wrong.is_empty(), "moved by the chain, and counted: {wrong:?}");
}

/// By event id: the attempts on record.
async fn attempts(installation: &Installation) -> BTreeMap<String, i64> {
    let query = sqlx::query_as(
        "select event_id, (select count(*) from delivery_attempt where delivery_id = delivery.id) from delivery",
    );
    let rows: Vec<(String, i64)> = query.fetch_all(&mut connect(installation).await).await.unwrap();
    rows.into_iter().collect()
}

/// The credit of each invoice equals the bookings of its own deposits.
async fn check_credits(installation: &Installation) {
    let query = sqlx::query_as(
        "select order_id, credited::text, booked::text
         from invoice, lateral (
             select coalesce(sum(entry.amount), 0) as booked
             from deposit
             join ledger_entry entry on entry.source = deposit.id and entry.kind = 'deposit'
             where deposit.invoice_id = invoice.id
         ) of_deposits
         where credited <> booked",
    );
    let wrong: Vec<(Option<String>, String, String)> =
        query.fetch_all(&mut connect(installation).await).await.unwrap();
    assert!(wrong.is_empty(), "credited otherwise than booked: {wrong:?}");
}

/// Nothing was given up.
async fn check_dead_letters(installation: &Installation, limit: Duration) {
    for queue in DeadLetterQueue::ALL {
        let (letters, _) = within(limit, &format!("{queue:?} can be read"), async || {
            count_dead_letters(installation, queue).await
        })
        .await;
        assert_eq!(letters, 0, "dead letters in {queue:?}");
    }
}

/// Checks that the metrics an operator sees are true. Returns the number of programs asked.
async fn check_metrics(installation: &Installation, orders: usize, limit: Duration) -> usize {
    let (programs, _) = within(limit, "the programs' metrics tell what happened", async || {
        let pages = installation.metrics().await?;
        let wrong = metrics::contradictions(&pages, orders);
        if wrong.is_empty() { Ok(pages.len()) } else { Err(wrong.join("; ")) }
    })
    .await;
    programs
}

/// Number of messages in a dead-letter queue, up to ten.
pub async fn dead_letters(installation: &Installation, queue: DeadLetterQueue) -> usize {
    count_dead_letters(installation, queue).await.unwrap()
}

/// Counts in the queue itself, since the broker's statistics are some seconds old.
async fn count_dead_letters(
    installation: &Installation,
    queue: DeadLetterQueue,
) -> Result<usize, String> {
    let broker = &installation.broker;
    let management = Management::new(&broker.management_url.clone().into(), &broker.vhost).unwrap();
    let queue = broker.topology.dead_letter_queue(queue);
    let path = ["queues", &broker.vhost, &queue, "get"];
    let first = json!({ "count": 10, "ackmode": "ack_requeue_true", "encoding": "auto" });
    let answer = management.call(Method::POST, &path, Some(&first)).await;
    let letters = answer.map_err(|error| error.to_string())?;
    letters.and_then(|letters| Some(letters.as_array()?.len())).ok_or(format!("no queue {queue}"))
}

/// The ids of all invoices in the database.
pub async fn stored_order_ids(installation: &Installation) -> BTreeSet<String> {
    let query = sqlx::query_scalar("select order_id from invoice where order_id is not null");
    let ids: Vec<String> = query.fetch_all(&mut connect(installation).await).await.unwrap();
    ids.into_iter().collect()
}

/// A commit whose response was lost is stored but not acknowledged, which is right and not to be
/// paid.
pub async fn forget_unanswered(database_url: &str, acknowledged: &BTreeSet<String>) {
    let mut connection = PgConnection::connect(database_url).await.unwrap();
    let acknowledged: Vec<_> = acknowledged.iter().cloned().collect();
    for statement in [
        "delete from timer where ref in (select id from invoice where order_id <> all ($1))",
        "delete from deposit_address where invoice_id in (select id from invoice where order_id <> all ($1))",
        "delete from invoice where order_id <> all ($1)",
    ] {
        sqlx::query(statement).bind(&acknowledged).execute(&mut connection).await.unwrap();
    }
}
