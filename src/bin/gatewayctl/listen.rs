//! `gatewayctl listen`: a receiver for trying webhooks out, which says of each one whether it verifies.

use std::io::{self, Write};

use serde_json::Value;

use crate::receiver::{Delivery, Receiver};

#[derive(clap::Args)]
pub struct Args {
    /// The merchant's webhook secret, as it was shown
    #[arg(long, env = "WEBHOOK_SECRET", hide_env_values = true)]
    secret: String,
    /// The loopback port to listen on
    #[arg(long, default_value_t = 9999)]
    port: u16,
}

/// Tells every webhook that arrives, until it is interrupted.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let mut receiver = Receiver::start(&args.secret, args.port).await?;
    say(&format!("listening; use {} as ipn_callback_url, Ctrl-C ends", receiver.url()))?;
    loop {
        say(&describe(&receiver.next().await?))?;
    }
}

fn describe(delivery: &Delivery) -> String {
    match &delivery.verdict {
        Ok(proof) => {
            let field = |name: &str| proof.body.get(name).and_then(Value::as_str).unwrap_or("-");
            let (payment, status) = (field("payment_id"), field("payment_status"));
            let (event, bytes) = (&proof.event_id, proof.bytes);
            format!("verified  {status}  {payment}  event {event}, {bytes} bytes\n{}", proof.body)
        }
        Err(reason) => format!("REFUSED   {reason}; answered 401, so it will be tried again"),
    }
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
