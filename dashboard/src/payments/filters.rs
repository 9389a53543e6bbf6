//! The filters of the list of payments, as they stand in its address.

use chrono::{Days, NaiveDate, NaiveTime};
use gateway::{
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
    invoice::Status,
    link,
    storage::payment_search::Filter,
};

use crate::visit::Visit;

/// Filters that were understood; anything else is left out.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    pub status: Option<Status>,
    pub currency: Option<&'static Currency>,
    pub network: Option<Network>,
    /// The id of a payment link.
    pub link: Option<String>,
    /// First and last day of creation, of UTC.
    pub from: Option<NaiveDate>,
    pub to: Option<NaiveDate>,
}

impl Filters {
    pub fn of(visit: &Visit) -> Self {
        Self::read(|name| visit.asked(name))
    }

    fn read<'a>(asked: impl Fn(&str) -> Option<&'a str>) -> Self {
        Self {
            status: asked("status").and_then(|text| text.parse().ok()),
            currency: asked("currency").and_then(|text| Catalogue::get().by_token_id(text)),
            network: asked("network").and_then(|text| text.parse().ok()),
            link: asked("link").filter(|text| link::is_id(text)).map(ToOwned::to_owned),
            from: asked("from").and_then(|text| text.parse().ok()),
            to: asked("to").and_then(|text| text.parse().ok()),
        }
    }

    pub fn filter(&self) -> Filter {
        let start = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
        Filter {
            tokens: self.tokens(),
            status: self.status,
            link_id: self.link.clone(),
            from: self.from.map(start),
            to: self.to.and_then(|day| day.checked_add_days(Days::new(1))).map(start),
        }
    }

    /// The currencies of the network and the chosen one; none if they exclude each other.
    fn tokens(&self) -> Option<Vec<String>> {
        if self.currency.is_none() && self.network.is_none() {
            return None;
        }
        let wanted = Catalogue::get().all().iter().filter(|each| {
            self.currency.is_none_or(|currency| std::ptr::eq(currency, *each))
                && self.network.is_none_or(|network| each.network == network)
        });
        Some(wanted.map(Currency::token_id).collect())
    }

    /// The parameters of an address that keeps these filters.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("status", self.status.map(|status| status.to_string())),
            ("currency", self.currency.map(Currency::token_id)),
            ("network", self.network.map(|network| network.name().to_owned())),
            ("link", self.link.clone()),
            ("from", self.from.map(|day| day.to_string())),
            ("to", self.to.map(|day| day.to_string())),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    pub fn is_any(&self) -> bool {
        !self.parameters().is_empty()
    }

    pub fn is_status(&self, status: &Status) -> bool {
        self.status == Some(*status)
    }

    pub fn is_currency(&self, currency: &Currency) -> bool {
        self.currency.is_some_and(|chosen| std::ptr::eq(chosen, currency))
    }

    pub fn is_network(&self, network: &Network) -> bool {
        self.network == Some(*network)
    }

    pub fn first_day(&self) -> String {
        self.from.map(|day| day.to_string()).unwrap_or_default()
    }

    pub fn last_day(&self) -> String {
        self.to.map(|day| day.to_string()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &'static [(&'static str, &'static str)]) -> Filters {
        Filters::read(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
        })
    }

    fn joined(filters: &Filters) -> String {
        let each = filters.parameters();
        each.iter().map(|(name, value)| format!("&{name}={value}")).collect()
    }

    #[test]
    fn filters_read_back_from_their_own_parameters() {
        let filters = read(&[
            ("status", "partial"),
            ("currency", "usdtmatic@polygon"),
            ("network", "polygon"),
            ("link", "pzl_7n4c2v9k1x8m3q6w5e0r2t4y6a"),
            ("from", "2026-11-01"),
            ("to", "2026-11-30"),
        ]);
        assert_eq!(
            joined(&filters),
            "&status=partial&currency=usdtmatic@polygon&network=polygon&link=pzl_7n4c2v9k1x8m3q6w5e0r2t4y6a\
             &from=2026-11-01&to=2026-11-30"
        );
        let filter = filters.filter();
        assert_eq!(filter.tokens.unwrap(), ["usdtmatic@polygon"]);
        assert_eq!(filter.to.unwrap().to_rfc3339(), "2026-12-01T00:00:00+00:00");
    }

    #[test]
    fn a_network_stands_for_its_currencies_and_nonsense_for_nothing() {
        let filters = read(&[
            ("status", "'"),
            ("link", "pzl_1"),
            ("network", "bitcoin"),
            ("from", "yesterday"),
        ]);
        assert_eq!(joined(&filters), "&network=bitcoin");
        assert_eq!(filters.filter().tokens.unwrap(), ["btc@bitcoin"]);
        let none = read(&[("currency", "btc@bitcoin"), ("network", "polygon")]);
        assert_eq!(none.filter().tokens.unwrap(), Vec::<String>::new());
        assert!(read(&[]).filter().tokens.is_none() && !read(&[]).is_any());
    }
}
