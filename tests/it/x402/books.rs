//! The verification of the ledger compares settlements too.

use super::scene::{CENT, Scene, with_scene};

/// What is found about settlements.
async fn faults(scene: &Scene) -> Vec<String> {
    let told = scene.stack.gateway.verify_ledger(None).await.unwrap().told;
    told.into_iter().filter(|fault| fault.contains("settlement ")).collect()
}

/// A settled row beside the real one, which ended so long ago and says that it took this for gas.
async fn insert(scene: &Scene, nonce: u8, ended: &str, fee: &str) {
    let mut connection = scene.stack.database.connect().await;
    let statement = format!(
        "insert into x402_settlement (id, merchant_id, address_id, network, asset, payer, nonce, amount, call_sha256, call, \
         valid_before, state, sender, tx_nonce, tx_hash, gas_usd, signed_at, ended_at, fee)
         select gen_random_uuid(), merchant_id, address_id, network, asset, payer, decode(repeat('{nonce:02x}', 32), 'hex'), \
         amount, call_sha256, call, valid_before, 'settled', sender, 1000 + {nonce}, 'hash-{nonce}', gas_usd, signed_at, \
         now() - interval '{ended}', {fee}
         from x402_settlement order by created_at limit 1"
    );
    sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_without_its_deposit_or_with_other_gas_than_the_books_is_a_fault() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        assert_eq!(scene.settle(&request).await["success"], true);
        let ended = "select count(*) from x402_settlement where state = 'settled'";
        scene.until("it is final", ended, 1).await;
        let booked = "select count(*) from ledger_entry where kind = 'x402_payment'";
        scene.until("it is booked", booked, 1).await;
        scene.stack.sql("update x402_settlement set ended_at = now() - interval '2 hours'").await;
        assert_eq!(faults(&scene).await, [""; 0]);

        insert(&scene, 2, "59 minutes", "null").await;
        assert_eq!(faults(&scene).await, [""; 0]);
        insert(&scene, 3, "61 minutes", "0").await;
        let told = faults(&scene).await;
        assert!(told.len() == 1 && told[0].contains("hash-3"), "{told:?}");
        assert!(told[0].contains("no deposit of it is booked"), "{told:?}");

        insert(&scene, 4, "1 minute", "7").await;
        let told = faults(&scene).await.into_iter().find(|fault| fault.contains("hash-4")).unwrap();
        assert!(told.contains("took 7 for gas, and the ledger has 0"), "{told}");
        // An entry of gas that no settlement says it took.
        scene
            .stack
            .sql("update x402_settlement set fee = null where tx_hash not like 'hash-%'")
            .await;
        assert_eq!(
            faults(&scene).await.iter().filter(|fault| fault.contains("took 0 for gas")).count(),
            1
        );
    })
    .await;
}
