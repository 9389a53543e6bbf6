//! Addresses without an invoice, and the IPNs about their deposits.

use serde::Deserialize;
use serde_json::Number;

use super::{
    amount::Parts,
    form,
    ipn::{DamagedPayload, Envelope},
    status,
};
use crate::{asset::catalogue::Catalogue, money::BaseUnits, vocabulary::vocabulary};

pub const LABEL_CHARS_MAX: usize = 255;
const IPN_TYPE: &str = "deposit";
const COMPLETE: i8 = 100;
/// Places of a value in fiat.
const FIAT_PLACES: u32 = 8;

vocabulary! {
    /// Purpose of an address without an invoice.
    pub enum Purpose: "purpose of an address" {
        /// Of `get_callback_address`: a new one for each request, told by IPNs.
        Callback = "callback",
        /// Of `get_deposit_address`: one per merchant and currency, without IPNs.
        Standing = "standing",
    }
}

/// A stored event of a credited deposit.
#[derive(Debug, Deserialize)]
pub struct CreditedDeposit {
    deposit_id: String,
    address: String,
    network: String,
    currency: String,
    amount: Number,
    tx_hash: String,
    confirmations: u64,
    label: Option<String>,
    fiat_currency: Option<String>,
    fiat_amount: Option<Number>,
}

impl CreditedDeposit {
    /// Reads the payload that the feed tells.
    pub fn read(payload: &str) -> Result<Self, DamagedPayload> {
        serde_json::from_str(payload).map_err(|_| DamagedPayload)
    }

    /// Encodes the body of the IPN. It is the same at every attempt.
    pub fn body(&self, envelope: &Envelope<'_>) -> Result<String, DamagedPayload> {
        let token_id = format!("{}@{}", self.currency, self.network);
        let currency = Catalogue::get().by_token_id(&token_id).ok_or(DamagedPayload)?;
        let amount = parts(&self.amount, u32::from(currency.decimals))?;
        let mut fields = envelope.fields(IPN_TYPE);
        fields.extend([
            ("deposit_id", self.deposit_id.clone()),
            ("txn_id", self.tx_hash.clone()),
            ("address", self.address.clone()),
            ("status", COMPLETE.to_string()),
            ("status_text", status::text(COMPLETE).to_owned()),
            ("currency", currency.legacy_code()),
            ("confirms", self.confirmations.to_string()),
            ("amount", amount.text()),
            ("amounti", amount.get().to_string()),
            // Nothing is taken of a deposit here.
            ("fee", Parts::ZERO.text()),
            ("feei", "0".to_owned()),
        ]);
        if let (Some(fiat), Some(value)) = (&self.fiat_currency, &self.fiat_amount) {
            let value = parts(value, FIAT_PLACES)?;
            fields.extend([
                ("fiat_coin", fiat.to_ascii_uppercase()),
                ("fiat_amount", value.text()),
                ("fiat_amounti", value.get().to_string()),
                ("fiat_fee", Parts::ZERO.text()),
                ("fiat_feei", "0".to_owned()),
            ]);
        }
        fields.extend(self.label.iter().map(|label| ("label", label.clone())));
        Ok(form::encode(fields.iter().map(|(name, value)| (*name, value.as_str()))))
    }
}

fn parts(number: &Number, decimals: u32) -> Result<Parts, DamagedPayload> {
    let units = BaseUnits::parse(&number.to_string(), decimals).map_err(|_| DamagedPayload)?;
    Ok(Parts::rounded_down(units, decimals))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use uuid::Uuid;

    use super::*;

    const CREDITED: &str = r#"{"deposit_id":"0192f0c12a3b7c4d8e5f0123456789ab","address":"0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        "network":"polygon","currency":"usdtmatic","amount":12.5,"tx_hash":"0xab","confirmations":20,"label":"user 7",
        "fiat_currency":"usd","fiat_amount":12.4999}"#;

    fn told(payload: &str) -> Result<String, DamagedPayload> {
        let merchant_id = Uuid::from_u128(0xab);
        CreditedDeposit::read(payload)?.body(&Envelope { event_id: "evt_01", merchant_id })
    }

    #[test]
    fn a_deposit_is_told_with_its_value_and_its_label() {
        expect!["ipn_version=1.0&ipn_type=deposit&ipn_mode=hmac&ipn_id=01&merchant=000000000000000000000000000000ab&deposit_id=0192f0c12a3b7c4d8e5f0123456789ab&txn_id=0xab&address=0x9858EfFD232B4033E47d90003D41EC34EcaEda94&status=100&status_text=Complete&currency=USDT.POL&confirms=20&amount=12.50000000&amounti=1250000000&fee=0.00000000&feei=0&fiat_coin=USD&fiat_amount=12.49990000&fiat_amounti=1249990000&fiat_fee=0.00000000&fiat_feei=0&label=user+7"]
            .assert_eq(&told(CREDITED).unwrap());
    }

    #[test]
    fn one_without_a_rate_has_no_value_and_a_damaged_one_is_not_told() {
        let plain = CREDITED.replace("12.4999", "null").replace("\"user 7\"", "null");
        let body = told(&plain).unwrap();
        assert!(body.ends_with("&feei=0"), "{body}");
        for payload in ["", "{}", &CREDITED.replace("usdtmatic", "none")] {
            assert_eq!(told(payload), Err(DamagedPayload), "{payload}");
        }
    }
}
