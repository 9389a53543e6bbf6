//! The catalogue of strings, and which language a buyer gets.

use std::sync::LazyLock;

use gateway::mail;
use serde::Deserialize;

/// A language the pages speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    German,
    Arabic,
}

impl Language {
    pub const ALL: [Self; 3] = [Self::English, Self::German, Self::Arabic];

    /// As BCP 47 writes it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::Arabic => "ar",
        }
    }

    pub const fn direction(self) -> &'static str {
        match self {
            Self::English | Self::German => "ltr",
            Self::Arabic => "rtl",
        }
    }

    pub fn texts(self) -> &'static Texts {
        match self {
            Self::English => &ENGLISH,
            Self::German => &GERMAN,
            Self::Arabic => &ARABIC,
        }
    }

    /// The same language, of mails.
    pub const fn of_mails(self) -> mail::Language {
        match self {
            Self::English => mail::Language::English,
            Self::German => mail::Language::German,
            Self::Arabic => mail::Language::Arabic,
        }
    }

    fn of_code(code: &str) -> Option<Self> {
        let primary = code.split('-').next()?;
        Self::ALL.into_iter().find(|language| language.code().eq_ignore_ascii_case(primary))
    }

    /// The asked one if we speak it, else the best of the `Accept-Language` header, else English.
    pub fn choose(asked: Option<&str>, accepted: Option<&str>) -> Self {
        asked
            .and_then(Self::of_code)
            .or_else(|| accepted.and_then(Self::best_of))
            .unwrap_or(Self::English)
    }

    /// RFC 9110, 12.5.4. Of equal weights the first wins.
    fn best_of(header: &str) -> Option<Self> {
        let mut best: Option<(u16, Self)> = None;
        for range in header.split(',').take(RANGES_MAX) {
            let mut parts = range.split(';').map(str::trim);
            let Some(language) = parts.next().and_then(Self::of_code) else { continue };
            let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(1000, thousandths);
            if weight > best.map_or(0, |(weight, _)| weight) {
                best = Some((weight, language));
            }
        }
        best.map(|(_, language)| language)
    }
}

/// No honest header is longer.
const RANGES_MAX: usize = 20;

/// `0.8` as 800; text that is not a weight counts as zero.
fn thousandths(weight: &str) -> u16 {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    let digits = format!("{fraction:0<3}");
    match (whole, digits.get(..3).and_then(|digits| digits.parse::<u16>().ok())) {
        ("0", Some(fraction)) => fraction,
        ("1", Some(0)) => 1000,
        _ => 0,
    }
}

static ENGLISH: LazyLock<Texts> = LazyLock::new(|| load(include_str!("../../texts/en.json")));
static GERMAN: LazyLock<Texts> = LazyLock::new(|| load(include_str!("../../texts/de.json")));
static ARABIC: LazyLock<Texts> = LazyLock::new(|| load(include_str!("../../texts/ar.json")));

fn load(json: &'static str) -> Texts {
    serde_json::from_str(json).expect("the embedded texts pass their own tests")
}

/// Every string of the pages. A language that lacks one, or has one too many, fails its test.
macro_rules! texts {
    ($($name:ident),* $(,)?) => {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Texts { $(pub $name: &'static str),* }

        impl Texts {
            #[cfg(test)]
            fn all(&self) -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($name), self.$name)),*]
            }
        }
    };
}

texts! {
    name,
    title_pay,
    title_choose,
    title_missing,
    title_trouble,
    pay_to,
    write_to,
    price,
    price_was,
    time_left,
    pay_before,
    choose_before,
    minute_left,
    minutes_left,
    send_only,
    send_only_why,
    scan,
    qr_label,
    qr_address,
    qr_uri,
    qr_uri_hint,
    qr_address_hint,
    amount,
    amount_exact,
    address,
    address_compare,
    network,
    token_contract,
    copy,
    copy_all,
    wallet_apps,
    wallet_apps_hint,
    enlarge,
    copy_amount,
    copy_address,
    copied,
    open_wallet,
    received,
    rest,
    partial,
    seen_part,
    fee_title,
    fee_text,
    confirming,
    confirming_text,
    confirmations,
    confirming_leave,
    closing,
    closing_text,
    closing_draft,
    paid,
    paid_text,
    overpaid_text,
    expired,
    expired_text,
    expired_partial,
    late_title,
    late_text,
    cancelled,
    cancelled_text,
    happened,
    happened_wrong_token,
    happened_wrong_network,
    happened_unknown_token,
    happened_late,
    happened_replaced,
    happened_dropped,
    happened_send_again,
    happened_still_due,
    happened_reorganised,
    happened_reversed,
    reference,
    copy_reference,
    explorer,
    transactions,
    payment_number,
    return_to,
    return_soon,
    return_stay,
    rate_fixed,
    start_again,
    start_again_at,
    receipt,
    receipt_open,
    receipt_print,
    receipt_back,
    receipt_paid_at,
    receipt_order,
    receipt_received,
    receipt_due,
    receipt_rate,
    receipt_note,
    change,
    change_text,
    change_not,
    notice_change_refused,
    notice_changed_often,
    cancel,
    cancel_ask,
    cancel_yes,
    choose,
    choose_text,
    search,
    search_none,
    search_count,
    about,
    about_any,
    minimum,
    more,
    go_on,
    go_on_note,
    not_chosen,
    unavailable,
    too_small,
    unavailable_now,
    notice_not_offered,
    notice_no_rate,
    notice_too_small,
    notice_already,
    notice_cancel_refused,
    notice_too_many,
    notice_later,
    notice_no_simulation,
    offline,
    no_script,
    missing,
    missing_text,
    trouble_text,
    languages,
    sandbox,
    sandbox_text,
    sandbox_pay,
    sandbox_half,
    sandbox_double,
    sandbox_late,
    link_amount,
    link_amount_hint,
    link_suggested,
    link_ways_count,
    link_donor_name,
    link_donor_email,
    link_message,
    link_optional,
    link_anonymous,
    link_anonymous_hint,
    link_donor_hint,
    link_go_on_note,
    link_ways,
    link_unavailable,
    link_unavailable_any,
    link_trap,
    link_missing,
    link_missing_text,
    link_inactive,
    link_inactive_text,
    link_used,
    link_used_text,
    link_pay,
    link_pay_open,
    link_donate,
    notice_amount,
    notice_amount_below,
    notice_amount_above,
    notice_amount_minimum,
    notice_no_currency,
    notice_name_long,
    notice_message_long,
    notice_email,
    notice_all_paid,
    notice_link_full,
    notice_trap,
    link_every_days,
    link_every_week,
    link_every_weeks,
    link_every_month,
    link_every_months,
    link_every_year,
    link_every_years,
    link_email_hint,
    renew_missing,
    renew_pending,
    renew_active,
    renew_past_due,
    renew_cancelled,
    renew_ended,
    renew_button,
    renew_cancel,
    renew_cancel_ask,
    renew_cancel_yes,
    unsubscribe_ask,
    unsubscribe_note,
    unsubscribe_button,
    unsubscribe_done,
    unsubscribe_missing,
    till_missing,
    till_offline,
    till_enrol,
    till_enrol_text,
    till_code,
    till_pin_new,
    till_pin_hint,
    till_pin_of_till,
    till_pin_again,
    till_enrol_button,
    till_locked,
    till_locked_out,
    till_pin,
    till_unlock,
    till_lock,
    till_keys,
    till_point,
    till_back,
    till_charge,
    till_day,
    till_closed,
    till_closed_text,
    till_scan,
    till_scan_label,
    till_open_page,
    till_choose,
    till_confirming,
    till_closing,
    till_paid,
    till_overpaid,
    till_open,
    till_part,
    till_unpaid,
    till_unpaid_text,
    till_unpaid_part,
    till_next,
    till_day_of,
    till_day_none,
    till_payments,
    till_charges,
    till_day_cut,
    till_back_to,
    notice_till_code,
    notice_till_pin_new,
    notice_till_pin_twice,
    notice_till_pin,
    notice_till_wait,
    notice_till_shown,
    notice_till_used,
    notice_till_currency,
    notice_till_open,
    notice_till_stale,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders(text: &str) -> Vec<&str> {
        let mut found: Vec<_> =
            text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn every_language_has_every_text_with_the_same_placeholders() {
        for language in Language::ALL {
            let english = Language::English.texts().all();
            for ((name, text), (_, english)) in language.texts().all().into_iter().zip(english) {
                assert!(!text.trim().is_empty(), "{language:?} {name}");
                assert_eq!(placeholders(text), placeholders(english), "{language:?} {name}");
                assert!(!text.contains(['<', '&']), "{language:?} {name} holds markup");
            }
        }
    }

    #[test]
    fn mails_are_written_in_every_language_of_the_pages() {
        let pages = Language::ALL.map(|language| language.of_mails().as_str());
        assert_eq!(pages, Language::ALL.map(Language::code));
        assert_eq!(pages, mail::Language::ALL.map(mail::Language::as_str));
    }

    #[test]
    fn the_asked_language_wins_then_the_browser_s_best_then_english() {
        for (asked, accepted, expected) in [
            (None, None, "en"),
            (None, Some("de"), "de"),
            (None, Some("fr, de;q=0.5, ar;q=0.7"), "ar"),
            (None, Some("en;q=0.1, de-AT;q=0.2"), "de"),
            (None, Some("de;q=0, en;q=0.1"), "en"),
            (None, Some("de;q=0.8,ar;q=0.8"), "de"),
            (None, Some("*, ;;;q=9, q="), "en"),
            (Some("ar"), Some("de"), "ar"),
            (Some("AR-EG"), None, "ar"),
            (Some("xx"), Some("de"), "de"),
            (Some("../de"), None, "en"),
        ] {
            assert_eq!(
                Language::choose(asked, accepted).code(),
                expected,
                "{asked:?} {accepted:?}"
            );
        }
    }
}
