//! `create_transaction`: its fields.

use gateway::{app::legacy::create::NewTransaction, egress::guard::Policy, legacy::Refusal};

use super::{
    params::{CODE_CHARS_MAX, Params},
    terms,
};

const EMAIL_CHARS_MAX: usize = 254;

/// Fields that IPNs repeat, and their names there.
const REPEATED: &[(&str, &str)] = &[
    ("buyer_name", "buyer_name"),
    ("buyer_email", "email"),
    ("item_name", "item_name"),
    ("item_number", "item_number"),
    ("invoice", "invoice"),
    ("custom", "custom"),
];

/// Validates a `create_transaction`; the first fault is reported.
pub fn read(params: &Params, policy: &Policy) -> Result<NewTransaction, Refusal> {
    let amount = params.price("amount")?.ok_or(Refusal::NoAmount)?;
    if amount.is_zero() {
        return Err(Refusal::NoAmount);
    }
    let code = |name| params.text(name, CODE_CHARS_MAX).ok().flatten();
    let currency1 = code("currency1").ok_or(Refusal::Currency("currency1"))?;
    let currency2 = code("currency2").ok_or(Refusal::Currency("currency2"))?;
    params.text("buyer_email", EMAIL_CHARS_MAX)?.ok_or(Refusal::NoBuyerEmail)?;
    // Payments stay at the address that is given here: one that asks for another address would not
    // reach it.
    if !params.raw("address").trim().is_empty() {
        return Err(Refusal::Forwarding);
    }
    let terms = terms::read(params, REPEATED, policy)?;
    Ok(NewTransaction { amount, currency1, currency2, terms })
}
