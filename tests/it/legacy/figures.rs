//! Balance, takings and warnings of a merchant with addresses of its own.

use gateway::{
    app::sandbox::simulate::Deposit, merchant::takings::TokenTakings, storage::merchant_hours,
};
use serde_json::{Value, json};
use support::shop::with_shop;

use super::{
    Legacy,
    addresses::{NETWORK, callback, paid_to, settle},
};

/// A merchant who takes payments at such addresses alone sees them as he would those of invoices.
#[tokio::test(flavor = "multi_thread")]
async fn figures_of_a_merchant_have_the_deposits_at_its_own_addresses() {
    with_shop(|shop| async move {
        let gateway = shop.stack.gateway.clone();
        let merchant_id = shop.merchant.new.id;
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let address = callback(&legacy, &shop.receiver).await;
        let txid = Some("0xbad".to_owned());
        let waiting = Deposit { unconfirmed: true, ..paid_to(&address, "USDTMATIC", "5") };
        shop.send(&Deposit { txid, ..waiting }).await;
        shop.send(&Deposit { unconfirmed: true, ..paid_to(&address, "USDCMATIC", "3") }).await;
        shop.look(NETWORK).await;
        let amounts = async || {
            let found = shop.merchant.client.get("/v1/balance").await.json();
            let entry = |of: &Value| (of["pending"].clone(), of["available"].clone());
            found["balances"].as_array().unwrap().iter().map(entry).collect::<Vec<_>>()
        };
        let mut pending = amounts().await;
        pending.sort_by_key(|(pending, _)| pending.to_string());
        assert_eq!(pending, [(json!("3"), json!("0")), (json!("5"), json!("0"))]);

        shop.stack.gateway.simulate_mine(NETWORK, 20).await.unwrap();
        shop.look(NETWORK).await;
        settle(&shop).await;
        assert!(amounts().await.contains(&(json!("0"), json!("5"))), "{:?}", amounts().await);
        let taken = async || {
            let tokens = gateway.overview(merchant_id).await.unwrap().tokens;
            let sum = |token: &TokenTakings| {
                (token.token_id.clone(), token.month.now + token.month.before)
            };
            tokens.iter().map(sum).collect::<Vec<_>>()
        };
        let expected = vec![("usdtmatic@polygon".to_owned(), 5_000_000)];
        assert_eq!(taken().await, expected);
        let odd = gateway.overview(merchant_id).await.unwrap().odd_deposits;
        assert_eq!(
            (odd.len(), odd[0].payment_id.as_deref(), odd[0].amount.as_str()),
            (1, None, "3000000")
        );
        // An hour that has ended is summed, and changes no figure.
        shop.run("update deposit set settled_at = settled_at - interval '3 hours'").await;
        gateway.sum_hours_again().await.unwrap();
        let mut connection = shop.stack.database.connect().await;
        while merchant_hours::sum_next(&mut connection).await.unwrap() {}
        let summed = "select count(*) from merchant_hour_taking where units = 5000000";
        assert_eq!(shop.number(summed).await, 1);
        assert_eq!(taken().await, expected);
        // One that has left the chain is taken nowhere.
        shop.stack.gateway.simulate_orphan("0xbad").await.unwrap();
        shop.stack.gateway.simulate_mine(NETWORK, 20).await.unwrap();
        shop.look(NETWORK).await;
        assert_eq!(taken().await, []);
    })
    .await;
}
