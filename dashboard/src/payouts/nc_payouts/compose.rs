//! A new payout that the merchant signs: recipients shown row by row before anything is built.

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use gateway::{
    app::{
        invoice::create::Idempotency,
        nc_payout::{NcPreview, NewNcPayout},
        payout::created_id,
    },
    asset::catalogue::{Catalogue, Currency},
    nc_payout::{FeeLevel, build::OUTPUTS_MAX, outpoint, psbt::INPUTS_MAX},
    payout::csv::{Sorted, Unreadable},
};
use uuid::Uuid;

use super::super::{
    HERE, act,
    compose::Choice,
    recipient_file::{Checked, Sheet},
    words,
};
use crate::{
    problem::Problem,
    shell::{Shell, page_with},
    visit::Visit,
};

/// No address of any network is longer.
const ADDRESS_CHARS_MAX: usize = 128;

#[derive(Template)]
#[template(path = "payouts/nc_payouts/compose.html")]
struct Page {
    shell: Shell,
    choices: Vec<Choice>,
    terms: Terms,
    text: String,
    checked: Option<Checked>,
    /// Hidden fields of the form that builds what is shown; `None` while it cannot be built.
    ready: Option<Ready>,
}

/// Fields that the form repeats to build the payout.
struct Ready {
    /// The fingerprint of what is shown.
    seen: String,
    /// Sent twice, the form builds one payout.
    key: Uuid,
}

/// Everything in the form but the recipients, as it was typed.
#[derive(Clone)]
struct Terms {
    token_id: String,
    from_address: String,
    fee_level: FeeLevel,
    inputs: String,
}

impl Terms {
    fn of(visit: &Visit) -> Self {
        let text = |name| visit.form.text(name).trim().to_owned();
        Self {
            token_id: text("currency"),
            from_address: text("from_address"),
            fee_level: visit.form.text("fee_level").parse().unwrap_or(FeeLevel::Normal),
            inputs: text("inputs"),
        }
    }

    fn currency(&self) -> Result<&'static Currency, String> {
        let currency = Catalogue::get().by_token_id(&self.token_id);
        currency.ok_or_else(|| "Choose the currency that is to be paid out.".to_owned())
    }

    /// Inputs as `txid:n`, one in each line.
    fn inputs(&self) -> Result<Vec<String>, String> {
        let mut inputs = Vec::new();
        for (number, line) in (1..).zip(self.inputs.lines()) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let named = line.rsplit_once(':').and_then(|(txid, n)| outpoint(txid, n.parse().ok()?));
            let named = named.ok_or_else(|| {
                format!(
                    "Line {number} of the inputs is no txid:n, a hash of 64 digits and a number."
                )
            })?;
            if inputs.contains(&named) {
                return Err(format!("Line {number} of the inputs repeats an earlier one."));
            }
            inputs.push(named);
        }
        if inputs.len() > INPUTS_MAX {
            return Err(format!("One payout spends at most {INPUTS_MAX} inputs."));
        }
        Ok(inputs)
    }

    fn payout(&self, sorted: &Sorted) -> Result<NewNcPayout, String> {
        let currency = self.currency()?;
        let length = self.from_address.chars().count();
        if !(1..=ADDRESS_CHARS_MAX).contains(&length) {
            return Err("Name the address that pays, whose key you hold.".to_owned());
        }
        Ok(NewNcPayout {
            network: currency.network.name().to_owned(),
            currency: currency.code.to_owned(),
            from_address: self.from_address.clone(),
            fee_level: self.fee_level,
            rows: sorted.rows.clone(),
            inputs: self.inputs()?,
            idempotency: None,
        })
    }
}

impl Page {
    async fn new(gateway: &crate::State, visit: &Visit, terms: Terms) -> Result<Self, Problem> {
        let choices = Choice::all(&gateway.nc_payout_currencies().await?);
        let shell = Shell::of(visit, HERE);
        Ok(Self { shell, choices, terms, text: String::new(), checked: None, ready: None })
    }

    fn is_chosen(&self, choice: &Choice) -> bool {
        choice.token_id == self.terms.token_id
    }

    fn is_level(&self, level: &FeeLevel) -> bool {
        self.terms.fee_level == *level
    }

    fn with_error(self, text: impl Into<String>) -> Self {
        Self { shell: self.shell.with_error(text), ..self }
    }

    fn with_preview(
        mut self,
        sheet: &Sheet,
        sorted: Sorted,
        preview: NcPreview,
        request: NewNcPayout,
    ) -> (Self, Option<NewNcPayout>) {
        let faults = sorted.faults.into_iter().chain(preview.faults);
        let checked = Checked::new(preview.currency, &preview.good, preview.sum, faults);
        let can_be_built = checked.is_sound() && sheet.is_text();
        self.checked = Some(checked);
        if !can_be_built {
            return (self, None);
        }
        self.ready = Some(Ready { seen: hex::encode(request.fingerprint()), key: Uuid::now_v7() });
        (self, Some(request))
    }
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    page_with(StatusCode::OK, &Page::new(&gateway, &visit, Terms::of(&visit)).await?)
}

pub async fn preview(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let (page, _) = looked_at(&gateway, &visit).await?;
    page_with(StatusCode::OK, &page)
}

/// Builds the payout that was shown. Anything else is shown instead, with its reason.
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
        return again(page.with_error("The form was incomplete. Look at the payout again."));
    };
    let key = format!("dashboard:{key}");
    request.idempotency = Some(Idempotency { key, request_sha256 });
    let merchant_id = visit.merchant()?.merchant_id;
    match gateway.create_nc_payout(merchant_id, &request).await {
        Ok(created) => Ok(act::done(&created_id(&created).ok_or(Problem::Broken)?, "built")),
        Err(error) => again(page.with_error(words::of_nc(error)?)),
    }
}

/// The page about the posted recipients, with the payout if all of it can be built.
async fn looked_at(
    gateway: &crate::State,
    visit: &Visit,
) -> Result<(Page, Option<NewNcPayout>), Problem> {
    let (terms, sheet) = (Terms::of(visit), Sheet::of(&visit.form));
    let mut page = Page::new(gateway, visit, terms.clone()).await?;
    sheet.text().unwrap_or_default().clone_into(&mut page.text);
    if !sheet.is_text() {
        page = page.with_error(words::NOT_TEXT);
    }
    let sorted = match sheet.read(OUTPUTS_MAX) {
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
    let request = match terms.payout(&sorted) {
        Ok(request) => request,
        Err(text) => return Ok((page.with_error(text), None)),
    };
    match gateway.preview_nc_payout(&request).await {
        Ok(preview) => Ok(page.with_preview(&sheet, sorted, preview, request)),
        Err(error) => Ok((page.with_error(words::of_nc(error)?), None)),
    }
}
