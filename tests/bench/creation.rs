//! `POST /v1/payment` per second, against the same statements committed by a bare loop.

use std::sync::Arc;

use gateway::{
    app::{Gateway, merchant::manage::NewMerchant},
    asset::{Family, address},
    broker::{
        envelope::{self, InvoiceRef},
        route::Route,
    },
    invoice::{PaymentId, payment::Payment},
    storage::{
        PgConnection, access,
        addresses::NewAddress,
        creation::{self, Opening},
        invoices::{self, Invoice},
        merchants,
    },
};
use serde_json::json;
use support::server::installation::Program;
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::{
    endpoint::{Caller, free, post},
    report::{Goal, Report, Rounds},
    world::{World, per_second, with_world},
};

const CONNECTIONS: usize = 64;
const PER_MERCHANT: usize = 50;
const MERCHANTS: usize = 60;
pub const ORDERS: usize = MERCHANTS * PER_MERCHANT;
const NAME: &str = "create: POST /v1/payment, 64 connections";
const SHARED: &str = "create: the same statements, eight invoices in each transaction";
/// Invoices of one transaction, were creations to share it.
const TOGETHER: usize = 8;

pub async fn run(report: &mut Report) {
    if ![NAME, SHARED].into_iter().any(|name| report.wants(name)) {
        return;
    }
    let (mut rounds, mut shared) = (Rounds::default(), Rounds::default());
    let (of_api, of_shared, count) = (&mut rounds, &mut shared, report.rounds);
    // The loop has a separate database: its rows must not be relayed by the API beside it.
    with_world(&[], |world| async move {
        with_world(&[], |apart| async move {
            let pair = Pair::warm(world, apart).await;
            for _ in 0..count {
                let one_by_one = pair.one_by_one().await;
                of_api.add(pair.through_the_api().await, one_by_one);
                of_shared.add(together(&pair.apart, &pair.template).await, one_by_one);
            }
        })
        .await;
    })
    .await;
    let limit = "the same statements committed by a bare loop";
    report.ratio(NAME, "/s", limit, Goal::AtLeast(0.6), rounds);
    report.ratio(SHARED, "/s", limit, Goal::AtLeast(1.4), shared);
}

/// An API, and a database apart from its own for the bare loop beside it.
pub struct Pair {
    world: Arc<World>,
    apart: Arc<World>,
    template: Arc<Invoice>,
    _api: Program,
}

impl Pair {
    /// After one round of each, so that neither includes cold caches and first connections.
    pub async fn warm(world: Arc<World>, apart: Arc<World>) -> Self {
        let api = world.installation.start_api().await;
        api.ready().await;
        through_the_api(&world).await;
        let template = template(&world).await;
        bare(&apart, &template).await;
        Self { world, apart, template, _api: api }
    }

    pub async fn through_the_api(&self) -> f64 {
        self.world.refresh_rates().await;
        through_the_api(&self.world).await
    }

    pub async fn one_by_one(&self) -> f64 {
        bare(&self.apart, &self.template).await
    }
}

async fn through_the_api(world: &World) -> f64 {
    let requests = requests(world).await;
    call(world, requests).await
}

/// Orders of new merchants.
pub async fn requests(world: &World) -> Vec<Vec<u8>> {
    let merchants = world.merchants(MERCHANTS).await;
    let request = |number: usize| {
        let key = merchants[number % MERCHANTS].api_key.reveal();
        let body = json!({
            "price_amount": 20, "price_currency": "usd", "pay_currency": "usdtmatic",
            "order_id": format!("order-{number}"), "ipn_callback_url": "https://shop.example/ipn",
        });
        post("/v1/payment", &[("x-api-key", key)], &body.to_string())
    };
    (0..ORDERS).map(request).collect()
}

/// Sends all requests; returns the number of responses per second.
pub async fn call(world: &World, requests: Vec<Vec<u8>>) -> f64 {
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        callers.push(Mutex::new(Caller::open(world.installation.api).await));
    }
    let (requests, callers) = (Arc::new(requests), Arc::new(callers));
    per_second(requests.len(), CONNECTIONS, move |number| {
        let (requests, callers) = (requests.clone(), callers.clone());
        async move {
            let mut caller = free(&callers, number).await;
            assert_eq!(caller.send(&requests[number]).await, 201);
        }
    })
    .await
}

/// One invoice as the API wrote it, to be inserted repeatedly under new ids.
async fn template(world: &World) -> Arc<Invoice> {
    let mut tx = world.gateway.db.begin().await.unwrap();
    let id: Uuid =
        sqlx::query_scalar("select id from invoice limit 1").fetch_one(&mut *tx).await.unwrap();
    Arc::new(invoices::lock(&mut tx, id).await.unwrap().unwrap())
}

async fn bare(world: &World, template: &Arc<Invoice>) -> f64 {
    let merchants = Arc::new(world.merchants(MERCHANTS).await);
    let (gateway, template) = (world.gateway.clone(), template.clone());
    per_second(ORDERS, CONNECTIONS, move |number| {
        let (gateway, merchants, template) = (gateway.clone(), merchants.clone(), template.clone());
        async move { create(&gateway, &merchants[number % MERCHANTS], &template).await }
    })
    .await
}

/// The most that creations could gain by sharing commits alone: no request, no answer, and none
/// waits for the others of its transaction.
async fn together(world: &World, template: &Arc<Invoice>) -> f64 {
    let merchants = Arc::new(world.merchants(MERCHANTS).await);
    let (gateway, template) = (world.gateway.clone(), template.clone());
    let batches = per_second(ORDERS / TOGETHER, CONNECTIONS / TOGETHER, move |batch| {
        let (gateway, merchants, template) = (gateway.clone(), merchants.clone(), template.clone());
        async move {
            let first = batch * TOGETHER;
            let mut numbers: Vec<_> = (first..first + TOGETHER).map(|n| n % MERCHANTS).collect();
            // Every transaction locks its merchants in the same order.
            numbers.sort_unstable();
            let mut callers = Vec::new();
            for number in numbers {
                callers.push(admit(&gateway, &merchants[number]).await);
            }
            let mut tx = gateway.db.begin().await.unwrap();
            for caller in &callers {
                write(&mut tx, caller, &template).await;
            }
            tx.commit().await.unwrap();
        }
    });
    batches.await * TOGETHER as f64
}

async fn create(gateway: &Gateway, merchant: &NewMerchant, template: &Invoice) {
    let caller = admit(gateway, merchant).await;
    let mut tx = gateway.db.begin().await.unwrap();
    write(&mut tx, &caller, template).await;
    tx.commit().await.unwrap();
}

async fn admit(gateway: &Gateway, merchant: &NewMerchant) -> access::Caller {
    let mut connection = gateway.db.connection().await.unwrap();
    let key = merchant.api_key.sha256();
    let caller = access::admit_merchant(&mut connection, &key).await.unwrap().unwrap();
    assert!(caller.admitted);
    caller
}

async fn write(tx: &mut PgConnection, caller: &access::Caller, template: &Invoice) {
    merchants::lock_for_creation(tx, caller.merchant_id).await.unwrap();
    let quota = i64::from(caller.open_invoices_max);
    let family = Family::Evm;
    let facts = creation::facts(tx, caller.merchant_id, quota, Some(family)).await.unwrap();
    let derivation_index = facts.index.unwrap();
    let text = format!("0x{}", hex::encode(rand::random::<[u8; 20]>()));
    let match_key = address::match_key(family, &text);
    let address =
        NewAddress { id: Uuid::now_v7(), family, derivation_index, address: text, match_key };
    let mut invoice = template.clone();
    invoice.id = Uuid::now_v7();
    if let Some(asset) = &mut invoice.view.asset {
        asset.pay_address.clone_from(&address.address);
    }
    invoice.merchant_id = caller.merchant_id;
    invoice.view.payment_id = PaymentId::generate().to_string();
    let message = envelope::encode(&InvoiceRef { invoice_id: invoice.id });
    let payment = Payment::render(&invoice.view, "https://pay.example");
    let body = serde_json::to_string(&payment).unwrap();
    let opening = Opening {
        invoice: &invoice,
        event: (&format!("evt_{}", invoice.id.simple()), &body),
        address: Some(&address),
        route: Route::InvoiceCreated.as_str(),
        message: &message,
    };
    creation::open(tx, &opening).await.unwrap();
}
