//! IPNs in the dialect: the fields of a stored event, in the order in which they are sent.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Number;
use uuid::Uuid;

use super::{
    amount::Parts,
    form, keys,
    order::{IpnType, Order},
    status,
};
use crate::{
    asset::{Network, catalogue::Catalogue},
    money::BaseUnits,
};

pub const CONTENT_TYPE: &str = "application/x-www-form-urlencoded";
const VERSION: &str = "1.0";
const MODE: &str = "hmac";
const DONE: i8 = 100;

/// Order in which an order's fields are sent; others of them come after these.
const IN_ORDER: &[&str] = &[
    "buyer_name",
    "first_name",
    "last_name",
    "company",
    "email",
    "address1",
    "address2",
    "city",
    "state",
    "zip",
    "country",
    "country_name",
    "phone",
    "subtotal",
    "shipping",
    "tax",
    "item_amount",
    "item_name",
    "item_desc",
    "item_number",
    "invoice",
    "custom",
    "on1",
    "ov1",
    "on2",
    "ov2",
    "quantity",
    "extra",
];

/// A stored event that cannot be told in the dialect. Only a damaged row is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stored payload is not a payment object")]
pub struct DamagedPayload;

/// The part of a stored event that the dialect needs.
#[derive(Debug, Deserialize)]
pub struct Event {
    payment_status: String,
    pay_amount: Option<Number>,
    pay_currency: Option<String>,
    network: Option<String>,
    actually_paid: Number,
    #[serde(rename = "_gateway")]
    gateway: Option<GatewayPart>,
}

#[derive(Debug, Deserialize)]
struct GatewayPart {
    notice: Option<Notice>,
}

#[derive(Debug, Deserialize)]
struct Notice {
    #[serde(rename = "type")]
    kind: String,
}

/// The parts of every IPN that its event does not contain.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    pub event_id: &'a str,
    pub merchant_id: Uuid,
}

impl Envelope<'_> {
    /// The fields with which every IPN begins. The id is our event's, without the prefix of its
    /// kind.
    pub(super) fn fields(&self, ipn_type: &str) -> Vec<(&'static str, String)> {
        let id = self.event_id.split_once('_').map_or(self.event_id, |(_, id)| id);
        vec![
            ("ipn_version", VERSION.to_owned()),
            ("ipn_type", ipn_type.to_owned()),
            ("ipn_mode", MODE.to_owned()),
            ("ipn_id", id.to_owned()),
            ("merchant", keys::merchant_id(self.merchant_id)),
        ]
    }
}

/// The parts of an invoice's IPN that its event does not contain.
pub struct Context<'a> {
    pub envelope: Envelope<'a>,
    pub order: &'a Order,
    /// Confirmations that the network of the payment requires.
    pub required_confirmations: u64,
}

/// The paid currency and its amounts, with eight decimal places.
struct Paid {
    code: String,
    due: String,
    received: String,
}

impl Event {
    /// Reads the payload that is stored for the default dialect.
    pub fn read(payload: &str) -> Result<Self, DamagedPayload> {
        serde_json::from_str(payload).map_err(|_| DamagedPayload)
    }

    /// The network of the payment; `None` while its buyer has chosen none.
    pub fn network(&self) -> Option<Network> {
        self.network.as_ref()?.parse().ok()
    }

    /// Encodes the body of the IPN. It is the same at every attempt.
    pub fn body(&self, context: &Context<'_>) -> Result<String, DamagedPayload> {
        let fields = self.fields(context)?;
        Ok(form::encode(fields.iter().map(|(name, value)| (*name, value.as_str()))))
    }

    fn fields<'a>(&self, context: &Context<'a>) -> Result<Vec<(&'a str, String)>, DamagedPayload> {
        let code = status::code_of_merchant(&self.payment_status).ok_or(DamagedPayload)?;
        let (order, paid) = (context.order, self.paid()?);
        let mut fields: Vec<(&'a str, String)> = context.envelope.fields(order.ipn_type.as_str());
        fields.extend([
            ("status", code.to_string()),
            ("status_text", status::text(code).to_owned()),
            ("txn_id", order.txn_id.clone()),
            ("currency1", order.currency1.clone()),
        ]);
        if let Some(paid) = &paid {
            fields.push(("currency2", paid.code.clone()));
        }
        fields.push(("amount1", order.amount1.to_decimal()));
        if let Some(paid) = paid {
            fields.push(("amount2", paid.due));
            // Nothing is taken of a payment here.
            fields.push(("fee", Parts::ZERO.text()));
            if order.ipn_type != IpnType::Api {
                fields.push(("net", paid.received.clone()));
            }
            fields.push(("received_amount", paid.received));
            let confirmations = if code == DONE { context.required_confirmations } else { 0 };
            fields.push(("received_confirms", confirmations.to_string()));
        }
        fields.extend(in_order(&order.fields));
        if let Some(notice) = self.gateway.as_ref().and_then(|part| part.notice.as_ref()) {
            fields.push(("notice", notice.kind.clone()));
        }
        Ok(fields)
    }

    fn paid(&self) -> Result<Option<Paid>, DamagedPayload> {
        let (Some(due), Some(currency), Some(network)) =
            (&self.pay_amount, &self.pay_currency, &self.network)
        else {
            return Ok(None);
        };
        let currency = Catalogue::get().by_token_id(&format!("{currency}@{network}"));
        let currency = currency.ok_or(DamagedPayload)?;
        let decimals = u32::from(currency.decimals);
        let units = |number: &Number| {
            BaseUnits::parse(&number.to_string(), decimals).map_err(|_| DamagedPayload)
        };
        Ok(Some(Paid {
            code: currency.legacy_code(),
            due: Parts::rounded_up(units(due)?, decimals).text(),
            received: Parts::rounded_down(units(&self.actually_paid)?, decimals).text(),
        }))
    }
}

fn in_order(fields: &BTreeMap<String, String>) -> Vec<(&str, String)> {
    let known = IN_ORDER.iter().filter_map(|name| fields.get_key_value(*name));
    let others = fields.iter().filter(|(name, _)| !IN_ORDER.contains(&name.as_str()));
    known.chain(others).map(|(name, value)| (name.as_str(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::{legacy::order::Fields, money::Price};

    fn order(ipn_type: IpnType) -> Order {
        let fields = [
            ("email", "ada@shop.example"),
            ("buyer_name", "Ada (Byron)"),
            ("item_name", "2 × tea!"),
            ("invoice", "A-1"),
            ("custom", "it's=42&more"),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Order {
            txn_id: "PZ7K2M9Q4R8T1V5W3X6Y0ABCDE".into(),
            view_key: "00".repeat(16),
            ipn_type,
            currency1: "USD".into(),
            amount1: Price::parse("12.50").unwrap(),
            fields: Fields::from(fields),
        }
    }

    fn told(payload: &str, ipn_type: IpnType) -> Result<String, DamagedPayload> {
        let order = order(ipn_type);
        Event::read(payload)?.body(&Context {
            envelope: Envelope {
                event_id: "evt_0192f0c12a3b7c4d8e5f0123456789ab",
                merchant_id: Uuid::from_u128(0xab),
            },
            order: &order,
            required_confirmations: 2,
        })
    }

    const FINISHED: &str = r#"{"actually_paid":12.51,"network":"polygon","pay_amount":12.500001,"pay_currency":"usdtmatic",
        "payment_status":"finished","purchase_id":"pzi_0"}"#;

    #[test]
    fn a_paid_transaction_is_told_with_its_order_s_fields() {
        expect!["ipn_version=1.0&ipn_type=api&ipn_mode=hmac&ipn_id=0192f0c12a3b7c4d8e5f0123456789ab&merchant=000000000000000000000000000000ab&status=100&status_text=Complete&txn_id=PZ7K2M9Q4R8T1V5W3X6Y0ABCDE&currency1=USD&currency2=USDT.POL&amount1=12.5&amount2=12.50000100&fee=0.00000000&received_amount=12.51000000&received_confirms=2&buyer_name=Ada+(Byron)&email=ada%40shop.example&item_name=2+%C3%97+tea!&invoice=A-1&custom=it's%3D42%26more"]
            .assert_eq(&told(FINISHED, IpnType::Api).unwrap());
    }

    #[test]
    fn an_abandoned_draft_has_no_second_currency_and_a_notice_says_so() {
        let payload = r#"{"actually_paid":0,"network":null,"pay_amount":null,"pay_currency":null,"payment_status":"expired"}"#;
        let body = told(payload, IpnType::Button).unwrap();
        assert!(body.contains("&status=-1&status_text=Cancelled+%2F+Timed+Out&"), "{body}");
        assert!(!body.contains("currency2") && !body.contains("amount2"), "{body}");
        let notice = FINISHED.replace(
            "\"purchase_id\"",
            r#""_gateway":{"notice":{"type":"late_deposit_received"}},"purchase_id""#,
        );
        let body = told(&notice, IpnType::Button).unwrap();
        assert!(body.ends_with("&notice=late_deposit_received"), "{body}");
        assert!(body.contains("&net=12.51000000&"), "{body}");
    }

    #[test]
    fn a_damaged_payload_is_not_told() {
        for payload in [
            "",
            "[]",
            "{}",
            &FINISHED.replace("usdtmatic", "none"),
            &FINISHED.replace("finished", "paid"),
        ] {
            assert_eq!(told(payload, IpnType::Api), Err(DamagedPayload), "{payload}");
        }
    }
}
