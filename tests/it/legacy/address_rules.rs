//! Addresses without an invoice: what many requests and messages at once make of them, and whose
//! their deposits are.

use std::{collections::HashSet, sync::Arc};

use gateway::{
    app::{market::set_currency::Change, sandbox::simulate::Deposit},
    asset::catalogue::Catalogue,
    config::Config,
    money::BaseUnits,
    storage::{
        deposits::amounts::{self, AmountAt},
        legacy_addresses,
    },
};
use serde_json::json;
use sqlx::{Connection, PgConnection};
use support::{
    server::stack::{with_configured_stack, with_stack},
    shop::{Shop, payouts::evm_address, with_shop},
};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{
    Legacy,
    addresses::{NETWORK, callback, paid_to, settle},
    withdrawals::text,
};

const USDT: [(&str, &str); 1] = [("currency", "USDT.POL")];

async fn finals(shop: &Shop) -> Vec<Uuid> {
    let query = "select id from deposit where state = 'final' order by id";
    let mut connection = shop.stack.database.connect().await;
    sqlx::query_scalar(query).fetch_all(&mut connection).await.unwrap()
}

/// A batch is 25 of them.
#[tokio::test(flavor = "multi_thread")]
async fn deposits_of_more_than_a_batch_are_credited_and_told_once_by_workers_at_once() {
    const DEPOSITS: i64 = 30;
    with_shop(|shop| async move {
        let gateway = shop.stack.gateway.clone();
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let address = callback(&legacy, &shop.receiver).await;
        for _ in 0..DEPOSITS {
            let deposit = paid_to(&address, "USDTMATIC", "2");
            shop.send(&Deposit { unconfirmed: true, ..deposit }).await;
        }
        shop.look(NETWORK).await;
        gateway.simulate_mine(NETWORK, 20).await.unwrap();
        shop.look(NETWORK).await;
        let ids = finals(&shop).await;
        assert_eq!(i64::try_from(ids.len()), Ok(DEPOSITS));
        let book = |id| gateway.match_deposits(id);
        let last = ids[ids.len() - 1];
        let (one, two, again) = tokio::join!(book(ids[0]), book(last), book(ids[0]));
        let booked = [one, two, again].map(|settled| settled.unwrap().deposits);
        assert!(booked.contains(&25), "{booked:?}");
        let left = finals(&shop).await;
        for id in left {
            gateway.match_deposits(id).await.unwrap();
        }
        let balances = legacy.result("balances", &[]).await;
        assert_eq!(balances["USDT.POL"]["balancef"], "60.00000000");
        assert_eq!(shop.number("select count(*) from event").await, DEPOSITS);
        assert_eq!(shop.number("select count(*) from delivery").await, DEPOSITS);
        let entries = "select count(*) from ledger_entry where kind = 'deposit'";
        assert_eq!(shop.number(entries).await, DEPOSITS);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_at_once_get_one_standing_address() {
    with_stack(|stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        let form = legacy.form("get_deposit_address", &USDT);
        let legacy = Arc::new(legacy);
        let mut asking = JoinSet::new();
        for _ in 0..8 {
            let (legacy, form) = (legacy.clone(), form.clone());
            asking.spawn(async move { legacy.send("/legacy", &form).await.json() });
        }
        let answers = asking.join_all().await;
        let given: HashSet<&str> =
            answers.iter().map(|answer| text(&answer["result"], "address")).collect();
        assert_eq!(given.len(), 1, "{answers:?}");
        let mut connection = stack.database.connect().await;
        let count: i64 = sqlx::query_scalar("select count(*) from legacy_address")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(count, 1);
    })
    .await;
}

/// An operator raises it for a shop that asks for an address per order.
#[tokio::test(flavor = "multi_thread")]
async fn the_most_addresses_of_a_merchant_are_a_setting() {
    const FEW: &str = "legacy.addresses_max = 2\nlegacy.pooled_addresses_max = 1\n";
    const SAID: &str = "Too many addresses, use those that were given!";
    with_configured_stack(FEW, |stack| async move {
        let merchant = stack.merchant().await;
        let legacy = Legacy::of(&stack, &merchant).await;
        let standing = legacy.result("get_deposit_address", &USDT).await;
        legacy.result("get_callback_address", &USDT).await;
        // All EVM networks are one family.
        for currency in ["USDT.POL", "ETH"] {
            legacy.refusal("get_callback_address", &[("currency", currency)], SAID).await;
        }
        assert_eq!(legacy.result("get_deposit_address", &USDT).await, standing);
        legacy.result("get_callback_address", &[("currency", "SOL")]).await;
        legacy.refusal("get_callback_address", &[("currency", "SOL")], SAID).await;
        let other = Legacy::of(&stack, &stack.merchant().await).await;
        other.result("get_callback_address", &USDT).await;
        let raise = |config: &mut Config| config.legacy.addresses_max = 3;
        let legacy = Legacy::with(legacy.keys, stack.replica_of(raise).await);
        legacy.result("get_callback_address", &USDT).await;
        legacy.refusal("get_callback_address", &USDT, SAID).await;
    })
    .await;
}

/// A shop asks for its address each time it shows it. It is watched, whatever is on sale.
#[tokio::test(flavor = "multi_thread")]
async fn a_standing_address_is_answered_while_its_currency_is_off_sale() {
    with_stack(|stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        let given = legacy.result("get_deposit_address", &USDT).await;
        let usdt = Catalogue::get().by_legacy_code("USDT.POL").unwrap();
        stack.gateway.set_currency(usdt, Change::Disable).await.unwrap();
        // Another process has no market in its memory.
        let api = stack.replica("").await;
        let legacy = Legacy::with(legacy.keys, api);
        assert_eq!(legacy.result("get_deposit_address", &USDT).await, given);
        let said = "Receiver does not accept that coin!";
        legacy.refusal("get_callback_address", &USDT, said).await;
        let other = Legacy::at(&stack, &stack.merchant().await, api).await;
        other.refusal("get_deposit_address", &USDT, said).await;
    })
    .await;
}

/// After a receiver was down its merchant asks for this type alone.
#[tokio::test(flavor = "multi_thread")]
async fn credited_deposits_are_sent_again_by_their_type() {
    with_shop(|shop| async move {
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let address = callback(&legacy, &shop.receiver).await;
        shop.send(&paid_to(&address, "USDTMATIC", "7")).await;
        shop.look(NETWORK).await;
        settle(&shop).await;
        let die = "update delivery set state = 'dead', attempts = 5, next_attempt_at = null, dead_since = now()";
        assert_eq!(shop.run(die).await, 1);
        let resend = async |kind: &str| {
            let body = json!({ "type": kind });
            shop.merchant.client.post("/v1/events/resend", &body).await
        };
        let other = resend("invoice.paid").await;
        assert_eq!((other.status, &other.json()["resent"]), (202, &json!(0)), "{}", other.body);
        let done = resend("deposit.credited").await;
        assert_eq!((done.status, &done.json()["resent"]), (202, &json!(1)), "{}", done.body);
        let pending = "select count(*) from delivery where state = 'pending' and cycle = 2";
        assert_eq!(shop.number(pending).await, 1);
        resend("invoice.created").await.expect_error(400, "INVALID_REQUEST");
    })
    .await;
}

/// An address lives for ever: each deposit at it must not read all that came before.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_at_an_address_is_found_without_its_history() {
    with_shop(|shop| async move {
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        for _ in 0..2 {
            callback(&legacy, &shop.receiver).await;
        }
        // All at the one is booked, and all at the other waits.
        shop.run(
            "insert into deposit (id, network, deposit_key, tx_hash, address_id, token_id, amount, amount_text,
                                  first_seen_at, state, booked_as, settled_at)
             select gen_random_uuid(), 'polygon', 'k' || n, '0x' || n, l.address_id, l.token_id, 1, '1', now(),
                    case when l.is_first then 'settled' when n % 2 = 0 then 'seen' else 'final' end,
                    case when l.is_first then 'credit' end, case when l.is_first then now() end
             from (select *, row_number() over (order by address_id) = 1 as is_first from legacy_address) l
             join generate_series(1, 8000) n on (n <= 5000) = l.is_first",
        )
        .await;
        shop.run("analyze deposit").await;
        let mut connection = shop.stack.database.connect().await;
        let mut tx = connection.begin().await.unwrap();
        // Such a small table is else read as a whole.
        sqlx::query("set local enable_seqscan = off").execute(&mut *tx).await.unwrap();
        let first = "select address_id from legacy_address order by address_id limit 1";
        let address_id: Uuid = sqlx::query_scalar(first).fetch_one(&mut *tx).await.unwrap();
        let waiting = legacy_addresses::lock_unsettled(&mut tx, address_id, 26).await.unwrap();
        assert!(waiting.is_empty());
        assert_eq!(scans(&mut tx, "deposit_own_final").await, 1);
        let amounts = amounts::on_their_way(&mut tx, NETWORK, &[address_id]).await.unwrap();
        assert!(amounts.is_empty());
        assert_eq!(scans(&mut tx, "deposit_own_unsettled").await, 1);
        let token_id = "usdtmatic@polygon".to_owned();
        let amount = AmountAt { address_id, token_id, units: BaseUnits::new(1) };
        amounts::require_confirmations_at(&mut tx, &amount, 20).await.unwrap();
        assert_eq!(scans(&mut tx, "deposit_own_unsettled").await, 2);
        assert_eq!(scans(&mut tx, "deposit_by_address").await, 0);
    })
    .await;
}

/// Scans of an index in this transaction.
async fn scans(tx: &mut PgConnection, index: &str) -> i64 {
    let query = "select pg_stat_get_xact_numscans($1::text::regclass)";
    sqlx::query_scalar(query).bind(index).fetch_one(tx).await.unwrap()
}

/// Each deposit has one owner, and leaves the books of that one alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_of_an_order_that_leaves_the_chain_is_taken_back_once() {
    with_shop(|shop| async move {
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let recipient = evm_address(1);
        let order = [
            ("amount", "12.5"),
            ("currency", "USDT.POL"),
            ("address", recipient.as_str()),
            ("auto_confirm", "1"),
        ];
        let made = legacy.result("create_withdrawal", &order).await;
        let (address, due) = (text(&made, "deposit_address"), text(&made, "deposit_amount"));
        let txid = Some("0xbad".to_owned());
        shop.send(&Deposit { txid, ..paid_to(address, "USDTMATIC", due) }).await;
        shop.look(NETWORK).await;
        settle(&shop).await;
        // As if the order's address were one of the merchant's own too.
        shop.run(
            "insert into legacy_address (address_id, merchant_id, token_id, purpose)
             select d.address_id, o.merchant_id, 'usdtmatic@polygon', 'callback'
             from deposit d join payout_order o on o.id = d.payout_order_id",
        )
        .await;
        shop.stack.gateway.simulate_orphan("0xbad").await.unwrap();
        shop.stack.gateway.simulate_mine(NETWORK, 20).await.unwrap();
        shop.look(NETWORK).await;
        let reversed =
            "select count(*) from ledger_entry where kind = 'reversal' and debit like 'payout:%'";
        assert_eq!(shop.number(reversed).await, 1);
        let all = "select count(*) from ledger_entry where kind = 'reversal'";
        assert_eq!(shop.number(all).await, 1);
    })
    .await;
}
