//! The receipt of a paid invoice, to be printed or saved.

use askama::Template;
use axum::{
    extract,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use chrono::{DateTime, Utc};
use gateway::{app::invoice::receipt::Receipt, invoice::payment::iso_8601, locale::coins};

use super::{
    markup::plain,
    route::{Id, answer, invoice_id, trouble},
    shell::{Shell, Visit},
};
use crate::{State, error::ApiError};

#[derive(Template)]
#[template(path = "receipt.html")]
struct ReceiptPage {
    shell: Shell,
    id: String,
    price: String,
    paid_at: String,
    paid_iso: String,
    rate: Option<String>,
    receipt: Receipt,
}

/// `/pay/<id>/receipt`. An invoice that is not paid leads back to its page.
pub async fn page(
    extract::State(gateway): extract::State<State>,
    visit: Visit,
    id: Id,
) -> Response {
    let shell = Shell::new(&gateway, visit);
    let id = match invoice_id(id) {
        Ok(id) => id.as_str().to_owned(),
        Err(error) => return trouble(shell, &error),
    };
    match found(&gateway, &id).await {
        Ok((Some(receipt), front)) => {
            let page = ReceiptPage::new(shell.of(front, &id), id, receipt);
            answer(StatusCode::OK, &page.shell, &page)
        }
        Ok((None, None)) => trouble(shell, &ApiError::PaymentNotFound),
        Ok((None, Some(_))) => back(&shell, &id),
        Err(error) => trouble(shell, &error),
    }
}

type Found = (Option<Receipt>, Option<gateway::app::merchant::front::Front>);

async fn found(gateway: &State, id: &str) -> Result<Found, ApiError> {
    Ok((gateway.receipt(id).await?, gateway.front_of_payment(id).await?))
}

fn back(shell: &Shell, id: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    if let Ok(location) = HeaderValue::from_str(&shell.link(id, "")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    shell.headers(response.headers_mut());
    response
}

impl ReceiptPage {
    fn new(shell: Shell, id: String, receipt: Receipt) -> Self {
        let rate = receipt.rate.as_ref().map(|rate| {
            let locale = shell.t.locale;
            let amount = locale.price(&rate.price.to_string(), &receipt.price_currency);
            let fixed_at = locale.moment(rate.fixed_at);
            let values = [("symbol", receipt.symbol), ("rate", &*amount), ("time", &*fixed_at)];
            plain(shell.t.rate_fixed, &values)
        });
        Self {
            price: shell
                .t
                .locale
                .price(&receipt.price_amount.to_decimal(), &receipt.price_currency),
            paid_at: shell.t.locale.moment(receipt.paid_at),
            paid_iso: iso_8601(receipt.paid_at),
            rate,
            id,
            receipt,
            shell,
        }
    }

    /// In UTC, and said so, with scripts too: a receipt is read elsewhere and later, and two copies
    /// of it say the same.
    fn time(&self, at: &DateTime<Utc>) -> String {
        self.shell.t.locale.moment(*at)
    }

    fn iso(&self, at: &DateTime<Utc>) -> String {
        iso_8601(*at)
    }

    fn coins(&self, amount: &str) -> String {
        coins(amount)
    }
}
