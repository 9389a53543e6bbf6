//! Visitors have quotas of their own, and a budget per address and link.

use futures_util::future::join_all;
use gateway::merchant::settings::Settings;
use serde_json::{Value, json};
use support::server::stack::{Stack, with_stack};

use super::{created, id, invoices, payment_id, send};

async fn small_quota(stack: &Stack) -> support::server::stack::Merchant {
    stack.merchant_with(Settings { open_invoices_max: 3, ..Settings::default() }).await
}

/// Attack: visitors must not use up the quota that the merchant's own shop needs, nor addresses.
#[tokio::test(flavor = "multi_thread")]
async fn visitors_fill_the_quota_of_their_link_and_of_nothing_else() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = small_quota(&stack).await.client;
        let (flooded, other) = (created(&shop, &json!({})).await, created(&shop, &json!({})).await);
        // All at once: the quota is exact, not nearly so.
        let buyer = stack.buyer();
        let flood = join_all((0..12).map(|_| send(&buyer, id(&flooded), &[]))).await;
        let taken = flood.iter().filter(|answer| answer.status == 303).count();
        let full: Vec<_> = flood.iter().filter(|answer| answer.status == 429).collect();
        assert_eq!((taken, full.len()), (3, 9));
        assert!(full[0].body.contains("Too many payments of this link"), "{}", full[0].body);
        payment_id(&send(&buyer, id(&other), &[]).await);
        let own = json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "all" });
        for _ in 0..3 {
            assert_eq!(shop.post("/v1/payment", &own).await.status, 201);
        }
        shop.post("/v1/payment", &own).await.expect_error(429, "QUOTA_EXCEEDED");
        // And the merchant's own invoices leave the links alone.
        payment_id(&send(&buyer, id(&other), &[]).await);
        let mut connection = stack.database.connect().await;
        let addresses: i64 = sqlx::query_scalar("select count(*) from deposit_address")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(addresses, 0, "a draft without a chosen currency has no address");
        // An invoice that ends makes room.
        let open = flood.iter().find(|answer| answer.status == 303).unwrap();
        stack.gateway.cancel_invoice(&payment_id(open)).await.unwrap();
        payment_id(&send(&buyer, id(&flooded), &[]).await);
        assert_eq!(send(&buyer, id(&flooded), &[]).await.status, 429);
    })
    .await;
}

/// Ten tries in five minutes from one address on one link, also those that are refused.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_has_a_budget_for_each_link() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let open = json!({ "price_amount": null });
        let (one, two) = (created(&shop, &open).await, created(&shop, &open).await);
        let buyer = stack.buyer();
        for turn in 0..10 {
            let typed = if turn % 2 == 0 { "10" } else { "nothing" };
            let sent = send(&buyer, id(&one), &[("amount", typed)]).await;
            assert_eq!(sent.status, if turn % 2 == 0 { 303 } else { 400 }, "{turn}");
        }
        let refused = send(&buyer, id(&one), &[("amount", "10")]).await;
        assert_eq!(refused.status, 429);
        assert!(refused.body.contains("too many tries"), "{}", refused.body);
        assert_eq!(invoices(&stack).await, 5);
        payment_id(&send(&buyer, id(&two), &[("amount", "10")]).await);
        // The page itself can still be read.
        assert_eq!(buyer.get(&format!("/l/{}", id(&one))).await.status, 200);
        // After five minutes the tries are forgotten.
        stack
            .sql(
                "update request_window set slots = array(select slot - interval '300 seconds' from unnest(slots) slot)
                 where key like 'link:%'",
            )
            .await;
        payment_id(&send(&buyer, id(&one), &[("amount", "10")]).await);
    })
    .await;
}

/// Attack: visitors must not empty the address pools, which all merchants share.
#[tokio::test(flavor = "multi_thread")]
async fn unpaid_invoices_of_a_link_take_a_hundred_addresses_of_a_pool_in_a_day() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let body = json!({ "accepted": ["near@near", "usdtmatic@polygon"] });
        let (drained, other) = (created(&shop, &body).await, created(&shop, &body).await);
        let buyer = stack.buyer();
        let choose = async |link: &Value, token: &str| {
            let payment = payment_id(&send(&buyer, id(link), &[]).await);
            let choice = json!({ "token_id": token });
            buyer.post(&format!("/api/pay/{payment}/select"), &choice).await
        };
        let first = choose(&drained, "near@near").await;
        assert_eq!(first.status, 200, "{}", first.body);
        stack
            .sql(
                "insert into deposit_address (id, family, address, match_key, derivation_index, network, invoice_id)
                 select gen_random_uuid(), family, address || n, match_key || n, derivation_index + 1000000 + n, network,
                        invoice_id
                 from deposit_address, generate_series(1, 99) as n
                 where family = 'near'",
            )
            .await;
        choose(&drained, "near@near").await.expect_error(400, "CURRENCY_NOT_SUPPORTED");
        // Derived addresses have no end, and another link has a limit of its own.
        assert_eq!(choose(&drained, "usdtmatic@polygon").await.status, 200);
        assert_eq!(choose(&other, "near@near").await.status, 200);
        stack.sql("update deposit_address set created_at = created_at - interval '1 day'").await;
        assert_eq!(choose(&drained, "near@near").await.status, 200);
    })
    .await;
}
