//! Creation on a disk whose every sync takes 20 ms, as those of many rented machines do, beside the
//! same statements in a bare loop on the same disk.

use std::time::Duration;

use support::server::private_postgres::forgetful_postgres;

use crate::{
    creation::Pair,
    report::{Goal, Report, Rounds},
    world::with_world_over,
};

const SYNC: Duration = Duration::from_millis(20);
const NAME: &str = "slow disk: POST /v1/payment, 64 connections, syncs of 20 ms";

pub async fn run(report: &mut Report) {
    if !report.wants(NAME) {
        return;
    }
    let server = forgetful_postgres().await;
    let (database, other) = (server.create_database().await, server.create_database().await);
    let mut rounds = Rounds::default();
    let (of_all, count, disk) = (&mut rounds, report.rounds, server.disk());
    with_world_over(&database, &[], |world| async move {
        with_world_over(&other, &[], |apart| async move {
            let pair = Pair::warm(world, apart).await;
            disk.sync_takes(SYNC);
            for _ in 0..count {
                let bare = pair.one_by_one().await;
                of_all.add(pair.through_the_api().await, bare);
            }
            disk.sync_takes(Duration::ZERO);
        })
        .await;
    })
    .await;
    let limit = "the same statements committed by a bare loop on the same disk";
    report.ratio(NAME, "/s", limit, Goal::AtLeast(0.6), rounds);
}
