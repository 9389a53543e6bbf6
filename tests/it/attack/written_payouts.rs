//! Whoever writes to the database, and does not hold the master key, changes nothing of what is
//! paid.

use std::sync::Arc;

use gateway::{app::payout::Story, asset::Network, payout::payment::Purpose};
use serde_json::{Value, json};
use sqlx::{Connection, Executor, PgConnection};
use support::{
    client::ctl::Ctl,
    server::{
        broker::eventually,
        stack::{Stack, only, with_configured_stack},
    },
    shop::payouts::{Payer, evm_address},
};

use crate::payout::{EVM, two_rows};

/// Where the thief wants the money.
const THIEF: u32 = 666;
const DENIED: &str = "42501";
const REFUSED: &str = "23514";

async fn confirmed(payer: &Payer) -> Value {
    let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
    payer.confirm(EVM, &id).await
}

fn id_of(order: &Value) -> &str {
    order["id"].as_str().unwrap()
}

async fn fund(payer: &Payer, order: &Value) {
    payer.fund(order, order["totalToSendRaw"].as_str().unwrap().parse().unwrap()).await;
}

async fn held(payer: &Payer, id: &str) -> Story {
    eventually("the order is held", async || {
        Some(payer.story(id).await).filter(|story| story.order.held.is_some())
    })
    .await
}

/// A login of the role `gateway_api`, as a thief of the API's password uses it.
struct Login {
    name: String,
    connection: PgConnection,
}

impl Login {
    async fn of_the_api(stack: &Stack) -> Self {
        let name = format!("thief_{:016x}", rand::random::<u64>());
        let password = format!("{:032x}", rand::random::<u128>());
        let statement =
            format!("create role {name} login password '{password}' in role gateway_api");
        let mut owner = stack.database.connect().await;
        owner.execute(sqlx::AssertSqlSafe(statement)).await.unwrap();
        let mut url = url::Url::parse(&stack.database.url).unwrap();
        url.set_username(&name).unwrap();
        url.set_password(Some(&password)).unwrap();
        Self { name, connection: PgConnection::connect(url.as_str()).await.unwrap() }
    }

    async fn run(&mut self, statement: &str) -> Result<u64, String> {
        let done = self.connection.execute(sqlx::AssertSqlSafe(statement.to_owned())).await;
        done.map(|done| done.rows_affected()).map_err(|error| {
            let error = error.into_database_error().unwrap();
            error.code().unwrap_or_default().into_owned()
        })
    }

    async fn end(self, stack: &Stack) {
        self.connection.close().await.unwrap();
        let mut owner = stack.database.connect().await;
        let statement = format!("drop role {}", self.name);
        owner.execute(sqlx::AssertSqlSafe(statement)).await.unwrap();
    }
}

/// Runs as the owner of the tables, with all triggers off: even so nothing else is signed.
async fn as_owner(stack: &Stack, statement: &str, order_id: &str) {
    let mut owner = stack.database.connect().await;
    owner.execute("set session_replication_role = replica").await.unwrap();
    let statement = statement.replace("$ORDER", &format!("'{order_id}'"));
    let done = owner.execute(sqlx::AssertSqlSafe(statement.clone())).await.unwrap();
    assert!(done.rows_affected() > 0, "{statement}");
    owner.close().await.unwrap();
}

async fn received_by(payer: &Payer, address: &str) -> Option<(i64, String)> {
    payer.received_on_chain("polygon").await.get(address).cloned()
}

/// Statements that the API's user is not allowed, or that the database refuses from everybody.
fn forbidden(thief: &str) -> Vec<(String, &'static str)> {
    let denied = [
        format!("update payout_item set address = '{thief}'"),
        "update payout_item set amount = amount * 2".to_owned(),
        "update payout_item set state = 'pending', payment_id = null".to_owned(),
        "delete from payout_item".to_owned(),
        "delete from payout_order".to_owned(),
        format!("update payout_order set refund_address = '{thief}'"),
        "update payout_order set held_at = null, hold_reason = null".to_owned(),
        "update payout_order set payout_total = 1".to_owned(),
        "insert into payout_payment select * from payout_payment".to_owned(),
        "update payout_payment set amount = 1".to_owned(),
        "insert into payout_version select * from payout_version".to_owned(),
        "insert into payout_input select * from payout_input".to_owned(),
        "insert into payout_release select id, 'ada' from payout_order".to_owned(),
        "insert into x402_settlement (id, state) values (gen_random_uuid(), 'settled')".to_owned(),
        "insert into x402_settlement (id, tx_nonce) values (gen_random_uuid(), 7)".to_owned(),
        "update x402_settlement set call = ''".to_owned(),
        "insert into x402_version select * from x402_version".to_owned(),
        "insert into x402_cost (network, usd_micros) values ('polygon', 0)".to_owned(),
        "delete from payout_stop".to_owned(),
        "update payout_stop set network = 'near'".to_owned(),
        "update merchant set api_key_sha256 = ''".to_owned(),
        "update legacy_key set may_withdraw = true".to_owned(),
        "update legacy_address set token_id = 'btc@bitcoin'".to_owned(),
        "delete from legacy_withdrawal".to_owned(),
        "select password_hash, totp_sealed from account".to_owned(),
        "select id_sha256 from account_session".to_owned(),
        "select token_sha256 from account_link".to_owned(),
        "select code_sha256 from recovery_code".to_owned(),
        "select key from guess_budget".to_owned(),
        "insert into membership select gen_random_uuid(), id, null, 'operator-admin' from account".to_owned(),
        "insert into audit_entry (operator, subject_kind, act, subject, change) values ('a', 'b', 'c', 'd', '{}')".to_owned(),
        "alter table payout_item disable trigger all".to_owned(),
        "update role_grant set what = 'all on payout_payment'".to_owned(),
        "set session_replication_role = replica".to_owned(),
    ];
    let refused = [
        format!("update payout_order set deposit_address = '{thief}'"),
        "update payout_order set derivation_index = derivation_index + 1".to_owned(),
        "update payout_order set digest = null".to_owned(),
        format!(
            "insert into payout_item (id, item_id, order_id, batch_id, row_number, address, amount, net_amount)
             select gen_random_uuid(), 'x', order_id, batch_id, 99, '{thief}', amount, net_amount from payout_item limit 1"
        ),
    ];
    let denied = denied.into_iter().map(|statement| (statement, DENIED));
    denied.chain(refused.into_iter().map(|statement| (statement, REFUSED))).collect()
}

/// An order of the thief's own that lives off another's address, with whatever digest he finds.
/// Says so to the payer.
const OWN_ORDER: &str = "
    with made as (
        insert into payout_order (id, order_id, merchant_id, family, state, funding, token_id, network, fee_mode, item_count,
            batch_count, payout_total, network_fee, service_fee, total_to_send, quote_id, quote_created_at, quote_expires_at,
            fee_rate, native_price_usd, asset_price_usd, credited, deposit_address, derivation_index, expires_at,
            abandoned_at, confirmed_at, funded_at, digest)
        select gen_random_uuid(), '$NEW', merchant_id, family, 'draft', 'exact', token_id, network, fee_mode, 1, 1,
            payout_total, network_fee, service_fee, total_to_send, quote_id, quote_created_at, quote_expires_at, fee_rate,
            native_price_usd, asset_price_usd, total_to_send, deposit_address, derivation_index, expires_at, abandoned_at,
            now(), now(), $DIGEST
        from payout_order where order_id = $ORDER
        returning id, payout_total
    ), batch as (
        insert into payout_batch (id, batch_id, order_id, index, state)
        select gen_random_uuid(), 'b$NEW', id, 0, 'pending' from made
        returning id, order_id
    ), item as (
        insert into payout_item (id, item_id, order_id, batch_id, row_number, address, amount, net_amount)
        select gen_random_uuid(), 'i$NEW', made.id, batch.id, 1, '$THIEF', payout_total, payout_total
        from made join batch on batch.order_id = made.id
    )
    insert into timer (kind, ref, due_at) select 'payout', id, now() from made";

#[tokio::test(flavor = "multi_thread")]
async fn the_api_s_database_user_cannot_change_what_is_paid() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let order = confirmed(&payer).await;
        let id = id_of(&order);
        let mut thief = Login::of_the_api(&stack).await;
        let place = evm_address(THIEF);
        for (statement, code) in forbidden(&place) {
            assert_eq!(thief.run(&statement).await, Err(code.to_owned()), "{statement}");
        }
        // What the API itself must be able to write, and so can the thief.
        let of_order = format!("(select id from payout_order where order_id = '{id}')");
        let less = format!(
            "update payout_item set net_amount = 1 where row_number = 1 and order_id = {of_order}"
        );
        assert_eq!(thief.run(&less).await, Ok(1));
        for (name, digest) in [("empo_none", "null"), ("empo_copied", "digest")] {
            let statement = OWN_ORDER.replace("$NEW", name).replace("$DIGEST", digest);
            let statement =
                statement.replace("$ORDER", &format!("'{id}'")).replace("$THIEF", &place);
            assert_eq!(thief.run(&statement).await, Ok(1));
            let funded =
                format!("update payout_order set state = 'funded' where order_id = '{name}'");
            assert_eq!(thief.run(&funded).await, Ok(1));
        }
        stack.start_all();
        fund(&payer, &order).await;
        for (id, words) in [
            (id, "are not those that were confirmed"),
            ("empo_none", "nothing binds its recipients"),
            ("empo_copied", "are not those that were confirmed"),
        ] {
            let story = held(&payer, id).await;
            let reason = story.order.held.unwrap().to_string();
            assert!(reason.contains(words), "{id}: {reason}");
            assert!(story.payments.is_empty(), "{id}: {:?}", story.payments);
        }
        // A release alone lets none of them go.
        stack.gateway.release_order("empo_copied", "ada").await.unwrap();
        held(&payer, "empo_copied").await;
        assert_eq!(received_by(&payer, &place).await, None);
        // Put back as it was confirmed, it is paid as it was confirmed.
        let back =
            format!("update payout_item set net_amount = amount where order_id = {of_order}");
        assert_eq!(thief.run(&back).await, Ok(2));
        stack.gateway.release_order(id, "ada").await.unwrap();
        payer.becomes(id, "completed").await;
        let paid = |n, units: &str| (evm_address(n), Some((1, units.to_owned())));
        for (address, expected) in [paid(1, "10000000"), paid(2, "2500000"), (place, None)] {
            assert_eq!(received_by(&payer, &address).await, expected);
        }
        assert!(payer.story("empo_copied").await.payments.is_empty());
        thief.end(&stack).await;
    })
    .await;
}

/// Each of these is one change that would pay somebody else, or pay otherwise.
const CHANGES: [&str; 9] = [
    "update payout_item set address = '$THIEF' where row_number = 1 and order_id = (select id from payout_order where order_id = $ORDER)",
    "update payout_item set amount = amount + 1 where row_number = 1 and order_id = (select id from payout_order where order_id = $ORDER)",
    "update payout_item set net_amount = net_amount - 1 where row_number = 1 and order_id = (select id from payout_order where order_id = $ORDER)",
    "delete from payout_item where row_number = 2 and order_id = (select id from payout_order where order_id = $ORDER)",
    "insert into payout_item (id, item_id, order_id, batch_id, row_number, address, amount, net_amount)
     select gen_random_uuid(), 'x' || order_id, order_id, batch_id, 9, '$THIEF', 1000000, 1000000 from payout_item
     where row_number = 1 and order_id = (select id from payout_order where order_id = $ORDER)",
    "update payout_order set refund_address = '$THIEF' where order_id = $ORDER",
    "update payout_order set derivation_index = derivation_index + 1 where order_id = $ORDER",
    "update payout_order set service_fee = 0 where order_id = $ORDER",
    "update payout_order set asset_price_usd = 0.000001 where order_id = $ORDER",
];

#[tokio::test(flavor = "multi_thread")]
async fn any_change_of_an_order_made_in_the_database_holds_it_and_nothing_is_signed() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let place = evm_address(THIEF);
        let mut orders = Vec::new();
        for change in CHANGES {
            let order = confirmed(&payer).await;
            as_owner(&stack, &change.replace("$THIEF", &place), id_of(&order)).await;
            orders.push((order, change));
        }
        stack.start_all();
        for (order, change) in &orders {
            fund(&payer, order).await;
            let story = held(&payer, id_of(order)).await;
            let reason = story.order.held.unwrap().to_string();
            assert!(reason.contains("are not those that were confirmed"), "{change}: {reason}");
            assert!(reason.contains("gatewayctl payouts accept"), "{reason}");
            assert!(story.payments.is_empty(), "{change}");
        }
        for address in [evm_address(1), place] {
            assert_eq!(received_by(&payer, &address).await, None);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_draft_is_not_confirmed_and_raises_an_alert() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        as_owner(&stack, &CHANGES[0].replace("$THIEF", &evm_address(THIEF)), &id).await;
        for act in ["confirm", "refresh-quote"] {
            let path = format!("{EVM}/{id}/{act}");
            let answer = payer.merchant.client.post(&path, &json!({})).await;
            assert_eq!(answer.status, 500, "{act}: {}", answer.body);
        }
        assert_eq!(payer.story(&id).await.order.state.as_str(), "draft");
        let mut connection = stack.database.connect().await;
        let told =
            "select count(*) from operator_alert where kind = 'payout_not_bound' and subject = $1";
        let told = sqlx::query_scalar::<_, i64>(told).bind(&id).fetch_one(&mut connection).await;
        assert_eq!(told.unwrap(), 1);
    })
    .await;
}

/// As after an upgrade: orders that an earlier release confirmed have no digest.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_of_an_earlier_release_waits_until_an_operator_accepts_it() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let (ctl, payer) = (Ctl::of(&stack), Payer::open(&stack).await);
        let order = confirmed(&payer).await;
        let id = id_of(&order);
        let accept = ["payouts", "accept", id, "--reason", "compared with the merchant"];
        ctl.run(&accept).await.expect_failure("there is nothing to accept");
        as_owner(&stack, "update payout_order set digest = null where order_id = $ORDER", id).await;
        stack.start_all();
        fund(&payer, &order).await;
        let reason = held(&payer, id).await.order.held.unwrap().to_string();
        assert!(reason.contains("an earlier release confirmed it"), "{reason}");
        let accepted = json!({ "order_id": id, "held": Value::Null, "people_missing": 0 });
        assert_eq!(ctl.json(&accept).await, accepted);
        payer.becomes(id, "completed").await;
        assert_eq!(received_by(&payer, &evm_address(1)).await, Some((1, "10000000".to_owned())));
        let noted = ctl.json(&["audit", id]).await;
        let noted =
            noted.as_array().unwrap().iter().find(|entry| entry["act"] == "accept").cloned();
        let detail = noted.unwrap()["change"]["detail"].as_str().unwrap().to_owned();
        assert!(detail.starts_with("2 rows, 12500000 base units"), "{detail}");
    })
    .await;
}

/// What decides over much money is one person's word only if another one says the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_order_is_accepted_by_two_people_who_saw_the_same_rows() {
    let toml = only(Network::Polygon) + "payouts.two_people_above_usd = 10\n";
    with_configured_stack(&toml, |stack| async move {
        let ctl = Ctl::of(&stack).with("GATEWAY_PAYOUTS__TWO_PEOPLE_ABOVE_USD", "10");
        let payer = Payer::open(&stack).await;
        let order = confirmed(&payer).await;
        let id = id_of(&order);
        as_owner(&stack, "update payout_order set digest = null where order_id = $ORDER", id).await;
        let accept = ["payouts", "accept", id, "--reason", "compared with the merchant"];
        for _ in 0..2 {
            assert_eq!(ctl.json(&accept).await["people_missing"], 1, "one person, however often");
        }
        let is_bound = async || {
            let query = "select digest is not null from payout_order where order_id = $1";
            let query = sqlx::query_scalar::<_, bool>(query).bind(id);
            query.fetch_one(&mut stack.database.connect().await).await.unwrap()
        };
        assert!(!is_bound().await);
        let by_another =
            async || stack.gateway.accept_order(id, ("another account", "so did I")).await.unwrap();
        // Between the two somebody writes to the rows. An address reversed twice is as before.
        let rewrite = "update payout_item set address = reverse(address) where row_number = 1 \
                       and order_id = (select id from payout_order where order_id = $ORDER)";
        as_owner(&stack, rewrite, id).await;
        assert_eq!(by_another().await.people_missing, 1, "they saw different rows");
        assert!(!is_bound().await);
        as_owner(&stack, rewrite, id).await;
        assert_eq!(by_another().await.people_missing, 0);
        assert!(is_bound().await);
    })
    .await;
}

/// Grants that only rare work needs: of a settled payment of gas, and of a reorg's payments.
#[tokio::test(flavor = "multi_thread")]
async fn rare_work_has_the_grants_that_it_needs_and_no_other_role_has_them() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let gas = "update payout_order set gas_open = true where false";
        let reorg = "update payout_payment set reorged_at = now() where false";
        let settlement = "update x402_settlement set reorged_at = now() where false";
        for (statement, roles) in [
            (gas, ["gateway_dashboard", "gateway_payer"].as_slice()),
            (reorg, &["gateway_dashboard", "gateway_payer", "gateway_worker"]),
            (settlement, &["gateway_payer", "gateway_worker"]),
        ] {
            for role in ["gateway_api", "gateway_dashboard", "gateway_payer", "gateway_worker"] {
                let url = stack.database.url_under(role);
                let mut connection = PgConnection::connect(&url).await.unwrap();
                let is_allowed = connection.execute(statement).await.is_ok();
                assert_eq!(is_allowed, roles.contains(&role), "{role}: {statement}");
                connection.close().await.unwrap();
            }
        }
    })
    .await;
}

/// What is signed stays as it was signed, whoever asks.
#[tokio::test(flavor = "multi_thread")]
async fn signed_and_paid_rows_cannot_be_rewritten() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let order = confirmed(&payer).await;
        fund(&payer, &order).await;
        payer.becomes(id_of(&order), "completed").await;
        let mut owner = stack.database.connect().await;
        for statement in [
            "update payout_payment set amount = amount + 1",
            "update payout_payment set nonce = nonce + 100",
            "update payout_payment set value_usd = 0",
            "delete from payout_payment",
            "update payout_item set net_amount = net_amount - 1",
            "delete from payout_item",
            "delete from payout_order",
            "update payout_order set merchant_id = gen_random_uuid()",
            "update payout_order set refund_address = null",
        ] {
            let refused = owner.execute(statement).await.unwrap_err().into_database_error();
            assert_eq!(refused.unwrap().code().as_deref(), Some(REFUSED), "{statement}");
        }
    })
    .await;
}

/// Every program under its own role, from an invoice's payment to a payout's refund.
#[tokio::test(flavor = "multi_thread")]
async fn every_program_does_its_work_with_the_grants_of_its_own_role() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.lift_rate_limits().await;
        let stack = Arc::new(stack.under_roles().await);
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let client = &payer.merchant.client;
        let asked = json!({
            "price_amount": 5, "price_currency": "usd", "pay_currency": "usdtmatic", "ipn_callback_url": payer.receiver.url,
        });
        let invoice = client.post("/v1/payment", &asked).await;
        assert_eq!(invoice.status, 201, "{}", invoice.body);
        let invoice = invoice.json();
        let payment_id = invoice["payment_id"].as_str().unwrap().to_owned();
        let ctl = Ctl::of(&stack).with("DATABASE_URL", &stack.database.url_under("gateway_dashboard"));
        let due = invoice["pay_amount"].to_string();
        let pay = ["simulate", "deposit", "--payment-id", &payment_id, "--amount", &due];
        ctl.run(&pay).await.expect_ok();
        eventually("the invoice is paid", async || {
            let told = client.get(&format!("/v1/payment/{payment_id}")).await.json();
            (told["payment_status"] == "finished").then_some(())
        })
        .await;
        payer.receiver.wait_for(1).await;

        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        let refreshed = client.post(&format!("{EVM}/{id}/refresh-quote"), &json!({})).await;
        assert_eq!(refreshed.status, 200, "{}", refreshed.body);
        let order = payer.confirm(EVM, &id).await;
        ctl.run(&["payouts", "hold", &id, "--reason", "a drill"]).await.expect_ok();
        let due: u128 = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        payer.fund(&order, due + 3_000_000).await;
        payer.becomes(&id, "funded").await;
        ctl.run(&["payouts", "release", &id]).await.expect_ok();
        payer.becomes(&id, "completed").await;
        let story = payer.settles(&id).await;
        assert_eq!(story.order.books.returned.get(), 3_000_000);
        for (n, units) in [(1, "10000000"), (2, "2500000"), (900, "3000000")] {
            assert_eq!(received_by(&payer, &evm_address(n)).await, Some((1, units.to_owned())));
        }

        // The watcher and the payer take a final payment back that a reorg replaced.
        let first = story.payments.iter().find(|one| one.purpose == Purpose::Pay).unwrap();
        stack.gateway.simulate_orphan(&first.tx_hash).await.unwrap();
        eventually("it is open again, and told", async || {
            let mut connection = stack.database.connect().await;
            let told = "select 1 from operator_alert where kind = 'payout_reorged'";
            sqlx::query_scalar::<_, i32>(told).fetch_optional(&mut connection).await.unwrap()
        })
        .await;
        payer.settles(&id).await;
        assert_eq!(payer.received_on_chain("polygon").await.len(), 5, "the invoice, the order and three");
        for (n, units) in [(1, "10000000"), (2, "2500000")] {
            assert_eq!(received_by(&payer, &evm_address(n)).await, Some((1, units.to_owned())));
        }
    })
    .await;
}
