//! A new master key, while orders are bound by the old one.

use gateway::asset::Network;
use gateway_workers::Role;
use serde_json::json;
use support::{
    client::ctl::Ctl,
    server::stack::{MASTER_KEY, only, with_configured_stack},
    shop::payouts::Payer,
};

use super::{EVM, two_rows};

const NEW_KEY: &str = "7777777777777777777777777777777777777777777777777777777777777777";

#[tokio::test(flavor = "multi_thread")]
async fn an_order_bound_under_the_old_master_key_is_paid_under_the_new_one() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        let both = Ctl::of(&stack)
            .with("GATEWAY_MASTER_KEY", NEW_KEY)
            .with("GATEWAY_MASTER_KEY_OLD", MASTER_KEY);
        assert_eq!(both.json(&["secrets", "rotate"]).await["orders_rebound"], json!(1));
        assert_eq!(both.json(&["secrets", "rotate"]).await["orders_rebound"], json!(0));

        let gateway = stack.under_master_key(NEW_KEY);
        let roles: Vec<_> =
            Role::ALL.into_iter().filter(|role| *role != Role::RateRefresher).collect();
        stack.start_on(&gateway, &roles);
        payer.fund(&order, order["totalToSendRaw"].as_str().unwrap().parse().unwrap()).await;
        assert_eq!(payer.becomes(&id, "completed").await.order.held, None);
    })
    .await;
}

/// Another hand changed it: neither key binds it, and a rotation says so instead of hiding it.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_neither_key_bound_is_counted_and_named_and_stops_no_rotation() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let mut ids = Vec::new();
        for _ in 0..2 {
            let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
            payer.confirm(EVM, &id).await;
            ids.push(id);
        }
        let mut connection = stack.database.connect().await;
        let other = "update payout_order set digest = sha256('other') where order_id = $1";
        sqlx::query(other).bind(&ids[0]).execute(&mut connection).await.unwrap();
        let both = Ctl::of(&stack)
            .with("GATEWAY_MASTER_KEY", NEW_KEY)
            .with("GATEWAY_MASTER_KEY_OLD", MASTER_KEY);
        let rotated = both.run(&["secrets", "rotate"]).await;
        assert_eq!(rotated.code, 1, "{rotated:?}");
        assert!(
            rotated.stdout.contains(&ids[0]) && !rotated.stdout.contains(&ids[1]),
            "{rotated:?}"
        );
        let progress = "2 of 2 payout orders looked at, 1 bound anew";
        assert!(rotated.stderr.contains(progress), "{rotated:?}");
        let again = both.run(&["--json", "secrets", "rotate"]).await;
        assert_eq!(again.code, 1, "{again:?}");
        let again = again.json();
        assert_eq!((&again["orders"], &again["orders_rebound"]), (&json!(2), &json!(0)));
        assert_eq!(
            (&again["orders_unbound"], &again["unbound_orders"]),
            (&json!(1), &json!([ids[0]]))
        );
    })
    .await;
}
