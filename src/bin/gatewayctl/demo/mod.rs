//! `gatewayctl demo`: one invoice from the order to the verified webhook, on the sandbox's
//! simulated chain.
//!
//! Plays the merchant and the buyer from outside: it uses the public API, its own command line and
//! a receiver built only from the merchants' documentation. It must not reach into the gateway's
//! storage or queues.

mod api;
mod timeline;

use std::{process::Command, time::Duration};

use anyhow::{Context, bail};
use gateway::money::BaseUnits;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use self::{api::Api, timeline::Timeline};
use crate::receiver::Receiver;

const COMMAND_LIMIT: Duration = Duration::from_secs(30);
/// Far more than a healthy stack needs; a longer wait would only hide a fault.
const STATUS_LIMIT: Duration = Duration::from_secs(30);
/// Allows for one failed attempt and its 30 s pause.
const WEBHOOK_LIMIT: Duration = Duration::from_secs(60);
/// Short at first, as it usually takes a moment; then long enough for the limit of 60 requests a
/// minute.
const POLL_FIRST: Duration = Duration::from_millis(100);
const POLL_LAST: Duration = Duration::from_millis(1600);

#[derive(clap::Args, Debug)]
pub struct Args {
    /// Where merchants reach the API
    #[arg(long, env = "GATEWAY_BASE_URL", default_value = "http://127.0.0.1:8080")]
    base_url: String,
    /// Price of the order in US dollars
    #[arg(long, default_value = "25")]
    price: String,
    /// Currency in which the buyer pays
    #[arg(long, default_value = "usdtmatic")]
    currency: String,
}

/// Takes one invoice through its life and prints every step. An error names the step that failed.
pub async fn run(args: Args) -> anyhow::Result<()> {
    let timeline = Timeline::start("One invoice, from the order to the signed webhook");
    let merchant = create_merchant(&timeline).await?;
    let mut receiver = Receiver::start(&merchant.webhook_secret, 0).await?;
    timeline.event("receiver", &format!("listens on {}", receiver.ipn_url()));
    let api = Api::new(&args.base_url, &merchant.api_key);
    let invoice = create_invoice(&timeline, &api, &args, &receiver.ipn_url()).await?;

    pay(&timeline, &invoice, invoice.half, "half of it").await?;
    await_status(&timeline, &api, &invoice, "partially_paid").await?;
    pay(&timeline, &invoice, invoice.due.remaining_after(invoice.half), "the rest").await?;
    await_status(&timeline, &api, &invoice, "finished").await?;
    await_webhook(&timeline, &mut receiver, &invoice).await?;

    timeline.end(&[
        ("API key", merchant.api_key.clone()),
        ("checkout", invoice.checkout_url.clone()),
        ("try it", api.curl_example()),
    ]);
    Ok(())
}

struct Merchant {
    api_key: String,
    webhook_secret: String,
}

async fn create_merchant(timeline: &Timeline) -> anyhow::Result<Merchant> {
    let created = gatewayctl(&["merchant", "create", "--name", "Demo shop"]).await?;
    let merchant = Merchant {
        api_key: text(&created, "api_key")?,
        webhook_secret: text(&created, "webhook_secret")?,
    };
    timeline.event("merchant", &format!("Demo shop, {}", text(&created, "merchant_id")?));
    Ok(merchant)
}

struct Invoice {
    id: String,
    checkout_url: String,
    /// The currency's symbol and network, for people.
    unit: String,
    decimals: u32,
    due: BaseUnits,
    half: BaseUnits,
}

async fn create_invoice(
    timeline: &Timeline,
    api: &Api,
    args: &Args,
    ipn_callback_url: &str,
) -> anyhow::Result<Invoice> {
    let price: Value = serde_json::from_str(&args.price).context("--price is not a number")?;
    let order = json!({
        "price_amount": price,
        "price_currency": "usd",
        "pay_currency": args.currency,
        "order_id": "demo",
        "order_description": "One demonstration",
        "ipn_callback_url": ipn_callback_url,
    });
    let created = api.create_payment(&order).await?;
    let decimals = created["network_precision"].as_u64().context("no network_precision")?;
    let decimals = u32::try_from(decimals)?;
    let due = BaseUnits::parse(&created["pay_amount"].to_string(), decimals)?;
    let invoice = Invoice {
        id: text(&created, "payment_id")?,
        checkout_url: text(&created, "invoice_url")?,
        unit: text(&created, "pay_currency")?,
        decimals,
        due,
        half: BaseUnits::new(due.get() / 2),
    };
    let amount = due.to_decimal(decimals);
    timeline.event(
        "invoice",
        &format!("{}, {} usd = {amount} {}", invoice.id, args.price, invoice.unit),
    );
    let place = format!("{} on {}", text(&created, "pay_address")?, text(&created, "network")?);
    timeline.detail(&format!("to {place}"));
    timeline.detail(&format!("checkout {}", invoice.checkout_url));
    Ok(invoice)
}

async fn pay(
    timeline: &Timeline,
    invoice: &Invoice,
    amount: BaseUnits,
    share: &str,
) -> anyhow::Result<()> {
    let amount = amount.to_decimal(invoice.decimals);
    let command = ["simulate", "deposit", "--payment-id", &invoice.id, "--amount", &amount];
    let deposit = gatewayctl(&command).await?;
    timeline.event("deposit", &format!("{amount} {}, {share}", invoice.unit));
    timeline.detail(&format!("transaction {}", text(&deposit, "txid")?));
    Ok(())
}

async fn await_status(
    timeline: &Timeline,
    api: &Api,
    invoice: &Invoice,
    wanted: &str,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + STATUS_LIMIT;
    let mut pause = POLL_FIRST;
    loop {
        let payment = api.payment(&invoice.id).await?;
        let status = text(&payment, "payment_status")?;
        if status == wanted {
            let due = invoice.due.to_decimal(invoice.decimals);
            timeline.event(
                "status",
                &format!("{status}, {} of {due} arrived", payment["actually_paid"]),
            );
            return Ok(());
        }
        if Instant::now() >= deadline {
            bail!(
                "{} is still {status} after {} s, not {wanted}: is gateway-worker running? Its log tells more",
                invoice.id,
                STATUS_LIMIT.as_secs()
            );
        }
        sleep(pause).await;
        pause = (pause * 2).min(POLL_LAST);
    }
}

async fn await_webhook(
    timeline: &Timeline,
    receiver: &mut Receiver,
    invoice: &Invoice,
) -> anyhow::Result<()> {
    let late = || {
        let seconds = WEBHOOK_LIMIT.as_secs();
        format!("no webhook within {seconds} s: see the log of gateway-worker, role ipn-delivery")
    };
    let delivery = timeout(WEBHOOK_LIMIT, receiver.next()).await.with_context(late)??;
    let proof = delivery.verdict.context("a webhook arrived, but it does not verify")?;
    let (id, status) = (text(&proof.body, "payment_id")?, text(&proof.body, "payment_status")?);
    if (id.as_str(), status.as_str()) != (invoice.id.as_str(), "finished") {
        bail!("the webhook says that {id} is {status}, not that {} is finished", invoice.id);
    }
    timeline.event("webhook", &format!("{status}, event {}", proof.event_id));
    timeline.detail(&format!("HMAC-SHA-512 over the {} received bytes verified", proof.bytes));
    Ok(())
}

/// Runs this very program, as an operator would, and returns its JSON value.
async fn gatewayctl(arguments: &[&str]) -> anyhow::Result<Value> {
    let what = format!("gatewayctl {} {}", arguments[0], arguments[1]);
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command = Command::new(program);
    command.arg("--json").args(arguments);
    let running = tokio::task::spawn_blocking(move || command.output());
    let output = timeout(COMMAND_LIMIT, running)
        .await
        .with_context(|| format!("{what} did not end within {} s", COMMAND_LIMIT.as_secs()))??
        .with_context(|| format!("{what} could not be started"))?;
    if !output.status.success() {
        bail!("{what} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("{what} printed no JSON"))
}

fn text(object: &Value, field: &str) -> anyhow::Result<String> {
    let value = object.get(field).and_then(Value::as_str);
    value.map(str::to_owned).with_context(|| format!("the answer has no text in {field}"))
}
