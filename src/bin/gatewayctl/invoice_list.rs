//! `gatewayctl invoice list`

use chrono::{DateTime, Utc};
use clap::Args;
use gateway::{
    app::{
        Gateway,
        invoice::list::{Asked, InvoiceList},
    },
    invoice::{Status, payment::iso_8601},
    storage::invoice_lists::ListedInvoice,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    instant::instant,
    render::{self, Answer, Cell, Tone},
};

#[derive(Args)]
pub struct List {
    /// Only those of this merchant
    #[arg(long, value_name = "ID")]
    merchant: Option<Uuid>,
    /// Of them, only those of this payment link, pzl_…
    #[arg(long, value_name = "LINK_ID", requires = "merchant")]
    link: Option<String>,
    /// Only those in this status, such as partial
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<Status>,
    /// Only those created then or later, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "T", value_parser = instant)]
    since: Option<DateTime<Utc>>,
    /// How many at most, up to 1000
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
}

fn status(text: &str) -> Result<Status, String> {
    text.parse().map_err(|_| {
        let all: Vec<_> = Status::ALL.iter().map(|status| status.as_str()).collect();
        format!("write one of {}", all.join(", "))
    })
}

/// The colour of a status.
pub const fn tone(status: Status) -> Tone {
    match status {
        Status::Paid | Status::Overpaid => Tone::Good,
        Status::Expired | Status::Cancelled => Tone::Bad,
        Status::Partial => Tone::Doubtful,
        Status::Draft | Status::Pending => Tone::Plain,
    }
}

/// The sentences below a list that does not show all.
pub fn left_out(more: bool, looked_back_to: Option<DateTime<Utc>>) -> String {
    let mut text = String::new();
    if more {
        text.push_str("\nThere are more: raise --limit, or narrow the list.");
    }
    if let Some(at) = looked_back_to {
        let at = iso_8601(at);
        text.push_str(&format!(
            "\nThose from before {at} were not looked at; of one merchant all are: --merchant ID."
        ));
    }
    text
}

impl List {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let asked = Asked {
            merchant_id: self.merchant,
            link_id: self.link,
            status: self.status,
            since: self.since,
            limit: self.limit.into(),
        };
        let list = gateway.list_invoices(&asked).await?;
        let json = to_json(&list);
        let left_out = left_out(list.more, list.looked_back_to);
        if list.rows.is_empty() {
            return Ok(Answer::new(json, format!("No invoice matches.{left_out}")));
        }
        let lines: Vec<_> = list.rows.iter().map(line).collect();
        let heading = ["payment", "status", "price", "currency", "order", "merchant", "created"];
        let text = format!(
            "{}{left_out}\nOne of them: gatewayctl invoice explain PAYMENT",
            render::table(&heading, &lines)
        );
        Ok(Answer::new(json, text))
    }
}

fn line(row: &ListedInvoice) -> Vec<Cell> {
    let invoice = &row.invoice;
    vec![
        Cell::from(&invoice.payment_id),
        Cell::toned(invoice.status.as_str(), tone(invoice.status)),
        format!("{} {}", invoice.price_amount, invoice.price_currency).into(),
        render::or_dash(invoice.token_id.as_ref()),
        render::or_dash(invoice.order_id.as_ref()),
        row.merchant_id.to_string().into(),
        iso_8601(invoice.created_at).into(),
    ]
}

fn to_json(list: &InvoiceList) -> Value {
    let rows: Vec<_> = list
        .rows
        .iter()
        .map(|row| {
            let invoice = &row.invoice;
            json!({
                "payment_id": invoice.payment_id,
                "status": invoice.status,
                "price_amount": invoice.price_amount,
                "price_currency": invoice.price_currency,
                "token_id": invoice.token_id,
                "order_id": invoice.order_id,
                "merchant_id": row.merchant_id,
                "created_at": iso_8601(invoice.created_at),
            })
        })
        .collect();
    json!({
        "invoices": rows,
        "more": list.more,
        "looked_back_to": list.looked_back_to.map(iso_8601),
    })
}
