//! A new order: recipients from a file or a field, shown row by row with every fault and with the
//! price of the good ones, before anything is stored.

use askama::Template;
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    app::{
        invoice::create::Idempotency,
        payout::{NewOrder, Preview, created_id},
    },
    asset::catalogue::{Catalogue, Currency},
    payout::{
        FeeMode, PayoutFamily,
        csv::{Sorted, Unreadable},
        quote::Quote,
        recipients::{LABEL_CHARS_MAX, in_coins, is_label},
    },
};
use uuid::Uuid;

use super::{
    HERE,
    recipient_file::{Checked, Sheet},
    words,
};
use crate::{
    names,
    problem::Problem,
    shell::{Shell, page_with},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "payouts/compose.html")]
struct Page {
    shell: Shell,
    choices: Vec<Choice>,
    terms: Terms,
    text: String,
    checked: Option<Checked>,
    price: Option<Price>,
}

/// A currency to choose.
pub struct Choice {
    pub token_id: String,
    pub label: String,
}

impl Choice {
    pub fn all(currencies: &[&'static Currency]) -> Vec<Self> {
        let one = |currency: &&Currency| Self {
            token_id: currency.token_id(),
            label: names::currency(currency),
        };
        let mut all: Vec<_> = currencies.iter().map(one).collect();
        all.sort_by(|a, b| a.label.cmp(&b.label));
        all
    }
}

/// Everything in the form but the recipients, as it was typed.
#[derive(Clone, Default)]
struct Terms {
    token_id: String,
    from_recipients: bool,
    refund_address: String,
    label: String,
}

/// The cost of the order, and the two hidden fields of the form that creates it.
struct Price {
    network_fee: String,
    service_fee: String,
    total: String,
    /// The fingerprint of what is shown: nothing else is created by the form.
    seen: String,
    /// Sent twice, the form creates one order.
    key: Uuid,
}

impl Price {
    fn new(currency: &Currency, quote: &Quote, request: &NewOrder) -> Self {
        Self {
            network_fee: in_coins(currency, quote.network_fee),
            service_fee: in_coins(currency, quote.service_fee),
            total: in_coins(currency, quote.total_to_send),
            seen: hex::encode(request.fingerprint()),
            key: Uuid::now_v7(),
        }
    }
}

impl Terms {
    fn of(visit: &Visit) -> Self {
        let text = |name| visit.form.text(name).trim().to_owned();
        Self {
            token_id: text("currency"),
            from_recipients: text("fee_mode") == FeeMode::Recipient.as_str(),
            refund_address: text("refund_address"),
            label: text("label"),
        }
    }

    fn currency(&self) -> Result<&'static Currency, String> {
        let currency = Catalogue::get().by_token_id(&self.token_id);
        currency.ok_or_else(|| "Choose the currency that is to be paid out.".to_owned())
    }

    fn family(&self) -> Result<PayoutFamily, String> {
        let family = PayoutFamily::of(self.currency()?.network);
        family.ok_or_else(|| "There are no payouts on this network.".to_owned())
    }

    /// The order as the API would take it, with rows still to be checked.
    fn order(&self, sorted: &Sorted) -> Result<NewOrder, String> {
        let currency = self.currency()?;
        if !is_label(&self.label) {
            return Err(format!("The label has at most {LABEL_CHARS_MAX} plain characters."));
        }
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Ok(NewOrder {
            family: self.family()?,
            network: currency.network.name().to_owned(),
            currency: currency.code.to_owned(),
            rows: sorted.rows.clone(),
            fee_mode: if self.from_recipients { FeeMode::Recipient } else { FeeMode::Sender },
            refund_address: given(&self.refund_address),
            label: given(&self.label),
            metadata: None,
            callback_url: None,
            idempotency: None,
            withdrawal: None,
        })
    }
}

impl Page {
    async fn new(gateway: &crate::State, visit: &Visit, terms: Terms) -> Result<Self, Problem> {
        let choices = Choice::all(&gateway.payout_currencies().await?);
        let shell = Shell::of(visit, HERE);
        let page = Self { shell, choices, terms, text: String::new(), checked: None, price: None };
        Ok(page)
    }

    fn is_chosen(&self, choice: &Choice) -> bool {
        choice.token_id == self.terms.token_id
    }

    fn with_error(self, text: impl Into<String>) -> Self {
        Self { shell: self.shell.with_error(text), ..self }
    }

    /// Carries the recipients on, if a page can.
    fn with_sheet(mut self, sheet: &Sheet) -> Self {
        sheet.text().unwrap_or_default().clone_into(&mut self.text);
        if sheet.is_text() { self } else { self.with_error(words::NOT_TEXT) }
    }
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    page_with(StatusCode::OK, &Page::new(&gateway, &visit, Terms::default()).await?)
}

pub async fn preview(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let (page, _) = looked_at(&gateway, &visit).await?;
    page_with(StatusCode::OK, &page)
}

/// Creates the order that was shown. Anything else is shown instead, with its reason.
pub async fn create(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let (page, request) = looked_at(&gateway, &visit).await?;
    let again = |page: Page| page_with(StatusCode::UNPROCESSABLE_ENTITY, &page);
    let Some(mut request) = request else { return again(page) };
    let request_sha256 = request.fingerprint();
    if visit.form.text("seen") != hex::encode(request_sha256) {
        return again(page.with_error("This is not what was shown before. Look at it again."));
    }
    let Ok(key) = Uuid::try_parse(visit.form.text("key")) else {
        return again(page.with_error("The form was incomplete. Look at the order again."));
    };
    let key = format!("dashboard:{key}");
    request.idempotency = Some(Idempotency { key, request_sha256 });
    let merchant_id = visit.merchant()?.merchant_id;
    match gateway.create_payout(merchant_id, &request).await {
        Ok(created) => {
            let id = created_id(&created).ok_or(Problem::Broken)?;
            Ok(Redirect::to(&format!("{HERE}/{id}?done=created")).into_response())
        }
        Err(error) => again(page.with_error(words::of_order(error)?)),
    }
}

/// The page about the posted recipients, with the order if all of it can be created.
async fn looked_at(
    gateway: &crate::State,
    visit: &Visit,
) -> Result<(Page, Option<NewOrder>), Problem> {
    let (terms, sheet) = (Terms::of(visit), Sheet::of(&visit.form));
    let mut page = Page::new(gateway, visit, terms.clone()).await?.with_sheet(&sheet);
    let rows_max = match terms.family() {
        Ok(family) => family.rows_max(),
        Err(text) => return Ok((page.with_error(text), None)),
    };
    let sorted = match sheet.read(rows_max) {
        Ok(sorted) => sorted,
        Err(error) => {
            if sheet.is_text() {
                page = page.with_error(words::of_file(&error));
            }
            if let Unreadable::Faults(faults) = error {
                page.checked = Some(Checked::unread(faults));
            }
            return Ok((page, None));
        }
    };
    let request = match terms.order(&sorted) {
        Ok(request) => request,
        Err(text) => return Ok((page.with_error(text), None)),
    };
    match gateway.preview_payout(visit.merchant()?.merchant_id, &request).await {
        Ok(preview) => Ok(page.with_preview(&sheet, sorted, preview, request)),
        Err(error) => Ok((page.with_error(words::of_order(error)?), None)),
    }
}

impl Page {
    fn with_preview(
        mut self,
        sheet: &Sheet,
        sorted: Sorted,
        preview: Preview,
        request: NewOrder,
    ) -> (Self, Option<NewOrder>) {
        let Preview { currency, good, faults, sum, quote } = preview;
        let faults = sorted.faults.into_iter().chain(faults);
        let checked = Checked::new(currency, &good, sum, faults);
        let can_be_created = checked.is_sound() && sheet.is_text();
        self.checked = Some(checked);
        match quote.filter(|_| can_be_created) {
            Some(quote) => {
                self.price = Some(Price::new(currency, &quote, &request));
                (self, Some(request))
            }
            None => (self, None),
        }
    }
}
