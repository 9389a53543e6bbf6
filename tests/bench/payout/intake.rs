//! Files of recipients per second, against the same rows committed by a bare loop.

use std::sync::Arc;

use gateway::{
    app::Gateway,
    money::BaseUnits,
    payout::{PayoutFamily, id},
    storage::payouts::{self, PayoutOrder, batches, items, items::NewItem},
};
use support::shop::payouts::evm_address;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::rows;
use crate::{
    endpoint::{Caller, free, post_as},
    report::{Goal, Report, Rounds},
    world::{World, per_second, with_world},
};

const ROWS: u32 = 2_000;
const CONNECTIONS: usize = 4;
const ORDERS: usize = 12;
const PATH: &str = "/v1/evm-mass-payout?network=polygon&currency=usdtmatic";
/// 1.25 of a token with six decimals.
const UNITS: u128 = 1_250_000;

pub async fn run(report: &mut Report) {
    let rows = rows(ROWS);
    let name = format!("payout: CSV rows taken in, {rows} a file");
    if !report.wants(&name) {
        return;
    }
    let (mut rounds, count) = (Rounds::default(), report.rounds);
    with_world(&[], |world| async move {
        with_world(&[], |apart| async move {
            let api = world.installation.start_api().await;
            api.ready().await;
            // One round of each first, so that neither includes cold caches and first connections.
            for round in 0..=count {
                world.refresh_rates().await;
                let ours = through_the_api(&world, rows).await;
                let bare = bare(&world, &apart, rows).await;
                if round > 0 {
                    rounds.add(ours, bare);
                }
            }
            let limit =
                "the same orders, batches and rows written by bare statements, one commit an order";
            report.ratio(&name, "/s", limit, Goal::AtLeast(0.2), rounds);
        })
        .await;
    })
    .await;
}

fn file(rows: u32) -> String {
    let line = |number| format!("{},1.25,row-{number}\r\n", evm_address(number));
    (1..=rows).map(line).fold("address,amount,reference\r\n".to_owned(), |file, line| file + &line)
}

/// Rows per second.
async fn through_the_api(world: &World, rows: u32) -> f64 {
    let file = file(rows);
    let merchants = world.merchants(ORDERS).await;
    let request = |merchant: &gateway::app::merchant::manage::NewMerchant| {
        post_as("text/csv", PATH, &[("x-api-key", merchant.api_key.reveal())], &file)
    };
    let requests: Arc<Vec<_>> = Arc::new(merchants.iter().map(request).collect());
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        callers.push(Mutex::new(Caller::open(world.installation.api).await));
    }
    let callers = Arc::new(callers);
    let orders = per_second(ORDERS, CONNECTIONS, move |number| {
        let (requests, callers) = (requests.clone(), callers.clone());
        async move {
            let mut caller = free(&callers, number).await;
            assert_eq!(caller.send(&requests[number]).await, 201);
        }
    });
    orders.await * f64::from(rows)
}

/// An order as the API wrote it to `world`, inserted repeatedly into the database `apart`.
async fn bare(world: &World, apart: &World, rows: u32) -> f64 {
    let mut connection = world.connect().await;
    let found = payouts::list(&mut connection, None, None, 1).await.unwrap();
    let mut template = found.into_iter().next().unwrap();
    template.merchant_id = apart.merchants(1).await[0].id;
    let (gateway, template) = (apart.gateway.clone(), Arc::new(template));
    let orders = per_second(ORDERS, CONNECTIONS, move |_| {
        let (gateway, template) = (gateway.clone(), template.clone());
        async move { write(&gateway, &template, rows).await }
    });
    orders.await * f64::from(rows)
}

async fn write(gateway: &Gateway, template: &PayoutOrder, rows: u32) {
    let mut order = template.clone();
    (order.id, order.order_id) = (Uuid::now_v7(), id::order(PayoutFamily::Evm));
    order.quote.id = id::quote();
    let batch_rows: Vec<_> =
        (0..order.batch_count).map(|_| (Uuid::now_v7(), id::batch())).collect();
    let per_batch = PayoutFamily::Evm.batch_rows_max();
    let new = |number: u32| NewItem {
        id: Uuid::now_v7(),
        item_id: id::item(),
        batch_id: batch_rows[usize::try_from(number).unwrap() / per_batch].0,
        row_number: i32::try_from(number + 2).unwrap(),
        address: evm_address(number + 1),
        amount: BaseUnits::new(UNITS),
        net_amount: BaseUnits::new(UNITS),
        reference: Some(format!("row-{number}")),
        memo: None,
    };
    let new: Vec<_> = (0..rows).map(new).collect();
    let mut tx = gateway.db.begin().await.unwrap();
    payouts::insert(&mut tx, &order).await.unwrap();
    batches::insert_all(&mut tx, order.id, &batch_rows).await.unwrap();
    items::insert_all(&mut tx, order.id, &new).await.unwrap();
    tx.commit().await.unwrap();
}
