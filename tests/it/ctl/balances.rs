//! `gatewayctl balances`: balances of addresses compared with the rows.

use gateway::{
    app::deposit::reconcile::Reconciled, asset::Network, money::BaseUnits, storage::balances,
};
use serde_json::{Value, json};
use support::{
    client::ctl::Ctl,
    shop::{Shop, with_configured_shop, with_shop},
};

use super::with_database;

async fn reconcile(shop: &Shop) -> Reconciled {
    shop.stack.gateway.reconcile(Network::Polygon).await.unwrap().unwrap()
}

async fn address_of(shop: &Shop, id: &str) -> String {
    shop.payment(id).await["pay_address"].as_str().unwrap().to_owned()
}

async fn mine(shop: &Shop, ctl: &Ctl) {
    ctl.json(&["simulate", "mine", "--network", "polygon"]).await;
    shop.look(Network::Polygon).await;
}

/// Surpluses and deficits, as the gauge shows them.
async fn counted(shop: &Shop) -> (i64, i64) {
    let mut connection = shop.stack.gateway.db.connection().await.unwrap();
    let counts = balances::counts(&mut connection).await.unwrap();
    counts.get("polygon").copied().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missed_payment_is_found_by_comparing_balances_and_named() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let (id, other) = (shop.invoice().await, shop.invoice().await);
        let sent = shop.pay(&id, "100").await;
        shop.pay(&other, "60").await;
        shop.look(Network::Polygon).await;
        assert_eq!(reconcile(&shop).await, Reconciled { addresses: 2, differ: 0 });
        assert_eq!(ctl.json(&["balances", "list"]).await, json!([]));

        let row = "delete from deposit where invoice_id = $1";
        shop.sql(row, &id).await;
        assert_eq!(reconcile(&shop).await.differ, 1);
        // A single observation may be a payment that is not recorded yet.
        assert_eq!(ctl.json(&["balances", "list"]).await, json!([]));
        assert_eq!(reconcile(&shop).await.differ, 1);
        assert_eq!(ctl.json(&["balances", "list"]).await, json!([]), "at the same height");
        mine(&shop, &ctl).await;
        reconcile(&shop).await;
        let listed = ctl.json(&["balances", "list", "--network", "polygon"]).await;
        let address = address_of(&shop, &id).await;
        assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(
            (&listed[0]["address"], &listed[0]["payment_id"]),
            (&json!(address), &json!(id))
        );
        assert_eq!((&listed[0]["expected"], &listed[0]["found"]), (&json!("0"), &json!("100")));
        assert_eq!(listed[0]["kind"], "surplus");
        let advice = listed[0]["advice"].as_str().unwrap();
        assert!(advice.contains("gatewayctl deposit import TXID --network polygon"), "{advice}");
        assert_eq!(counted(&shop).await, (1, 0));
        let check = ["--json", "balances", "check", "--network", "polygon", "--address", &address];
        let check = ctl.run(&check).await;
        assert_eq!(check.code, 1, "{check:?}");
        let usdt = check.json();
        let usdt =
            usdt.as_array().unwrap().iter().find(|one| one["differs"] == true).unwrap().clone();
        assert_eq!(
            (&usdt["token_id"], &usdt["found"]),
            (&json!("usdtmatic@polygon"), &json!("100"))
        );

        let import =
            ["deposit", "import", &sent.txid, "--network", "polygon", "--yes", "--by", "ada"];
        assert_eq!(ctl.json(&import).await["written"], 1);
        reconcile(&shop).await;
        assert_eq!(ctl.json(&["balances", "list"]).await, json!([]));
        assert_eq!(counted(&shop).await, (0, 0));
        assert_eq!(shop.number("select count(*) from balance_difference").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_balance_deficit_is_reported_until_an_operator_explains_it() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.look(Network::Polygon).await;
        let address = address_of(&shop, &id).await;
        // The simulated chain counts incoming amounts, so the outgoing amount is subtracted there.
        shop.run("update sim_transfer set amount = 40000000").await;
        for _ in 0..2 {
            reconcile(&shop).await;
            mine(&shop, &ctl).await;
        }
        assert_eq!(counted(&shop).await, (0, 1));
        let listed = ctl.json(&["balances", "list"]).await;
        assert_eq!(
            (&listed[0]["kind"], &listed[0]["unexplained_raw"]),
            (&json!("deficit"), &json!("-60000000"))
        );
        let place = ["--network", "polygon", "--address", &address];
        let explain =
            [&["balances", "explain"], &place[..], &["--reason", "swept", "--by", "ada"]].concat();
        assert_eq!(ctl.json(&explain).await["explained"], 1);
        assert_eq!(ctl.json(&["balances", "list"]).await, json!([]));
        ctl.run(&explain).await.expect_failure("has no unexplained difference");
        for _ in 0..3 {
            reconcile(&shop).await;
            mine(&shop, &ctl).await;
        }
        assert_eq!(ctl.json(&["balances", "list"]).await, json!([]));
        // A further difference from then on is new.
        shop.run("update sim_transfer set amount = 30000000").await;
        for _ in 0..2 {
            reconcile(&shop).await;
            mine(&shop, &ctl).await;
        }
        assert_eq!(ctl.json(&["balances", "list"]).await[0]["unexplained_raw"], "-10000000");
        let act =
            "select count(*) from audit_entry where subject_kind = 'balance' and operator = 'ada'";
        assert_eq!(shop.number(act).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minute_of_reconciliation_is_bounded_and_reaches_every_address_in_turn() {
    let toml = "reconciliation.addresses_per_minute = 6\n";
    with_configured_shop(toml, Default::default(), |shop| async move {
        shop.look(Network::Polygon).await;
        let mut ids = Vec::new();
        for _ in 0..20 {
            ids.push(shop.invoice().await);
        }
        // Most are over; every second one of the rest was missed.
        shop.run("update invoice set status = 'expired' where random() < 2").await;
        let open = shop.invoice().await;
        for id in ids.iter().step_by(5).chain([&open]) {
            shop.pay(id, "1").await;
        }
        shop.look(Network::Polygon).await;
        shop.run("delete from deposit").await;
        let first = reconcile(&shop).await;
        assert!(first.addresses <= 6, "{first:?}");
        let at_once: i64 = shop
            .number("select count(*) from balance_difference b join deposit_address a on a.id = b.address_id
                     join invoice i on i.id = a.invoice_id where i.status = 'pending'")
            .await;
        assert_eq!(at_once, 1, "open invoices come first");
        for _ in 0..10 {
            assert!(reconcile(&shop).await.addresses <= 6);
        }
        let found = shop.number("select count(*) from balance_difference").await;
        assert_eq!(found, 5, "four that are over, and the open one");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_that_is_not_possible_is_reported() {
    let toml = "reconciliation.addresses_per_minute = 0\n";
    with_configured_shop(toml, Default::default(), |shop| async move {
        let ctl = Ctl::of(&shop.stack);
        assert_eq!(shop.stack.gateway.reconcile(Network::Polygon).await.unwrap(), None);
        let id = shop.invoice().await;
        let address = address_of(&shop, &id).await;
        let check = ["balances", "check", "--network", "polygon", "--address"];
        let early = ctl.run(&[&check[..], &[&address]].concat()).await;
        early.expect_failure("polygon is not followed");
        let nobody = "0x52908400098527886E0F7030069857D2E4169EE7";
        let stranger = ctl.run(&[&check[..], &[nobody]].concat()).await;
        stranger.expect_failure("was not assigned on polygon");
        shop.look(Network::Polygon).await;
        let fine: Value = ctl.json(&[&check[..], &[&address]].concat()).await;
        assert!(fine.as_array().unwrap().iter().all(|one| one["differs"] == false), "{fine}");
    })
    .await;
}

/// One look: the height at which the rows were read, the height up to which the chain may have
/// known, and the balances of both.
type Look = ((u64, u64), u128, u128);

#[tokio::test(flavor = "multi_thread")]
async fn a_balance_difference_is_reported_once_no_pending_transfer_can_explain_it() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        let address = address_of(&shop, &id).await.to_lowercase();
        let mut connection = shop.stack.gateway.db.connection().await.unwrap();
        let known = balances::address(&mut connection, Network::Polygon.family(), &address);
        let address_id = known.await.unwrap().unwrap().id;
        let cases: &[(&str, &[Look], bool)] = &[
            ("once", &[((10, 10), 0, 5)], false),
            ("twice at a block each", &[((10, 10), 0, 5), ((11, 11), 0, 5)], true),
            ("twice at one block", &[((10, 10), 0, 5), ((10, 10), 0, 5)], false),
            ("the rows are not beyond the bound", &[((10, 15), 0, 5), ((15, 20), 0, 5)], false),
            ("they are in the end", &[((10, 15), 0, 5), ((15, 20), 0, 5), ((16, 21), 0, 5)], true),
            ("it arrived", &[((10, 15), 0, 5), ((16, 21), 5, 5)], false),
            ("one arrived and one is on its way", &[((10, 15), 0, 5), ((16, 21), 5, 9)], false),
            (
                "one always is on its way",
                &[((10, 15), 0, 5), ((16, 21), 5, 9), ((22, 30), 9, 14), ((31, 33), 14, 20)],
                false,
            ),
            (
                "what was told stays told when more arrives",
                &[((10, 15), 0, 5), ((16, 21), 0, 5), ((22, 30), 4, 9)],
                true,
            ),
            ("less than the rows say", &[((10, 15), 5, 0), ((16, 21), 5, 0)], true),
        ];
        for (name, looks, is_told) in cases {
            for (heights, expected, found) in *looks {
                let token_id = "usdtmatic@polygon".to_owned();
                let (expected, found) = (BaseUnits::new(*expected), BaseUnits::new(*found));
                let observed = [balances::Observed { address_id, token_id, expected, found }];
                balances::observe(&mut connection, Network::Polygon, *heights, &observed)
                    .await
                    .unwrap();
            }
            assert_eq!(counted(&shop).await != (0, 0), *is_told, "{name}");
            shop.run("delete from balance_difference").await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn networks_whose_nodes_are_not_asked_are_named() {
    with_database(|ctl, _| async move {
        let on_a_node = |ctl: Ctl, network: &str| {
            let section = format!("GATEWAY_CHAINS__{network}");
            ctl.with(&format!("{section}__SOURCE"), "node")
                .with(&format!("{section}__RPC_URL"), "http://127.0.0.1:1")
        };
        let ctl = on_a_node(ctl, "DOGECOIN");
        let why = "Dogecoin Core has no scantxoutset; compare the balance with another wallet";
        let all = format!("\nNot asked for balances: dogecoin ({why})\n");
        let listed = ctl.run(&["balances", "list"]).await.expect_ok();
        assert!(listed.stdout.ends_with(&all), "{}", listed.stdout);
        assert_eq!(ctl.json(&["balances", "list"]).await, json!([]));
        let one = ctl.run(&["balances", "list", "--network", "bitcoin"]).await.expect_ok();
        assert!(!one.stdout.contains("Not asked"), "{}", one.stdout);

        let ctl = on_a_node(on_a_node(ctl, "NEAR"), "LITECOIN")
            .with("GATEWAY_RECONCILIATION__SCAN_MINUTES", "0")
            .with("AMQP_URL", "amqp://a:b@127.0.0.1:1/c")
            .with("GATEWAY_BROKER__MANAGEMENT_URL", "http://a:b@127.0.0.1:1");
        let report = ctl.run(&["--json", "doctor"]).await.json();
        let checks = report["checks"].as_array().unwrap();
        let balances = checks.iter().find(|found| found["check"] == "balances").unwrap();
        let not_asked = json!({
            "dogecoin": why,
            "litecoin": "reconciliation.scan_minutes is 0",
            "near": "chains.near.state_url names no node",
        });
        assert_eq!(balances["not_asked"], not_asked, "{balances}");
        let detail = balances["detail"].as_str().unwrap();
        assert!(detail.contains("; not asked for: litecoin (reconciliation"), "{balances}");
    })
    .await;
}
