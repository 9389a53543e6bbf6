//! `gatewayctl find`, and the lists of invoices and webhooks.

use gateway::asset::Network;
use serde_json::{Value, json};
use support::{
    client::ctl::Ctl,
    server::{
        broker::eventually,
        stack::{Merchant, Stack, only, with_configured_stack, with_stack},
    },
    shop::{
        payouts::{Payer, evm_address},
        receiver::Receiver,
    },
};

/// A payment with `changes` on top.
async fn created(merchant: &Merchant, changes: Value) -> Value {
    let mut body =
        json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic" });
    for (name, value) in changes.as_object().unwrap() {
        body[name] = value.clone();
    }
    let created = merchant.client.post("/v1/payment", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

/// What the command says of a text: kind, id and way of each hit.
async fn told(ctl: &Ctl, words: &str) -> Vec<[String; 3]> {
    let found = ctl.json(&["find", words]).await;
    let hits = found["found"].as_array().unwrap().iter();
    hits.map(|hit| ["what", "id", "found_by"].map(|name| text(hit, name))).collect()
}

fn hit(what: &str, id: &str, found_by: &str) -> [String; 3] {
    [what, id, found_by].map(ToOwned::to_owned)
}

async fn one(stack: &Stack, query: &'static str) -> String {
    let mut connection = stack.database.connect().await;
    sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_found_by_all_that_names_it_and_by_nothing_else() {
    with_stack(|stack| async move {
        stack.start_all();
        let (ctl, merchant) = (Ctl::of(&stack), stack.merchant().await);
        let receiver = Receiver::answering(200).await;
        let order = json!({ "order_id": "A-1001", "ipn_callback_url": receiver.url });
        let payment = created(&merchant, order).await;
        let (id, address) = (text(&payment, "payment_id"), text(&payment, "pay_address"));
        let pay = ["simulate", "deposit", "--payment-id", &id, "--amount", "25"];
        let hash = text(&ctl.json(&pay).await, "txid");
        let event = eventually("a webhook is delivered", async || {
            let list = ctl.json(&["deliveries", "list", "--state", "delivered"]).await;
            Some(text(list["deliveries"].get(0)?, "event_id"))
        })
        .await;

        let by_id = ctl.json(&["find", &id]).await;
        let shop = merchant.new.id.to_string();
        let hits = by_id["found"].as_array().unwrap();
        assert_eq!((hits.len(), &by_id["more"]), (1, &json!(false)));
        for (name, value) in [
            ("what", json!("payment")),
            ("id", json!(id)),
            ("state", json!("paid")),
            ("merchant_id", json!(shop)),
            ("merchant", json!("Test shop")),
            ("network", json!("polygon")),
            ("about", json!("A-1001")),
            ("command", json!(format!("gatewayctl invoice explain {id}"))),
        ] {
            assert_eq!(hits[0][name], value, "{name}");
        }
        assert_eq!(told(&ctl, " A-1001 ").await, [hit("payment", &id, "order id")]);
        assert_eq!(told(&ctl, &event).await, [hit("webhook", &event, "id")]);
        assert_eq!(told(&ctl, &shop).await, [hit("merchant", &shop, "id")]);
        for spelled in [hash.clone(), hash.to_ascii_uppercase(), hash.replacen("0x", "", 1)] {
            assert_eq!(told(&ctl, &spelled).await, [hit("deposit", &hash, "transaction")]);
        }
        for spelled in [address.clone(), address.to_ascii_lowercase()] {
            assert_eq!(told(&ctl, &spelled).await, [hit("address", &address, "address")]);
        }
        // The ids of rows, as messages of the broker have them.
        let row = one(&stack, "select id::text from invoice").await;
        assert_eq!(told(&ctl, &row).await, [hit("payment", &id, "id")]);
        let row = one(&stack, "select id::text from deposit").await;
        assert_eq!(told(&ctl, &row).await, [hit("deposit", &hash, "id")]);
        let row = one(&stack, "select id::text from delivery limit 1").await;
        assert_eq!(told(&ctl, &row).await, [hit("webhook", &event, "id")]);

        let shown = ctl.run(&["find", &hash]).await.expect_ok().stdout;
        let command = format!("gatewayctl deposit explain {hash} --network polygon");
        for words in ["settled, booked as credit", "Test shop", &id, &command] {
            assert!(shown.contains(words), "no {words:?} in:\n{shown}");
        }
        let nothing = ctl.run(&["find", "A-100"]).await;
        assert_eq!((nothing.code, nothing.stderr.as_str()), (1, ""), "{nothing:?}");
        assert!(nothing.stdout.contains("Nothing of ours"), "{nothing:?}");
        let nothing = ctl.run(&["--json", "find", "%"]).await;
        assert_eq!((nothing.code, nothing.json()), (1, json!({ "found": [], "more": false })));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_id_is_explained_if_it_names_one_invoice_and_else_lists_them() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let ctl = Ctl::of(&stack);
        let (ours, theirs) = (stack.merchant().await, stack.merchant().await);
        let alone = text(&created(&ours, json!({ "order_id": "A-1" })).await, "payment_id");
        let mut both = Vec::new();
        for merchant in [&ours, &theirs] {
            let payment = created(merchant, json!({ "order_id": "B-2" })).await;
            both.push(text(&payment, "payment_id"));
        }
        let explained = ctl.json(&["invoice", "explain", "A-1"]).await;
        assert_eq!(explained, ctl.json(&["invoice", "explain", &alone]).await);
        let ambiguous = ctl.run(&["--json", "invoice", "explain", "B-2"]).await;
        assert_eq!(ambiguous.code, 1, "{ambiguous:?}");
        let listed = ambiguous.json();
        let mut ids: Vec<_> = listed["found"].as_array().unwrap().iter().collect();
        ids.sort_by_key(|hit| hit["created_at"].to_string());
        let ids: Vec<_> = ids.into_iter().map(|hit| text(hit, "id")).collect();
        assert_eq!(ids, both);
        let ambiguous = ctl.run(&["invoice", "explain", "B-2"]).await;
        assert!(ambiguous.stdout.starts_with("Several invoices have this order id."));
        let unknown = ctl.run(&["invoice", "explain", "C-3"]).await;
        unknown.expect_failure("no invoice has the id or the order id C-3");

        for _ in 0..20 {
            created(&ours, json!({ "order_id": "B-2" })).await;
        }
        let many = ctl.json(&["find", "B-2"]).await;
        assert_eq!((many["found"].as_array().unwrap().len(), &many["more"]), (20, &json!(true)));
        let many = ctl.run(&["find", "B-2"]).await.expect_ok();
        assert!(many.stdout.contains("There are more"), "{many:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_order_is_found_by_its_recipients_and_transactions() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let (ctl, payer) = (Ctl::of(&stack), Payer::open(&stack).await);
        let row = |n, amount| json!({ "address": evm_address(n), "amount": amount });
        let fields = json!({
            "network": "polygon", "currency": "usdtmatic", "items": [row(1, "10"), row(2, "2.5")],
        });
        let path = "/v1/evm-mass-payout";
        let id = text(&payer.draft(path, fields.clone()).await, "id");
        payer.confirm(path, &id).await;
        ctl.run(&["simulate", "deposit", "--payout", &id]).await.expect_ok();
        payer.becomes(&id, "completed").await;
        let story = ctl.json(&["payouts", "explain", &id]).await;
        let hash = text(&story["payments"][0], "txHash");
        let item = one(&stack, "select item_id from payout_item limit 1").await;
        let batch = one(&stack, "select batch_id from payout_batch limit 1").await;
        for named in [&id, &item, &batch] {
            assert_eq!(told(&ctl, named).await, [hit("payout order", &id, "id")]);
        }
        assert_eq!(told(&ctl, &hash).await, [hit("payout order", &id, "transaction")]);
        let last = "select address from payout_item order by row_number desc limit 1";
        for address in [evm_address(2), one(&stack, last).await] {
            assert_eq!(told(&ctl, &address).await, [hit("payout order", &id, "recipient")]);
        }
        let found = ctl.json(&["find", &hash]).await;
        assert_eq!(found["found"][0]["state"], "completed");
        assert_eq!(found["found"][0]["command"], format!("gatewayctl payouts explain {id}"));

        // Of thousands of rows at one address the newest orders are listed, each once.
        let newer = text(&payer.draft(path, fields).await, "id");
        let many = "
            insert into payout_item (id, item_id, order_id, batch_id, row_number, address, amount, net_amount)
            select gen_random_uuid(), 'more' || n, i.order_id, i.batch_id, n + 100, i.address, i.amount, i.net_amount
            from payout_item i join payout_order o on o.id = i.order_id, generate_series(1, 2000) as n
            where i.row_number = 1 and o.confirmed_at is null";
        stack.sql(many).await;
        let first = "select address from payout_item where row_number = 1 limit 1";
        let found = ctl.json(&["find", &one(&stack, first).await]).await;
        let ids = found["found"].as_array().unwrap().iter().map(|one| &one["id"]);
        assert_eq!(ids.collect::<Vec<_>>(), [&json!(newer), &json!(id)], "{found}");
        assert_eq!(found["more"], false);

        let withdrawal =
            "insert into legacy_withdrawal (payout_order_id, merchant_id, withdrawal_id)
            select id, merchant_id, 'CWFAKE0000000000000000000A' from payout_order where confirmed_at is not null";
        stack.sql(withdrawal).await;
        let found = told(&ctl, "CWFAKE0000000000000000000A").await;
        assert_eq!(found, [hit("payout order", &id, "id")]);
    })
    .await;
}

/// Rows that take a whole journey to come about.
const SUBSCRIBED: &str = "
    insert into subscription (id, subscription_id, merchant_id, link_id, email, state, price_amount, price_currency,
        interval, interval_count, anchor, day_seconds, clock_origin)
    select '00000000-0000-7000-8000-000000000001', 'pzs_0', merchant_id, id, 'ada@example.com', 'active', 5, 'usd',
           'month', 1, now(), 86400, now()
    from link;
    insert into till_device (id, device_id, merchant_id, link_id, name, code_expires_at)
    select '00000000-0000-7000-8000-000000000002', 'pzd_0', merchant_id, id, 'Counter', now() from link;
    insert into legacy_payment (invoice_id, merchant_id, txn_id, view_key, ipn_type, currency1, amount1, fields)
    select id, merchant_id, 'CPFAKE0000000000000000000A', 'v', 'api', 'USD', 5, '{}' from invoice;
    update invoice set subscriber_email = 'Ada@Example.com', subscription_id = '00000000-0000-7000-8000-000000000001';
    insert into mail_bounce (recipient, bounces) values (sha256('ada@example.com'::bytea), 2)";

#[tokio::test(flavor = "multi_thread")]
async fn links_devices_subscribers_and_accounts_are_found_by_id_and_by_email() {
    with_stack(|stack| async move {
        let (ctl, merchant) = (Ctl::of(&stack), stack.merchant().await);
        let link = json!({
            "type": "payment", "title": "Two cups", "price_amount": 25, "price_currency": "usd",
        });
        let link = text(&merchant.client.post("/v1/links", &link).await.json(), "link_id");
        let id = text(&created(&merchant, json!({})).await, "payment_id");
        stack.sql(SUBSCRIBED).await;
        let shop = merchant.new.id.to_string();
        ctl.json(&[
            "account",
            "create",
            "--email",
            "ada@example.com",
            "--role",
            "owner",
            "--merchant",
            &shop,
        ])
        .await;

        assert_eq!(told(&ctl, &link).await, [hit("payment link", &link, "id")]);
        assert_eq!(told(&ctl, "pzd_0").await, [hit("device of a till", "pzd_0", "id")]);
        assert_eq!(told(&ctl, "pzs_0").await, [hit("subscription", "pzs_0", "id")]);
        assert_eq!(told(&ctl, "CPFAKE0000000000000000000A").await, [hit("payment", &id, "id")]);
        let device = ctl.json(&["find", "pzd_0"]).await;
        let command = format!("gatewayctl invoice list --merchant {shop} --link {link}");
        assert_eq!(device["found"][0]["command"], command);
        for spelled in ["ada@example.com", "ADA@example.com"] {
            let found = told(&ctl, spelled).await;
            let expected = [
                hit("account of the dashboard", "ada@example.com", "e-mail"),
                hit("subscription", "pzs_0", "e-mail"),
                hit("payment", &id, "e-mail"),
                hit("mailbox", spelled, "e-mail"),
            ];
            assert_eq!(found, expected);
        }
        let found = ctl.json(&["find", "ada@example.com"]).await;
        let states: Vec<_> =
            found["found"].as_array().unwrap().iter().map(|hit| text(hit, "state")).collect();
        assert_eq!(states, ["invited", "active", "pending", "refused for good 2 times"]);
        let explained = ctl.json(&["invoice", "explain", "CPFAKE0000000000000000000A"]).await;
        assert_eq!(explained["payment_id"], id.as_str());
        // A subscriber who has no payment yet.
        stack.sql("update invoice set subscriber_email = null, subscription_id = null").await;
        let found = told(&ctl, "Ada@example.com").await;
        assert!(found.contains(&hit("subscription", "pzs_0", "e-mail")), "{found:?}");
    })
    .await;
}

/// A resource with a payment that was settled by its second transaction, one that failed, and the
/// deposit that the first caused. The second deposit takes the place of an earlier row.
const SOLD_TO_PROGRAMS: &str = "
    insert into deposit_address (id, family, address, match_key, derivation_index, network)
    values ('00000000-0000-7000-8000-0000000000a0', 'evm', '0xAbCd000000000000000000000000000000000001',
            '0xabcd000000000000000000000000000000000001', 4000000, 'polygon');
    insert into x402_resource (id, resource_id, merchant_id, address_id, url, description, mime_type, price, networks,
                               timeout_seconds, listed)
    select '00000000-0000-7000-8000-0000000000b0', 'pzx_0', id, '00000000-0000-7000-8000-0000000000a0',
           'https://api.example/weather', 'Weather', 'application/json', 0.01, '{polygon}', 60, true
    from merchant;
    insert into x402_settlement (id, merchant_id, address_id, network, asset, payer, nonce, amount, call_sha256, call,
                                 valid_before, state, reason, sender, tx_nonce, tx_hash, gas_usd, signed_at, ended_at)
    select ('00000000-0000-7000-8000-0000000000c' || n)::uuid, m.id, '00000000-0000-7000-8000-0000000000a0', 'polygon',
           '0xtoken', '0xpayer', sha256(n::text::bytea), 10000, sha256('call'), 'call', 4000000000, s.state, s.reason,
           '0xgas', n, '0x' || repeat(n::text, 63) || 'b', 0.01, now(), now()
    from merchant m, (values (1, 'settled', null), (2, 'failed', 'invalid_transaction_state')) as s (n, state, reason);
    insert into x402_version (settlement_id, version, raw, tx_hash, fee_rate, tip)
    select s.id, v, 'raw', case when v = 1 then left(s.tx_hash, -1) || 'a' else s.tx_hash end, 1, 1
    from x402_settlement s, generate_series(1, 2) as v;
    insert into deposit (id, network, deposit_key, tx_hash, address_id, amount, amount_text, first_seen_at, state, replaces)
    values ('00000000-0000-7000-8000-0000000000d1', 'polygon', 'one', '0x' || repeat('d', 64),
            '00000000-0000-7000-8000-0000000000a0', 10000, '10000', now(), 'withdrawn', null),
           ('00000000-0000-7000-8000-0000000000d2', 'polygon', 'two', '0x' || repeat('e', 64),
            '00000000-0000-7000-8000-0000000000a0', 10000, '10000', now(), 'seen', '00000000-0000-7000-8000-0000000000d1')";

#[tokio::test(flavor = "multi_thread")]
async fn what_programs_pay_for_is_found_by_its_ids_transactions_address_and_deposits() {
    with_stack(|stack| async move {
        let (ctl, merchant) = (Ctl::of(&stack), stack.merchant().await);
        stack.sql(SOLD_TO_PROGRAMS).await;
        let shop = merchant.new.id.to_string();
        let (resource, address) = ("pzx_0", "0xAbCd000000000000000000000000000000000001");
        let settlement = |n: u8| format!("00000000-0000-7000-8000-0000000000c{n}");
        let hash = |n: u8, version: char| format!("0x{}{version}", n.to_string().repeat(63));
        let (one, two) = (settlement(1), settlement(2));
        let (one_hash, displaced, two_hash) = (hash(1, 'b'), hash(1, 'a'), hash(2, 'b'));
        let (sent, gone) = (hash_of('e'), hash_of('d'));
        let of = "x402 settlement";
        let failed = "failed: invalid_transaction_state";
        let replaced = "settled, replaced by another transaction";
        let row = "00000000-0000-7000-8000-0000000000d1";
        let its_own = format!("{address}, https://api.example/weather");
        for (text, what, id, by, state, about) in [
            (resource, "x402 resource", resource, "id", "on sale, listed", its_own.as_str()),
            (&one, of, &one, "id", "settled", resource),
            (&two, of, &two, "id", failed, resource),
            (&one_hash, of, &one, "transaction", "settled", resource),
            (&displaced, of, &one, "transaction", replaced, resource),
            (&two_hash, of, &two, "transaction", failed, resource),
            (address, "address", address, "address", "for a resource", resource),
            (&sent, "deposit", &sent, "transaction", "seen", resource),
            (row, "deposit", &gone, "id", "withdrawn, replaced", resource),
        ] {
            let found = ctl.json(&["find", text]).await;
            let hits = found["found"].as_array().unwrap();
            assert_eq!(hits.len(), 1, "{text}: {found}");
            for (name, expected) in [
                ("what", what),
                ("id", id),
                ("found_by", by),
                ("state", state),
                ("about", about),
                ("merchant_id", &shop),
            ] {
                assert_eq!(hits[0][name], expected, "{text}: {name}");
            }
        }
        let command = format!("gatewayctl deposit explain --address {address}");
        assert_eq!(ctl.json(&["find", resource]).await["found"][0]["command"], command);
    })
    .await;
}

fn hash_of(letter: char) -> String {
    format!("0x{}", letter.to_string().repeat(64))
}

#[tokio::test(flavor = "multi_thread")]
async fn invoices_are_listed_by_merchant_status_and_time() {
    with_stack(|stack| async move {
        let ctl = Ctl::of(&stack);
        let (ours, theirs) = (stack.merchant().await, stack.merchant().await);
        let mut ids = Vec::new();
        for n in 0..30 {
            let payment = created(&ours, json!({ "order_id": format!("A-{n}") })).await;
            ids.push(text(&payment, "payment_id"));
        }
        let other = text(&created(&theirs, json!({})).await, "payment_id");
        let draft = text(&created(&theirs, json!({ "pay_currency": "all" })).await, "payment_id");
        ctl.run(&["invoice", "cancel", &ids[4]]).await.expect_ok();
        ids.reverse();

        let listed = async |arguments: &[&str]| {
            let all: Vec<_> = ["invoice", "list"].iter().chain(arguments).copied().collect();
            let list = ctl.json(&all).await;
            let rows = list["invoices"].as_array().unwrap();
            let rows: Vec<_> = rows.iter().map(|row| text(row, "payment_id")).collect();
            (rows, list["more"].as_bool().unwrap())
        };
        let (us, them) = (ours.new.id.to_string(), theirs.new.id.to_string());
        assert_eq!(listed(&["--merchant", &us]).await, (ids.clone(), false));
        let some = listed(&["--merchant", &us, "--limit", "29"]).await;
        assert_eq!(some, (ids[..29].to_vec(), true));
        let cancelled = vec![ids[25].clone()];
        for of in [&["--merchant", us.as_str()][..], &[]] {
            let arguments: Vec<_> = of.iter().chain(&["--status", "cancelled"]).copied().collect();
            assert_eq!(listed(&arguments).await, (cancelled.clone(), false));
        }
        assert_eq!(listed(&["--merchant", &them]).await, (vec![other.clone()], false));
        let drafts = listed(&["--merchant", &them, "--status", "draft"]).await;
        assert_eq!(drafts, (vec![draft.clone()], false));
        assert_eq!(listed(&["--limit", "2"]).await, (vec![draft, other], true));
        for of in [&["--merchant", us.as_str()][..], &[]] {
            let since = ["--since", "2100-01-31T12:00:00Z"];
            let arguments: Vec<_> = of.iter().chain(&since).copied().collect();
            assert_eq!(listed(&arguments).await, (vec![], false));
        }
        let text = ctl.run(&["invoice", "list", "--limit", "1"]).await.expect_ok().stdout;
        assert!(text.contains("There are more: raise --limit"), "{text}");
        let wrong = ctl.run(&["invoice", "list", "--status", "finished"]).await;
        wrong.expect_wrong_usage("write one of draft, pending");
        let wrong = ctl.run(&["invoice", "list", "--link", "pzl_0"]).await;
        wrong.expect_wrong_usage("--merchant");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_listed_by_merchant_state_and_time() {
    with_stack(|stack| async move {
        stack.start_all();
        let ctl = Ctl::of(&stack);
        let (ours, theirs) = (stack.merchant().await, stack.merchant().await);
        let (good, bad) = (Receiver::answering(200).await, Receiver::answering(404).await);
        for (merchant, receiver) in [(&ours, &good), (&theirs, &bad)] {
            let payment = created(merchant, json!({ "ipn_callback_url": receiver.url })).await;
            let id = text(&payment, "payment_id");
            ctl.json(&["simulate", "deposit", "--payment-id", &id, "--amount", "25"]).await;
        }
        let listed = async |arguments: &[&str]| {
            let all: Vec<_> = ["deliveries", "list"].iter().chain(arguments).copied().collect();
            ctl.json(&all).await["deliveries"].as_array().unwrap().clone()
        };
        let (us, them) = (ours.new.id.to_string(), theirs.new.id.to_string());
        let ended = async |of: &str, state: &str| {
            eventually(&format!("a webhook is {state}"), async || {
                let rows = listed(&["--merchant", of, "--state", state]).await;
                (rows.len() == 1).then(|| rows[0].clone())
            })
            .await
        };
        let delivered = ended(&us, "delivered").await;
        assert_eq!(delivered["merchant_id"], us.as_str());
        let refused = eventually("a webhook has failed", async || {
            let rows = listed(&["--merchant", &them]).await;
            let row = rows.first()?.clone();
            row["last_status"].is_number().then_some(row)
        })
        .await;
        assert_eq!((&refused["last_status"], &refused["kind"]), (&json!(404), &json!("finished")));
        let mut both = listed(&[]).await;
        both.retain(|row| row["event_id"] == delivered["event_id"]);
        assert_eq!(both, [delivered]);
        assert_eq!(listed(&["--since", "2100-01-31T12:00:00Z"]).await, [] as [Value; 0]);
        let none = listed(&["--merchant", &us, "--since", "2100-01-31T12:00:00Z"]).await;
        assert_eq!(none, [] as [Value; 0]);
        let text = ctl.run(&["deliveries", "list", "--merchant", &us]).await.expect_ok().stdout;
        assert!(text.contains("gatewayctl deliveries show EVENT"), "{text}");
        ctl.run(&["deliveries", "list", "--state", "lost"])
            .await
            .expect_wrong_usage("write one of pending");
    })
    .await;
}
