//! Settings of one merchant, with their defaults and bounds.

use crate::{money::Bps, vocabulary::vocabulary};

pub const OVERPAY_BPS_DEFAULT: u32 = 500;
pub const PAYMENT_WINDOW_SECONDS_DEFAULT: u32 = 30 * 60;
pub const SELECTION_WINDOW_SECONDS_DEFAULT: u32 = 60 * 60;
pub const OPEN_INVOICES_MAX_DEFAULT: u32 = 500;
/// Shorter windows are allowed only in the sandbox, to watch an invoice expire.
pub const WINDOW_SECONDS_MIN_PRODUCTION: u32 = 5 * 60;
/// 99:59:59, the longest that `time_limit` can say (spec, "Payment object": `HH:MM:SS`).
pub const WINDOW_SECONDS_MAX: i32 = 100 * 60 * 60 - 1;
const OVERPAY_BPS_MAX: u32 = 100_000;
/// A tenth: what is missing beyond it is no fee of an exchange.
pub const UNDERPAY_BPS_MAX: u32 = 1_000;

vocabulary! {
    /// When a total within the tolerance of underpayment pays an invoice.
    pub enum UnderpayWhen: "time of an accepted underpayment" {
        /// As soon as it is confirmed.
        AtOnce = "at_once",
        /// When the time to pay is over and nothing more came.
        Deadline = "deadline",
    }
}

/// The shortfall that a merchant accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Underpay {
    pub tolerance: Bps,
    pub when: UnderpayWhen,
}

impl Underpay {
    /// Nothing less than the amount due pays an invoice.
    pub const NONE: Self = Self { tolerance: Bps::new(0), when: UnderpayWhen::Deadline };
}

/// Addresses of payments whose creation names none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DefaultUrls {
    /// Where the webhooks of a payment go.
    pub ipn_callback: Option<String>,
    /// Where a buyer goes who has paid.
    pub success: Option<String>,
    /// Where a buyer goes whose payment was cancelled or has expired.
    pub cancel: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Settings {
    /// Totals that exceed the amount by more than this are overpaid.
    pub overpay_tolerance: Bps,
    pub underpay: Underpay,
    pub payment_window_seconds: u32,
    /// Time to choose a currency for an `all` draft.
    pub selection_window_seconds: u32,
    pub open_invoices_max: u32,
    /// `code@network` of the tokens a draft may be paid in; `None` accepts every enabled one.
    pub accepted: Option<Vec<String>>,
    pub payout_webhook_url: Option<String>,
    pub default_urls: DefaultUrls,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            overpay_tolerance: Bps::new(OVERPAY_BPS_DEFAULT),
            underpay: Underpay::NONE,
            payment_window_seconds: PAYMENT_WINDOW_SECONDS_DEFAULT,
            selection_window_seconds: SELECTION_WINDOW_SECONDS_DEFAULT,
            open_invoices_max: OPEN_INVOICES_MAX_DEFAULT,
            accepted: None,
            payout_webhook_url: None,
            default_urls: DefaultUrls::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("a window must last {min} to {WINDOW_SECONDS_MAX} seconds")]
    Window { min: u32 },
    #[error("the overpay tolerance must be at most {OVERPAY_BPS_MAX} basis points")]
    Tolerance,
    #[error("the underpay tolerance must be at most {UNDERPAY_BPS_MAX} basis points")]
    Underpay,
    #[error("at least one open invoice must be allowed")]
    OpenInvoices,
}

impl Settings {
    /// Checks every bound; `window_seconds_min` is 1 in the sandbox.
    pub fn check(&self, window_seconds_min: u32) -> Result<(), SettingsError> {
        let windows = [self.payment_window_seconds, self.selection_window_seconds];
        let bounds = window_seconds_min..=WINDOW_SECONDS_MAX.unsigned_abs();
        if windows.iter().any(|window| !bounds.contains(window)) {
            return Err(SettingsError::Window { min: window_seconds_min });
        }
        if self.overpay_tolerance.get() > OVERPAY_BPS_MAX {
            return Err(SettingsError::Tolerance);
        }
        if self.underpay.tolerance.get() > UNDERPAY_BPS_MAX {
            return Err(SettingsError::Underpay);
        }
        if self.open_invoices_max == 0 { Err(SettingsError::OpenInvoices) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_tolerance_is_five_percent() {
        assert_eq!(Settings::default().overpay_tolerance, Bps::new(500));
        assert_eq!(Settings::default().check(WINDOW_SECONDS_MIN_PRODUCTION), Ok(()));
    }

    #[test]
    fn nothing_less_than_the_amount_is_accepted_by_default_and_a_tenth_at_most() {
        assert_eq!(Settings::default().underpay.tolerance, Bps::new(0));
        let short = |bps| Settings {
            underpay: Underpay { tolerance: Bps::new(bps), when: UnderpayWhen::AtOnce },
            ..Settings::default()
        };
        assert_eq!(short(1_000).check(1), Ok(()));
        assert_eq!(short(1_001).check(1), Err(SettingsError::Underpay));
    }

    #[test]
    fn the_longest_window_is_the_longest_that_two_digits_of_hours_can_say() {
        let window =
            |seconds| Settings { selection_window_seconds: seconds, ..Settings::default() };
        assert_eq!(window(359_999).check(1), Ok(()));
        assert_eq!(window(360_000).check(1), Err(SettingsError::Window { min: 1 }));
    }

    #[test]
    fn short_windows_belong_to_the_sandbox() {
        let short = Settings { payment_window_seconds: 1, ..Settings::default() };
        assert_eq!(short.check(1), Ok(()));
        assert_eq!(short.check(300), Err(SettingsError::Window { min: 300 }));
    }
}
