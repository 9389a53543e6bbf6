//! Withdrawals that are slow or that fail: a shop learns what is ordered, and orders nothing twice.

use gateway::{asset::Network, config::Config};
use serde_json::{Value, json};
use sqlx::Connection;
use support::{
    server::stack::{Stack, only, with_configured_stack, with_stack},
    shop::payouts::evm_address,
};

use super::{Legacy, withdrawals::text};

const UNCLEAR: &str =
    "The withdrawal took too long, look for it in the history before you order it again!";
const NOT_BEGUN: &str = "There was no time left for this withdrawal, order it again!";
const INTERNAL: &str = "Internal error, try again later!";
/// Three quarters of it are less than the database lets a statement wait for a lock.
const SHORT: &str = "api.request_timeout_seconds = 10\n";
/// Seconds that are enough on a machine that runs other tests too.
const LONG: u64 = 120;

type Fields = Vec<(String, String)>;

/// A withdrawal that is confirmed at once.
fn one() -> Fields {
    let fields = [
        ("amount", "1.5".to_owned()),
        ("currency", "USDT.POL".to_owned()),
        ("address", evm_address(1)),
        ("auto_confirm", "1".to_owned()),
    ];
    fields.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// The same under each of these keys.
fn many(keys: &[&str]) -> Fields {
    let of = |key: &str| -> Fields {
        one().into_iter().map(|(name, value)| (format!("wd[{key}][{name}]"), value)).collect()
    };
    keys.iter().flat_map(|key| of(key)).collect()
}

fn lent(fields: &Fields) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

async fn history(legacy: &Legacy) -> Vec<Value> {
    let listed = legacy.result("get_withdrawal_history", &[]).await;
    listed.as_array().unwrap().clone()
}

/// Number of rows that a withdrawal leaves.
async fn left(stack: &Stack) -> i64 {
    let left =
        "select (select count(*) from payout_order) + (select count(*) from legacy_withdrawal)
                       + (select count(*) from event)";
    let mut connection = stack.database.connect().await;
    sqlx::query_scalar(left).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_many_withdrawals_has_a_result_of_its_own() {
    with_stack(|stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        let (one, two) = (evm_address(1), evm_address(2));
        let order = [
            ("wd[wd1][amount]", "1.5"),
            ("wd[wd1][address]", one.as_str()),
            ("wd[wd1][currency]", "USDT.POL"),
            ("wd[wd1][auto_confirm]", "1"),
            ("wd[b][amount]", "2"),
            ("wd[b][address]", "none"),
            ("wd[b][currency]", "USDT.POL"),
            ("wd[3][amount]", "2"),
            ("wd[3][address]", two.as_str()),
            ("wd[3][currency]", "USDC.POL"),
        ];
        let made = legacy.result("create_mass_withdrawal", &order).await;
        assert_eq!((&made["wd1"]["error"], &made["wd1"]["status"]), (&json!("ok"), &json!(1)));
        assert_eq!(text(&made["wd1"], "amount"), "1.50000000");
        assert_eq!((&made["3"]["error"], &made["3"]["status"]), (&json!("ok"), &json!(0)));
        let said = "Invalid withdrawal: address is not an address of this network";
        assert_eq!(made["b"], json!({ "error": said }));
        let history = legacy.result("get_withdrawal_history", &[("limit", "1")]).await;
        assert_eq!(history.as_array().unwrap().len(), 1);
        legacy.refusal("create_mass_withdrawal", &[], "No withdrawals in the request!").await;
    })
    .await;
}

/// Attack: many withdrawals are slow, the request's limit answers an error for all of them, and the
/// shop orders again what is ordered already.
#[tokio::test(flavor = "multi_thread")]
async fn many_withdrawals_are_answered_in_time_with_a_result_of_each() {
    with_configured_stack(SHORT, |stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        let (order, single) = (many(&["1", "2", "3"]), one());
        // Another request of the merchant holds its row.
        let mut holding = stack.database.connect().await;
        let mut held = holding.begin().await.unwrap();
        sqlx::query("select from merchant for no key update").execute(&mut *held).await.unwrap();
        let made = legacy.result("create_mass_withdrawal", &lent(&order)).await;
        let expected = json!({
            "1": { "error": UNCLEAR }, "2": { "error": NOT_BEGUN }, "3": { "error": NOT_BEGUN },
        });
        assert_eq!(made, expected);
        // One alone is answered in the dialect too.
        legacy.refusal("create_withdrawal", &lent(&single), UNCLEAR).await;
        held.rollback().await.unwrap();
        let patient = |config: &mut Config| config.api.request_timeout_seconds = LONG;
        let legacy = Legacy::with(legacy.keys, stack.replica_of(patient).await);
        // What was given up is rolled back.
        assert_eq!(history(&legacy).await, Vec::<Value>::new());
        let again = legacy.result("create_mass_withdrawal", &lent(&order)).await;
        for n in ["1", "2", "3"] {
            assert_eq!(again[n]["error"], "ok", "{again}");
        }
        assert_eq!(history(&legacy).await.len(), 3);
    })
    .await;
}

/// A draft of which the shop has no id could be confirmed by mistake, and fills its quota for a
/// day.
#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_that_is_refused_leaves_no_draft() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        let order = one();
        // No address can be given to an order.
        stack
            .sql(
                "alter table deposit_address add constraint refuses_orders
                 check (payout_order_id is null) not valid",
            )
            .await;
        legacy.refusal("create_withdrawal", &lent(&order), INTERNAL).await;
        assert_eq!(left(&stack).await, 0);
        stack.sql("alter table deposit_address drop constraint refuses_orders").await;
        let made = legacy.result("create_withdrawal", &lent(&order)).await;
        assert_eq!(made["status"], json!(1), "{made}");
    })
    .await;
}

/// Attack: the answer is read after the commit, the read fails, and the shop orders again.
#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_that_cannot_be_answered_is_not_ordered() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        for statement in [
            "create function lose() returns trigger language plpgsql as
             $$ begin new.withdrawal_id := 'lost'; return new; end $$",
            "create trigger lose before insert on legacy_withdrawal
             for each row execute function lose()",
        ] {
            stack.sql(statement).await;
        }
        legacy.refusal("create_withdrawal", &lent(&one()), INTERNAL).await;
        let order = many(&["a"]);
        let made = legacy.result("create_mass_withdrawal", &lent(&order)).await;
        assert_eq!(made, json!({ "a": { "error": INTERNAL } }));
        assert_eq!(left(&stack).await, 0);
    })
    .await;
}

/// Attack: the connection breaks while an order is committed, the shop is told of an error, and
/// orders again. It is told to look first.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_fails_is_not_told_as_a_refusal() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        for statement in [
            "create function break_off() returns trigger language plpgsql as
             $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$",
            "create constraint trigger break_off after insert on legacy_withdrawal
             deferrable initially deferred for each row execute function break_off()",
        ] {
            stack.sql(statement).await;
        }
        legacy.refusal("create_withdrawal", &lent(&one()), UNCLEAR).await;
        let order = many(&["a"]);
        let made = legacy.result("create_mass_withdrawal", &lent(&order)).await;
        assert_eq!(made, json!({ "a": { "error": UNCLEAR } }));
        stack.sql("drop trigger break_off on legacy_withdrawal").await;
        assert_eq!(history(&legacy).await, Vec::<Value>::new());
        legacy.result("create_withdrawal", &lent(&one())).await;
        assert_eq!(history(&legacy).await.len(), 1);
    })
    .await;
}
