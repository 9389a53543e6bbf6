//! Exports beside the ledger after everything that can happen to an invoice and to a payout.

use gateway::{
    accounting::{Export, Format, Range},
    app::sandbox::simulate::{Deposit, PaidIn},
    invoice::Status,
};
use gateway_workers::Role;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use support::{
    books,
    seed::seed,
    server::broker::eventually,
    shop::{
        Shop, deposit,
        payouts::{Payer, evm_address},
        with_shop,
    },
};

/// One invoice of each fate, in a random order and with random amounts.
async fn trade(shop: &Shop, random: &mut StdRng) {
    let cents = |random: &mut StdRng, below: u32| format!("0.{:06}", random.random_range(1..below));
    for fate in 0..6 {
        let currency = if random.random_bool(0.5) { "eur" } else { "usd" };
        let id = shop
            .invoice_of(json!({ "price_currency": currency, "order_id": format!("={fate}") }))
            .await;
        let due = shop.payment(&id).await["pay_amount"].to_string();
        let part = cents(random, 900_000);
        match fate {
            // In two parts, and then too late.
            0 => {
                shop.pay(&id, &part).await;
                shop.becomes(&id, Status::Partial).await;
                shop.pay(&id, &due).await;
                shop.becomes(&id, Status::Paid).await;
                shop.pay(&id, &cents(random, 500_000)).await;
            }
            1 => {
                shop.pay(&id, "1000").await;
                shop.becomes(&id, Status::Overpaid).await;
            }
            2 => {
                shop.pay(&id, &part).await;
                shop.becomes(&id, Status::Partial).await;
            }
            // Another currency than the one that was asked for.
            3 => {
                let paid_in = PaidIn { currency: Some("pol".to_owned()), ..PaidIn::default() };
                shop.send(&Deposit { paid_in, ..deposit(&id, &part) }).await;
            }
            // Its block is replaced after it was booked.
            4 => {
                let paid = shop.pay(&id, &due).await;
                shop.becomes(&id, Status::Paid).await;
                shop.stack.gateway.simulate_orphan(&paid.txid).await.unwrap();
                let reversed = "select count(*) from ledger_entry where kind = 'reversal'";
                eventually("the deposit is reversed", async || {
                    (shop.number(reversed).await == 1).then_some(())
                })
                .await;
            }
            _ => {}
        }
    }
    let booked = "select count(*) from deposit where booked_as in ('late', 'foreign')";
    eventually("all is booked", async || (shop.number(booked).await == 2).then_some(())).await;
}

/// A payout to two recipients, paid with more than it costs.
async fn pay_out(payer: &Payer) {
    let rows = json!({
        "network": "polygon", "currency": "usdtmatic", "refundAddress": evm_address(900),
        "items": [
            { "address": evm_address(1), "amount": "10", "reference": "a" },
            { "address": evm_address(2), "amount": "2.5", "reference": "b" },
        ],
    });
    let draft = payer.draft("/v1/evm-mass-payout", rows).await;
    let id = draft["id"].as_str().unwrap().to_owned();
    let order = payer.confirm("/v1/evm-mass-payout", &id).await;
    let due: u128 = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
    payer.fund(&order, due + 7_000_000).await;
    payer.settles(&id).await;
}

async fn text(shop: &Shop, of: (Export, Format), range: Range) -> String {
    books::file(&shop.stack.gateway, shop.merchant.new.id, of, range).await.0
}

/// The result of `read`, and that of `other` while no block came between: each one adds a
/// confirmation to the payments that are exported.
async fn unmoved<T>(read: impl AsyncFn() -> String, other: impl AsyncFn() -> T) -> (String, T) {
    loop {
        let (before, other, after) = (read().await, other().await, read().await);
        if before == after {
            return (before, other);
        }
    }
}

/// Any cut of a range gives the rows of the whole, each once, with the same balances.
async fn is_the_sum_of_its_parts(shop: &Shop, random: &mut StdRng) {
    for export in Export::ALL {
        let whole = books::recent();
        let last = shop.number("select extract(epoch from now())::bigint - extract(epoch from min(created_at))::bigint from invoice").await;
        let cut = whole.to
            - chrono::TimeDelta::days(1)
            - chrono::TimeDelta::milliseconds(random.random_range(0..=last.max(1) * 1_000));
        let csv = async |range| text(shop, (export, Format::Csv), range).await;
        let (all, parts) = unmoved(
            async || csv(whole).await,
            async || {
                let first = csv(Range { to: cut, ..whole }).await;
                let rest = csv(Range { from: cut, ..whole }).await;
                first + rest.split_once("\r\n").unwrap().1
            },
        )
        .await;
        assert_eq!(parts, all, "{export} cut at {cut}");
    }
}

/// Our three formats have the same cells.
async fn is_the_same_in_each_format(shop: &Shop) {
    for export in Export::ALL {
        let range = books::recent();
        let (csv, (json, ndjson)) = unmoved(
            async || text(shop, (export, Format::Csv), range).await,
            async || {
                let json = text(shop, (export, Format::Json), range).await;
                (json, text(shop, (export, Format::Ndjson), range).await)
            },
        )
        .await;
        let (csv, json) = (books::rows(&csv), serde_json::from_str::<Value>(&json).unwrap());
        let lines: Vec<Value> =
            ndjson.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let data = json["data"].as_array().unwrap();
        assert_eq!((csv.len(), data.len()), (lines.len(), lines.len()), "{export}");
        for ((row, cells), object) in csv.iter().zip(data).zip(&lines) {
            for (place, (name, _)) in export.columns().iter().enumerate() {
                assert_eq!(cells[place], object[*name], "{export} {name}");
                let plain = match (cells[place].as_str(), cells[place].is_null()) {
                    (_, true) => String::new(),
                    (Some(text), false) => text.to_owned(),
                    (None, false) => cells[place].to_string(),
                };
                // The guard against formulas is for spreadsheets alone.
                let shown = row[*name].strip_prefix('\'').unwrap_or(&row[*name]);
                assert_eq!(shown, plain, "{export} {name}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_and_ledger_agree_to_the_unit_whatever_happened() {
    with_shop(|shop| async move {
        let mut random = StdRng::seed_from_u64(seed());
        shop.stack.lift_rate_limits().await;
        shop.run("update rate set price = 0.9 where symbol = 'USDT' and fiat = 'eur'").await;
        // Without the refresher, which would bring the fixed rates back.
        shop.stack.start(&[
            Role::ChainWatcher,
            Role::DepositMatching,
            Role::ExpiryTimer,
            Role::PayoutBatch,
        ]);
        let payer = Payer::open(&shop.stack).await;
        trade(&shop, &mut random).await;
        pay_out(&payer).await;
        let gateway = &shop.stack.gateway;
        let mut connection = shop.stack.database.connect().await;
        for merchant in [shop.merchant.new.id, payer.merchant.new.id] {
            let entries = books::agree(gateway, &mut connection, merchant).await;
            assert!(entries >= 8, "only {entries} rows");
        }
        is_the_sum_of_its_parts(&shop, &mut random).await;
        is_the_same_in_each_format(&shop).await;

        let payments = books::export(gateway, shop.merchant.new.id, Export::Payments).await;
        let mut kinds: Vec<_> = payments
            .iter()
            .map(|row| (row["kind"].as_str(), row["amount"].starts_with('-')))
            .collect();
        kinds.sort_unstable();
        let expected = [
            ("late", false),
            ("overpayment", false),
            ("payment", false),
            ("payment", false),
            ("payment", false),
            ("payment", true),
            ("topup", false),
            ("wrong_token", false),
        ];
        assert_eq!(kinds, expected);
        for row in payments.iter().filter(|row| row["kind"] != "wrong_token") {
            let rate = if row["fiat_currency"] == "eur" { "0.9" } else { "1" };
            assert_eq!(row["rate"], rate, "{row:?}");
            let value = books::coins(&row["amount"]) * books::coins(rate);
            assert_eq!(books::coins(&row["fiat_value"]), value, "{row:?}");
        }
        let refunded = books::export(gateway, payer.merchant.new.id, Export::Ledger).await;
        assert!(refunded.iter().any(|row| row["memo"] == "payout_refund"));
        // Nothing of one merchant is in a file of the other.
        let others = books::export(gateway, payer.merchant.new.id, Export::Payments).await;
        assert!(others.is_empty(), "{others:?}");
        let others = books::export(gateway, shop.merchant.new.id, Export::Payouts).await;
        assert!(others.is_empty(), "{others:?}");
    })
    .await;
}

/// The products' templates, with the amounts of what came and what left.
#[tokio::test(flavor = "multi_thread")]
async fn files_for_other_products_have_what_came_and_what_left() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let payer = Payer::open(&shop.stack).await;
        pay_out(&payer).await;
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.becomes(&id, Status::Paid).await;
        let range = books::recent();
        let koinly = books::rows(&text(&shop, (Export::Payments, Format::Koinly), range).await);
        assert_eq!((koinly[0]["Amount"].as_str(), koinly[0]["Currency"].as_str()), ("100", "USDT"));
        assert_eq!(koinly[0]["Net Worth Amount"], "100");
        assert_eq!(koinly[0]["Net Worth Currency"], "USD");
        let of_payer = async |format| {
            let gateway = &shop.stack.gateway;
            let of = (Export::Payouts, format);
            let (file, count) = books::file(gateway, payer.merchant.new.id, of, range).await;
            assert_eq!(count, 2);
            books::rows(&file)
        };
        let sent = of_payer(Format::Cointracker).await;
        let quantities: Vec<_> = sent.iter().map(|row| row["Sent Quantity"].as_str()).collect();
        assert_eq!(quantities, ["10", "2.5"]);
        assert!(sent.iter().all(|row| row["Received Quantity"].is_empty()));
        let bank = of_payer(Format::Quickbooks).await;
        let amounts: Vec<_> = bank.iter().map(|row| row["Amount"].as_str()).collect();
        assert_eq!(amounts, ["-10.00", "-2.50"]);
        // A second fiat currency in one bank statement is an error, and has a way out.
        let eur = shop.invoice_of(json!({ "price_currency": "eur" })).await;
        let due = shop.payment(&eur).await["pay_amount"].to_string();
        shop.pay(&eur, &due).await;
        shop.becomes(&eur, Status::Paid).await;
        let day = format!("from={}&to={}", range.from.date_naive(), range.to.date_naive());
        let path = format!("/v1/export/payments?{day}&format=quickbooks");
        let mixed = shop.merchant.client.get(&path).await;
        mixed.expect_error(400, "INVALID_REQUEST");
        assert!(mixed.body.contains("currency=usd"), "{}", mixed.body);
        let one = shop.merchant.client.get(&format!("{path}&currency=eur")).await;
        assert_eq!((one.status, one.header("x-gateway-row-count")), (200, Some("1")));
    })
    .await;
}
