//! `gatewayctl deposit`: the reason why a payment was counted or not, import of one that was
//! missed, acceptance of one that came back.

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn, Payee},
    asset::{Network, address},
    invoice::Status,
};
use serde_json::{Value, json};
use support::{
    client::ctl::Ctl,
    server::broker::eventually,
    shop::{Shop, deposit, unconfirmed, with_shop},
};

async fn explain(ctl: &Ctl, txid: &str) -> Value {
    ctl.json(&["deposit", "explain", txid, "--network", "polygon"]).await
}

/// The only transfer of a transaction.
async fn one(ctl: &Ctl, txid: &str) -> Value {
    let story = explain(ctl, txid).await;
    let transfers = story["transfers"].as_array().unwrap();
    assert_eq!(transfers.len(), 1, "{story}");
    transfers[0].clone()
}

async fn import(ctl: &Ctl, txid: &str) -> Value {
    let arguments = ["deposit", "import", txid, "--network", "polygon", "--yes", "--by", "ada"];
    ctl.json(&arguments).await
}

const ACCEPT: [&str; 10] = [
    "deposit",
    "accept",
    "0xbad",
    "--network",
    "polygon",
    "--yes",
    "--by",
    "ada",
    "--reason",
    "mined again",
];

/// A confirmed payment in the transaction that these tests reverse.
async fn bad(shop: &Shop, id: &str, amount: &str) {
    shop.send(&Deposit { txid: Some("0xbad".to_owned()), ..deposit(id, amount) }).await;
    shop.look(Network::Polygon).await;
}

/// A chain without that transaction.
async fn without_it(shop: &Shop) {
    shop.stack.gateway.simulate_orphan("0xbad").await.unwrap();
    shop.stack.gateway.simulate_mine(Network::Polygon, 20).await.unwrap();
    shop.look(Network::Polygon).await;
}

async fn settle(shop: &Shop, id: &str) {
    shop.stack.gateway.match_deposits(shop.deposit_of(id).await).await.unwrap();
}

async fn kinds(shop: &Shop, id: &str) -> Vec<String> {
    shop.books(id).await.into_iter().map(|entry| entry.kind).collect()
}

/// Booked balance of an account.
async fn held(shop: &Shop, id: &str, account: &str) -> i128 {
    let signed = |amount: u128| i128::try_from(amount).unwrap();
    let books = shop.books(id).await;
    let came = books.iter().filter(|entry| entry.credit == account).map(|e| signed(e.amount));
    let went = books.iter().filter(|entry| entry.debit == account).map(|e| -signed(e.amount));
    came.chain(went).sum()
}

fn paid_to(network: Network, address: &str, amount: &str) -> Deposit {
    Deposit {
        payee: Payee::Address { network, address: address.to_owned() },
        paid_in: PaidIn::default(),
        amount: amount.to_owned(),
        txid: None,
        unconfirmed: false,
    }
}

fn in_currency(id: &str, currency: &str, amount: &str) -> Deposit {
    let paid_in = PaidIn { currency: Some(currency.to_owned()), contract: None };
    Deposit { paid_in, ..deposit(id, amount) }
}

/// As if the watcher had missed all of it: the blocks are read, and their deposits are gone.
async fn forget_deposits(shop: &Shop) {
    shop.run("delete from deposit").await;
    shop.run("delete from outbox").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deposit_explain_names_each_stage_of_a_payment_until_it_is_credited() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let id = shop.invoice().await;
        let sent = shop.send(&unconfirmed(&id, "100")).await;
        let waiting = explain(&ctl, &sent.txid).await;
        assert_eq!((&waiting["state"], &waiting["height"]), (&json!("waiting"), &Value::Null));
        assert_eq!(one(&ctl, &sent.txid).await["state"], "not_read");
        shop.look(Network::Polygon).await;
        assert_eq!(one(&ctl, &sent.txid).await["state"], "waiting");

        ctl.json(&["simulate", "confirm", "--txid", &sent.txid]).await;
        let mined = one(&ctl, &sent.txid).await;
        assert!(mined["payment_id"] == id.as_str() && mined["given_for"] == "polygon", "{mined}");
        shop.look(Network::Polygon).await;
        let known = one(&ctl, &sent.txid).await;
        assert!(["final", "confirming"].contains(&known["state"].as_str().unwrap()), "{known}");
        ctl.json(&["simulate", "mine", "--network", "polygon", "--blocks", "20"]).await;
        shop.look(Network::Polygon).await;
        assert_eq!(one(&ctl, &sent.txid).await["state"], "final");

        shop.stack.start_all();
        shop.becomes(&id, Status::Paid).await;
        let ipn = shop.webhook(1).await;
        let booked = one(&ctl, &sent.txid).await;
        assert_eq!((&booked["state"], &booked["booked_as"]), (&json!("booked"), &json!("credit")));
        assert_eq!(booked["events"], json!([ipn["event_id"]]));
        assert_eq!(
            (&booked["amount"], &booked["token_id"]),
            (&json!("100"), &json!("usdtmatic@polygon"))
        );
        let text = ctl.run(&["deposit", "explain", &sent.txid, "--network", "polygon"]).await;
        let text = text.expect_ok().stdout;
        assert!(text.contains("yes; the invoice is paid; told as evt_"), "{text}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uncounted_deposit_states_its_reason() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        // To an unknown address, and to an address before it was given out.
        let nobody = "0x52908400098527886E0F7030069857D2E4169EE7";
        let stray = shop.send(&paid_to(Network::Polygon, nobody, "1")).await;
        let first = shop.invoice().await;
        let index = shop.number("select max(derivation_index) from deposit_address").await;
        let next = support::shop::evm_address(index + 1);
        let early = shop.send(&paid_to(Network::Polygon, &next, "1")).await;
        shop.look(Network::Polygon).await;
        let id = shop.invoice().await;
        assert_eq!(shop.payment(&id).await["pay_address"], next.as_str());
        let wrong = shop.send(&in_currency(&first, "usdcmatic", "5")).await;
        let unknown = Deposit {
            paid_in: PaidIn {
                currency: None,
                contract: Some("0x00000000000000000000000000000000000000aa".into()),
            },
            ..deposit(&first, "7")
        };
        let unknown = shop.send(&unknown).await;
        shop.stack.start_all();
        shop.webhook_about(&first, 2).await;

        let cases = [
            (&stray.txid, "not_ours", Value::Null, "not an address of ours"),
            (&early.txid, "before_address", Value::Null, "from before the address was given"),
            (
                &wrong.txid,
                "booked",
                json!("foreign"),
                "not the currency and network of its invoice",
            ),
            (&unknown.txid, "booked", json!("suspicious"), "unknown token"),
        ];
        for (txid, state, booked_as, words) in cases {
            let told = one(&ctl, txid).await;
            assert_eq!((&told["state"], &told["booked_as"]), (&json!(state), &booked_as), "{told}");
            assert!(told["why"].as_str().unwrap().contains(words), "{told}");
            // Nor can it be imported.
            assert_eq!(import(&ctl, txid).await["written"], 0);
        }
        let lost = explain(&ctl, "0xabcdef").await;
        assert_eq!((&lost["state"], &lost["transfers"]), (&json!("unknown"), &json!([])));
        let odd = ctl.run(&["deposit", "explain", "a b", "--network", "polygon"]).await;
        odd.expect_failure("that is no transaction's id on polygon");

        let listed = ctl.json(&["deposit", "list"]).await;
        assert_eq!(listed.as_array().unwrap().len(), 1);
        assert_eq!(
            (&listed[0]["txid"], &listed[0]["payment_id"]),
            (&json!(wrong.txid), &json!(first))
        );
        let all = ctl.json(&["deposit", "explain", "--address", &next]).await;
        assert_eq!((&all[0]["payment_id"], &all[0]["deposits"]), (&json!(id), &json!([])));
        let whose = shop.payment(&first).await["pay_address"].as_str().unwrap().to_owned();
        let all = ctl.json(&["deposit", "explain", "--address", &whose]).await;
        assert_eq!(all[0]["deposits"].as_array().unwrap().len(), 2, "{all}");
        let stranger = ctl.run(&["deposit", "explain", "--address", nobody]).await;
        stranger.expect_failure("is no address of any network of ours");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missed_deposit_is_imported_once_and_credited_like_any_other() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let id = shop.invoice().await;
        let sent = shop.pay(&id, "100").await;
        let unread = ctl.json(&["deposit", "import", &sent.txid, "--network", "polygon"]).await;
        assert_eq!(
            (&unread["transfers"][0]["state"], &unread["missed"]),
            (&json!("not_read"), &json!([]))
        );
        shop.look(Network::Polygon).await;
        forget_deposits(&shop).await;
        // The watcher has read that block and never returns to it.
        shop.look(Network::Polygon).await;
        let missed = one(&ctl, &sent.txid).await;
        assert_eq!(missed["state"], "missed");
        let advice = format!("gatewayctl deposit import {} --network polygon", sent.txid);
        assert!(missed["why"].as_str().unwrap().contains(&advice), "{missed}");

        let asked = ctl.json(&["deposit", "import", &sent.txid, "--network", "polygon"]).await;
        assert_eq!((&asked["written"], asked["missed"].as_array().unwrap().len()), (&json!(0), 1));
        assert_eq!(shop.number("select count(*) from deposit").await, 0);
        let nameless = ["deposit", "import", &sent.txid, "--network", "polygon", "--yes"];
        ctl.run(&nameless).await.expect_wrong_usage("give your name");
        // Two operators at once: one row.
        let both = tokio::join!(import(&ctl, &sent.txid), import(&ctl, &sent.txid));
        let written = both.0["written"].as_i64().unwrap() + both.1["written"].as_i64().unwrap();
        assert_eq!(written, 1, "{both:?}");
        assert_eq!(import(&ctl, &sent.txid).await["written"], 0);
        assert_eq!(shop.number("select count(*) from deposit").await, 1);
        assert_eq!(
            shop.number(
                "select count(*) from audit_entry where act = 'import' and operator = 'ada'"
            )
            .await,
            1
        );

        shop.stack.start_all();
        shop.becomes(&id, Status::Paid).await;
        assert_eq!(shop.webhook(1).await["payment_status"], "finished");
        let told = one(&ctl, &sent.txid).await;
        assert_eq!((&told["booked_as"], &told["imported_by"]), (&json!("credit"), &json!("ada")));
        assert_eq!(shop.books(&id).await.len(), 1);
        let whole = ctl.run(&["deposit", "explain", &sent.txid, "--network", "polygon"]).await;
        assert!(whole.stdout.contains("imported by ada"), "{whole:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_waits_for_the_confirmations_that_its_network_asks_for() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack).with("GATEWAY_CHAINS__POLYGON__CONFIRMATIONS", "30");
        shop.look(Network::Polygon).await;
        let id = shop.invoice().await;
        let sent = shop.pay(&id, "100").await;
        shop.look(Network::Polygon).await;
        forget_deposits(&shop).await;
        assert_eq!(import(&ctl, &sent.txid).await["written"], 1);
        let told = one(&ctl, &sent.txid).await;
        assert_eq!(
            (&told["state"], &told["confirmations"], &told["needed"]),
            (&json!("confirming"), &json!(16), &json!(30))
        );
        // The watcher, which requires 16 confirmations, continues with it.
        ctl.json(&["simulate", "mine", "--network", "polygon"]).await;
        shop.look(Network::Polygon).await;
        assert_eq!(one(&ctl, &sent.txid).await["state"], "final");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_is_not_imported_from_a_block_that_differs_from_the_one_the_watcher_read() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let id = shop.invoice().await;
        let sent = shop.pay(&id, "100").await;
        shop.look(Network::Polygon).await;
        forget_deposits(&shop).await;
        shop.run("update chain_block set hash = 'another' where network = 'polygon'").await;
        let arguments =
            ["deposit", "import", &sent.txid, "--network", "polygon", "--yes", "--by", "ada"];
        let refused = ctl.run(&arguments).await;
        refused.expect_failure("the node reports another block");
        assert_eq!(shop.number("select count(*) from deposit").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invoice_explain_names_the_network_that_was_paid_on_by_mistake() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.stack.start_all();
        let id = shop.invoice().await;
        let address = shop.payment(&id).await["pay_address"].as_str().unwrap().to_owned();
        shop.send(&paid_to(Network::Bsc, &address, "1")).await;
        shop.webhook_about(&id, 1).await;
        let told = eventually("the story has it", async || {
            let told = ctl.run(&["invoice", "explain", &id]).await.expect_ok().stdout;
            told.contains("bsc, and the invoice is to be paid in usdtmatic@polygon").then_some(told)
        })
        .await;
        assert!(told.contains("kept apart"), "{told}");
        let key = address::match_key(Network::Bsc.family(), &address);
        let all = ctl.json(&["deposit", "explain", "--address", &key, "--network", "bsc"]).await;
        assert_eq!(all[0]["deposits"][0]["booked_as"], "foreign", "{all}");
        let elsewhere = ctl.json(&["deposit", "list", "--network", "polygon"]).await;
        assert_eq!(elsewhere, json!([]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_came_back_after_its_reversal_is_accepted_into_the_books_once() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let id = shop.invoice().await;
        bad(&shop, &id, "150").await;
        settle(&shop, &id).await;
        let merchant = shop.account("merchant");
        assert_eq!(held(&shop, &id, &merchant).await, 100_000_000);
        for times in 1..=2 {
            without_it(&shop).await;
            assert_eq!(
                (held(&shop, &id, &merchant).await, held(&shop, &id, "treasury").await),
                (0, 0)
            );
            let gone = one(&ctl, "0xbad").await;
            assert_eq!((&gone["state"], &gone["returned"]), (&json!("reversed"), &Value::Null));
            assert_eq!(ctl.json(&ACCEPT).await["accepted"], 0);

            bad(&shop, &id, "150").await;
            let back = one(&ctl, "0xbad").await;
            assert_eq!((&back["state"], &back["returned"]), (&json!("reversed"), &json!(true)));
            let advice = "gatewayctl deposit accept 0xbad --network polygon";
            assert!(back["why"].as_str().unwrap().contains(advice), "{back}");
            let asked = ctl.json(&ACCEPT[..5]).await;
            assert_eq!(
                (asked["returned"].as_array().unwrap().len(), &asked["accepted"]),
                (1, &json!(0))
            );
            ctl.run(&ACCEPT[..8]).await.expect_wrong_usage("--reason");
            // Two operators at once: one of them succeeds.
            let both = tokio::join!(ctl.json(&ACCEPT), ctl.json(&ACCEPT));
            let accepted =
                both.0["accepted"].as_i64().unwrap() + both.1["accepted"].as_i64().unwrap();
            assert_eq!(accepted, 1, "{both:?}");
            assert_eq!(ctl.json(&ACCEPT).await["accepted"], 0);
            settle(&shop, &id).await;
            settle(&shop, &id).await;

            assert_eq!(held(&shop, &id, &merchant).await, 100_000_000, "{times}");
            assert_eq!(held(&shop, &id, "treasury").await, 50_000_000, "{times}");
            let custody = held(&shop, &id, "custody:polygon").await;
            assert_eq!(custody, -150_000_000, "{:?}", shop.books(&id).await);
            // Its invoice has counted it throughout, and its merchant was notified long ago.
            assert_eq!(shop.payment(&id).await["actually_paid"].to_string(), "150");
            assert_eq!(shop.status(&id).await, Status::Overpaid);
            assert_eq!(shop.events(&id).await, ["finished"]);
            let told = one(&ctl, "0xbad").await;
            assert_eq!(
                (&told["booked_as"], &told["accepted_by"]),
                (&json!("credit"), &json!("ada"))
            );
        }
        let noted = "select count(*) from audit_entry where act = 'accept' and operator = 'ada'
                     and change->>'detail' like '%: mined again'";
        assert_eq!(shop.number(noted).await, 2);
        assert_eq!(shop.number("select count(*) from deposit where replaces is not null").await, 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_returns_after_a_reorg_keeps_its_first_seen_time() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let id = shop.invoice().await;
        bad(&shop, &id, "60").await;
        settle(&shop, &id).await;
        without_it(&shop).await;
        assert_eq!(shop.payment(&id).await["actually_paid"].to_string(), "0");
        // Its window ends before the transaction is mined again, and the deadline is not decided
        // yet.
        shop.end_window(&id, 0).await;
        bad(&shop, &id, "60").await;
        assert_eq!(ctl.json(&ACCEPT).await["accepted"], 1);
        settle(&shop, &id).await;
        assert_eq!(shop.payment(&id).await["actually_paid"].to_string(), "60");
        assert_eq!(kinds(&shop, &id).await, ["deposit", "reversal", "deposit"]);
        let gone = one(&ctl, "0xbad").await;
        assert_eq!(gone["booked_as"], "credit");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reversed_transaction_that_changed_is_accepted_with_its_new_effect() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let id = shop.invoice().await;
        bad(&shop, &id, "100").await;
        settle(&shop, &id).await;
        without_it(&shop).await;
        bad(&shop, &id, "30").await;
        assert_eq!(ctl.json(&ACCEPT).await["accepted"], 1);
        settle(&shop, &id).await;
        assert_eq!(kinds(&shop, &id).await, ["deposit", "reversal", "late_deposit"]);
        assert_eq!(shop.books(&id).await[2].amount, 30_000_000);
        assert_eq!(shop.events(&id).await, ["finished", "late_deposit_received"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_accepted_that_is_not_final_at_the_place_where_the_watcher_has_read_it() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let id = shop.invoice().await;
        bad(&shop, &id, "100").await;
        settle(&shop, &id).await;
        without_it(&shop).await;
        bad(&shop, &id, "100").await;
        let patient = ctl.clone().with("GATEWAY_CHAINS__POLYGON__CONFIRMATIONS", "30");
        patient.run(&ACCEPT).await.expect_failure("has 16 confirmations of 30");
        shop.run("update chain_cursor set hash = 'x' || hash where network = 'polygon'").await;
        ctl.run(&ACCEPT).await.expect_failure("the node reports another block");
        shop.run("update chain_cursor set hash = substr(hash, 2) where network = 'polygon'").await;
        shop.run("update chain_block set hash = 'x' || hash where network = 'polygon'").await;
        ctl.run(&ACCEPT).await.expect_failure("the node reports another block");
        assert_eq!(shop.number("select count(*) from deposit").await, 1);
        assert_eq!(kinds(&shop, &id).await, ["deposit", "reversal"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_found_by_balance_is_named_by_its_deposit_key() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let id = shop.invoice_of(json!({ "pay_currency": "pol" })).await;
        bad(&shop, &id, "100").await;
        settle(&shop, &id).await;
        let key = format!("{}@7", shop.payment(&id).await["pay_address"].as_str().unwrap());
        let row = "update deposit set deposit_key = (select match_key from deposit_address) || '@7', found_by_balance = true
                   where invoice_id = $1";
        shop.sql(row, &id).await;
        assert_eq!(one(&ctl, &key).await["booked_as"], "credit");
        // As after a reorg that removed it, and its return.
        shop.run("update deposit set state = 'reversed'").await;
        let back = one(&ctl, &key).await;
        let why = back["why"].as_str().unwrap();
        assert!(why.contains(&format!("deposit accept {} --network", key.to_lowercase())), "{why}");
        let mut accept = ACCEPT;
        accept[2] = &key;
        assert_eq!(ctl.json(&accept[..5]).await["returned"].as_array().unwrap().len(), 1);
        ctl.run(&accept).await.expect_failure("the starting balance of");
        shop.run("update deposit_address set starting_balance = 0").await;
        ctl.run(&accept).await.expect_failure("do not report balances");
        shop.run("update deposit set height = null").await;
        assert_eq!(ctl.json(&accept).await["returned"], json!([]));
        let other = ["deposit", "explain", "0xabc@7", "--network", "polygon"];
        ctl.run(&other).await.expect_failure("nothing was found by balance on polygon as 0xabc@7");
    })
    .await;
}
