//! The page of the charge that a device shows, from the code to "paid".

use askama::{Template, filters::Safe};
use axum::{http::StatusCode, response::Response};
use chrono::{DateTime, Utc};
use gateway::{
    app::invoice::{buyer_status::BuyerStatus, currency_choices::Choice},
    invoice::{Status, buyer_phase::Phase},
    storage::StorageError,
};

use super::{
    frame::{Request, Till, answer},
    page::trouble,
};
use crate::{
    buyer_status::wire,
    checkout::{
        choices::{Coin, grouped},
        language::{Language, Texts},
        markup::{filled, plain},
        pages::{self, Asset, filled_by, follow_key},
        qr,
        shell::Shell,
    },
    error::ApiError,
};

#[derive(Template)]
#[template(path = "till_charge.html")]
struct ChargePage {
    shell: Shell,
    till: Till,
    device: String,
    form_token: String,
    payment_id: String,
    /// The text that the script compares.
    key: String,
    phase: Phase,
    price: String,
    /// The address of the payment's own page, for the customer's camera.
    url: String,
    asset: Option<Asset>,
    coins: Vec<Coin>,
    cancellable: bool,
    until: DateTime<Utc>,
}

/// The page of a charge. An open one follows its payment by itself.
pub async fn shown(
    request: &Request,
    (shell, till): (Shell, Till),
    device: String,
    payment_id: &str,
    code: StatusCode,
) -> Response {
    match found(request, payment_id).await {
        Ok((status, choices)) => {
            let page = ChargePage::new(request, (shell, till), device, &status, &choices);
            answer(code, &page.shell, &page)
        }
        Err(error) => trouble(shell, error),
    }
}

async fn found(
    request: &Request,
    payment_id: &str,
) -> Result<(BuyerStatus, Vec<Choice>), ApiError> {
    let gateway = &request.gateway;
    let status = gateway.buyer_status(payment_id).await?.ok_or(ApiError::PaymentNotFound)?;
    let choices = if status.phase == Phase::Choosing {
        gateway.currency_choices(payment_id).await?
    } else {
        Vec::new()
    };
    Ok((status, choices))
}

/// The text that changes with the page of a charge.
pub async fn state(request: &Request, payment_id: &str) -> Result<String, StorageError> {
    let status = request.gateway.buyer_status(payment_id).await?;
    Ok(status.map_or_else(|| "ready".to_owned(), |status| key(&status)))
}

fn key(status: &BuyerStatus) -> String {
    format!("{}|{}", status.payment_id, follow_key(&wire::BuyerStatus::render(status)))
}

/// The word for a charge in the day's list.
pub const fn status_word(status: Status, t: &Texts) -> &'static str {
    match status {
        Status::Draft | Status::Pending => t.till_open,
        Status::Partial => t.till_part,
        Status::Paid | Status::Overpaid => t.till_paid,
        Status::Expired => t.till_unpaid,
        Status::Cancelled => t.cancelled,
    }
}

impl ChargePage {
    fn new(
        request: &Request,
        (shell, till): (Shell, Till),
        device: String,
        status: &BuyerStatus,
        choices: &[Choice],
    ) -> Self {
        let choices = grouped(choices, shell.t);
        let shown = wire::BuyerStatus::render(status);
        let checkout_url = request.gateway.config.checkout_url.trim_end_matches('/');
        Self {
            device,
            form_token: request.form_token(),
            key: key(status),
            phase: status.phase,
            price: shell.t.locale.price(&shown.price_amount, &shown.price_currency),
            url: format!("{checkout_url}/pay/{}", status.payment_id),
            payment_id: status.payment_id.clone(),
            asset: pages::asset(status),
            coins: choices.coins.into_iter().chain(choices.more).collect(),
            cancellable: status.cancellable,
            until: status.expires_at,
            shell,
            till,
        }
    }

    fn in_language(&self, language: &Language) -> String {
        self.till.in_language(&self.shell, language, "")
    }

    const fn is_paid(&self) -> bool {
        matches!(self.phase, Phase::Paid | Phase::Overpaid)
    }

    /// The code that the customer scans before a currency is chosen.
    fn code_of_page(&self) -> Safe<String> {
        qr::svg(&self.url, self.shell.t.till_scan_label).unwrap_or(Safe(String::new()))
    }

    /// The texts that hold values of the payment.
    fn fill(&self, text: &str) -> Safe<String> {
        let mut values = Vec::new();
        if let Some(asset) = &self.asset {
            values.extend([
                ("symbol", asset.symbol),
                ("network", asset.network),
                ("due", asset.due.as_str()),
                ("amount", asset.received.as_str()),
                ("excess", asset.excess.as_str()),
            ]);
        }
        filled_by(text, &values, self.until, self.shell.t)
    }

    /// The same, where the amount is seen but does not count yet.
    fn fill_seen(&self, text: &str) -> Safe<String> {
        let asset = self.asset.as_ref();
        let values = asset.map(|asset| [("amount", &*asset.unconfirmed), ("symbol", asset.symbol)]);
        filled(text, &values.unwrap_or_default())
    }

    fn title(&self) -> String {
        let t = self.shell.t;
        match self.phase {
            Phase::Choosing | Phase::Paying => plain(t.title_pay, &[("price", &self.price)]),
            Phase::Confirming => t.confirming.to_owned(),
            Phase::Closing => t.closing.to_owned(),
            Phase::Paid | Phase::Overpaid => t.till_paid.to_owned(),
            Phase::Expired => t.till_unpaid.to_owned(),
            Phase::Cancelled => t.cancelled.to_owned(),
        }
    }
}
