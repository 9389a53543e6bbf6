//! Answers in the shapes of NOWPayments.

use gateway::{
    app::market::Offer,
    asset::{Catalogue, Currency, explorer},
    invoice::schema,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The currencies on offer, as NOWPayments lists them.
#[derive(Debug, Serialize, ToSchema)]
pub struct FullCurrencies {
    pub currencies: Vec<FullCurrency>,
}

/// A coin or token on one chain, as NOWPayments describes it.
#[derive(Debug, Serialize, ToSchema)]
pub struct FullCurrency {
    /// Its place in this list, from 1; changes when the list does.
    #[schema(minimum = 1)]
    pub id: usize,
    /// In upper case; `pay_currency` takes it in any case.
    #[schema(examples("USDTMATIC"))]
    pub code: String,
    /// For people.
    #[schema(value_type = String, examples("Tether USD"))]
    pub name: &'static str,
    #[schema(value_type = schema::True)]
    pub enable: bool,
    /// We publish no expression for addresses.
    #[schema(value_type = schema::Null)]
    pub wallet_regex: Option<()>,
    /// The same as `id`.
    #[schema(minimum = 1)]
    pub priority: usize,
    /// No currency needs a memo.
    #[schema(value_type = schema::False)]
    pub extra_id_exists: bool,
    #[schema(value_type = schema::Null)]
    pub extra_id_regex: Option<()>,
    /// We publish no logos.
    #[schema(value_type = schema::Null)]
    pub logo_url: Option<()>,
    #[schema(value_type = schema::True)]
    pub track: bool,
    #[schema(value_type = schema::Null)]
    pub cg_id: Option<()>,
    #[schema(value_type = schema::False)]
    pub is_maxlimit: bool,
    #[schema(value_type = schema::NetworkName)]
    pub network: &'static str,
    /// The token's contract; null for native coins.
    #[schema(value_type = Option<String>, required)]
    pub smart_contract: Option<&'static str>,
    /// Decimals on its chain.
    #[schema(maximum = 24)]
    pub network_precision: u8,
    /// A block explorer's address, to which a transaction's hash is appended.
    #[schema(value_type = String)]
    pub explorer_link_hash: &'static str,
}

impl FullCurrencies {
    pub fn render(offers: &[Offer]) -> Self {
        let entry = |(index, offer): (usize, &Offer)| FullCurrency {
            id: index + 1,
            code: ticker(offer.currency),
            name: offer.currency.name,
            enable: true,
            wallet_regex: None,
            priority: index + 1,
            extra_id_exists: false,
            extra_id_regex: None,
            logo_url: None,
            track: true,
            cg_id: None,
            is_maxlimit: false,
            network: offer.currency.network.name(),
            smart_contract: offer.currency.contract,
            network_precision: offer.currency.decimals,
            explorer_link_hash: explorer::transaction_prefix(offer.currency.network),
        };
        Self { currencies: offers.iter().enumerate().map(entry).collect() }
    }
}

/// The currencies that a merchant accepts, as NOWPayments lists them.
#[derive(Debug, Serialize, ToSchema)]
pub struct MerchantCoins {
    /// In upper case; `pay_currency` takes them in any case.
    #[serde(rename = "selectedCurrencies")]
    pub selected_currencies: Vec<String>,
}

impl MerchantCoins {
    /// Those of `offers` that the allowlist holds; without one, all.
    pub fn render(offers: &[Offer], accepted: Option<&[String]>) -> Self {
        let accepts = |offer: &&Offer| {
            accepted.is_none_or(|tokens| tokens.contains(&offer.currency.token_id()))
        };
        let coins = offers.iter().filter(accepts).map(|offer| ticker(offer.currency));
        Self { selected_currencies: coins.collect() }
    }
}

/// The one name that means this currency without a network: clients of NOWPayments send none.
/// Several networks have a coin `eth`, and `ETHBASE` is base's.
fn ticker(currency: &'static Currency) -> String {
    let names = std::iter::once(currency.code).chain(currency.aliases.iter().copied());
    let means = |name: &&str| Catalogue::get().resolve(name, None) == Some(currency);
    let mut own = names.filter(means);
    own.next().unwrap_or(currency.code).to_ascii_uppercase()
}

/// An invoice, as NOWPayments answers its creation.
#[derive(Debug, Serialize, ToSchema)]
pub struct HostedInvoice {
    /// The `payment_id`.
    pub id: String,
    /// The same as `id`.
    pub token_id: String,
    /// As it was sent.
    #[schema(required)]
    pub order_id: Option<String>,
    /// As it was sent.
    #[schema(required)]
    pub order_description: Option<String>,
    /// The price, as text.
    #[schema(value_type = schema::DecimalText)]
    pub price_amount: String,
    /// In lower case.
    pub price_currency: String,
    /// Null while the buyer has not chosen.
    #[schema(required)]
    pub pay_currency: Option<String>,
    /// As it was sent, or the merchant's default.
    #[schema(required)]
    pub ipn_callback_url: Option<String>,
    /// The hosted checkout's page, to which the buyer is sent.
    pub invoice_url: String,
    /// Where the buyer is sent once it is paid.
    #[schema(required)]
    pub success_url: Option<String>,
    /// Where the buyer is sent once it is cancelled or expired.
    #[schema(required)]
    pub cancel_url: Option<String>,
    #[schema(value_type = schema::Instant)]
    pub created_at: String,
    #[schema(value_type = schema::Instant)]
    pub updated_at: String,
}

impl HostedInvoice {
    /// From the stored answer about the payment, which a repeat gets too, but for the addresses of
    /// the buyer. `None` if it is damaged.
    pub fn render(payment: &str) -> Option<Self> {
        let payment: Value = serde_json::from_str(payment).ok()?;
        let text = |name: &str| payment[name].as_str().map(ToOwned::to_owned);
        Some(Self {
            id: text("payment_id")?,
            token_id: text("payment_id")?,
            order_id: text("order_id"),
            order_description: text("order_description"),
            price_amount: payment["price_amount"].as_number()?.to_string(),
            price_currency: text("price_currency")?,
            pay_currency: text("pay_currency"),
            ipn_callback_url: text("ipn_callback_url"),
            invoice_url: text("invoice_url")?,
            success_url: None,
            cancel_url: None,
            created_at: text("created_at")?,
            updated_at: text("updated_at")?,
        })
    }
}
