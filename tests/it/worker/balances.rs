//! Amounts that no block shows: the time of their arrival, and the effect of a reorg on them.

use std::collections::HashMap;

use chrono::TimeDelta;
use gateway::{app::deposit::follow_chain::Follower, invoice::Status, money::BaseUnits};
use serde_json::json;
use support::{
    client::ctl::Ctl,
    node::scripted_chain::ScriptedChain,
    shop::{Shop, with_shop},
};
use uuid::Uuid;

use super::chain_watcher::{NETWORK, over};

/// An invoice in the network's coin over five base units, and its address. Its initial balance is
/// known.
async fn invoice(
    shop: &Shop,
    chain: &ScriptedChain,
    follower: &mut Follower<ScriptedChain>,
) -> (String, String) {
    let gateway = &shop.stack.gateway;
    chain.script().tells_balances = true;
    follower.look(gateway).await.unwrap();
    let id = shop.invoice_of(json!({ "pay_currency": "pol" })).await;
    shop.sql("update invoice set pay_amount = 5 where id = $1", &id).await;
    let to = shop.payment(&id).await["pay_address"].as_str().unwrap().to_ascii_lowercase();
    chain.script().mine(0, Vec::new());
    follower.look(gateway).await.unwrap();
    (id, to)
}

async fn read(shop: &Shop, follower: &mut Follower<ScriptedChain>) {
    while !follower.look(&shop.stack.gateway).await.unwrap().complete {}
}

async fn settle(shop: &Shop, id: &str) {
    shop.stack.gateway.match_deposits(shop.deposit_of(id).await).await.unwrap();
}

async fn deposits(shop: &Shop) -> String {
    let query = "select coalesce(string_agg(concat_ws(' ', substr(deposit_key, 43), amount_text, state), ', '
                 order by height, deposit_key), '') from deposit";
    let mut connection = shop.stack.database.connect().await;
    let text = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
    text
}

fn units(units: u128) -> BaseUnits {
    BaseUnits::new(units)
}

/// The watcher is down from block 101 to 260; the deadline lies between the blocks 200 and 201.
async fn after_an_outage(state_from: u64) -> (String, String, Status) {
    let (mut told, mut received, mut status) = (String::new(), String::new(), Status::Draft);
    with_shop(|shop| {
        let (told, received, status) = (&mut told, &mut received, &mut status);
        async move {
            let chain = ScriptedChain::new(NETWORK, 100);
            let mut follower = over(&shop.stack.gateway, &chain);
            let (id, to) = invoice(&shop, &chain, &mut follower).await;
            shop.end_window(&id, 1_000).await;
            let deadline = shop
                .number("select floor(extract(epoch from deadline_at))::bigint from invoice")
                .await;
            {
                let mut script = chain.script();
                script.first_block_after = TimeDelta::seconds(deadline - 200);
                script.state_from = state_from;
                for height in 102..=260 {
                    script.mine(0, Vec::new());
                    match height {
                        150 => script.hide(&to, units(1)),
                        200 => script.hide(&to, units(2)),
                        201 | 230 => script.hide(&to, units(2)),
                        _ => {}
                    }
                }
            }
            read(&shop, &mut follower).await;
            *told = deposits(&shop).await;
            // Read again at later chain tips, nothing is new.
            (0..20).for_each(|_| chain.script().mine(0, Vec::new()));
            read(&shop, &mut follower).await;
            settle(&shop, &id).await;
            let credited = shop.number("select credited::bigint from invoice").await;
            let all = shop.number("select received::bigint from invoice").await;
            *received = format!("{credited} of {all}");
            *status = shop.status(&id).await;
        }
    })
    .await;
    (told, received, status)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_found_by_balance_counts_as_in_time_if_it_arrived_before_the_deadline() {
    let (told, received, status) = after_an_outage(0).await;
    assert_eq!(told, "@200 3 final, @260 4 seen");
    assert_eq!((received.as_str(), status), ("3 of 7", Status::Partial));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_without_history_is_dated_by_the_moment_it_was_found() {
    let (told, received, status) = after_an_outage(201).await;
    assert_eq!(told, "@260 7 seen");
    assert_eq!((received.as_str(), status), ("0 of 7", Status::Pending));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_found_by_balance_that_survives_a_deep_reorg_is_not_reversed() {
    with_shop(|shop| async move {
        let chain = ScriptedChain::new(NETWORK, 100);
        let mut follower = over(&shop.stack.gateway, &chain);
        let (id, to) = invoice(&shop, &chain, &mut follower).await;
        let arrive = |depth: usize| {
            let mut script = chain.script();
            script.roll_back(depth);
            script.mine(0, Vec::new());
            script.hide(&to, units(5));
            (0..20 + depth).for_each(|_| script.mine(0, Vec::new()));
        };
        arrive(0);
        read(&shop, &mut follower).await;
        chain.script().mine(15, Vec::new());
        read(&shop, &mut follower).await;
        settle(&shop, &id).await;
        assert_eq!((shop.status(&id).await, deposits(&shop).await), (Status::Paid, "@122 5 settled".into()));
        for depth in [22, 43] {
            arrive(depth);
            read(&shop, &mut follower).await;
            assert_eq!(shop.number("select count(*) from deposit where state = 'settled' and height > 122").await, 1);
            assert_eq!((shop.books(&id).await.len(), deposits(&shop).await), (1, "@122 5 settled".into()));
        }
        assert_eq!(shop.number("select count(*) from operator_alert").await, 0);

        // Gone, it is reversed; back again, an operator is alerted, and nothing is credited.
        chain.script().roll_back(64);
        (0..90).for_each(|_| chain.script().mine(0, Vec::new()));
        read(&shop, &mut follower).await;
        assert_eq!((shop.books(&id).await.len(), deposits(&shop).await), (2, "@122 5 reversed".into()));
        arrive(0);
        read(&shop, &mut follower).await;
        settle(&shop, &id).await;
        assert_eq!((shop.books(&id).await.len(), deposits(&shop).await), (2, "@122 5 reversed".into()));
        let kinds = "select count(*) from operator_alert where kind in ('deposit_reversed', 'reversed_deposit_returned')";
        assert_eq!((shop.number(kinds).await, shop.number("select count(*) from operator_alert").await), (2, 2));
    })
    .await;
}

/// An amount found first on another branch may have arrived at a height whose key is booked
/// already.
#[tokio::test(flavor = "multi_thread")]
async fn a_balance_deposit_of_another_amount_at_the_same_height_is_another_deposit() {
    with_shop(|shop| async move {
        let chain = ScriptedChain::new(NETWORK, 100);
        let mut follower = over(&shop.stack.gateway, &chain);
        let (id, to) = invoice(&shop, &chain, &mut follower).await;
        let arrive = |depth: usize, coins: u128, length: usize| {
            let mut script = chain.script();
            script.roll_back(depth);
            script.mine(0, Vec::new());
            script.hide(&to, units(coins));
            (1..length).for_each(|_| script.mine(0, Vec::new()));
        };
        arrive(0, 4, 1);
        read(&shop, &mut follower).await;
        (0..20).for_each(|_| chain.script().mine(0, Vec::new()));
        read(&shop, &mut follower).await;
        settle(&shop, &id).await;
        assert_eq!(deposits(&shop).await, "@102 4 settled");
        // The node shows no more than the same height of the other branch at first.
        arrive(21, 3, 1);
        read(&shop, &mut follower).await;
        (0..40).for_each(|_| chain.script().mine(0, Vec::new()));
        read(&shop, &mut follower).await;
        assert_eq!(deposits(&shop).await, "@102.2 3 final, @102 4 reversed");
        settle(&shop, &id).await;
        assert_eq!(shop.number("select received::bigint from invoice").await, 3);
    })
    .await;
}

/// An invoice in the network's coin that was created while the watcher was down, and its address.
async fn made_meanwhile(shop: &Shop) -> (String, String) {
    let id = shop.invoice_of(json!({ "pay_currency": "pol" })).await;
    shop.sql("update invoice set pay_amount = 5 where id = $1", &id).await;
    let to = shop.payment(&id).await["pay_address"].as_str().unwrap().to_ascii_lowercase();
    (id, to)
}

async fn sorted(shop: &Shop) -> Vec<String> {
    let mut deposits: Vec<_> = deposits(shop).await.split(", ").map(str::to_owned).collect();
    deposits.sort_unstable();
    deposits
}

const UNKNOWN: &str = "select count(*) from operator_alert where kind = 'starting_balance_unknown'";

#[tokio::test(flavor = "multi_thread")]
async fn without_history_a_starting_balance_waits_for_an_operator_and_later_transfers_are_found() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        let chain = ScriptedChain::new(NETWORK, 100);
        let mut follower = over(&shop.stack.gateway, &chain);
        chain.script().tells_balances = true;
        read(&shop, &mut follower).await;
        let (empty, over_now, doubtful) =
            (made_meanwhile(&shop).await, made_meanwhile(&shop).await, made_meanwhile(&shop).await);
        {
            let mut script = chain.script();
            (101..=110).for_each(|_| script.mine(0, Vec::new()));
            script.hide(&over_now.1, units(3));
            script.hide(&doubtful.1, units(3));
            (111..=300).for_each(|_| script.mine(0, Vec::new()));
            script.state_from = 200;
        }
        read(&shop, &mut follower).await;
        assert_eq!((deposits(&shop).await.as_str(), shop.number(UNKNOWN).await), ("", 2));

        {
            let mut script = chain.script();
            script.mine(0, Vec::new());
            script.hide(&empty.1, units(5));
            script.hide(&doubtful.1, units(1));
            (302..=320).for_each(|_| script.mine(0, Vec::new()));
        }
        read(&shop, &mut follower).await;
        assert_eq!(sorted(&shop).await, ["@320 1 seen", "@320 5 seen"]);
        assert_eq!(shop.number(UNKNOWN).await, 2);

        // Only an operator knows that the initial balance of these was zero. One of the invoices
        // has ended by then.
        shop.sql("update invoice set status = 'expired' where id = $1", &over_now.0).await;
        for (_, address) in [&over_now, &doubtful] {
            let say = async |held| {
                let to = ["balances", "start", "--network", "polygon", "--address", address];
                let how = ["--held", held, "--reason", "first used in 110", "--by", "ada"];
                ctl.run(&[&to[..], &how[..]].concat()).await
            };
            say("0.000000000000000001").await.expect_ok();
            say("0.000000000000000002").await.expect_failure("is recorded as less");
            say("0").await.expect_ok();
            say("a few").await.expect_wrong_usage("--held a few");
        }
        assert_eq!(shop.number(UNKNOWN).await, 0);
        chain.script().mine(0, Vec::new());
        read(&shop, &mut follower).await;
        let all = ["@320 1 seen", "@320 5 seen", "@321 3 seen", "@321 3 seen"];
        assert_eq!(sorted(&shop).await, all);
        let noted =
            "select count(*) from audit_entry where subject_kind = 'balance' and act = 'start'
                     and operator = 'ada'";
        assert_eq!(shop.number(noted).await, 4);
        (0..20).for_each(|_| chain.script().mine(0, Vec::new()));
        read(&shop, &mut follower).await;
        settle(&shop, &over_now.0).await;
        assert_eq!(shop.number("select count(*) from deposit where booked_as = 'late'").await, 1);
    })
    .await;
}

/// A key that was used before, as after a database was restored.
#[tokio::test(flavor = "multi_thread")]
async fn coins_held_before_an_invoice_pay_nothing_even_if_the_node_lacks_that_history() {
    for state_from in [0, 120] {
        with_shop(|shop| async move {
            let chain = ScriptedChain::new(NETWORK, 100);
            let mut follower = over(&shop.stack.gateway, &chain);
            chain.script().tells_balances = true;
            read(&shop, &mut follower).await;
            let (_, to) = made_meanwhile(&shop).await;
            {
                let mut script = chain.script();
                script.hide(&to, units(7));
                (101..=150).for_each(|_| script.mine(0, Vec::new()));
                script.state_from = state_from;
            }
            read(&shop, &mut follower).await;
            let told = shop.number(UNKNOWN).await == 1;
            assert_eq!((deposits(&shop).await.as_str(), told), ("", state_from > 0));
            chain.script().mine(0, Vec::new());
            chain.script().hide(&to, units(2));
            read(&shop, &mut follower).await;
            assert_eq!(deposits(&shop).await, "@151 2 seen");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_returned_balance_deposit_is_accepted_once_if_its_address_still_holds_it() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 100);
        let mut follower = over(gateway, &chain);
        let (id, to) = invoice(&shop, &chain, &mut follower).await;
        let arrive = || {
            chain.script().mine(0, Vec::new());
            chain.script().hide(&to, units(5));
        };
        let mine = |blocks: u32| (0..blocks).for_each(|_| chain.script().mine(0, Vec::new()));
        arrive();
        read(&shop, &mut follower).await;
        mine(15);
        read(&shop, &mut follower).await;
        settle(&shop, &id).await;
        assert_eq!(deposits(&shop).await, "@102 5 settled");
        let key = [format!("{to}@102")];
        let sure = ("ada", "its block is back");
        assert_eq!(follower.accept(gateway, 102, &key, sure).await.unwrap(), 0);

        chain.script().roll_back(16);
        mine(20);
        read(&shop, &mut follower).await;
        assert_eq!(deposits(&shop).await, "@102 5 reversed");
        assert_eq!(follower.accept(gateway, 102, &key, sure).await.unwrap(), 0, "it is gone");
        arrive();
        read(&shop, &mut follower).await;
        let named = "select count(*) from operator_alert where kind = 'reversed_deposit_returned'
                     and detail like '0x%@102'";
        assert_eq!(shop.number(named).await, 1);
        let found = shop.number("select height from deposit").await.try_into().unwrap();
        let early = follower.accept(gateway, found, &key, sure).await.unwrap_err();
        assert!(early.to_string().contains("has 1 confirmations of 16"), "{early}");
        mine(15);
        read(&shop, &mut follower).await;
        {
            let mut script = chain.script();
            script.tells_balances = false;
            script.coins = Some(HashMap::from([(to.clone(), units(4))]));
        }
        let less = follower.accept(gateway, found, &key, sure).await.unwrap_err();
        assert!(less.to_string().contains("holds 4 base units"), "{less}");
        chain.script().coins = None;
        let dumb = follower.accept(gateway, found, &key, sure).await.unwrap_err();
        assert!(dumb.to_string().contains("do not report"), "{dumb}");
        assert_eq!(deposits(&shop).await, "@102 5 reversed");

        chain.script().tells_balances = true;
        assert_eq!(follower.accept(gateway, found, &key, sure).await.unwrap(), 1);
        assert_eq!(follower.accept(gateway, found, &key, sure).await.unwrap(), 0);
        // The invoice stays paid throughout; only the books lacked the entry.
        let back = "select id from deposit where replaces is not null";
        gateway.match_deposits(row(&shop, back).await).await.unwrap();
        let kinds: Vec<_> = shop.books(&id).await.into_iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, ["deposit", "reversal", "deposit"]);
        mine(20);
        read(&shop, &mut follower).await;
        assert_eq!(shop.number("select count(*) from deposit").await, 2);
        let noted = "select count(*) from audit_entry where act = 'accept' and operator = 'ada'";
        assert_eq!(shop.number(noted).await, 1);
    })
    .await;
}

async fn row(shop: &Shop, query: &'static str) -> Uuid {
    let mut connection = shop.stack.database.connect().await;
    let id = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
    id
}
