//! Large orders on a real EVM node, paid by real processes that are killed at every step.

use std::time::{Duration, Instant};

use gateway::{
    app::{
        Gateway,
        payout::{Confirmation, NewOrder, Story},
    },
    asset::Network,
    config::Config,
    merchant::settings::Settings,
    payout::{
        FeeMode, PayoutFamily,
        recipients::{Amount, Row},
    },
};
use serde_json::{Value, json};
use sqlx::Connection;
use support::{
    fault::fired::fired,
    node::anvil::{Anvil, Call, address_word, call_data, word},
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::{Installation, MASTER_KEY},
        processes::within,
    },
    shop::payouts::evm_address,
};

use super::node::{
    CHAIN_ID, COIN, CONFIRMATIONS, USDT, due, is_settled, node, node_with_multisend, settings,
};

/// Rows in `make test`; GATEWAY_TEST_PAYOUT_ROWS overrides it.
const ROWS: u32 = 60;
/// Between every two steps of a payment, and of gas.
const MOMENTS: [&str; 6] = [
    "payout.signing",
    "payout.signed",
    "payout.sending",
    "payout.sent",
    "payout.ending",
    "payout.ended",
];
const GAS_MOMENTS: [&str; 2] = ["payout.gas_signing", "payout.gas_signed"];
const HOSTILE_ROW: u32 = 7;
const REFUND: u32 = 4_000_000;
/// PUSH1 0, PUSH1 0, REVERT.
const REVERTS: &str = "0x60006000fd";
const LIMIT: Duration = Duration::from_secs(1_500);

struct Run<'a> {
    installation: &'a Installation,
    gateway: &'a Gateway,
    database: &'a TestDatabase,
    anvil: &'a Anvil,
    is_token: bool,
    id: String,
}

fn order(currency: &str, rows: u32, hostile: &str) -> NewOrder {
    let row = |number| Row {
        number,
        address: if number == HOSTILE_ROW { hostile.to_owned() } else { evm_address(number) },
        // The last one gets the smallest amount possible: dust to us, a payment to the recipient.
        amount: Amount::Units(if number == rows { "1".into() } else { "1000000".into() }),
        reference: None,
        memo: None,
        network: None,
        currency: None,
    };
    NewOrder {
        family: PayoutFamily::Evm,
        network: "polygon".into(),
        currency: currency.into(),
        rows: (1..=rows).map(row).collect(),
        fee_mode: FeeMode::Sender,
        refund_address: Some(evm_address(REFUND)),
        label: None,
        metadata: None,
        callback_url: None,
        idempotency: None,
        withdrawal: None,
    }
}

/// The lease of a dead worker is not waited for in the test.
async fn forget_lease(database: &TestDatabase) {
    let mut connection = database.connect().await;
    for statement in [
        "update payout_order set leased_until = null",
        "update timer set due_at = now() where kind = 'payout'",
    ] {
        sqlx::query(statement).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}

impl Run<'_> {
    async fn story(&self) -> Story {
        self.gateway.explain_payout(&self.id).await.unwrap()
    }

    /// Kills a process at each moment, while blocks are mined, and then lets one run to the end.
    async fn to_the_end(&self, moments: &[&str]) -> Story {
        let mining = async {
            loop {
                self.anvil.mine().await.unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let paying = async {
            for moment in moments {
                forget_lease(self.database).await;
                let victim = self.installation.launch(
                    "gateway-worker",
                    &["payout-batch"],
                    &[("FAIL_POINT", *moment)],
                );
                victim.process.ended(Duration::from_secs(90)).await;
                let said = victim.process.said();
                assert!(said.contains(&format!("dies at {moment}")), "{moment}: {said}");
                fired(1);
            }
            forget_lease(self.database).await;
            let survivor = self.installation.start_workers(&["payout-batch"]).await;
            let (story, _) = within(LIMIT, "everything is settled", async || {
                let story = self.story().await;
                if is_settled(&story) {
                    Ok(story)
                } else {
                    Err(format!("{:?} {:?}", story.order.books, story.order.held))
                }
            })
            .await;
            drop(survivor);
            story
        };
        tokio::select! {
            story = paying => story,
            () = mining => unreachable!("blocks are mined until the order has ended"),
        }
    }
}

async fn number(database: &TestDatabase, query: &str) -> u128 {
    let mut connection = database.connect().await;
    let query = sqlx::AssertSqlSafe(format!("select coalesce(({query}), 0)::text"));
    let text: String = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    text.parse().unwrap()
}

/// The settings of programs that pay on that node.
fn environment(anvil: &Anvil) -> Vec<(&'static str, String)> {
    vec![
        ("GATEWAY_CHAINS__POLYGON__SOURCE", "node".to_owned()),
        ("GATEWAY_CHAINS__POLYGON__RPC_URL", anvil.url().to_owned()),
        ("GATEWAY_CHAINS__POLYGON__CHAIN_ID", CHAIN_ID.to_string()),
        ("GATEWAY_CHAINS__POLYGON__CONFIRMATIONS", CONFIRMATIONS.to_string()),
        ("GATEWAY_CHAINS__POLYGON__POLL_MS", "50".to_owned()),
        ("GATEWAY_CHAINS__LITECOIN__SOURCE", "off".to_owned()),
    ]
}

/// The test's own gateway on the same database.
fn hand(database: &TestDatabase, anvil: &Anvil) -> Gateway {
    let toml = format!(
        "database_url = {:?}\namqp_url = {:?}\nmaster_key = {MASTER_KEY:?}\n{}",
        database.url,
        "amqp://nobody@127.0.0.1:1",
        settings(anvil.url())
    );
    Gateway::new(Config::from_toml(&toml).unwrap()).unwrap()
}

/// A confirmed order.
async fn confirmed(gateway: &Gateway, wanted: &NewOrder) -> Value {
    let merchant = gateway.create_merchant("Many", Settings::default()).await.unwrap();
    let (created, _) = within(Duration::from_secs(60), "rates are there", async || {
        gateway.create_payout(merchant.id, wanted).await.map_err(|error| error.to_string())
    })
    .await;
    let object: Value = serde_json::from_str(&created.body).unwrap();
    let id = object["id"].as_str().unwrap();
    let confirmed = gateway.confirm_payout(merchant.id, id, &Confirmation::default()).await;
    serde_json::from_str(&confirmed.unwrap()).unwrap()
}

async fn fund(database: &TestDatabase, anvil: &Anvil, order: &Value) {
    within(Duration::from_secs(60), "the chain is watched", async || {
        let watched = "select count(*) from chain_cursor where watched_through is not null";
        match number(database, watched).await {
            0 => Err("not yet".to_owned()),
            _ => Ok(()),
        }
    })
    .await;
    let (address, units) = (order["depositAddress"].as_str().unwrap(), due(order));
    let words = [address_word(address), word(&format!("{units:x}"))];
    let call = if order["contractAddress"].is_null() {
        Call { to: Some(address), value: format!("{units:#x}"), data: "0x".into() }
    } else {
        let data = call_data("transfer(address,uint256)", &words);
        Call { to: Some(USDT), value: "0x0".into(), data }
    };
    anvil.send(anvil.deployer(), &call).await.unwrap();
}

/// Every recipient but the hostile one has the right amount, and every unit is accounted for, on
/// the chain and in the books.
async fn adds_up(run: &Run<'_>, story: &Story, order: &Value, (rows, hostile): (u32, &str)) {
    let (anvil, database, is_token) = (run.anvil, run.database, run.is_token);
    let holding = async |who: &str| {
        let held = if is_token { anvil.tokens(USDT, who).await } else { anvil.coins(who).await };
        held.unwrap()
    };
    for n in (1..=rows).filter(|n| *n != HOSTILE_ROW) {
        let amount = if n == rows { 1 } else { 1_000_000 };
        assert_eq!(holding(&evm_address(n)).await, amount, "{n}");
    }
    assert_eq!(holding(hostile).await, 0);
    assert_eq!(story.order.state.as_str(), "partial_failed");
    let books = story.order.books;
    assert_eq!(books.failed.get(), 1_000_000);
    assert_eq!(books.paid.get(), u128::from(rows - 2) * 1_000_000 + 1);
    assert_eq!(books.paid.get() + books.returned.get() + books.kept.get(), due(order));
    assert_eq!(holding(&evm_address(REFUND)).await, books.returned.get());
    let of = |what: &str| format!("select sum({what}) from payout_payment where state <> 'failed'");
    let fees = number(database, &(of("fee") + " and purpose <> 'gas'")).await;
    let fronted = number(database, &(of("amount") + " and purpose = 'gas'")).await;
    let back = number(database, &(of("amount") + " and purpose = 'gas_return'")).await;
    let address = order["depositAddress"].as_str().unwrap();
    let own = if is_token { 0 } else { books.kept.get() };
    if is_token {
        assert_eq!(holding(address).await, books.kept.get());
    }
    assert_eq!(anvil.coins(address).await.unwrap(), own + fronted - fees - back);
    let booked = "select sum(amount) from ledger_entry where kind = 'network_fee' and credit = 'custody:polygon'";
    assert_eq!(number(database, booked).await, fees);
    if is_token && rows >= 1_000 {
        let portions = "select count(*) from payout_payment where purpose = 'gas'";
        assert!(number(database, portions).await > 1, "one portion paid for all");
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Paid {
    Coins,
    Tokens,
    /// Many in one transaction.
    TokensTogether,
}

async fn pays_everybody_once(what: Paid) {
    let is_token = what != Paid::Coins;
    let rows = std::env::var("GATEWAY_TEST_PAYOUT_ROWS").map_or(ROWS, |text| text.parse().unwrap());
    let database = TestDatabase::create().await;
    let (anvil, multisend) = match what {
        Paid::Coins | Paid::Tokens => (node().await, None),
        Paid::TokensTogether => {
            let (anvil, multisend) = node_with_multisend().await;
            (anvil, Some(multisend))
        }
    };
    let hostile = evm_address(3_000_000);
    if is_token {
        anvil.blacklist(USDT, &hostile).await.unwrap();
    } else {
        anvil.rpc("anvil_setCode", json!([hostile, REVERTS])).await.unwrap();
    }
    with_broker(|broker| async move {
        let mut own = environment(&anvil);
        own.extend(multisend.map(|at| ("GATEWAY_CHAINS__POLYGON__MULTISEND", at)));
        let own: Vec<_> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let installation = Installation::new(&database.url, &(&*broker).into(), &own);
        let gateway = hand(&database, &anvil);
        let wallet = gateway.gas_address().unwrap().to_lowercase();
        anvil.set_coins(&wallet, 100 * COIN).await.unwrap();
        let others = ["deposit-matching", "expiry-timer", "chain-watcher", "rate-refresher"];
        let _others = installation.start_workers(&others).await;
        gateway.note_network_fee(Network::Polygon).await.unwrap();
        let wanted = order(if is_token { "usdtmatic" } else { "pol" }, rows, &hostile);
        let order = confirmed(&gateway, &wanted).await;
        fund(&database, &anvil, &order).await;

        let id = order["id"].as_str().unwrap().to_owned();
        let run = Run {
            installation: &installation,
            gateway: &gateway,
            database: &database,
            anvil: &anvil,
            is_token,
            id,
        };
        let gas = GAS_MOMENTS.into_iter().filter(|_| is_token);
        // Together: at the allowance, and at the payments after it.
        let again = MOMENTS.into_iter().filter(|_| what == Paid::TokensTogether);
        let moments: Vec<_> = gas.chain(MOMENTS).chain(again).collect();
        let started = Instant::now();
        let story = run.to_the_end(&moments).await;
        let (symbol, kills) = (&order["symbol"], moments.len());
        println!("{rows} rows of {symbol} in {:.0?}, {kills} kills", started.elapsed());
        adds_up(&run, &story, &order, (rows, &hostile)).await;
        if what == Paid::TokensTogether {
            let given = "select count(*) from payout_payment where purpose = 'allowance'";
            assert_eq!(number(&database, given).await, 1);
            let paid = "select count(*) from payout_payment where purpose = 'pay'";
            assert!(number(&database, paid).await < u128::from(rows), "nothing was paid together");
        }
        gateway.db.close().await;
        database.remove().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_order_of_tokens_is_paid_once_if_the_payer_is_killed_at_random() {
    pays_everybody_once(Paid::Tokens).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_order_paid_together_is_paid_once_if_the_payer_is_killed_at_random() {
    pays_everybody_once(Paid::TokensTogether).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_order_of_coins_is_paid_once_if_the_payer_is_killed_at_random() {
    pays_everybody_once(Paid::Coins).await;
}
