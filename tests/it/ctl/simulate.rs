//! `gatewayctl simulate`: manual control of the sandbox's chain.

use super::with_database;

const ADDRESS: &str = "0x52908400098527886E0F7030069857D2E4169EE7";

#[tokio::test]
async fn a_simulated_deposit_is_mined_and_confirmed_at_once_by_default() {
    with_database(|ctl, _| async move {
        let pay = ["simulate", "deposit", "--network", "polygon", "--address", ADDRESS];
        let mined = ctl.json(&[&pay[..], &["--amount", "1.50"]].concat()).await;
        assert!(mined["txid"].as_str().unwrap().starts_with("0x"), "{mined}");
        let (height, head) = (mined["height"].as_u64().unwrap(), mined["head"].as_u64().unwrap());
        assert_eq!(head - height + 1, 16, "as many blocks as polygon asks for");
        let later = ["--amount", "2", "--unconfirmed", "--txid", "0xab"];
        let waiting = ctl.json(&[&pay[..], &later].concat()).await;
        assert_eq!((&waiting["txid"], &waiting["height"]), (&"0xab".into(), &().into()));
        let confirmed = ctl.json(&["simulate", "confirm", "--txid", "0xab"]).await;
        assert_eq!(confirmed["height"], head + 1);
    })
    .await;
}

#[tokio::test]
async fn broadcasting_the_same_transaction_again_is_no_error_and_no_second_payment() {
    with_database(|ctl, database| async move {
        let pay = ["simulate", "deposit", "--network", "polygon", "--address", ADDRESS];
        let pay = [&pay[..], &["--amount", "1", "--txid", "0xcd"]].concat();
        assert_eq!(ctl.json(&pay).await["new"], true);
        let again = ctl.json(&pay).await;
        assert_eq!((&again["txid"], &again["new"]), (&"0xcd".into(), &false.into()));
        let count: i64 = sqlx::query_scalar("select count(*) from sim_transfer")
            .fetch_one(&mut database.connect().await)
            .await
            .unwrap();
        assert_eq!(count, 1);
    })
    .await;
}

#[tokio::test]
async fn an_orphaned_transaction_is_gone_and_the_chain_is_longer() {
    with_database(|ctl, _| async move {
        let pay = ["simulate", "deposit", "--network", "polygon", "--address", ADDRESS];
        let mined = ctl.json(&[&pay[..], &["--amount", "1", "--txid", "0xef"]].concat()).await;
        let orphaned = ctl.json(&["simulate", "orphan", "--txid", "0xef"]).await;
        assert_eq!((&orphaned["txid"], &orphaned["height"]), (&"0xef".into(), &().into()));
        assert!(orphaned["head"].as_u64() > mined["head"].as_u64());
        let confirm = ctl.run(&["simulate", "confirm", "--txid", "0xef"]).await;
        confirm.expect_failure("no simulated transaction has this id");
    })
    .await;
}

#[tokio::test]
async fn mining_moves_the_head() {
    with_database(|ctl, _| async move {
        let first = ctl.json(&["simulate", "mine", "--network", "bitcoin"]).await;
        let more = ctl.json(&["simulate", "mine", "--network", "bitcoin", "--blocks", "6"]).await;
        assert_eq!(more["head"].as_u64(), first["head"].as_u64().map(|head| head + 6));
    })
    .await;
}

#[tokio::test]
async fn deposits_that_can_never_be_are_wrong_usage() {
    with_database(|ctl, _| async move {
        let pay = ["simulate", "deposit", "--network", "polygon", "--address"];
        let run = async |rest: &[&str]| ctl.run(&[&pay[..], rest].concat()).await;
        run(&["bc1q", "--amount", "1"]).await.expect_wrong_usage("not valid on polygon");
        run(&[ADDRESS, "--amount", "1,5"]).await.expect_wrong_usage("the amount");
        run(&[ADDRESS, "--amount", "1", "--currency", "btc"])
            .await
            .expect_wrong_usage("btc is not a currency of polygon");
        let unknown = ctl.run(&["simulate", "deposit", "--payment-id", "pzi_0", "--amount", "1"]);
        unknown.await.expect_failure("no invoice has the id pzi_0");
    })
    .await;
}

#[tokio::test]
async fn production_has_no_simulated_chain() {
    with_database(|ctl, database| async move {
        let mut url = url::Url::parse(&database.url).unwrap();
        if url.password().is_none() {
            // A database server without password authentication accepts any; production refuses an
            // empty one.
            url.set_password(Some("chosen-by-nobody")).unwrap();
        }
        let production = ctl
            .with("DATABASE_URL", url.as_str())
            .with("GATEWAY_PROFILE", "production")
            .with("GATEWAY_RATES__PROVIDERS", "kraken");
        let mine = production.run(&["simulate", "mine", "--network", "polygon"]).await;
        mine.expect_failure("polygon is not simulated in this stack");
    })
    .await;
}
