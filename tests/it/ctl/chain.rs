//! `gatewayctl chain`: continuing after a reorg deeper than the watcher remembers.

use gateway::{
    app::deposit::follow_chain::{FollowError, follower_of},
    asset::Network,
    invoice::Status,
};
use support::{
    client::ctl::Ctl,
    shop::{Shop, with_shop},
};

fn restart(height: &str) -> [&str; 6] {
    ["chain", "restart", "--network", "polygon", "--height", height]
}

/// As if the blocks from `height` on were of an abandoned branch.
async fn stray(shop: &Shop, height: i64) {
    let mut connection = shop.stack.database.connect().await;
    for statement in [
        "update chain_block set hash = 'x' || hash where network = 'polygon' and height >= $1",
        "update chain_cursor set hash = 'x' || hash where network = 'polygon' and height >= $1",
        "update deposit set block_hash = 'x' || block_hash where network = 'polygon' and height >= $1",
        "delete from chain_block where network = 'polygon' and height < $1",
    ] {
        sqlx::query(statement).bind(height).execute(&mut connection).await.unwrap();
    }
    sqlx::Connection::close(connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn after_too_deep_a_reorg_a_watcher_continues_from_a_named_block_below_it() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        let gateway = &shop.stack.gateway;
        shop.look(Network::Polygon).await;
        let (before, after) = (shop.invoice().await, shop.invoice().await);
        shop.pay(&before, "100").await;
        shop.pay(&after, "100").await;
        shop.look(Network::Polygon).await;
        let heights = "select height from deposit order by height limit 1";
        let first = shop.number(heights).await;
        let second = shop.number("select height from deposit order by height desc limit 1").await;
        for id in [&before, &after] {
            let deposit = shop.deposit_of(id).await;
            gateway.match_deposits(deposit).await.unwrap();
        }
        let low = (first + 1).to_string();
        ctl.run(&restart(&low)).await.expect_failure("continues by itself");

        stray(&shop, second - 2).await;
        let settings = gateway.config.chain(Network::Polygon);
        let mut follower = follower_of(gateway, settings).unwrap().unwrap();
        let stopped = follower.look(gateway).await;
        assert!(matches!(stopped, Err(FollowError::ReorgTooDeep { .. })), "{stopped:?}");
        let too_high = (second - 1).to_string();
        ctl.run(&restart(&too_high)).await.expect_failure("name a lower one");
        let asked = ctl.json(&restart(&low)).await;
        assert_eq!(
            (&asked["deposits"], &asked["restarted"]),
            (&1.into(), &false.into()),
            "{asked}"
        );
        let alerts = "select count(*) from operator_alert where kind = 'reorg_too_deep'";
        assert_eq!(shop.number(alerts).await, 1);

        let mut sure = restart(&low).to_vec();
        sure.push("--yes");
        ctl.run(&sure).await.expect_wrong_usage("--reason");
        sure.extend(["--reason", "drill", "--by", "ada"]);
        assert_eq!(ctl.json(&sure).await["restarted"], true);
        assert_eq!(shop.number(alerts).await, 0);
        // The same watcher continues, and finds the deposits that it had read on the other branch.
        while !follower.look(gateway).await.unwrap().complete {}
        assert_eq!(shop.number("select count(*) from deposit where state = 'settled'").await, 2);
        let lost = "select count(*) from deposit where height is null or block_hash like 'x%'";
        assert_eq!(shop.number(lost).await, 0);
        for id in [&before, &after] {
            assert_eq!((shop.status(id).await, shop.books(id).await.len()), (Status::Paid, 1));
        }
        assert_eq!(shop.number("select count(*) from operator_alert").await, 0);
        let noted =
            "select count(*) from audit_entry where subject_kind = 'chain' and operator = 'ada'";
        assert_eq!(shop.number(noted).await, 1);
        ctl.run(&sure).await.expect_failure("continues by itself");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_is_not_restarted_above_the_fork_point() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.look(Network::Polygon).await;
        let height = shop.number("select height from deposit").await;
        shop.run("update deposit set block_hash = 'x' || block_hash").await;
        stray(&shop, height + 3).await;
        let above = (height + 1).to_string();
        ctl.run(&restart(&above)).await.expect_failure("a deposit was read in a block");
        let below = (height - 1).to_string();
        assert_eq!(ctl.json(&restart(&below)).await["deposits"], 1);
    })
    .await;
}
