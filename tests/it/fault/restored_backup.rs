//! The drill of `docs/backup.md`: a base backup is restored on another server while the chain went
//! on (F33). The chain is a real node, so it still has what the backup lacks.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use rust_decimal::Decimal;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use support::{
    client::ctl::Ctl,
    fault::fired::fired,
    node::anvil::{Anvil, Call, address_word, call_data, word},
    server::{
        broker::with_broker,
        installation::{BrokerAccess, Installation, MASTER_KEY},
        private_postgres::{PrivatePostgres, fresh_postgres},
        processes::{Signal, within},
    },
    shop::{
        payouts::evm_address,
        trade::{Order, Shop, stored_order_ids},
    },
};

use super::lost_commits::{all_differ, event_ids, is_made_safe, name_of, one};
use crate::payout::{
    EVM,
    node::{CHAIN_ID, CONFIRMATIONS, USDT, due, items, node},
};

const LIMIT: Duration = Duration::from_secs(120);
/// Recipients of each payout order.
const RECIPIENTS: u32 = 2;
const MINING: Duration = Duration::from_millis(500);
/// Long enough for a signer that is not stopped.
const LOOK: Duration = Duration::from_secs(3);

/// All that a lost database does not take with it.
struct World {
    node: Arc<Anvil>,
    broker: BrokerAccess,
}

impl World {
    /// Deadlines wait for a watcher that is behind for `grace` seconds at most.
    fn installation(&self, database_url: &str, grace: &str) -> Installation {
        let (chain_id, confirmations) = (CHAIN_ID.to_string(), CONFIRMATIONS.to_string());
        let settings = [
            ("GATEWAY_CHAINS__LITECOIN__SOURCE", "off"),
            ("GATEWAY_CHAINS__POLYGON__SOURCE", "node"),
            ("GATEWAY_CHAINS__POLYGON__RPC_URL", self.node.url()),
            ("GATEWAY_CHAINS__POLYGON__CHAIN_ID", &chain_id),
            ("GATEWAY_CHAINS__POLYGON__CONFIRMATIONS", &confirmations),
            ("GATEWAY_CHAINS__POLYGON__POLL_MS", "50"),
            ("GATEWAY_CHAINS__POLYGON__HEAD_AGE_MAX_SECONDS", "0"),
            ("GATEWAY_CHAINS__POLYGON__WATCH_GRACE_SECONDS", grace),
        ];
        Installation::new(database_url, &self.broker, &settings)
    }

    async fn mine(&self) {
        for _ in 0..=CONFIRMATIONS {
            self.node.mine().await.unwrap();
        }
    }

    async fn send(&self, to: &str, value: u128, data: String) {
        let call = Call { to: Some(to), value: format!("{value:#x}"), data };
        self.node.send(self.node.deployer(), &call).await.unwrap();
    }

    async fn pay(&self, orders: &[Order]) {
        for order in orders {
            let amount: Decimal = order.amount.parse().unwrap();
            let units: u128 =
                (amount * Decimal::from(1_000_000)).normalize().to_string().parse().unwrap();
            let words = [address_word(&order.address), word(&format!("{units:x}"))];
            self.send(USDT, 0, call_data("transfer(address,uint256)", &words)).await;
        }
        self.mine().await;
    }

    async fn fund(&self, payout: &Value) {
        self.send(payout["depositAddress"].as_str().unwrap(), due(payout), "0x".into()).await;
        self.mine().await;
    }

    /// Coins of an order's recipients.
    async fn received(&self, first: u32) -> Vec<u128> {
        let mut received = Vec::new();
        for number in first..first + RECIPIENTS {
            received.push(self.node.coins(&evm_address(number)).await.unwrap());
        }
        received
    }

    async fn until_paid(&self, first: u32) {
        within(LIMIT, "every recipient is paid", async || {
            self.node.mine().await.unwrap();
            // Blocks are a second apart at least, and must not run far ahead of the clock.
            tokio::time::sleep(MINING).await;
            let received = self.received(first).await;
            if received.contains(&0) { Err(format!("{received:?}")) } else { Ok(()) }
        })
        .await;
    }
}

/// Waits until a query returns true.
async fn until(url: &str, what: &str, query: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    within(LIMIT, what, async || {
        let query = sqlx::query_scalar(AssertSqlSafe(query.to_owned()));
        let found: bool =
            query.fetch_one(&mut connection).await.map_err(|error| error.to_string())?;
        if found { Ok(()) } else { Err("not yet".to_owned()) }
    })
    .await;
}

/// Creates and confirms a payout of coins; its recipients are numbered from `first` on.
async fn payout(installation: &Installation, shop: &Shop, first: u32) -> Value {
    let client = installation.client(shop.key());
    let fields = json!({
        "network": "polygon", "currency": "pol", "refundAddress": evm_address(900),
        "items": items(first, RECIPIENTS),
    });
    let draft = client.post(EVM, &fields).await;
    assert_eq!(draft.status, 201, "{}", draft.body);
    let draft = draft.json();
    let id = draft["data"]["id"].as_str().unwrap();
    let confirmed = client.post(&format!("{EVM}/{id}/confirm"), &json!({})).await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.body);
    confirmed.json()["data"].clone()
}

/// Waits until the shop was told of each of these, and returns the event ids.
async fn told(shop: &Shop, orders: &[Order]) {
    within(LIMIT, "the shop is told", async || {
        let received = shop.receiver.received();
        let told: BTreeSet<_> =
            received.iter().map(|post| post.json()["payment_id"].to_string()).collect();
        let missing: Vec<_> = orders
            .iter()
            .filter(|order| !told.contains(&format!("\"{}\"", order.payment_id)))
            .map(|order| &order.order_id)
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("not of {missing:?}")) }
    })
    .await;
}

/// The path of a base backup of a running server.
fn back_up(server: &PrivatePostgres, url: &str) -> String {
    let folder = server.make_folder("backups");
    let ran = server.backup(&["base", "--to", &folder, "--unencrypted"], &[("DATABASE_URL", url)]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("NOT ENCRYPTED"), "{ran:?}");
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let backup =
        files.map(|file| file.display().to_string()).find(|file| file.ends_with(".tar.gz"));
    backup.unwrap()
}

/// Another server with what is in the backup, promoted.
async fn restored(source: &PrivatePostgres, backup: &str) -> PrivatePostgres {
    let mut server = PrivatePostgres::without_data();
    let ran = source.backup(&["restore", backup, "--into", &server.data()], &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    server.start().await;
    until(&server.url("postgres"), "recovery ends", "select not pg_is_in_recovery()").await;
    server
}

/// As after a backup that is older than the patience of deadlines: those of the invoices that were
/// paid since have passed, and a program that decides them finds that it has waited long enough.
async fn make_old(url: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let passed =
        "update invoice set deadline_at = now() - interval '2 seconds' where status = 'pending'";
    assert!(sqlx::query(passed).execute(&mut connection).await.unwrap().rows_affected() > 0);
    let due = "update timer set due_at = now() where kind = 'invoice_deadline'";
    sqlx::query(due).execute(&mut connection).await.unwrap();
}

/// Reads the chain before anything else works, as the page says.
async fn read_the_chain(world: &World, installation: &Installation, paid: usize) {
    let readers = installation.start_workers(&["chain-watcher", "deposit-matching"]).await;
    world.mine().await;
    let credited = format!("select count(*) = {paid} from invoice where status = 'paid'");
    until(&installation.database_url, "what was paid since is credited", &credited).await;
    readers.process.signal(Signal::Terminate);
    readers.process.ended(LIMIT).await;
}

/// Every one of `orders`, and nothing else, is credited by one deposit with one entry.
async fn credited_once(url: &str, orders: &[Order]) {
    let count = i64::try_from(orders.len()).unwrap();
    let paid = "select count(*) from invoice where status = 'paid' and credited = pay_amount";
    assert_eq!(one::<i64>(url, paid).await, count);
    let booked = "select count(*) from deposit join ledger_entry entry on entry.source = deposit.id \
                  and entry.kind = 'deposit' where deposit.invoice_id is not null";
    assert_eq!(one::<i64>(url, booked).await, count);
    let credits = "select count(distinct invoice_id) from deposit where booked_as = 'credit' and invoice_id is not null";
    assert_eq!(one::<i64>(url, credits).await, count);
}

/// The restored rows say that both orders are to be paid; the chain says that they were. A person
/// holds the first; nobody thinks of the second.
async fn are_not_paid_again(world: &World, installation: &Installation, shop: &Shop, held: &Value) {
    let url = &installation.database_url;
    let both = "select count(*) = 2 from payout_order where funded_at is not null";
    until(url, "the deposits of both orders are found again", both).await;
    tokio::time::sleep(LOOK).await;
    let signed = "select count(*) from payout_payment";
    assert_eq!(one::<i64>(url, signed).await, 0, "something was signed before a person let it go");
    let before = [world.received(1).await, world.received(11).await];

    let ctl = Ctl::over(url).with("GATEWAY_MASTER_KEY", MASTER_KEY);
    let id = held["id"].as_str().unwrap();
    let reason = "paid before the restore, as the chain shows";
    ctl.run(&["payouts", "hold", id, "--reason", reason]).await.expect_ok();
    ctl.run(&["payouts", "resume"]).await.expect_ok();
    let fresh = payout(installation, shop, 21).await;
    world.fund(&fresh).await;
    world.until_paid(21).await;
    // The order that nobody held has signed by now, if it can.
    tokio::time::sleep(LOOK).await;
    world.mine().await;
    let after = [world.received(1).await, world.received(11).await];
    assert_eq!(before, after, "somebody was paid a second time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_restored_while_the_chain_went_on_credits_once_and_pays_nobody_again() {
    with_broker(|broker| async move {
        let world = World { node: node().await, broker: (&*broker).into() };
        let mut server = fresh_postgres().await;
        let first_url = server.create_database().await;
        let installation = world.installation(&first_url, "86400");
        let programs = installation.start().await;
        let shop = Shop::open(&installation, 50).await;
        until(
            &first_url,
            "the watcher has looked, and fees are known",
            "select exists (select from network_fee)
            and exists (select from chain_cursor where watched_through is not null)",
        )
        .await;
        let early = shop.create(&installation, 4).await;
        let (before, meanwhile) = early.split_at(2);
        world.pay(before).await;
        told(&shop, before).await;
        let payouts =
            [payout(&installation, &shop, 1).await, payout(&installation, &shop, 11).await];
        let backup = back_up(&server, &first_url);

        world.pay(meanwhile).await;
        let lost = shop.create(&installation, 3).await;
        world.pay(&lost[..1]).await;
        told(&shop, &[meanwhile, &lost[..1]].concat()).await;
        for (payout, first) in payouts.iter().zip([1, 11]) {
            world.fund(payout).await;
            world.until_paid(first).await;
        }
        drop(programs);
        server.kill().await;
        let told_before = event_ids(&shop);
        shop.receiver.forget();

        let successor = restored(&server, &backup).await;
        let url = successor.url(name_of(&first_url));
        let installation = world.installation(&url, "1");
        make_old(&url).await;
        read_the_chain(&world, &installation, before.len() + meanwhile.len()).await;
        let _programs = installation.start().await;
        let stored = stored_order_ids(&installation).await;
        fired(lost.iter().filter(|order| !stored.contains(&order.order_id)).count());
        told(&shop, meanwhile).await;
        let late = shop.create(&installation, 3).await;
        all_differ(&[&early, &lost, &late]);
        is_made_safe(&url).await;
        world.pay(&late).await;
        told(&shop, &late).await;
        credited_once(&url, &[&early[..], &late].concat()).await;
        assert!(told_before.is_disjoint(&event_ids(&shop)), "an event id was used again");
        are_not_paid_again(&world, &installation, &shop, &payouts[0]).await;
    })
    .await;
}
