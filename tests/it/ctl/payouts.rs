//! `gatewayctl payouts`: orders listed, held, released, bumped and watched.

use gateway::{asset::Network, payout::State};
use serde_json::{Value, json};
use support::{
    client::ctl::Ctl,
    server::{
        broker::eventually,
        stack::{only, with_configured_stack},
    },
    shop::payouts::{Payer, evm_address},
};

use super::with_database;

const EVM: &str = "/v1/evm-mass-payout";
const UNKNOWN: &str = "empo_00000000000000000000000000";

fn two_rows() -> Value {
    let row = |n, amount| json!({ "address": evm_address(n), "amount": amount });
    json!({ "network": "polygon", "currency": "usdtmatic", "items": [row(1, "10"), row(2, "2.5")] })
}

async fn draft(payer: &Payer) -> String {
    payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned()
}

async fn confirmed(payer: &Payer) -> String {
    let id = draft(payer).await;
    payer.confirm(EVM, &id).await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_funded_watched_to_its_end_and_explained() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let (ctl, payer) = (Ctl::of(&stack), Payer::open(&stack).await);
        let id = draft(&payer).await;
        let fund = ["simulate", "deposit", "--payout", &id];
        ctl.run(&fund).await.expect_failure("its merchant confirms it first");
        payer.confirm(EVM, &id).await;
        let funded = ctl.run(&fund).await.expect_ok().stdout;
        assert!(funded.contains(&format!("gatewayctl payouts watch {id}")), "{funded}");

        let watched = ctl.run(&["payouts", "watch", &id]).await.expect_ok().stdout;
        let last = watched.lines().last().unwrap();
        assert_eq!(last, "completed  ████████████████████ 2 of 2 paid");
        assert!(!watched.contains('\u{1b}') && !watched.contains('\r'), "{watched:?}");
        let again = ctl.json(&["payouts", "watch", &id]).await;
        assert_eq!((&again["state"], &again["id"]), (&json!("completed"), &json!(id)));
        ctl.run(&fund).await.expect_failure("the order waits for nothing more");

        let merchant = payer.merchant.new.id.to_string();
        let listed = ctl.json(&["payouts", "list", "--merchant", &merchant]).await;
        assert_eq!(listed[0]["order_id"], json!(id));
        assert_eq!(
            (&listed[0]["state"], &listed[0]["paid_raw"]),
            (&json!("completed"), &json!("12500000"))
        );
        assert_eq!(ctl.json(&["payouts", "list", "--state", "processing"]).await, json!([]));
        let none = ctl.run(&["payouts", "list", "--state", "processing"]).await.expect_ok();
        assert_eq!(none.stdout, "There are no payout orders.\n");
        ctl.run(&["payouts", "list", "--state", "paid"])
            .await
            .expect_wrong_usage("states are draft");

        let shown = ctl.json(&["payouts", "show", &id]).await;
        assert_eq!((&shown["id"], &shown["merchantId"]), (&json!(id), &json!(merchant)));
        assert_eq!(shown["holdReason"], Value::Null);
        let text = ctl.run(&["payouts", "show", &id]).await.expect_ok().stdout;
        for words in ["2 in 1 batches", "12.5 USDT", "completed"] {
            assert!(text.contains(words), "no {words:?} in:\n{text}");
        }
        let story = eventually("every webhook is delivered", async || {
            let story = ctl.json(&["payouts", "explain", &id]).await;
            let events = story["events"].as_array().unwrap();
            let delivered = events.iter().filter(|event| event["state"] == "delivered");
            (delivered.count() == 5).then_some(story)
        })
        .await;
        assert_eq!(story["deposits"][0]["amountRaw"], story["totalToSendRaw"]);
        let payments = story["payments"].as_array().unwrap();
        assert_eq!(payments.len(), 2);
        assert!(payments.iter().all(|payment| payment["state"] == "confirmed"), "{payments:?}");
        let text = ctl.run(&["payouts", "explain", &id]).await.expect_ok().stdout;
        for words in ["Deposits", "Batches", "Payments", "Webhooks", "mass_payout.completed"] {
            assert!(text.contains(words), "no {words:?} in:\n{text}");
        }
        let cancel = ctl.run(&["payouts", "cancel", &id]).await;
        cancel.expect_failure("the order is completed; only what has no signed payment yet");
        ctl.run(&["payouts", "hold", &id, "--reason", "x"]).await.expect_failure("has ended");
        ctl.run(&["payouts", "bump", &id]).await.expect_failure("no payment of the order waits");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_order_waits_until_it_is_released() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let (ctl, payer) = (Ctl::of(&stack), Payer::open(&stack).await);
        let id = confirmed(&payer).await;
        let release = ["payouts", "release", &id];
        ctl.run(&release).await.expect_failure("the order is not held");
        let hold = ["payouts", "hold", &id, "--reason", "asking the merchant"];
        assert_eq!(ctl.json(&hold).await, json!({ "order_id": id, "held": "asking the merchant" }));
        ctl.run(&hold).await.expect_failure("the order is held already: asking the merchant");
        ctl.run(&["simulate", "deposit", "--payout", &id]).await.expect_ok();
        payer.becomes(&id, "funded").await;
        let listed = ctl.json(&["payouts", "list", "--state", "funded"]).await;
        assert_eq!(listed[0]["held"], "asking the merchant");
        assert!(payer.story(&id).await.payments.is_empty());
        let released = ctl.json(&release).await;
        assert_eq!(released, json!({ "order_id": id, "releases_missing": 0 }));
        payer.becomes(&id, "completed").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_waits_for_a_limit_says_so_and_is_not_held() {
    let toml = only(Network::Polygon) + "payouts.hour_usd_max = 11\n";
    with_configured_stack(&toml, |stack| async move {
        stack.start_all();
        let (ctl, payer) = (Ctl::of(&stack), Payer::open(&stack).await);
        let id = confirmed(&payer).await;
        ctl.run(&["simulate", "deposit", "--payout", &id]).await.expect_ok();
        let story = eventually("the second row waits", async || {
            let story = ctl.json(&["payouts", "explain", &id]).await;
            story["waitsFor"].is_string().then_some(story)
        })
        .await;
        let why = "a payment of 2.50 USD, and of the limit of an hour, 11 USD, 1.00 are left";
        assert_eq!((&story["waitsFor"], &story["holdReason"]), (&json!(why), &Value::Null));
        let text = ctl.run(&["payouts", "explain", &id]).await.expect_ok().stdout;
        assert!(text.contains("waits for") && text.contains(why), "{text}");
        // A new hold replaces the reason, and only the new reason counts then.
        ctl.run(&["payouts", "hold", &id, "--reason", "drill"]).await.expect_ok();
        let held = ctl.json(&["payouts", "explain", &id]).await;
        assert_eq!((&held["waitsFor"], &held["holdReason"]), (&Value::Null, &json!("drill")));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_surplus_without_an_address_goes_back_once_an_operator_names_one() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let (ctl, payer) = (Ctl::of(&stack), Payer::open(&stack).await);
        let id = draft(&payer).await;
        let order = payer.confirm(EVM, &id).await;
        let due: u128 = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        payer.fund(&order, due + 1_000_000).await;
        payer.becomes(&id, "completed").await;
        assert_eq!(payer.story(&id).await.order.books.left().get(), 1_000_000);
        let mut connection = stack.database.connect().await;
        let told = "select count(*) from operator_alert where kind = 'payout_refund_no_address' and subject = $1";
        let told = sqlx::query_scalar::<_, i64>(told).bind(&id).fetch_one(&mut connection).await;
        assert_eq!(told.unwrap(), 1);
        let explained = ctl.json(&["payouts", "explain", &id]).await;
        let waits_for = explained["waitsFor"].as_str().unwrap();
        assert!(waits_for.contains(&format!("payouts refund-to {id}")), "{waits_for}");
        let refund_to = async |address: &str| {
            ctl.run(&["payouts", "refund-to", &id, address]).await
        };
        refund_to("0x52").await.expect_failure("refundAddress");
        let own = order["depositAddress"].as_str().unwrap();
        refund_to(own).await.expect_failure("belongs to this gateway");
        let text = refund_to(&evm_address(900)).await.expect_ok().stdout;
        assert!(text.to_lowercase().contains(&evm_address(900)), "{text}");
        let story = payer.settles(&id).await;
        assert_eq!(story.order.books.returned.get(), 1_000_000);
        let chain = payer.received_on_chain("polygon").await;
        assert_eq!(chain[&evm_address(900)], (1, "1000000".to_owned()));
        refund_to(&evm_address(901)).await.expect_failure("the order has the refund address");
        let noted = ctl.json(&["audit", &id]).await;
        let mut entries = noted.as_array().unwrap().iter();
        let named = entries.find(|entry| entry["act"] == "refund-to").unwrap();
        assert_eq!(named["operator"], account(&ctl).await);
    })
    .await;
}

/// The account that commands of this test run under, as their refusal of another one names it.
pub async fn account(ctl: &Ctl) -> String {
    let refused = ctl.run(&["payouts", "release", UNKNOWN, "--by", "nobody-of-this-name"]).await;
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
    let text = refused.stderr;
    let (_, rest) = text.split_once("which is ").unwrap_or_else(|| panic!("{text}"));
    rest.split_once(". Leave").unwrap().0.to_owned()
}

/// One person who types two names, or sets what the shell knows of him, is still one.
#[tokio::test(flavor = "multi_thread")]
async fn two_people_are_two_accounts_of_the_operating_system_and_not_two_names() {
    let toml = only(Network::Polygon) + "payouts.two_people_above_usd = 10\n";
    with_configured_stack(&toml, |stack| async move {
        stack.start_all();
        let ctl = Ctl::of(&stack).with("GATEWAY_PAYOUTS__TWO_PEOPLE_ABOVE_USD", "10");
        let payer = Payer::open(&stack).await;
        let id = draft(&payer).await;
        let order = payer.confirm(EVM, &id).await;
        let due: u128 = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        payer.fund(&order, due + 1_000_000).await;
        eventually("it is held", async || {
            payer.story(&id).await.order.held.map(|hold| hold.to_string())
        })
        .await;
        let own = account(&ctl).await;
        let disguises: Vec<_> = ["GATEWAY_OPERATOR", "SUDO_USER", "USER", "LOGNAME", "SUDO_UID"]
            .iter()
            .map(|name| ctl.clone().with(name, "1234"))
            .collect();
        let by_own = ["payouts", "release", &id, "--by", &own];
        assert_eq!(ctl.json(&by_own).await["releases_missing"], 1);
        for disguised in &disguises {
            let missing = disguised.json(&["payouts", "release", &id]).await;
            assert_eq!(missing, json!({ "order_id": id, "releases_missing": 1 }));
        }
        for by in ["ada", "ben"] {
            let ran = ctl.run(&["payouts", "release", &id, "--by", by]).await;
            ran.expect_wrong_usage("is not your account on this machine");
            let ran = ctl.run(&["payouts", "refund-to", &id, &evm_address(900), "--by", by]).await;
            ran.expect_wrong_usage("is not your account on this machine");
        }
        assert!(payer.story(&id).await.payments.is_empty());
        assert_eq!(stack.gateway.release_order(&id, "another account").await.unwrap(), 0);
        payer.becomes(&id, "completed").await;

        let place = evm_address(900);
        for ctl in [&ctl].into_iter().chain(&disguises) {
            let said = ctl.json(&["payouts", "refund-to", &id, &place]).await;
            assert_eq!(said["people_missing"], 1);
        }
        let other = stack.gateway.refund_order_to(&id, &evm_address(901), "another account").await;
        assert_eq!(other.unwrap().1, 1, "two people, two addresses");
        assert_eq!(payer.story(&id).await.order.refund_address, None);
        let said = stack.gateway.refund_order_to(&id, &place, "another account").await.unwrap();
        assert_eq!(said.1, 0);
        payer.settles(&id).await;
        let chain = payer.received_on_chain("polygon").await;
        assert_eq!(chain[&place], (1, "1000000".to_owned()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_order_sends_its_webhook_and_makes_payouts_watch_fail() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let (ctl, payer) = (Ctl::of(&stack), Payer::open(&stack).await);
        let id = confirmed(&payer).await;
        let cancelled = ctl.json(&["payouts", "cancel", &id]).await;
        assert_eq!(cancelled, json!({ "order_id": id, "state": "cancelled" }));
        let watched = ctl.run(&["payouts", "watch", &id]).await;
        assert_eq!((watched.code, watched.stdout.as_str()), (1, "cancelled  nobody was paid\n"));
        let kinds: Vec<_> = payer.story(&id).await.events.into_iter().map(|e| e.kind).collect();
        assert_eq!(kinds, ["mass_payout.created", "mass_payout.cancelled"]);
        assert_eq!(payer.story(&id).await.order.state, State::Cancelled);
    })
    .await;
}

/// A payout to be signed by its merchant: operators see it, and have nothing to decide about it.
#[tokio::test(flavor = "multi_thread")]
async fn a_payout_that_its_merchant_signs_is_listed_shown_and_explained() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let (ctl, payer) = (Ctl::of(&stack), Payer::open(&stack).await);
        let none = ctl.run(&["payouts", "list", "--nc"]).await.expect_ok();
        assert_eq!(none.stdout, "There are no payouts that merchants sign.\n");
        let output = |n, amount| json!({ "address": evm_address(n), "amount": amount, "reference": n.to_string() });
        let asked = json!({
            "network": "polygon", "currency": "usdtmatic", "fromAddress": evm_address(9),
            "outputs": [output(1, "10"), output(2, "2.5")],
        });
        let created = payer.merchant.client.post("/v1/nc-payout", &asked).await.json();
        let id = created["data"]["id"].as_str().unwrap();
        let merchant = payer.merchant.new.id.to_string();

        let listed = ctl.json(&["payouts", "list", "--nc", "--merchant", &merchant]).await;
        assert_eq!((&listed[0]["payout_id"], &listed[0]["output_count"]), (&json!(id), &json!(2)));
        assert_eq!(listed[0]["total_raw"], "12500000");
        assert_eq!(ctl.json(&["payouts", "list", "--nc", "--state", "submitted"]).await, json!([]));
        // Orders have other states, and a payout has none of them.
        ctl.run(&["payouts", "list", "--nc", "--state", "draft"])
            .await
            .expect_wrong_usage("states are awaiting_signature");
        assert_eq!(ctl.json(&["payouts", "list"]).await, json!([]));
        let text = ctl.run(&["payouts", "list", "--nc"]).await.expect_ok().stdout;
        assert!(text.contains(id) && text.contains("12.5"), "{text}");

        let shown = ctl.json(&["payouts", "show", id]).await;
        assert_eq!((&shown["id"], &shown["merchantId"]), (&json!(id), &json!(merchant)));
        let story = ctl.json(&["payouts", "explain", id]).await;
        let transactions = story["transactions"].as_array().unwrap();
        let states: Vec<_> = transactions.iter().map(|one| &one["state"]).collect();
        assert_eq!(states, ["unsigned", "unsigned"]);
        assert_eq!(story["lookAt"], story["expiresAt"]);
        let text = ctl.run(&["payouts", "explain", id]).await.expect_ok().stdout;
        for words in ["awaiting_signature", "12.5 USDT", "Outputs", "Transactions", &evm_address(2)] {
            assert!(text.to_lowercase().contains(&words.to_lowercase()), "no {words:?} in:\n{text}");
        }
        for command in ["show", "explain"] {
            let unknown = "ncp_00000000000000000000000000";
            ctl.run(&["payouts", command, unknown]).await.expect_failure("no payout has this id");
        }
    })
    .await;
}

#[tokio::test]
async fn an_unknown_order_is_a_clear_failure_of_every_command() {
    with_database(|ctl, _| async move {
        for command in [
            &["show", UNKNOWN][..],
            &["explain", UNKNOWN],
            &["watch", UNKNOWN],
            &["hold", UNKNOWN, "--reason", "x"],
            &["release", UNKNOWN],
            &["refund-to", UNKNOWN, UNKNOWN],
            &["accept", UNKNOWN, "--reason", "x"],
            &["settle", UNKNOWN, "0x5c", "--paid", "--reason", "x"],
            &["bump", UNKNOWN],
            &["cancel", UNKNOWN],
        ] {
            let ran = ctl.run(&[&["payouts"], command].concat()).await;
            ran.expect_failure(&format!("no payout order has the id {UNKNOWN}"));
        }
        let fund = ctl.run(&["simulate", "deposit", "--payout", UNKNOWN]).await;
        fund.expect_failure(&format!("no payout order has the id {UNKNOWN}"));
        let hold = ctl.run(&["payouts", "hold", UNKNOWN]).await;
        hold.expect_wrong_usage("--reason <TEXT>");
    })
    .await;
}

#[tokio::test]
async fn payouts_stop_and_resume_state_their_effect_and_what_remains_stopped() {
    with_database(|ctl, _| async move {
        let polygon = ["--network", "polygon"];
        let stop = ["payouts", "stop", "--reason", "node trouble"];
        let resume = ["payouts", "resume"];
        let text = ctl.run(&[&stop[..], &polygon].concat()).await.expect_ok().stdout;
        assert!(text.starts_with("Nothing more is signed on polygon."), "{text}");
        assert!(text.contains("gatewayctl payouts resume --network polygon"), "{text}");
        let everywhere = ctl.json(&stop).await;
        assert_eq!(everywhere, json!({ "network": "*", "stopped": "node trouble" }));
        // Its own stop ends, the one of all networks does not.
        let one = ctl.json(&[&resume[..], &polygon].concat()).await;
        assert_eq!(
            one,
            json!({ "network": "polygon", "resumed": true, "stopped": "node trouble" })
        );
        let text = ctl.run(&[&resume[..], &polygon].concat()).await.expect_ok().stdout;
        assert!(text.starts_with("Signing is still stopped everywhere (node trouble)."), "{text}");
        let all = ctl.run(&resume).await.expect_ok().stdout;
        assert_eq!(all, "Signing continues on any network.\n");
        let none = ctl.run(&[&resume[..], &polygon].concat()).await.expect_ok().stdout;
        assert_eq!(none, "Signing was not stopped on polygon.\n");
    })
    .await;
}

#[tokio::test]
async fn a_seed_is_sealed_from_stdin_and_nothing_of_it_is_shown() {
    with_database(|ctl, _| async move {
        let seal = ["payouts", "seal-seed"];
        let seed = "5a".repeat(64);
        let sealed = ctl.run_with_input(&seal, &format!("{seed}\n")).await.expect_ok().stdout;
        let sealed = sealed.trim();
        assert!(sealed.len() > 128 && sealed.bytes().all(|b| b.is_ascii_hexdigit()), "{sealed}");
        assert!(!sealed.contains("5a5a5a"), "{sealed}");
        // Always the same bytes, so that whoever restores a seed can compare them.
        let again =
            ctl.run_with_input(&["--json", "payouts", "seal-seed"], &seed).await.expect_ok();
        assert_eq!(again.json()["sealed_seed"], sealed);
        for wrong in ["", "12 words of a phrase", &seed[2..], &format!("{seed}00")] {
            let ran = ctl.run_with_input(&seal, wrong).await;
            ran.expect_wrong_usage("a seed is 64 bytes in hex");
        }
        let key = |text: &str| ctl.clone().with("GATEWAY_PAYOUTS__SEED_KEY", text);
        let ran = key("hunter2").run_with_input(&seal, &seed).await;
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
        ran.expect_failure("GATEWAY_PAYOUTS__SEED_KEY is not 64 hex characters");
        let ran = key(support::server::stack::MASTER_KEY).run_with_input(&seal, &seed).await;
        ran.expect_failure("must not be GATEWAY_MASTER_KEY");
        key(&"cd".repeat(32)).run_with_input(&seal, &seed).await.expect_ok();
    })
    .await;
}
