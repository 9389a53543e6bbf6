//! `GET /v1/payment`: pages of a merchant's invoices.

use futures_util::future::join_all;
use serde_json::{Value, json};
use support::{client::Client, server::stack::with_stack};

use crate::api::{
    order,
    shape::{LIST, expect_fields, expect_payment},
};

fn ids(list: &Value) -> Vec<String> {
    let payments = list["data"].as_array().unwrap();
    payments.iter().map(|payment| payment["payment_id"].as_str().unwrap().to_owned()).collect()
}

async fn list(shop: &Client, query: &str) -> Value {
    let answer = shop.get(&format!("/v1/payment{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.body);
    let json = answer.json();
    expect_fields(&json, LIST);
    json
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_list_has_one_page() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let expected = json!({"data": [], "limit": 10, "page": 0, "pagesCount": 1, "total": 0});
        assert_eq!(list(&shop, "").await, expected);
        let beyond = list(&shop, "?page=1000000000&limit=100").await;
        let expected =
            json!({"data": [], "limit": 100, "page": 1_000_000_000, "pagesCount": 1, "total": 0});
        assert_eq!(beyond, expected);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_walk_through_all_invoices_once_without_the_drafts() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let mut created = Vec::new();
        for number in 0..12 {
            let answer =
                shop.post("/v1/payment", &order(&json!({"order_id": number.to_string()}))).await;
            created.push(answer.json()["payment_id"].as_str().unwrap().to_owned());
            let draft = shop.post("/v1/payment", &order(&json!({"pay_currency": "all"}))).await;
            assert_eq!(draft.status, 201);
        }
        let newest_first: Vec<_> = created.iter().rev().cloned().collect();
        let first = list(&shop, "").await;
        for payment in first["data"].as_array().unwrap() {
            expect_payment(payment);
        }
        assert_eq!(ids(&first), newest_first[..10]);
        assert_eq!((&first["total"], &first["pagesCount"]), (&json!(12), &json!(2)));
        assert_eq!(ids(&list(&shop, "?page=1").await), newest_first[10..]);
        let mut walked = Vec::new();
        for page in 0..3 {
            let list = list(&shop, &format!("?limit=5&page={page}")).await;
            assert_eq!((&list["pagesCount"], &list["page"]), (&json!(3), &json!(page)));
            walked.extend(ids(&list));
        }
        assert_eq!(walked, newest_first);

        // The oldest is the last to change.
        let cancel = stack.gateway.cancel_invoice(&created[0]).await;
        cancel.unwrap();
        for (query, ascending, by_update) in [
            ("?sortBy=created_at&orderBy=asc", true, false),
            ("?sortBy=created_at&orderBy=desc", false, false),
            ("?sortBy=updated_at&orderBy=asc", true, true),
            ("?sortBy=updated_at&orderBy=desc", false, true),
            ("?sortBy=updated_at", false, true),
            ("?orderBy=asc", true, false),
            // Anything else falls back.
            ("?sortBy=price_amount", false, false),
            ("?sortBy=UPDATED_AT&orderBy=ASC", false, false),
            ("?sortBy=id;drop+table+invoice&orderBy=up", false, false),
            ("?sortBy=&orderBy=", false, false),
            ("?offset=5&status=finished&order_id=3", false, false),
        ] {
            let mut expected = created.clone();
            if by_update {
                expected.rotate_left(1);
            }
            if !ascending {
                expected.reverse();
            }
            let separator = if query.contains('?') { '&' } else { '?' };
            let list = list(&shop, &format!("{query}{separator}limit=100")).await;
            assert_eq!(ids(&list), expected, "{query}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_total_counts_a_draft_once_its_buyer_has_chosen_however_many_do_at_once() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let draft = order(&json!({"pay_currency": "all"}));
        let drafts = (0..10).map(|_| async { shop.post("/v1/payment", &draft).await.json() });
        let drafts = join_all(drafts).await;
        assert_eq!(list(&shop, "").await["total"], 0);
        let chosen = json!({"token_id": "usdtmatic@polygon"});
        let choices = drafts.iter().flat_map(|draft| [draft, draft]).map(|draft| {
            let path = format!("/api/pay/{}/select", draft["payment_id"].as_str().unwrap());
            let (buyer, chosen) = (stack.buyer(), &chosen);
            async move { buyer.post(&path, chosen).await.status }
        });
        let direct = order(&json!({}));
        let orders = (0..10).map(|_| async { shop.post("/v1/payment", &direct).await.status });
        let (choices, orders) = tokio::join!(join_all(choices), join_all(orders));
        assert_eq!(choices.iter().filter(|status| **status == 200).count(), 10, "{choices:?}");
        assert_eq!(orders, [201; 10]);
        let all = list(&shop, "?limit=100").await;
        assert_eq!((&all["total"], ids(&all).len()), (&json!(20), 20));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_and_page_are_clamped_and_anything_but_a_number_is_refused() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        for (query, limit, page) in [
            ("?limit=0", 1, 0),
            ("?limit=1", 1, 0),
            ("?limit=-5", 1, 0),
            ("?limit=100", 100, 0),
            ("?limit=101", 100, 0),
            ("?limit=99999999999999999999", 100, 0),
            ("?limit=", 10, 0),
            ("?limit=7&limit=8", 8, 0),
            ("?page=-1", 10, 0),
            ("?page=3", 10, 3),
        ] {
            let list = list(&shop, query).await;
            assert_eq!((&list["limit"], &list["page"]), (&json!(limit), &json!(page)), "{query}");
        }
        let far = list(&shop, "?page=99999999999999999999&limit=100").await;
        assert_eq!((&far["data"], &far["pagesCount"]), (&json!([]), &json!(1)));
        for query in [
            "?limit=abc",
            "?limit=1.5",
            "?limit=1e2",
            "?limit=%00",
            "?limit=%FF",
            "?page=x",
            "?page=0x1",
            "?page=+1",
        ] {
            shop.get(&format!("/v1/payment{query}")).await.expect_error(400, "INVALID_REQUEST");
        }
    })
    .await;
}
