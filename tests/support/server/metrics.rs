//! Metrics of programs, as Prometheus reads them.

use std::net::SocketAddr;

use crate::client::exchange::Exchange;

/// The page of one program.
pub struct Page(pub String);

impl Page {
    /// Requests the page of the program that serves its metrics at `address`.
    pub async fn read(address: SocketAddr) -> Result<Self, String> {
        match Exchange::get(address, "/metrics").await {
            Ok(answer) if answer.status == 200 => Ok(Self(answer.body)),
            other => Err(format!("{address}: {other:?}")),
        }
    }

    /// Sum of all series of a metric with this label (`to="paid"`), or of all if it is empty.
    pub fn sum(&self, measure: &str, label: &str) -> u64 {
        let series = self.0.lines().filter_map(|line| line.strip_prefix(measure));
        series
            .filter(|rest| rest.starts_with(['{', ' ']) && rest.contains(label))
            .map(|rest| rest.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
            .sum()
    }
}

/// Contradictions in the metrics of live programs, once `orders` orders are finished and no work is
/// left. Programs count their commits, so together never more than there are, and fewer if one of
/// them died.
pub fn contradictions(pages: &[Page], orders: usize) -> Vec<String> {
    let counts = [
        ("invoice_transitions_total", "to=\"paid\"", orders as u64),
        ("ipn_attempts_total", "outcome=\"delivered\"", orders as u64),
        ("ipn_attempts_total", "outcome=\"dead\"", 0),
    ];
    let counted = counts.into_iter().filter_map(|(measure, label, most)| {
        let sum: u64 = pages.iter().map(|page| page.sum(measure, label)).sum();
        (sum > most)
            .then(|| format!("{measure} with {label} is {sum}, and at most {most} happened"))
    });
    let gauges = [
        ("database_up", 1),
        ("outbox_waiting", 0),
        ("ipn_dead_letters", 0),
        ("payout_webhook_dead_letters", 0),
    ];
    let told = pages.iter().flat_map(|page| {
        gauges.into_iter().filter_map(|(measure, is)| {
            let told = page.sum(measure, "");
            (told != is).then(|| format!("{measure} is told as {told}, and is {is}"))
        })
    });
    counted.chain(told).collect()
}
