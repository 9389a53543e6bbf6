//! Deliveries that cannot be signed: set aside at once, told once, and sent when their merchant has
//! a secret again.

use gateway::{
    app::Gateway, broker::route::DeadLetterQueue, config::Config, merchant::secret::MasterKey,
};
use gateway_workers::Role;
use serde_json::json;
use support::{
    fault::fired::fired,
    server::stack::MASTER_KEY,
    shop::{Shop, with_configured_shop, with_shop},
};
use uuid::Uuid;

const ALERTS: &str = "select count(*) from operator_alert where kind = 'delivery_unsignable'";

#[tokio::test(flavor = "multi_thread")]
async fn an_unsignable_delivery_becomes_one_dead_letter_and_is_sent_after_repair_and_requeue() {
    with_shop(|shop| async move {
        shop.run("update merchant set webhook_secret_sealed = '\\x0123'").await;
        let ids = [shop.expired(json!({})).await, shop.expired(json!({})).await];
        shop.stack.start(&[Role::IpnDelivery]);
        for id in &ids {
            let (row, attempts) = shop.delivery_becomes(id, "dead").await;
            assert_eq!((row.cycle, row.attempts, row.last_status), (1, 1, None));
            let reason = row.last_error.unwrap();
            assert!(
                reason.contains("it cannot be signed: the sealed secret does not open"),
                "{reason}"
            );
            assert_eq!(attempts.len(), 1);
            fired(1);
        }
        let broker = &shop.stack.broker;
        let dead = broker.topology.dead_letter_queue(DeadLetterQueue::Ipn);
        for _ in &ids {
            let (reason, status) = broker.why_dead(&dead).await;
            assert!(
                reason.as_ref().is_some_and(|it| it.contains("cannot be signed")),
                "{reason:?}"
            );
            assert_eq!(status, None);
            broker.arrival(&dead).await;
        }
        assert!(broker.take(&dead).await.is_none());
        assert_eq!(shop.number(ALERTS).await, 1);
        assert!(shop.receiver.received().is_empty());

        let gateway = &shop.stack.gateway;
        let secret = gateway.rotate_secret(shop.merchant.new.id).await.unwrap();
        assert_eq!(gateway.requeue_dead_letters(&Default::default()).await.unwrap().len(), 2);
        for received in shop.receiver.wait_for(2).await {
            received.verify(secret.reveal());
        }
        for id in &ids {
            let (row, _) = shop.delivery_becomes(id, "delivered").await;
            assert_eq!((row.cycle, row.attempts), (2, 1));
        }
    })
    .await;
}

const OLD_KEY: &str = "7777777777777777777777777777777777777777777777777777777777777777";

/// Puts the shop back to before its rotation: everything sealed under the old key.
async fn sealed_under_the_old_key(shop: &Shop) {
    let (old, new) = (MasterKey::parse(OLD_KEY).unwrap(), &shop.merchant.new);
    let mut connection = shop.stack.database.connect().await;
    let secret = "update merchant set webhook_secret_sealed = $2 where id = $1";
    let sealed = old.seal(new.id, &new.webhook_secret);
    sqlx::query(secret).bind(new.id).bind(sealed).execute(&mut connection).await.unwrap();
    let proof = sqlx::query("update master_key_proof set sealed = $1").bind(old.seal_proof());
    assert_eq!(proof.execute(&mut connection).await.unwrap().rows_affected(), 1);
}

/// Another process over the same database, with the new key alone.
fn process_with_the_new_key(shop: &Shop) -> Gateway {
    let toml = format!(
        "database_url = {:?}\namqp_url = \"amqp://nobody.invalid\"\nmaster_key = {MASTER_KEY:?}",
        shop.stack.database.url
    );
    Gateway::new(Config::from_toml(&toml).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_go_out_before_during_and_after_a_rotation_with_the_same_secret() {
    let toml = format!("master_key_old = {OLD_KEY:?}\n");
    with_configured_shop(&toml, Default::default(), |shop| async move {
        sealed_under_the_old_key(&shop).await;
        shop.stack.start(&[Role::IpnDelivery]);
        shop.expired(json!({})).await;
        shop.webhook(1).await;
        let gateway = &shop.stack.gateway;
        assert_eq!(gateway.rotate_batch(Uuid::nil()).await.unwrap().resealed, 1);
        shop.expired(json!({})).await;
        shop.webhook(2).await;
        // Every process that has both keys starts at any time; one with the new key alone waits for
        // the end.
        assert!(gateway.check_master_key().await.is_ok());
        let new_alone = process_with_the_new_key(&shop);
        assert!(new_alone.check_master_key().await.is_err());
        gateway.finish_rotation().await.unwrap();
        assert!(new_alone.check_master_key().await.is_ok());
        assert!(gateway.check_master_key().await.is_ok());
        shop.expired(json!({})).await;
        shop.webhook(3).await;
    })
    .await;
}
