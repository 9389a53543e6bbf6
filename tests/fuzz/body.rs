//! Bodies of `POST /v1/payment`: one meaning or a refusal.

use gateway::egress::guard::Policy;
use gateway_api::{body::parse_members, payment::new_payment};

pub fn check(data: &[u8]) {
    let key = Some("key".to_owned());
    let Ok(members) = parse_members(data) else { return };
    let Ok(first) = new_payment::parse(&members, key.clone(), &Policy::public()) else { return };
    assert!(!first.price_amount.is_zero());
    for text in [&first.order_id, &first.order_description].into_iter().flatten() {
        assert!(!text.contains('\0'));
    }
    // Unread members may contain half a surrogate pair, which is valid JSON grammar but not text.
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(data) else { return };
    assert!(value["price_amount"].is_number(), "{value}");
    // The same values in another spelling are the same request: the fingerprint identifies a
    // repeated request.
    let respelled = serde_json::to_vec_pretty(&value).expect("JSON can be written");
    let members = parse_members(&respelled).expect("respelled JSON is an object");
    let again = new_payment::parse(&members, key, &Policy::public()).expect("accepted again");
    let fingerprint = |idempotency: Option<gateway::app::invoice::create::Idempotency>| {
        idempotency.map(|known| known.request_sha256)
    };
    assert_eq!(fingerprint(first.idempotency), fingerprint(again.idempotency));
}
