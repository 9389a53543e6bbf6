//! `gatewayctl listen`: a receiver to try out webhooks, which reports for each one if its signature
//! verifies.

use std::io::{self, Write};

use serde_json::Value;

use crate::{
    proof::Proof,
    receiver::{Channel, Delivery, Receiver},
};

#[derive(clap::Args)]
pub struct Args {
    /// The merchant's webhook secret, as it was shown
    #[arg(long, env = "WEBHOOK_SECRET", hide_env_values = true)]
    secret: String,
    /// The loopback port to listen on
    #[arg(long, default_value_t = 9999)]
    port: u16,
}

/// Prints every webhook that arrives, until it is interrupted.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let mut receiver = Receiver::start(&args.secret, args.port).await?;
    say(&format!("listening, Ctrl-C ends; ipn_callback_url for payments: {}", receiver.ipn_url()))?;
    say(&format!("payout webhook URL, or an order's callbackUrl: {}", receiver.payout_url()))?;
    loop {
        say(&describe(&receiver.next().await?))?;
    }
}

fn describe(delivery: &Delivery) -> String {
    match (&delivery.verdict, delivery.channel) {
        (Ok(proof), Channel::Ipn) => told(proof, &["/payment_status", "/payment_id"]),
        (Ok(proof), Channel::Payout) => told(proof, &["/eventType", "/order/state", "/order/id"]),
        (Err(reason), Channel::Ipn) => {
            format!("REFUSED   {reason}; answered 401, so it will be tried again")
        }
        (Err(reason), Channel::Payout) => {
            format!("REFUSED   {reason}; answered 401, so it will not come again")
        }
    }
}

/// Text for a verified delivery: the body's values at `places`, and the whole body.
fn told(proof: &Proof, places: &[&str]) -> String {
    let at = |place: &&str| proof.body.pointer(place).and_then(Value::as_str).unwrap_or("-");
    let words: Vec<_> = places.iter().map(at).collect();
    let (event, bytes) = (&proof.event_id, proof.bytes);
    format!("verified  {}  event {event}, {bytes} bytes\n{}", words.join("  "), proof.body)
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
