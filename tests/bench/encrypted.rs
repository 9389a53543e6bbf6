//! A backlog delivered over TLS beside the same over plain HTTP, and the number of handshakes: a
//! connection that is not kept costs the receiver one for each IPN.

use std::time::Duration;

use crate::{
    delivery::{BACKLOG, IN_FLIGHT_SETTING, MERCHANTS, drain, drain_to},
    endpoint::Endpoint,
    report::{Goal, Report, Rounds},
    world::with_world,
};

const PAUSES: [(&str, Duration); 2] = [
    ("tls: IPNs per second, receivers answer after 20 ms", Duration::from_millis(20)),
    ("tls: IPNs per second, receivers answer after 200 ms", Duration::from_millis(200)),
];

pub async fn run(report: &mut Report) {
    for (name, pause) in PAUSES {
        if report.wants(name) {
            encrypted(report, name, pause).await;
        }
    }
}

async fn encrypted(report: &mut Report, name: &str, pause: Duration) {
    let (mut rate, mut handshakes) = (Rounds::default(), Rounds::default());
    let (of_rate, of_handshakes, count) = (&mut rate, &mut handshakes, report.rounds);
    with_world(&[IN_FLIGHT_SETTING], |world| async move {
        for round in 0..=count {
            let plain = drain(&world, 1, pause, BACKLOG, MERCHANTS).await;
            let receivers = Endpoint::answering_over_tls_after(pause).await;
            let over_tls = drain_to(&receivers, &world, 1, BACKLOG, MERCHANTS).await;
            // The first round warms up.
            if round > 0 {
                of_rate.add(over_tls, plain);
                of_handshakes
                    .add(receivers.handshakes() as f64, receivers.connections_needed() as f64);
            }
        }
    })
    .await;
    let limit = "the same IPNs over plain HTTP";
    report.ratio(name, "/s", limit, Goal::AtLeast(0.8), rate);
    let name = format!("{name}: handshakes for {BACKLOG} IPNs");
    let limit = "the most requests that each receiver had at once, added up";
    report.ratio(&name, "", limit, Goal::AtMost(1.1), handshakes);
}
