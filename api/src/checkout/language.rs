//! The catalogue of strings, and which language a buyer gets.

use std::sync::LazyLock;

use gateway::{locale, mail};
use serde::Deserialize;

use super::plural::{Counted, Rule};

/// Defines the languages: name, code (as BCP 47 writes it, and as its file of texts is called),
/// direction of writing and plural rule.
macro_rules! languages {
    ($($language:ident $code:literal $direction:literal $rule:ident),+ $(,)?) => {
        /// A language the pages speak.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Language { $($language),+ }

        impl Language {
            pub const ALL: [Self; [$($code),+].len()] = [$(Self::$language),+];

            /// As BCP 47 writes it.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$language => $code),+ }
            }

            pub const fn direction(self) -> &'static str {
                match self { $(Self::$language => $direction),+ }
            }

            pub const fn plural_rule(self) -> Rule {
                match self { $(Self::$language => Rule::$rule),+ }
            }

            /// Read when a page first needs them.
            pub fn texts(self) -> &'static Texts {
                match self {
                    $(Self::$language => {
                        static TEXTS: LazyLock<Texts> = LazyLock::new(|| {
                            let json = include_str!(concat!("../../texts/", $code, ".json"));
                            load(json, Language::$language)
                        });
                        &TEXTS
                    })+
                }
            }

            /// The same language, of mails.
            pub const fn of_mails(self) -> mail::Language {
                match self { $(Self::$language => mail::Language::$language),+ }
            }
        }
    };
}

languages! {
    German "de" "ltr" OneOther,
    English "en" "ltr" OneOther,
    Spanish "es" "ltr" OneOther,
    French "fr" "ltr" ZeroAsOne,
    Italian "it" "ltr" OneOther,
    Dutch "nl" "ltr" OneOther,
    Polish "pl" "ltr" Polish,
    Portuguese "pt" "ltr" ZeroAsOne,
    Turkish "tr" "ltr" OneOther,
    Arabic "ar" "rtl" Arabic,
    Chinese "zh" "ltr" Alike,
    Japanese "ja" "ltr" Alike,
}

impl Language {
    /// By the language alone: `zh-TW` and `zh-CN` are both Chinese, and shops also write `pt_BR`.
    fn of_code(code: &str) -> Option<Self> {
        let primary = code.split(['-', '_']).next()?;
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

fn load(json: &'static str, language: Language) -> Texts {
    let texts: Texts = serde_json::from_str(json).expect("the embedded texts pass their own tests");
    Texts { rule: language.plural_rule(), locale: language.of_mails(), ..texts }
}

/// Every string of the pages. A language that lacks one, or has one too many, fails its test.
macro_rules! texts {
    ($($name:ident),* $(,)?; counted: $($counted:ident),* $(,)?) => {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Texts {
            #[serde(skip)]
            rule: Rule,
            /// Writes the figures and dates among the texts.
            #[serde(skip)]
            pub locale: locale::Language,
            $(pub $name: &'static str,)*
            $(pub $counted: Counted),*
        }

        impl Texts {
            #[cfg(test)]
            fn all(&self) -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($name), self.$name)),*]
            }

            #[cfg(test)]
            fn all_counted(&self) -> Vec<(&'static str, &Counted)> {
                vec![$((stringify!($counted), &self.$counted)),*]
            }
        }
    };
}

impl Texts {
    /// The form of a counted text for this number.
    pub fn form(&self, text: &Counted, count: u64) -> &'static str {
        text.form(self.rule, count)
    }
}

texts! {
    name,
    title_pay,
    title_choose,
    title_missing,
    title_trouble,
    pay_to,
    write_to,
    write_at,
    write_nowhere,
    price,
    price_was,
    time_left,
    minutes_short,
    seconds_short,
    pay_before,
    choose_before,
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
    enlarge_close,
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
    confirming_leave,
    confirming_slow,
    closing,
    closing_text,
    closing_draft,
    paid,
    paid_text,
    overpaid_text,
    expired,
    expired_text,
    expired_again,
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
    notice_till_stale;
    counted:
    minutes_left,
    confirmations,
    link_every_days,
    link_every_weeks,
    link_every_months,
    link_every_years,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::plural::Category;

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
                assert_eq!(placeholders(text), placeholders(english), "{language:?} {name}");
                is_clean(language, name, text);
            }
        }
    }

    fn is_clean(language: Language, name: &str, text: &str) {
        assert!(!text.is_empty() && text.trim() == text, "{language:?} {name}");
        assert!(!text.contains(['<', '&', '\n']), "{language:?} {name} holds markup");
    }

    #[test]
    fn every_counted_text_has_the_plural_categories_of_its_language_and_no_other() {
        for language in Language::ALL {
            let categories = language.plural_rule().categories();
            let english = Language::English.texts().all_counted();
            for ((name, text), (_, english)) in
                language.texts().all_counted().into_iter().zip(english)
            {
                let forms = text.forms();
                let found: Vec<_> = forms.iter().map(|(category, _)| *category).collect();
                assert_eq!(found, categories, "{language:?} {name}");
                let full = placeholders(english.form(Rule::OneOther, 2));
                for (category, form) in forms {
                    is_clean(language, name, form);
                    let mut placeholders = placeholders(form);
                    // "1 minute left" says its number itself, as words for two do.
                    if matches!(category, Category::Zero | Category::One | Category::Two) {
                        assert!(
                            placeholders.iter().all(|one| full.contains(one)),
                            "{language:?} {name}"
                        );
                        placeholders.clone_from(&full);
                    }
                    assert_eq!(placeholders, full, "{language:?} {name} {category:?}");
                }
            }
        }
    }

    #[test]
    fn no_sentence_was_left_in_english_or_in_another_language() {
        for (at, language) in Language::ALL.into_iter().enumerate() {
            for other in Language::ALL.into_iter().skip(at + 1) {
                let pairs = language.texts().all().into_iter().zip(other.texts().all());
                for ((name, text), (_, same)) in pairs.filter(|((_, text), _)| text.len() > 40) {
                    assert_ne!(text, same, "{language:?} and {other:?} say the same: {name}");
                }
            }
        }
    }

    #[test]
    fn the_folder_holds_the_texts_of_these_languages_alone() {
        for folder in ["texts", "../src/mail/texts"] {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            let files = std::fs::read_dir(path).unwrap().map(|file| file.unwrap().file_name());
            let mut found: Vec<_> = files.map(|name| name.into_string().unwrap()).collect();
            let mut wanted = Language::ALL.map(|language| format!("{}.json", language.code()));
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted, "{folder}");
        }
    }

    #[test]
    fn one_is_said_in_its_own_form() {
        let t = Language::English.texts();
        assert_eq!(t.form(&t.minutes_left, 1), "1 minute left");
        assert_eq!(t.form(&t.minutes_left, 5), "{count} minutes left");
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
            (None, Some("sv, de;q=0.5, ar;q=0.7"), "ar"),
            (None, Some("zh-CN,zh;q=0.9,en;q=0.8"), "zh"),
            (Some("pt_BR"), Some("de"), "pt"),
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
