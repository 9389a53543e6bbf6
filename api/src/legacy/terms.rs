//! The parts of an order that do not concern money.

use gateway::{
    app::legacy::create::Terms,
    egress::guard::{self, Policy},
    legacy::{Refusal, order::Fields},
};

use super::params::Params;
use crate::payment::new_payment::{DESCRIPTION_CHARS_MAX, ORDER_ID_CHARS_MAX, URL_CHARS_MAX};

/// Characters of a field that is repeated in IPNs.
const FIELD_CHARS_MAX: usize = 255;

/// Reads the terms. `repeated` names the fields of the order that its IPNs repeat, and under which
/// names.
pub fn read(
    params: &Params,
    repeated: &[(&'static str, &'static str)],
    policy: &Policy,
) -> Result<Terms, Refusal> {
    let mut fields = Fields::new();
    for &(name, in_ipn) in repeated {
        let limit = if name == "item_name" { DESCRIPTION_CHARS_MAX } else { FIELD_CHARS_MAX };
        if let Some(text) = params.text(name, limit)? {
            fields.insert(in_ipn.to_owned(), text);
        }
    }
    let invoice = params.text("invoice", ORDER_ID_CHARS_MAX)?;
    Ok(Terms {
        order_id: invoice.or(params.text("item_number", ORDER_ID_CHARS_MAX)?),
        order_description: params.text("item_name", DESCRIPTION_CHARS_MAX)?,
        ipn_callback_url: callback(params, policy, URL_CHARS_MAX)?,
        success_url: page(params, "success_url")?,
        cancel_url: page(params, "cancel_url")?,
        fields,
    })
}

/// Text that PyPI asyncoinpayments sends as `ipn_url` where its caller gave none, and as
/// `currency2` where he gave `None`.
pub const NONE: &str = "None";

/// The address of IPNs. Refused here if it literally points inward, and checked again at every
/// attempt.
pub fn callback(
    params: &Params,
    policy: &Policy,
    chars_max: usize,
) -> Result<Option<String>, Refusal> {
    let text = params.text("ipn_url", chars_max)?.filter(|text| text != NONE);
    let Some(text) = text else { return Ok(None) };
    guard::check_url(&text, policy).map_err(|_| Refusal::Field("ipn_url"))?;
    Ok(Some(text))
}

fn page(params: &Params, name: &'static str) -> Result<Option<String>, Refusal> {
    let Some(text) = params.text(name, URL_CHARS_MAX)? else { return Ok(None) };
    guard::page_url(&text).ok_or(Refusal::Field(name)).map(Some)
}
