//! Fields of a hosted form.

use gateway::{
    app::legacy::forms::FormOrder,
    egress::guard::Policy,
    legacy::{
        Refusal,
        button::{FormKind, Priced, QUANTITY_MAX},
        keys,
    },
    money::Price,
};

use super::{
    params::{CODE_CHARS_MAX, Params},
    terms,
};

/// Fields that IPNs repeat, and their names there.
const REPEATED: &[(&str, &str)] = &[
    ("first_name", "first_name"),
    ("last_name", "last_name"),
    ("company", "company"),
    ("email", "email"),
    ("address1", "address1"),
    ("address2", "address2"),
    ("city", "city"),
    ("state", "state"),
    ("zip", "zip"),
    ("country", "country"),
    ("phone", "phone"),
    ("item_name", "item_name"),
    ("item_desc", "item_desc"),
    ("item_number", "item_number"),
    ("invoice", "invoice"),
    ("custom", "custom"),
    ("on1", "on1"),
    ("ov1", "ov1"),
    ("on2", "on2"),
    ("ov2", "ov2"),
    ("extra", "extra"),
];

/// Validates a form; the first fault is reported. `None` if its visitor chooses the amount, and has
/// not yet.
pub fn read(
    kind: FormKind,
    params: &Params,
    policy: &Policy,
) -> Result<Option<FormOrder>, Refusal> {
    let merchant_id = keys::parse_merchant_id(params.raw("merchant").trim());
    let merchant_id = merchant_id.ok_or(Refusal::Merchant)?;
    let currency1 = params.text("currency", CODE_CHARS_MAX).ok().flatten();
    let currency1 = currency1.ok_or(Refusal::Currency("currency"))?;
    let Some(amount) = params.price("amountf")?.filter(|amount| !amount.is_zero()) else {
        let open =
            params.flag("allow_amount") || matches!(kind, FormKind::Donation | FormKind::Pos);
        return if open { Ok(None) } else { Err(Refusal::NoAmount) };
    };
    let price = |name| Ok::<_, Refusal>(params.price(name)?.unwrap_or(Price::from_atoms(0)));
    let priced = Priced {
        amount,
        quantity: quantity(params)?,
        tax: price("taxf")?,
        shipping: price("shippingf")?,
    };
    let (Some(subtotal), Some(total)) = (priced.subtotal(), priced.total()) else {
        return Err(Refusal::Amount);
    };
    let mut terms = terms::read(params, REPEATED, policy)?;
    // The visitor writes it: under the id of an order that the shop has priced itself, his draft
    // would be the newest payment of that order. The IPN repeats the field all the same.
    terms.order_id = None;
    let figures = [
        ("subtotal", subtotal.to_decimal()),
        ("shipping", priced.shipping.to_decimal()),
        ("tax", priced.tax.to_decimal()),
        ("item_amount", priced.amount.to_decimal()),
        ("quantity", priced.quantity.to_string()),
    ];
    terms.fields.extend(figures.map(|(name, figure)| (name.to_owned(), figure)));
    let ipn_type = kind.ipn_type();
    Ok(Some(FormOrder { merchant_id, ipn_type, amount: total, currency1, terms }))
}

fn quantity(params: &Params) -> Result<u32, Refusal> {
    let quantity = params.number("quantity", 1);
    let quantity = u32::try_from(quantity).ok().filter(|n| (1..=QUANTITY_MAX).contains(n));
    quantity.ok_or(Refusal::Field("quantity"))
}
