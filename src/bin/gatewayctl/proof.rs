//! Result of a receiver's check, the same for both webhook channels.

use serde_json::Value;

/// The documentation advises receivers to refuse older deliveries.
pub(crate) const AGE_SECONDS_MAX: u64 = 600;

/// The channel by whose rules a delivery was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Ipn,
    Payout,
}

/// Content of a verified delivery.
pub(crate) struct Proof {
    pub(crate) event_id: String,
    pub(crate) bytes: usize,
    pub(crate) body: Value,
}

#[expect(clippy::disallowed_methods, reason = "a merchant's receiver has no clock but its own")]
pub(crate) fn epoch_seconds() -> anyhow::Result<u64> {
    Ok(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs())
}
