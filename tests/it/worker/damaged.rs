//! Rows with a text that no release wrote: an error where it is read, and nothing is decided.

use gateway::{
    app::{
        deposit::follow_chain::{FollowError, follower_of},
        sandbox::simulate::Deposit,
    },
    asset::Network,
    storage::StorageError,
};
use support::shop::{Shop, deposit, with_shop};

const NETWORK: Network = Network::Polygon;

/// A credited payment of 100 in the transaction 0xbad.
async fn credited(shop: &Shop) -> String {
    let id = shop.invoice().await;
    shop.send(&Deposit { txid: Some("0xbad".to_owned()), ..deposit(&id, "100") }).await;
    shop.look(NETWORK).await;
    shop.stack.gateway.match_deposits(shop.deposit_of(&id).await).await.unwrap();
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_of_an_unknown_booking_is_not_reversed_as_if_it_had_none() {
    with_shop(|shop| async move {
        let (gateway, id) = (&shop.stack.gateway, credited(&shop).await);
        shop.stack
            .sql(
                "alter table deposit drop constraint deposit_booked_as_known;
                 update deposit set booked_as = 'lent'",
            )
            .await;
        gateway.simulate_orphan("0xbad").await.unwrap();
        let settings = gateway.config.chain(NETWORK);
        let mut follower = follower_of(gateway, settings).unwrap().unwrap();
        let error = loop {
            match follower.look(gateway).await {
                Ok(look) => assert!(!look.complete, "the deposit was reversed"),
                Err(error) => break error,
            }
        };
        let FollowError::Storage(StorageError::Damaged { reason, .. }) = error else {
            panic!("{error}");
        };
        assert!(reason.contains("\"lent\" is no known booking of a deposit"), "{reason}");
        let kinds: Vec<_> = shop.books(&id).await.into_iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, ["deposit"]);
        let reversed = "select count(*) from deposit where state = 'reversed'";
        assert_eq!(shop.number(reversed).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_booking_of_one_deposit_is_refused_and_takes_its_decision_with_it() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let id = credited(&shop).await;
        // A reversal that another hand has booked already.
        shop.stack
            .sql(
                "insert into ledger_entry (kind, source, asset, debit, credit, amount)
                 select 'reversal', source, asset, credit, debit, amount from ledger_entry where kind = 'deposit'",
            )
            .await;
        gateway.simulate_orphan("0xbad").await.unwrap();
        let settings = gateway.config.chain(NETWORK);
        let mut follower = follower_of(gateway, settings).unwrap().unwrap();
        let error = loop {
            match follower.look(gateway).await {
                Ok(look) => assert!(!look.complete, "it was booked twice, or not at all"),
                Err(error) => break error,
            }
        };
        let FollowError::Storage(StorageError::Damaged { table, reason }) = error else {
            panic!("{error}");
        };
        assert_eq!(table, "ledger_entry");
        assert!(reason.ends_with("was booked as reversal before"), "{reason}");
        assert_eq!(shop.books(&id).await.len(), 2);
        let reversed = "select count(*) from deposit where state = 'reversed'";
        assert_eq!(shop.number(reversed).await, 0);
    })
    .await;
}
