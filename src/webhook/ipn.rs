//! The payment IPN: its body, its headers, its signature (spec, "Payment IPN (default dialect)").

use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::Sha512;
use utoipa::ToSchema;

use super::{canonical::to_canonical_json, donation::DonationBody, subscription::RenewalBody};
use crate::{
    invoice::{payment::Payment, schema},
    merchant::WebhookSecret,
};

pub const SIGNATURE_HEADER: &str = "x-gateway-sig";
pub const EVENT_ID_HEADER: &str = "x-gateway-event-id";
pub const USER_AGENT: &str = "gateway-ipn/0.1.0";
pub const CONTENT_TYPE: &str = "application/json";

/// Values of `_gateway.notice.amount_unit`.
pub const IN_COINS: &str = "coins";
pub const IN_BASE_UNITS: &str = "base_units";

/// The body of an IPN, for the API's description: [`body`] writes it from the stored snapshot.
#[derive(Serialize, ToSchema)]
pub struct PaymentIpn {
    #[serde(flatten)]
    pub payment: Payment,
    /// Stable across all attempts and deliveries of this event. Other events of the same payment
    /// have other ids, so this id cannot show that an order was fulfilled already: store
    /// `payment_id` with `payment_status` for that.
    pub event_id: String,
    /// Seconds since 1970, renewed at each attempt. Refuse deliveries older than ten minutes.
    pub event_at: i64,
    /// Present only on donations, on notices and on reminders of a renewal.
    #[serde(rename = "_gateway", skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpnPart>,
}

/// Data of the gateway's own beside the payment object.
#[derive(Serialize, ToSchema)]
pub struct IpnPart {
    /// Present in every IPN of an invoice of type `donation` that began on a link's page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub donation: Option<DonationBody>,
    /// Present in reminders of a subscription's renewal alone: `payment_status` only repeats the
    /// state of its latest invoice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewal: Option<RenewalBody>,
}

/// The body of an informational IPN. `payment_status` is the present status of the invoice: a
/// notice is not a status change, and goods must not be shipped because of it.
#[derive(Serialize, ToSchema)]
pub struct PaymentNotice {
    #[serde(flatten)]
    pub ipn: PaymentIpn,
    #[serde(rename = "_gateway")]
    pub gateway: NoticePart,
}

/// The part of the body that sets a notice apart from a change of status.
#[derive(Serialize, ToSchema)]
pub struct NoticePart {
    pub notice: NoticeBody,
    /// Present if the invoice is a donation that began on a link's page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub donation: Option<DonationBody>,
}

/// The deposit behind an informational IPN.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Notice)]
pub struct NoticeBody {
    /// `wrong_token_received`, `suspicious_token_received` or `late_deposit_received`; later
    /// releases may add more.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: &'static str,
    /// The transaction that brought it.
    pub tx_hash: String,
    /// The output, or the position among the transaction's logs; null where the network has
    /// neither.
    #[schema(required)]
    pub log_index: Option<u64>,
    /// Identifies the deposit: one transaction may contain several.
    pub deposit_key: String,
    /// The chain on which it arrived.
    #[schema(value_type = schema::NetworkName)]
    pub network: &'static str,
    /// The code of the currency that arrived; null for a token that is not in `GET /v1/currencies`.
    #[schema(required)]
    pub currency: Option<String>,
    /// The token's contract; null for native coins.
    #[schema(required)]
    pub contract_address: Option<String>,
    /// Whole coins if the token's decimals are known, else base units.
    pub amount: String,
    /// The unit of `amount`: `coins` or `base_units`.
    #[schema(value_type = String)]
    pub amount_unit: &'static str,
    /// When it was first seen.
    #[schema(value_type = schema::Instant)]
    pub received_at: String,
}

/// The part of the body that is fixed when the event happens: the payment object, the notice of an
/// informational IPN, and the metadata of a donation.
///
/// `event_id` and `event_at` are not included: the first is the row's own, the second is set at
/// each signing.
pub fn snapshot(
    payment: &Payment,
    notice: Option<&NoticeBody>,
    donation: Option<&DonationBody>,
    renewal: Option<&RenewalBody>,
) -> String {
    let mut body = serde_json::to_value(payment).expect("a payment object is plain data");
    if let Some(notice) = notice {
        body["_gateway"]["notice"] = serde_json::to_value(notice).expect("a notice is plain data");
    }
    if let Some(donation) = donation {
        let donation = serde_json::to_value(donation).expect("a donation is plain data");
        body["_gateway"]["donation"] = donation;
    }
    if let Some(renewal) = renewal {
        let renewal = serde_json::to_value(renewal).expect("a renewal is plain data");
        body["_gateway"]["renewal"] = renewal;
    }
    to_canonical_json(&body)
}

/// The number at the end of a deposit key, where it has one: the output, or the position among the
/// transaction's logs.
pub fn log_index(deposit_key: &str) -> Option<u64> {
    deposit_key.rsplit(':').next().and_then(|last| last.parse().ok())
}

/// A stored snapshot that is not a JSON object. Only a damaged row can contain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stored payload is not a JSON object")]
pub struct DamagedSnapshot;

/// Bytes of one attempt: the snapshot with `event_id` and `event_at` (epoch seconds, now).
pub fn body(snapshot: &str, event_id: &str, event_at: i64) -> Result<String, DamagedSnapshot> {
    let mut body: Map<String, Value> =
        serde_json::from_str(snapshot).map_err(|_| DamagedSnapshot)?;
    body.insert("event_id".into(), event_id.into());
    body.insert("event_at".into(), event_at.into());
    Ok(to_canonical_json(&Value::Object(body)))
}

/// HMAC-SHA-512 over exactly `body`, as 128 lowercase hex characters.
pub fn sign(secret: &WebhookSecret, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha512>::new_from_slice(secret.reveal().as_bytes())
        .expect("HMAC takes a key of any length");
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use expect_test::expect;

    use super::*;
    use crate::{
        invoice::{payment::PaymentView, vocabulary::Status},
        money::{BaseUnits, Price},
    };

    fn draft() -> Payment {
        let at = DateTime::UNIX_EPOCH;
        let view = PaymentView {
            payment_id: "pzi_0".into(),
            status: Status::Draft,
            price_amount: Price::parse("25.10").unwrap(),
            price_currency: "usd".into(),
            asset: None,
            actually_paid: BaseUnits::ZERO,
            order_id: None,
            order_description: None,
            ipn_callback_url: None,
            invoice_type: crate::invoice::InvoiceType::Payment,
            window_seconds: 1800,
            deadline: at,
            created_at: at,
            updated_at: at,
            subscription: None,
        };
        Payment::render(&view, "https://pay.example")
    }

    /// The described bodies are those that are sent: the same fields, with the two that each
    /// attempt adds.
    #[test]
    fn responses_match_their_openapi_schemas() {
        let payment = draft();
        let notice = NoticeBody {
            kind: "wrong_token_received",
            tx_hash: "0xab".into(),
            deposit_key: "0xab:log:3".into(),
            log_index: Some(3),
            network: "polygon",
            currency: None,
            contract_address: None,
            amount: "15".into(),
            amount_unit: IN_BASE_UNITS,
            received_at: "2023-11-14T22:13:20.000Z".into(),
        };
        let sent = body(&snapshot(&payment, Some(&notice), None, None), "evt_1", 7).unwrap();
        let ipn = PaymentIpn { payment, event_id: "evt_1".into(), event_at: 7, gateway: None };
        let described = PaymentNotice { ipn, gateway: NoticePart { notice, donation: None } };
        assert_eq!(to_canonical_json(&serde_json::to_value(described).unwrap()), sent);
    }

    #[test]
    fn an_ipn_is_the_sorted_payment_object_and_a_notice_is_marked_as_one() {
        let payment = draft();
        let plain: Value = serde_json::from_str(&snapshot(&payment, None, None, None)).unwrap();
        assert_eq!(plain, serde_json::to_value(&payment).unwrap());
        let notice = NoticeBody {
            kind: "late_deposit_received",
            tx_hash: "0xab".into(),
            deposit_key: "0xab:log:3".into(),
            log_index: log_index("0xab:log:3"),
            network: "polygon",
            currency: Some("usdtmatic".into()),
            contract_address: None,
            amount: "1.5".into(),
            amount_unit: IN_COINS,
            received_at: "2023-11-14T22:13:20.000Z".into(),
        };
        let told = snapshot(&payment, Some(&notice), None, None);
        let (told, rest) = told.split_once(r#","actually_paid""#).unwrap();
        expect![[r#"{"_gateway":{"notice":{"amount":"1.5","amount_unit":"coins","contract_address":null,"currency":"usdtmatic","deposit_key":"0xab:log:3","log_index":3,"network":"polygon","received_at":"2023-11-14T22:13:20.000Z","tx_hash":"0xab","type":"late_deposit_received"}}"#]]
            .assert_eq(told);
        assert_eq!(format!(r#"{{"actually_paid"{rest}"#), snapshot(&payment, None, None, None));
    }

    #[test]
    fn a_donation_is_beside_the_payment_and_beside_a_notice() {
        let payment = draft();
        let donation = DonationBody {
            link_id: "pzl_0".into(),
            donor_name: Some("Ada \"<b>\"".into()),
            donor_email: None,
            message: None,
            anonymous: false,
            suggested_amount: Some("10".into()),
            suggested_currency: Some("usd".into()),
        };
        let told = snapshot(&payment, None, Some(&donation), None);
        let (told, rest) = told.split_once(r#","actually_paid""#).unwrap();
        expect![[r#"{"_gateway":{"donation":{"anonymous":false,"donor_email":null,"donor_name":"Ada \"<b>\"","link_id":"pzl_0","message":null,"suggested_amount":"10","suggested_currency":"usd"}}"#]]
            .assert_eq(told);
        assert_eq!(format!(r#"{{"actually_paid"{rest}"#), snapshot(&payment, None, None, None));
        let described = PaymentIpn {
            payment,
            event_id: "evt_1".into(),
            event_at: 7,
            gateway: Some(IpnPart { donation: Some(donation.clone()), renewal: None }),
        };
        let sent = body(&snapshot(&draft(), None, Some(&donation), None), "evt_1", 7).unwrap();
        assert_eq!(to_canonical_json(&serde_json::to_value(described).unwrap()), sent);
    }

    #[test]
    fn a_reminder_of_a_subscription_is_its_latest_payment_with_the_renewal_beside_it() {
        let payment = draft();
        let renewal = RenewalBody {
            day_offset: -3,
            next_renewal_at: "2023-12-14T22:13:20.000Z".into(),
            cycle: 2,
            renewal_url: "https://pay.example/renew/pzr_0".into(),
        };
        let told = snapshot(&payment, None, None, Some(&renewal));
        let (told, rest) = told.split_once(r#","actually_paid""#).unwrap();
        expect![[r#"{"_gateway":{"renewal":{"cycle":2,"day_offset":-3,"next_renewal_at":"2023-12-14T22:13:20.000Z","renewal_url":"https://pay.example/renew/pzr_0"}}"#]]
            .assert_eq(told);
        assert_eq!(format!(r#"{{"actually_paid"{rest}"#), snapshot(&payment, None, None, None));
        let described = PaymentIpn {
            payment,
            event_id: "evt_1".into(),
            event_at: 7,
            gateway: Some(IpnPart { donation: None, renewal: Some(renewal.clone()) }),
        };
        let sent = body(&snapshot(&draft(), None, None, Some(&renewal)), "evt_1", 7).unwrap();
        assert_eq!(to_canonical_json(&serde_json::to_value(described).unwrap()), sent);
    }

    #[test]
    fn the_signature_is_hmac_sha_512_with_the_secret_s_own_text_as_key() {
        // RFC 4231, test case 2: key "Jefe".
        let secret = WebhookSecret::from("Jefe".to_owned());
        let signature = sign(&secret, b"what do ya want for nothing?");
        let expected = "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554\
                        9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737";
        assert_eq!(signature, expected);
    }

    #[test]
    fn event_at_changes_at_each_signing_and_event_id_does_not() {
        let first = body(r#"{"z":1,"a":2.10}"#, "evt", 1).unwrap();
        assert_eq!(first, r#"{"a":2.10,"event_at":1,"event_id":"evt","z":1}"#);
        assert_eq!(body("[]", "evt", 1), Err(DamagedSnapshot));
    }

    #[test]
    fn the_index_of_a_log_or_output_is_read_from_its_key() {
        assert_eq!(log_index("0xab:log:3"), Some(3));
        assert_eq!(log_index("ab12:0"), Some(0));
        assert_eq!(log_index("0xab:native"), None);
    }
}
