//! `gatewayctl listen`: a receiver to try out webhooks, which reports for each one if its signature
//! verifies, and hands it on to a receiver that is being written.

mod feed;

use std::io::{self, Write};

use serde_json::Value;

use self::feed::Feed;
use crate::{
    failure::wrong_usage,
    forward::{Forwarded, Targets},
    proof::{Channel, Proof},
    receiver::{Delivery, Receiver},
};

#[derive(clap::Args)]
pub struct Args {
    /// The merchant's webhook secret, as it was shown
    #[arg(long, env = "WEBHOOK_SECRET", hide_env_values = true)]
    secret: String,
    /// The loopback port to listen on
    #[arg(long, default_value_t = 9999)]
    port: u16,
    /// Hand payment IPNs on to this address, and answer what it answers
    #[arg(long, value_name = "URL")]
    forward: Option<String>,
    /// The same for webhooks of mass payouts
    #[arg(long, value_name = "URL")]
    forward_payouts: Option<String>,
    /// Listen on no port: ask the API for events and post them to the addresses above
    #[arg(long, requires = "api_key")]
    feed: bool,
    /// The merchant's API key, for --feed
    #[arg(long, env = "API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// Where the API is, for --feed
    #[arg(long, env = "GATEWAY_BASE_URL", default_value = "http://127.0.0.1:8080")]
    base_url: String,
    /// Begin behind this event instead of now, for --feed
    #[arg(long, value_name = "EVENT_ID", requires = "feed")]
    after: Option<String>,
}

/// Prints every webhook that arrives, until it is interrupted.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let targets = Targets::new(args.forward.as_deref(), args.forward_payouts.as_deref());
    let targets = targets.map_err(wrong_usage)?;
    if !args.feed {
        return receive(&args, targets).await;
    }
    if args.forward.is_none() && args.forward_payouts.is_none() {
        return Err(wrong_usage("--feed posts events on: name --forward or --forward-payouts"));
    }
    let key = args.api_key.unwrap_or_default();
    let feed = Feed::new(&args.base_url, &key);
    let feed = feed.map_err(|reason| wrong_usage(format!("{}: {reason}", args.base_url)))?;
    feed.follow(args.after, &targets, &args.secret.into()).await
}

async fn receive(args: &Args, targets: Targets) -> anyhow::Result<()> {
    let mut receiver = Receiver::forwarding(&args.secret, args.port, targets).await?;
    say(&format!("listening, Ctrl-C ends; ipn_callback_url for payments: {}", receiver.ipn_url()))?;
    say(&format!("payout webhook URL, or an order's callbackUrl: {}", receiver.payout_url()))?;
    loop {
        let delivery = receiver.next().await?;
        say(&describe(&delivery))?;
        if let Some(forwarded) = &delivery.forwarded {
            say(&format!("{}{}", forwarded.told(), consequence(forwarded, delivery.channel)))?;
        }
    }
}

/// What the gateway does next, which has got the same answer.
fn consequence(forwarded: &Forwarded, channel: Channel) -> &'static str {
    if forwarded.is_taken() {
        ""
    } else if forwarded.drops(channel) {
        "; so it will not come again"
    } else if forwarded.status.is_err() {
        "; answered 502, so it will be tried again"
    } else {
        "; so it will be tried again"
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
