//! Results of commands as the dialect writes them.

use gateway::{
    app::{
        invoice::buyer_status::BuyerStatus,
        legacy::{create::Transaction, read::TransactionInfo, tickers::Ticker},
        merchant::balance::AssetBalance,
    },
    invoice::payment::{invoice_url, json_number},
    legacy::{
        amount::Parts,
        keys,
        order::{Fields, Order},
        status,
    },
    money::BaseUnits,
    storage::merchants::MerchantRow,
};
use serde_json::{Map, Number, Value, json};

use crate::State;

pub fn account(merchant: &MerchantRow) -> Value {
    json!({
        "username": merchant.name,
        "merchant_id": keys::merchant_id(merchant.id),
        // None is kept of a merchant.
        "email": "",
        "public_name": merchant.name,
        "time_joined": merchant.created_at.timestamp(),
        "kyc_status": false,
    })
}

pub fn rates(tickers: &[Ticker], short: bool, accepted: i64) -> Value {
    let shown = tickers.iter().filter(|ticker| accepted != 2 || ticker.accepted);
    let entry = |ticker: &Ticker| {
        let mut entry = json!({
            "is_fiat": u8::from(ticker.is_fiat),
            "rate_btc": ticker.rate_btc,
            "last_update": ticker.last_update.to_string(),
            "tx_fee": "0.00000000",
            "status": "online",
        });
        if !short {
            entry["name"] = json!(ticker.name);
            entry["confirms"] = json!(ticker.confirmations.to_string());
            entry["can_convert"] = json!(0);
            let able: &[&str] = if ticker.is_sold { &["payments"] } else { &[] };
            entry["capabilities"] = json!(able);
            entry["explorer"] = json!(ticker.explorer);
        }
        if accepted > 0 {
            entry["accepted"] = json!(u8::from(ticker.accepted));
        }
        (ticker.code.clone(), entry)
    };
    Value::Object(shown.map(entry).collect())
}

/// Currencies of `codes` without an entry have none of theirs.
pub fn balances(found: &[AssetBalance], codes: &[String]) -> Value {
    let mut balances: Map<String, Value> =
        codes.iter().map(|code| (code.clone(), balance("0", 0))).collect();
    for asset in found {
        let currency = asset.currency;
        let shown = balance(&asset.available, u32::from(currency.decimals));
        balances.insert(currency.legacy_code(), shown);
    }
    Value::Object(balances)
}

/// Of whole coins; negative where a reversal took more than there was.
fn balance(coins: &str, decimals: u32) -> Value {
    let (sign, digits) = coins.strip_prefix('-').map_or(("", coins), |digits| ("-", digits));
    // Beyond 128 bits it ends there: it is shown and never booked.
    let units = BaseUnits::parse(digits, decimals).unwrap_or(BaseUnits::new(u128::MAX));
    let parts = Parts::rounded_down(units, decimals);
    let sign = if parts.get() == 0 { "" } else { sign };
    json!({
        "balance": json_number(&format!("{sign}{}", parts.get())),
        "balancef": format!("{sign}{}", parts.text()),
        "status": "available",
        "coin_status": "online",
    })
}

/// The result of `create_transaction`.
pub fn created(gateway: &State, made: &Transaction) -> Value {
    let (view, order) = (&made.invoice.view, &made.order);
    let asset = view.asset.as_ref();
    let amount =
        asset.map(|asset| Parts::rounded_up(asset.pay_amount, u32::from(asset.decimals)).text());
    json!({
        "amount": amount,
        "txn_id": order.txn_id,
        "address": asset.map(|asset| &asset.pay_address),
        "confirms_needed": made.confirmations_needed.to_string(),
        "timeout": view.window_seconds,
        "checkout_url": invoice_url(&gateway.config.checkout_url, &view.payment_id),
        "status_url": buyer_url(gateway, "index.php?cmd=status&", order),
        "qrcode_url": buyer_url(gateway, "qrgen.php?", order),
    })
}

fn buyer_url(gateway: &State, page: &str, order: &Order) -> String {
    let base = gateway.config.base_url.trim_end_matches('/');
    format!("{base}/legacy/{page}id={}&key={}", order.txn_id, order.view_key)
}

/// The result of `get_tx_info`; `full` adds the fields of its order.
pub fn info(found: &TransactionInfo, full: bool) -> Value {
    let shown = &found.status;
    let code = shown.status.adapter_code();
    let asset = shown.asset.as_ref();
    let parts = |of: fn(&gateway::app::invoice::buyer_status::BuyerAsset) -> Parts| {
        asset.map_or(Parts::rounded_up(BaseUnits::ZERO, 0), of)
    };
    let amount = parts(|asset| Parts::rounded_up(asset.due, asset.decimals));
    let received = parts(|asset| Parts::rounded_down(asset.received, asset.decimals));
    let mut info = json!({
        "time_created": shown.created_at.timestamp(),
        "time_expires": shown.expires_at.timestamp(),
        "status": code,
        "status_text": status::text(code),
        "type": "coins",
        "coin": asset.map_or(String::new(), |asset| asset.currency.legacy_code()),
        "amount": whole(amount),
        "amountf": amount.text(),
        "received": whole(received),
        "receivedf": received.text(),
        "recv_confirms": asset.and_then(|asset| asset.confirmations).unwrap_or(0),
        "payment_address": asset.map_or("", |asset| asset.pay_address.as_str()),
    });
    if full {
        info["checkout"] = checkout(shown, found.order.as_ref());
    }
    info
}

/// An amount as a number of 10⁻⁸ parts.
pub fn whole(parts: Parts) -> Number {
    json_number(&parts.get().to_string())
}

fn checkout(shown: &BuyerStatus, order: Option<&Order>) -> Value {
    let none = Fields::new();
    let fields = order.map_or(&none, |order| &order.fields);
    let mut checkout: Map<String, Value> =
        fields.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let (currency, amount) = order.map_or_else(
        || (shown.price_currency.to_uppercase(), shown.price_amount),
        |order| (order.currency1.clone(), order.amount1),
    );
    checkout.insert("currency".to_owned(), json!(currency));
    checkout.insert("amountf".to_owned(), json!(amount.to_decimal()));
    Value::Object(checkout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balance_is_a_whole_number_and_a_text_of_eight_places() {
        for (coins, decimals, whole, text) in [
            ("0", 0, "0", "0.00000000"),
            ("1.5", 6, "150000000", "1.50000000"),
            ("-1.5", 6, "-150000000", "-1.50000000"),
            ("-0.000000000000000001", 18, "0", "0.00000000"),
            ("0.123456789", 18, "12345678", "0.12345678"),
        ] {
            let shown = balance(coins, decimals);
            assert_eq!(shown["balance"].to_string(), whole, "{coins}");
            assert_eq!(shown["balancef"], json!(text), "{coins}");
        }
    }
}
