//! `gatewayctl invoice …`

use clap::{Args, Subcommand};
use gateway::{
    app::{Gateway, invoice::explain::Explanation},
    invoice::payment::{Payment, iso_8601},
    storage::invoices::Invoice,
};
use serde_json::{Value, json};

use crate::{
    find, find_words,
    invoice_list::{self, tone},
    render::{self, Answer, Cell},
    story, words,
};

#[derive(Subcommand)]
pub enum Command {
    /// List invoices, the newest first
    #[command(after_help = find_words::INVOICE_LIST)]
    List(invoice_list::List),
    /// Show the payment as its merchant sees it, with internal details
    #[command(after_help = words::INVOICE_SHOW)]
    Show(Id),
    /// Show the history of the invoice: deposits, bookings, webhooks
    #[command(after_help = words::INVOICE_EXPLAIN)]
    Explain(Named),
    /// Cancel an invoice that nothing was paid for yet
    #[command(after_help = words::INVOICE_CANCEL)]
    Cancel(Id),
}

#[derive(Args)]
pub struct Id {
    /// The invoice's id, pzi_…
    #[arg(value_name = "PAYMENT_ID")]
    payment_id: String,
}

#[derive(Args)]
pub struct Named {
    /// The invoice's id, pzi_…, or its order id
    #[arg(value_name = "PAYMENT_ID")]
    text: String,
}

impl Command {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::List(list) => list.run(gateway).await,
            Self::Show(Id { payment_id }) => {
                let told = explanation(gateway, &payment_id).await?;
                let payment = Payment::render(&told.invoice.view, &gateway.config.checkout_url);
                let text = format!(
                    "{}\nIts history: gatewayctl invoice explain {payment_id}",
                    summary(&told.invoice, &payment)
                );
                Ok(Answer::new(to_json(&told.invoice, &payment)?, text))
            }
            Self::Explain(Named { text }) => explain(gateway, &text).await,
            Self::Cancel(Id { payment_id }) => {
                gateway.cancel_invoice(&payment_id).await?;
                let told = explanation(gateway, &payment_id).await?;
                let payment = Payment::render(&told.invoice.view, &gateway.config.checkout_url);
                let text = format!("{payment_id} is cancelled. Its merchant gets no webhook.");
                Ok(Answer::new(to_json(&told.invoice, &payment)?, text))
            }
        }
    }
}

/// The history of the invoice that `text` names. Of an order id that several have it tells which.
async fn explain(gateway: &Gateway, text: &str) -> anyhow::Result<Answer> {
    let told = match gateway.explain_invoice(text).await? {
        Some(told) => told,
        None => {
            let found = gateway.payments_of_order(text).await?;
            match found.hits.as_slice() {
                [] => anyhow::bail!("no invoice has the id or the order id {text}"),
                [one] => explanation(gateway, &one.row.id).await?,
                _ => {
                    let text =
                        format!("Several invoices have this order id.\n{}", find::text(&found));
                    return Ok(Answer::new(find::to_json(&found), text).bad());
                }
            }
        }
    };
    let payment = Payment::render(&told.invoice.view, &gateway.config.checkout_url);
    let json = story::to_json(to_json(&told.invoice, &payment)?, &told);
    let text = format!("{}\n{}", summary(&told.invoice, &payment), story::text(&told));
    Ok(Answer::new(json, text))
}

async fn explanation(gateway: &Gateway, payment_id: &str) -> anyhow::Result<Explanation> {
    let told = gateway.explain_invoice(payment_id).await?;
    told.ok_or_else(|| anyhow::anyhow!("no invoice has the id {payment_id}"))
}

fn summary(invoice: &Invoice, payment: &Payment) -> String {
    let view = &invoice.view;
    let mut facts = vec![
        ("payment", Cell::from(&view.payment_id)),
        ("status", status(invoice, payment)),
        ("merchant", invoice.merchant_id.to_string().into()),
        ("order", render::or_dash(view.order_id.as_ref())),
        ("price", format!("{} {}", view.price_amount.to_decimal(), view.price_currency).into()),
    ];
    if let Some(asset) = &view.asset {
        let decimals = u32::from(asset.decimals);
        let due = format!(
            "{} {} on {}",
            asset.pay_amount.to_decimal(decimals),
            asset.code,
            asset.network
        );
        facts.push(("due", due.into()));
        facts.push(("received", view.actually_paid.to_decimal(decimals).into()));
        facts.push(("credited", invoice.credited.to_decimal(decimals).into()));
        facts.push(("address", Cell::from(&asset.pay_address)));
    } else {
        let accepted = invoice.accepted_tokens.as_deref().unwrap_or_default();
        facts.push((
            "due",
            format!("not chosen yet, {} currencies on offer", accepted.len()).into(),
        ));
    }
    if let (Some(rate), Some(source), Some(at)) =
        (invoice.rate, &invoice.rate_source, invoice.rate_at)
    {
        let rate = format!("{} from {source}, {}", rate.normalize(), iso_8601(at));
        facts.push(("rate", rate.into()));
    }
    facts.push(("created", iso_8601(view.created_at).into()));
    facts.push(("deadline", iso_8601(view.deadline).into()));
    facts.push(("webhooks", render::or_dash(view.ipn_callback_url.as_ref())));
    render::facts(&facts)
}

fn status(invoice: &Invoice, payment: &Payment) -> Cell {
    let tone = tone(invoice.view.status);
    let internal = invoice.view.status.as_str();
    Cell::toned(format!("{internal} (the merchant sees {})", payment.payment_status), tone)
}

/// The merchant's object, plus the facts that only we know.
fn to_json(invoice: &Invoice, payment: &Payment) -> serde_json::Result<Value> {
    let mut json = serde_json::to_value(payment)?;
    let decimals = invoice.view.asset.as_ref().map_or(0, |asset| u32::from(asset.decimals));
    let ours = json!({
        "status": invoice.view.status.as_str(),
        "merchant_id": invoice.merchant_id,
        "pricing_mode": invoice.pricing_mode,
        "token_id": invoice.token_id,
        "credited": invoice.credited.to_decimal(decimals),
        "overpay_bps": invoice.overpay_tolerance.get(),
        "underpay_bps": invoice.underpay.tolerance.get(),
        "underpay_when": invoice.underpay.when,
        "payment_window_seconds": invoice.payment_window_seconds,
        "success_url": invoice.success_url,
        "cancel_url": invoice.cancel_url,
        "accepted_tokens": invoice.accepted_tokens,
        "rate": invoice.rate.map(|rate| rate.normalize().to_string()),
        "rate_source": invoice.rate_source,
        "rate_at": invoice.rate_at.map(iso_8601),
    });
    if let (Value::Object(json), Value::Object(ours)) = (&mut json, ours) {
        json.extend(ours);
    }
    Ok(json)
}
