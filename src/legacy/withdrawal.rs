//! Withdrawals: payout orders of one recipient, and the IPNs about them.

use serde::Deserialize;

use super::{
    amount::Parts,
    form,
    ipn::{DamagedPayload, Envelope},
    order,
};
use crate::{
    asset::catalogue::Catalogue,
    money::BaseUnits,
    payout::{EventType, State},
};

/// Withdrawals of one `create_mass_withdrawal`. Each is an order with an address of its own, so
/// this bounds the work of one request.
pub const MASS_MAX: usize = 25;
const IPN_TYPE: &str = "withdrawal";

/// Code and text of a withdrawal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// -1 cancelled, 0 waits for its merchant, 1 pending, 2 complete.
    pub code: i8,
    pub text: &'static str,
}

/// The standing of an order. The texts distinguish states for which the codes have no number: that
/// the merchant must confirm it or fund it, or that people look at it.
pub const fn standing(state: State, is_held: bool) -> Standing {
    let (code, text) = match state {
        State::Draft => (0, "Waiting for confirmation by the merchant"),
        State::PendingDeposit | State::Funded | State::Processing if is_held => {
            (1, "Held for review")
        }
        State::PendingDeposit => (1, "Waiting for its deposit"),
        State::Funded | State::Processing => (1, "Pending"),
        State::Completed => (2, "Complete"),
        State::PartialFailed => (-1, "Failed"),
        State::Expired => (-1, "Timed Out"),
        State::Cancelled => (-1, "Cancelled"),
    };
    Standing { code, text }
}

/// Returns true for the events that an IPN tells. The others change no code, and the feed has them.
pub const fn is_told(event: EventType) -> bool {
    match event {
        EventType::Created
        | EventType::BatchBroadcasted
        | EventType::Completed
        | EventType::PartialFailed
        | EventType::Expired
        | EventType::Cancelled => true,
        EventType::QuoteRefreshed
        | EventType::DepositDetected
        | EventType::Underfunded
        | EventType::Overfunded
        | EventType::BatchConfirmed
        | EventType::BatchFailed => false,
    }
}

/// A new public id, of the same form as a `txn_id`.
pub fn new_id() -> String {
    order::new_txn_id()
}

/// Returns true if `text` has the form of such an id.
pub fn is_id(text: &str) -> bool {
    order::is_txn_id(text)
}

/// The part of a stored order that the dialect needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderEvent {
    state: String,
    held: bool,
    network: String,
    currency: String,
    payout_total_raw: String,
    last_batch: Option<Batch>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Batch {
    tx_hash: Option<String>,
}

impl OrderEvent {
    /// Reads the payload that is stored for the default dialect.
    pub fn read(payload: &str) -> Result<Self, DamagedPayload> {
        serde_json::from_str(payload).map_err(|_| DamagedPayload)
    }

    /// Encodes the body of the IPN. It is the same at every attempt. `withdrawal` is the public id
    /// and the recipient's address.
    pub fn body(
        &self,
        envelope: &Envelope<'_>,
        (id, address): (&str, &str),
    ) -> Result<String, DamagedPayload> {
        let state: State = self.state.parse().map_err(|_| DamagedPayload)?;
        let standing = standing(state, self.held);
        let token_id = format!("{}@{}", self.currency, self.network);
        let currency = Catalogue::get().by_token_id(&token_id).ok_or(DamagedPayload)?;
        let units = BaseUnits::parse(&self.payout_total_raw, 0).map_err(|_| DamagedPayload)?;
        let amount = Parts::rounded_down(units, u32::from(currency.decimals));
        let mut fields = envelope.fields(IPN_TYPE);
        fields.extend([
            ("id", id.to_owned()),
            ("status", standing.code.to_string()),
            ("status_text", standing.text.to_owned()),
            ("address", address.to_owned()),
        ]);
        let tx_hash = self.last_batch.as_ref().and_then(|batch| batch.tx_hash.clone());
        fields.extend(tx_hash.map(|hash| ("txn_id", hash)));
        fields.extend([
            ("currency", currency.legacy_code()),
            ("amount", amount.text()),
            ("amounti", amount.get().to_string()),
        ]);
        Ok(form::encode(fields.iter().map(|(name, value)| (*name, value.as_str()))))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use uuid::Uuid;

    use super::*;

    const SENT: &str = r#"{"id":"empo_0","state":"completed","held":false,"network":"polygon","currency":"usdtmatic",
        "payoutTotalRaw":"12500000","lastBatch":{"id":"mpb_0","txHash":"0xab"}}"#;

    fn told(payload: &str) -> Result<String, DamagedPayload> {
        let envelope = Envelope { event_id: "pzwe_01", merchant_id: Uuid::from_u128(0xab) };
        OrderEvent::read(payload)?.body(&envelope, ("PZ7K2M9Q4R8T1V5W3X6Y0ABCDE", "0x98"))
    }

    #[test]
    fn a_sent_withdrawal_is_told_with_its_transaction() {
        expect!["ipn_version=1.0&ipn_type=withdrawal&ipn_mode=hmac&ipn_id=01&merchant=000000000000000000000000000000ab&id=PZ7K2M9Q4R8T1V5W3X6Y0ABCDE&status=2&status_text=Complete&address=0x98&txn_id=0xab&currency=USDT.POL&amount=12.50000000&amounti=1250000000"]
            .assert_eq(&told(SENT).unwrap());
        let waits = SENT.replace("completed", "pending_deposit");
        let waits = told(&waits.replace(r#"{"id":"mpb_0","txHash":"0xab"}"#, "null")).unwrap();
        assert!(waits.contains("&status=1&status_text=Waiting+for+its+deposit&"), "{waits}");
        assert!(!waits.contains("txn_id"), "{waits}");
        for payload in ["", "{}", &SENT.replace("completed", "gone")] {
            assert_eq!(told(payload), Err(DamagedPayload), "{payload}");
        }
    }

    #[test]
    fn only_a_paid_recipient_is_complete_and_no_end_is_pending() {
        for state in State::ALL {
            for is_held in [false, true] {
                let code = standing(state, is_held).code;
                assert_eq!(code == 2, state == State::Completed, "{state}");
                assert_eq!(matches!(code, 0 | 1), !state.is_terminal(), "{state}");
                assert_eq!(code == 0, state == State::Draft, "{state}");
            }
        }
    }
}
