//! Creating a payment by hand, from a form of the dashboard: the checks of the form, then the same
//! creation as `POST /v1/payment`.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::create::{CreateError, Created, Idempotency, NewInvoice, PayWith};
use crate::app::Gateway;
use crate::{
    asset::{Fiat, catalogue::Catalogue},
    egress::guard,
    invoice::Pricing,
    money::Price,
    storage::{StorageError, access, audit},
};

const ORDER_ID_CHARS_MAX: usize = 255;
const DESCRIPTION_CHARS_MAX: usize = 2_000;
/// Lets the buyer choose the currency.
pub const BUYERS_CHOICE: &str = "all";

/// The fields of the form, as they were sent.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// Names the form: sent twice, it creates one payment.
    pub key: &'a str,
    pub price: &'a str,
    pub price_currency: &'a str,
    /// `code@network`, or [`BUYERS_CHOICE`].
    pub pay_currency: &'a str,
    pub order_id: &'a str,
    pub description: &'a str,
    pub webhook_url: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub enum ByHandError {
    #[error("The form has no key. Open it again.")]
    NoKey,
    #[error("The price must be a number above 0, such as 25.50.")]
    Price,
    #[error("The price must be in USD, EUR or GBP.")]
    PriceCurrency,
    #[error("This currency is not in the catalogue.")]
    PayCurrency,
    #[error("{name} may have {most} characters at most.")]
    TooLong { name: &'static str, most: usize },
    #[error("The webhook address {0}.")]
    Url(guard::UrlRefused),
    #[error("This form was sent before with other values. Open it again.")]
    KeyUsed,
    #[error("The price is below the minimum of this currency, {min_usd} USD.")]
    BelowMinimum { min_usd: rust_decimal::Decimal },
    #[error("Not created: {0}.")]
    Refused(CreateError),
    #[error("no such merchant")]
    NoMerchant,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<CreateError> for ByHandError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Storage(error) => Self::Storage(error),
            CreateError::IdempotencyMismatch => Self::KeyUsed,
            CreateError::BelowMinimum { min_usd } => Self::BelowMinimum { min_usd },
            other @ (CreateError::UnsupportedFiat
            | CreateError::DirectWithoutCurrency
            | CreateError::DirectInOtherCurrency
            | CreateError::DirectAmount(_)
            | CreateError::CurrencyNotSupported
            | CreateError::NoEligibleCurrency
            | CreateError::QuotaExceeded
            | CreateError::Suspended
            | CreateError::NoFreshRate(_)
            | CreateError::Quote(_)
            | CreateError::NoAddress(_)) => Self::Refused(other),
        }
    }
}

impl Gateway {
    /// Creates the payment of a form, or finds the one that the same form created before. Returns
    /// its `payment_id`. `by` is the account that acts.
    pub async fn create_by_hand(
        &self,
        merchant_id: Uuid,
        fields: &Fields<'_>,
        by: &str,
    ) -> Result<String, ByHandError> {
        let request = request(fields)?;
        if let Some(url) = &request.ipn_callback_url {
            guard::check_url(url, self.egress.policy()).map_err(ByHandError::Url)?;
        }
        let mut connection = self.db.connection().await?;
        let caller = access::caller(&mut connection, merchant_id).await?;
        drop(connection);
        let caller = caller.ok_or(ByHandError::NoMerchant)?;
        let created = self.create_invoice(&caller, &request).await?;
        let id = payment_id(&created)?;
        if !created.replayed {
            // The creation itself notes its author with its message; this names the payment.
            let mut connection = self.db.connection().await?;
            let detail = format!("{} {}", fields.price.trim(), fields.price_currency);
            audit::note(&mut connection, ("payment", "create"), &id, by, &detail).await?;
        }
        Ok(id)
    }
}

fn request(fields: &Fields<'_>) -> Result<NewInvoice, ByHandError> {
    let key = Uuid::try_parse(fields.key).map_err(|_| ByHandError::NoKey)?;
    let price_amount = Price::parse(fields.price.trim()).map_err(|_| ByHandError::Price)?;
    if price_amount.is_zero() {
        return Err(ByHandError::Price);
    }
    let fiat: Fiat = fields.price_currency.parse().map_err(|_| ByHandError::PriceCurrency)?;
    let pay = if fields.pay_currency == BUYERS_CHOICE {
        PayWith::BuyersChoice
    } else {
        let currency = Catalogue::get().by_token_id(fields.pay_currency);
        let currency = currency.ok_or(ByHandError::PayCurrency)?;
        PayWith::Named {
            pay_currency: currency.symbol.to_ascii_lowercase(),
            network: Some(currency.network.name().to_owned()),
        }
    };
    let order_id = text("The order id", fields.order_id, ORDER_ID_CHARS_MAX)?;
    let order_description = text("The description", fields.description, DESCRIPTION_CHARS_MAX)?;
    let url = fields.webhook_url.trim();
    Ok(NewInvoice {
        price_amount,
        price_currency: fiat.code().to_owned(),
        pay,
        pricing: Pricing::Fiat,
        order_id,
        order_description,
        ipn_callback_url: (!url.is_empty()).then(|| url.to_owned()),
        success_url: None,
        cancel_url: None,
        idempotency: Some(Idempotency {
            // Of its own kind, so that no key of the API is this one.
            key: format!("dashboard:{key}"),
            request_sha256: fingerprint(fields),
        }),
    })
}

fn text(name: &'static str, text: &str, most: usize) -> Result<Option<String>, ByHandError> {
    let text = text.trim();
    if text.chars().count() > most || text.contains('\0') {
        return Err(ByHandError::TooLong { name, most });
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// Of all fields but the key. Each says its length, so that no two forms run together into one.
fn fingerprint(fields: &Fields<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for text in [
        fields.price,
        fields.price_currency,
        fields.pay_currency,
        fields.order_id,
        fields.description,
        fields.webhook_url,
    ] {
        hash.update(text.trim().len().to_string());
        hash.update([b':']);
        hash.update(text.trim());
    }
    hash.finalize().into()
}

fn payment_id(created: &Created) -> Result<String, ByHandError> {
    let body: serde_json::Value = serde_json::from_str(&created.body)
        .map_err(|error| StorageError::damaged("idempotency", error))?;
    let id = body.get("payment_id").and_then(serde_json::Value::as_str);
    let id = id.ok_or_else(|| StorageError::damaged("idempotency", "no payment_id"))?;
    Ok(id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: Fields<'static> = Fields {
        key: "0198c0de-0000-7000-8000-000000000001",
        price: "25.50",
        price_currency: "usd",
        pay_currency: "usdtmatic@polygon",
        order_id: " A-1 ",
        description: "",
        webhook_url: "",
    };

    #[test]
    fn a_form_becomes_the_request_that_the_api_would_read() {
        let made = request(&FIELDS).unwrap();
        assert_eq!((made.price_currency.as_str(), made.order_id.as_deref()), ("usd", Some("A-1")));
        let named = PayWith::Named { pay_currency: "usdt".into(), network: Some("polygon".into()) };
        assert_eq!(made.pay, named);
        let choice = request(&Fields { pay_currency: "all", ..FIELDS }).unwrap();
        assert_eq!(choice.pay, PayWith::BuyersChoice);
    }

    #[test]
    fn a_wrong_field_is_refused_in_words() {
        let long = "x".repeat(256);
        for (fields, words) in [
            (Fields { key: "x", ..FIELDS }, "has no key"),
            (Fields { price: "0", ..FIELDS }, "above 0"),
            (Fields { price: "-1", ..FIELDS }, "above 0"),
            (Fields { price: "25,50", ..FIELDS }, "above 0"),
            (Fields { price_currency: "btc", ..FIELDS }, "USD, EUR or GBP"),
            (Fields { pay_currency: "usdt", ..FIELDS }, "not in the catalogue"),
            (Fields { order_id: &long, ..FIELDS }, "255 characters"),
        ] {
            let error = request(&fields).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn another_value_is_another_request_and_another_key_is_none() {
        let print = |fields: &Fields<'_>| fingerprint(fields);
        assert_eq!(print(&FIELDS), print(&Fields { key: "", ..FIELDS }));
        assert_ne!(print(&FIELDS), print(&Fields { price: "25.5", ..FIELDS }));
        let (one, two) = (
            Fields { order_id: "a", description: "b", ..FIELDS },
            Fields { order_id: "ab", description: "", ..FIELDS },
        );
        assert_ne!(print(&one), print(&two));
    }
}
