//! The price of a link, and the amounts that its visitors may choose.

use super::{LinkKind, typed};
use crate::{asset::fiat::Fiat, money::Price, subscription::calendar::Period};

/// Suggested amounts on one page.
pub const SUGGESTIONS_MAX: usize = 6;
/// Tokens that a link may list.
pub const ACCEPTED_MAX: usize = 200;
/// Payments of one subscription.
pub const CYCLES_MAX: u32 = 1_000;
pub const TITLE_CHARS_MAX: usize = 120;
pub const DESCRIPTION_CHARS_MAX: usize = 2_000;
pub const TIME_ZONE_CHARS_MAX: usize = 64;

/// The largest amount of an open price whose link sets none: a slip of the finger must not create
/// an invoice about millions.
const OPEN_MAX: u128 = 1_000_000;
/// 0.01, the smallest amount that can be typed.
const OPEN_MIN: Price = Price::from_atoms(10_u128.pow(16));
const ONE: u128 = 10_u128.pow(18);

/// A link as its merchant describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub kind: LinkKind,
    pub title: String,
    pub description: Option<String>,
    /// The price; of a donation the amount that the page proposes. `None`: the visitor chooses.
    pub price_amount: Option<Price>,
    pub price_currency: Fiat,
    pub min_amount: Option<Price>,
    pub max_amount: Option<Price>,
    pub suggested_amounts: Vec<Price>,
    /// `code@network` of the tokens that its invoices may be paid in; `None`: the merchant's list.
    pub accepted: Option<Vec<String>>,
    pub single_use: bool,
    /// Of a subscription: the time between two payments.
    pub period: Option<Period>,
    /// Of a subscription: payments after which it ends.
    pub cycles_max: Option<u32>,
    /// Of a subscription in the sandbox: seconds that a day takes.
    pub sandbox_day_seconds: Option<u32>,
    /// Of a till: the IANA name of the time zone in which its day begins; `None`: UTC.
    pub time_zone: Option<String>,
    pub success_url: Option<String>,
    pub cancel_url: Option<String>,
    pub ipn_callback_url: Option<String>,
    pub order_id: Option<String>,
}

/// Reason why a merchant's link is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    #[error("title must be 1 to {TITLE_CHARS_MAX} characters long, without line ends")]
    Title,
    #[error("description must be at most {DESCRIPTION_CHARS_MAX} characters long")]
    Description,
    #[error("{0} must be greater than 0")]
    Zero(&'static str),
    #[error("{0} belongs to a link whose visitors choose the amount: leave price_amount out")]
    FixedPrice(&'static str),
    #[error("min_amount is greater than max_amount")]
    Limits,
    #[error("{0} lies outside of min_amount and max_amount")]
    OutsideLimits(&'static str),
    #[error("suggested_amounts has more than {SUGGESTIONS_MAX} amounts")]
    TooManySuggestions,
    #[error("suggested_amounts names an amount twice")]
    RepeatedSuggestion,
    #[error("suggested_amounts has an amount with more than two decimals")]
    FineSuggestion,
    #[error("price_amount of a donation has more than two decimals")]
    FineProposal,
    #[error("accepted must name 1 to {ACCEPTED_MAX} tokens, each once")]
    Accepted,
    #[error("single_use is for links of type payment")]
    SingleUse,
    #[error("a subscription needs {0}")]
    Lacks(&'static str),
    #[error("{0} is for links of type subscription")]
    NoSubscription(&'static str),
    #[error("cycles_max must be 1 to {CYCLES_MAX}")]
    Cycles,
    #[error("sandbox_day_seconds must be 1 to 86400")]
    DaySeconds,
    #[error("{0} is not for links of type pos: the cashier types each amount")]
    TypedAtTill(&'static str),
    #[error("time_zone is for links of type pos")]
    NoTill,
    #[error("time_zone must be a name such as Europe/Berlin")]
    TimeZone,
}

/// Reason why an amount of a visitor is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AmountRefusal {
    #[error(transparent)]
    Typed(#[from] typed::NotTyped),
    #[error("the amount is below the smallest that this link takes")]
    Below { min: Price },
    #[error("the amount is above the largest that this link takes")]
    Above { max: Price },
}

impl Terms {
    /// True if visitors choose the amount. Where it is false nothing that they send changes it.
    pub const fn is_open(&self) -> bool {
        match self.kind {
            LinkKind::Payment => self.price_amount.is_none(),
            LinkKind::Donation | LinkKind::Pos => true,
            LinkKind::Subscription => false,
        }
    }

    /// The smallest amount of an open price.
    pub fn least(&self) -> Price {
        self.min_amount.unwrap_or(OPEN_MIN)
    }

    /// The largest amount of an open price.
    pub fn most(&self) -> Price {
        self.max_amount.unwrap_or(Price::from_atoms(OPEN_MAX * ONE))
    }

    /// The price of an invoice whose visitor typed `typed`.
    pub fn amount(&self, typed: &str) -> Result<Price, AmountRefusal> {
        match self.price_amount {
            Some(price) if !self.is_open() => Ok(price),
            _ => self.within(typed::amount(typed)?),
        }
    }

    fn within(&self, amount: Price) -> Result<Price, AmountRefusal> {
        if amount < self.least() {
            Err(AmountRefusal::Below { min: self.least() })
        } else if amount > self.most() {
            Err(AmountRefusal::Above { max: self.most() })
        } else {
            Ok(amount)
        }
    }

    /// Checks every rule but those about URLs and tokens, which need their own registers.
    pub fn check(&self) -> Result<(), TermsError> {
        let one_line = !self.title.chars().any(char::is_control) && !self.title.trim().is_empty();
        if !one_line || self.title.chars().count() > TITLE_CHARS_MAX {
            return Err(TermsError::Title);
        }
        let description = self.description.as_ref().map_or(0, |text| text.chars().count());
        if description > DESCRIPTION_CHARS_MAX {
            return Err(TermsError::Description);
        }
        self.check_amounts()?;
        if let Some(accepted) = &self.accepted {
            let mut once = accepted.clone();
            once.sort_unstable();
            once.dedup();
            if once.len() != accepted.len() || !(1..=ACCEPTED_MAX).contains(&once.len()) {
                return Err(TermsError::Accepted);
            }
        }
        if self.single_use && self.kind != LinkKind::Payment {
            return Err(TermsError::SingleUse);
        }
        self.check_till()?;
        self.check_subscription()
    }

    /// Names of time zones are checked by the database, which counts the days.
    fn check_till(&self) -> Result<(), TermsError> {
        if self.kind != LinkKind::Pos {
            return if self.time_zone.is_some() { Err(TermsError::NoTill) } else { Ok(()) };
        }
        if self.price_amount.is_some() {
            return Err(TermsError::TypedAtTill("price_amount"));
        }
        if !self.suggested_amounts.is_empty() {
            return Err(TermsError::TypedAtTill("suggested_amounts"));
        }
        let is_name = |zone: &String| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"/_+-".contains(&byte);
            (1..=TIME_ZONE_CHARS_MAX).contains(&zone.len()) && zone.bytes().all(is_letter)
        };
        if self.time_zone.as_ref().is_some_and(|zone| !is_name(zone)) {
            return Err(TermsError::TimeZone);
        }
        Ok(())
    }

    fn check_subscription(&self) -> Result<(), TermsError> {
        if self.kind == LinkKind::Subscription {
            if self.price_amount.is_none() {
                return Err(TermsError::Lacks("price_amount"));
            }
            if self.period.is_none() {
                return Err(TermsError::Lacks("interval"));
            }
        } else {
            for (name, is_set) in [
                ("interval", self.period.is_some()),
                ("cycles_max", self.cycles_max.is_some()),
                ("sandbox_day_seconds", self.sandbox_day_seconds.is_some()),
            ] {
                if is_set {
                    return Err(TermsError::NoSubscription(name));
                }
            }
        }
        if self.cycles_max.is_some_and(|count| !(1..=CYCLES_MAX).contains(&count)) {
            return Err(TermsError::Cycles);
        }
        if self.sandbox_day_seconds.is_some_and(|seconds| !(1..=86_400).contains(&seconds)) {
            return Err(TermsError::DaySeconds);
        }
        Ok(())
    }

    fn check_amounts(&self) -> Result<(), TermsError> {
        let limits = [("min_amount", self.min_amount), ("max_amount", self.max_amount)];
        for (name, amount) in [("price_amount", self.price_amount)].into_iter().chain(limits) {
            if amount.is_some_and(Price::is_zero) {
                return Err(TermsError::Zero(name));
            }
        }
        if !self.is_open() {
            if let Some((name, _)) = limits.into_iter().find(|(_, amount)| amount.is_some()) {
                return Err(TermsError::FixedPrice(name));
            }
            if !self.suggested_amounts.is_empty() {
                return Err(TermsError::FixedPrice("suggested_amounts"));
            }
            return Ok(());
        }
        if self.least() > self.most() {
            return Err(TermsError::Limits);
        }
        if self.price_amount.is_some_and(|amount| self.within(amount).is_err()) {
            return Err(TermsError::OutsideLimits("price_amount"));
        }
        if self.price_amount.is_some_and(|amount| !can_be_typed(amount)) {
            return Err(TermsError::FineProposal);
        }
        self.check_suggestions()
    }

    fn check_suggestions(&self) -> Result<(), TermsError> {
        if self.suggested_amounts.len() > SUGGESTIONS_MAX {
            return Err(TermsError::TooManySuggestions);
        }
        for (at, amount) in self.suggested_amounts.iter().enumerate() {
            if amount.is_zero() {
                return Err(TermsError::Zero("suggested_amounts"));
            }
            if self.suggested_amounts[..at].contains(amount) {
                return Err(TermsError::RepeatedSuggestion);
            }
            if self.within(*amount).is_err() {
                return Err(TermsError::OutsideLimits("suggested_amounts"));
            }
            if !can_be_typed(*amount) {
                return Err(TermsError::FineSuggestion);
            }
        }
        Ok(())
    }
}

/// True if a visitor can type the amount: it has two decimals at most.
const fn can_be_typed(amount: Price) -> bool {
    amount.atoms().is_multiple_of(OPEN_MIN.atoms())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscription::Interval;

    fn price(text: &str) -> Price {
        Price::parse(text).unwrap()
    }

    fn terms(kind: LinkKind) -> Terms {
        Terms {
            kind,
            title: "Coffee".into(),
            description: None,
            price_amount: None,
            price_currency: Fiat::Usd,
            min_amount: None,
            max_amount: None,
            suggested_amounts: Vec::new(),
            accepted: None,
            single_use: false,
            period: None,
            cycles_max: None,
            sandbox_day_seconds: None,
            time_zone: None,
            success_url: None,
            cancel_url: None,
            ipn_callback_url: None,
            order_id: None,
        }
    }

    #[test]
    fn a_fixed_price_is_the_link_s_whatever_a_visitor_sends() {
        let fixed = Terms { price_amount: Some(price("25.5")), ..terms(LinkKind::Payment) };
        for typed in ["", "0.01", "25.50", "-1", "1e9", "<script>"] {
            assert_eq!(fixed.amount(typed), Ok(price("25.5")), "{typed:?}");
        }
    }

    #[test]
    fn an_open_price_stays_within_its_limits_and_ends_at_a_million_without_any() {
        let limits = (Some(price("5")), Some(price("100")));
        let limited = |kind| Terms { min_amount: limits.0, max_amount: limits.1, ..terms(kind) };
        let proposed = Terms { price_amount: Some(price("10")), ..limited(LinkKind::Donation) };
        for terms in [limited(LinkKind::Payment), limited(LinkKind::Donation), proposed] {
            assert_eq!(terms.amount("5"), Ok(price("5")));
            assert_eq!(terms.amount("100"), Ok(price("100")));
            assert_eq!(terms.amount("4.99"), Err(AmountRefusal::Below { min: price("5") }));
            assert_eq!(terms.amount("100.01"), Err(AmountRefusal::Above { max: price("100") }));
            assert_eq!(terms.amount(""), Err(typed::NotTyped::Missing.into()));
        }
        let unlimited = terms(LinkKind::Donation);
        assert_eq!(unlimited.amount("0.01"), Ok(price("0.01")));
        assert_eq!(unlimited.amount("1000000"), Ok(price("1000000")));
        let refused = Err(AmountRefusal::Above { max: price("1000000") });
        assert_eq!(unlimited.amount("1000000.01"), refused);
    }

    #[test]
    fn what_does_not_fit_together_is_refused_by_name() {
        let payment = || terms(LinkKind::Payment);
        let donation = || terms(LinkKind::Donation);
        let fixed = || Terms { price_amount: Some(price("5")), ..payment() };
        let some = |text: &str| Some(price(text));
        let many = |texts: &[&str]| texts.iter().map(|text| price(text)).collect::<Vec<_>>();
        let tokens = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        for (terms, expected) in [
            (payment(), Ok(())),
            (fixed(), Ok(())),
            (Terms { price_amount: some("5.005"), ..payment() }, Ok(())),
            (Terms { price_amount: some("5.05"), ..donation() }, Ok(())),
            (Terms { price_amount: some("5.005"), ..donation() }, Err(TermsError::FineProposal)),
            (Terms { single_use: true, ..fixed() }, Ok(())),
            (Terms { single_use: true, ..donation() }, Err(TermsError::SingleUse)),
            (Terms { title: " ".into(), ..fixed() }, Err(TermsError::Title)),
            (Terms { title: "a\nb".into(), ..fixed() }, Err(TermsError::Title)),
            (Terms { title: "x".repeat(121), ..fixed() }, Err(TermsError::Title)),
            (
                Terms { description: Some("x".repeat(2001)), ..fixed() },
                Err(TermsError::Description),
            ),
            (Terms { min_amount: some("1"), ..fixed() }, Err(TermsError::FixedPrice("min_amount"))),
            (
                Terms { suggested_amounts: many(&["1"]), ..fixed() },
                Err(TermsError::FixedPrice("suggested_amounts")),
            ),
            (Terms { price_amount: some("0"), ..fixed() }, Err(TermsError::Zero("price_amount"))),
            (Terms { max_amount: some("0"), ..payment() }, Err(TermsError::Zero("max_amount"))),
            (
                Terms { min_amount: some("9"), max_amount: some("8"), ..payment() },
                Err(TermsError::Limits),
            ),
            (
                Terms { price_amount: some("7"), min_amount: some("8"), ..donation() },
                Err(TermsError::OutsideLimits("price_amount")),
            ),
            (
                Terms { suggested_amounts: many(&["9"]), max_amount: some("8"), ..donation() },
                Err(TermsError::OutsideLimits("suggested_amounts")),
            ),
            (
                Terms { suggested_amounts: many(&["1", "1.0"]), ..donation() },
                Err(TermsError::RepeatedSuggestion),
            ),
            (
                Terms { suggested_amounts: many(&["1.005"]), ..donation() },
                Err(TermsError::FineSuggestion),
            ),
            (
                Terms {
                    suggested_amounts: many(&["1", "2", "3", "4", "5", "6", "7"]),
                    ..donation()
                },
                Err(TermsError::TooManySuggestions),
            ),
            (Terms { accepted: tokens(&[]), ..fixed() }, Err(TermsError::Accepted)),
            (Terms { accepted: tokens(&["a@b", "a@b"]), ..fixed() }, Err(TermsError::Accepted)),
        ] {
            assert_eq!(terms.check(), expected, "{terms:?}");
        }
    }

    #[test]
    fn the_terms_of_a_subscription_belong_to_it_alone_and_have_limits() {
        let payment = || Terms { price_amount: Some(price("5")), ..terms(LinkKind::Payment) };
        let monthly = || Some(Period::new(Interval::Month, 1).unwrap());
        let subscription = || Terms {
            price_amount: Some(price("5")),
            period: monthly(),
            ..terms(LinkKind::Subscription)
        };
        for (terms, expected) in [
            (Terms { period: monthly(), ..payment() }, Err(TermsError::NoSubscription("interval"))),
            (
                Terms { cycles_max: Some(2), ..payment() },
                Err(TermsError::NoSubscription("cycles_max")),
            ),
            (
                Terms { period: monthly(), ..terms(LinkKind::Subscription) },
                Err(TermsError::Lacks("price_amount")),
            ),
            (
                Terms { price_amount: Some(price("5")), ..terms(LinkKind::Subscription) },
                Err(TermsError::Lacks("interval")),
            ),
            (subscription(), Ok(())),
            (Terms { cycles_max: Some(0), ..subscription() }, Err(TermsError::Cycles)),
            (Terms { sandbox_day_seconds: Some(0), ..subscription() }, Err(TermsError::DaySeconds)),
            (Terms { cycles_max: Some(1_001), ..subscription() }, Err(TermsError::Cycles)),
            (
                Terms { sandbox_day_seconds: Some(86_401), ..subscription() },
                Err(TermsError::DaySeconds),
            ),
            (
                Terms { min_amount: Some(price("1")), ..subscription() },
                Err(TermsError::FixedPrice("min_amount")),
            ),
            (Terms { single_use: true, ..subscription() }, Err(TermsError::SingleUse)),
        ] {
            assert_eq!(terms.check(), expected, "{terms:?}");
        }
        // A visitor cannot choose another price.
        assert_eq!(subscription().amount(""), Ok(price("5")));
    }

    #[test]
    fn a_till_leaves_the_amount_to_its_cashier_and_alone_has_a_time_zone() {
        let zone = |name: &str| Some(name.to_owned());
        let till = || terms(LinkKind::Pos);
        let long = "x".repeat(65);
        for (terms, expected) in [
            (till(), Ok(())),
            (Terms { time_zone: zone("Europe/Berlin"), ..till() }, Ok(())),
            (Terms { time_zone: zone("Etc/GMT+5"), ..till() }, Ok(())),
            (Terms { max_amount: Some(price("500")), ..till() }, Ok(())),
            (Terms { time_zone: zone(""), ..till() }, Err(TermsError::TimeZone)),
            (Terms { time_zone: zone("Europe/Berlin'"), ..till() }, Err(TermsError::TimeZone)),
            (Terms { time_zone: zone(&long), ..till() }, Err(TermsError::TimeZone)),
            (
                Terms { price_amount: Some(price("5")), ..till() },
                Err(TermsError::TypedAtTill("price_amount")),
            ),
            (
                Terms { suggested_amounts: vec![price("5")], ..till() },
                Err(TermsError::TypedAtTill("suggested_amounts")),
            ),
            (Terms { single_use: true, ..till() }, Err(TermsError::SingleUse)),
            (
                Terms { time_zone: zone("UTC"), ..terms(LinkKind::Donation) },
                Err(TermsError::NoTill),
            ),
        ] {
            assert_eq!(terms.check(), expected, "{terms:?}");
        }
        assert_eq!(till().amount("12.50"), Ok(price("12.5")));
        assert!(till().is_open());
    }
}
