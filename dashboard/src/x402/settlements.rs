//! Payments of programs: settlements, page by page through filters.

use askama::Template;
use axum::{extract::State, response::Response};
use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use gateway::{
    app::x402::lists::in_coins,
    asset::explorer,
    storage::x402::lists::{Filter, ListedSettlement},
    x402::{resource, settlement::State as Stage},
};
use uuid::Uuid;

use crate::{
    list::{self, Asked, Pages, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

const PATH: &str = "/x402/settlements";

/// A settlement in a list, for `x402/rows.html`.
pub struct Row {
    pub settlement: ListedSettlement,
    pub amount: String,
    /// Where a public explorer shows its transaction.
    pub explorer: Option<String>,
}

impl Row {
    pub fn of(gateway: &crate::State, settlement: ListedSettlement) -> Self {
        let network = settlement.network;
        let hash = settlement.tx_hash.as_deref().filter(|_| gateway.has_explorer(network));
        Self {
            amount: in_coins(network, settlement.amount),
            explorer: hash.map(|hash| explorer::transaction_url(network, hash)),
            settlement,
        }
    }

    /// The state in words.
    pub const fn label(&self) -> &'static str {
        match self.settlement.state {
            Stage::Verified => "waits",
            Stage::Submitted if self.settlement.is_in_block => "in a block",
            Stage::Submitted => "sent",
            Stage::Settled => "settled",
            Stage::Failed => "failed",
        }
    }

    /// The class of its mark, by which the style sheet colours it.
    pub const fn mark(&self) -> &'static str {
        match self.settlement.state {
            Stage::Submitted if self.settlement.is_in_block => "delivered",
            Stage::Verified | Stage::Submitted => "partial",
            Stage::Settled => "delivered",
            Stage::Failed => "failed",
        }
    }
}

/// Filters that were understood; anything else is left out.
#[derive(Debug, Default, PartialEq, Eq)]
struct Filters {
    state: Option<Stage>,
    resource: Option<String>,
    /// First and last day of creation, of UTC.
    from: Option<NaiveDate>,
    to: Option<NaiveDate>,
}

impl Filters {
    fn read<'a>(asked: impl Fn(&str) -> Option<&'a str>) -> Self {
        Self {
            state: asked("state").and_then(|text| text.parse().ok()),
            resource: asked("resource").filter(|id| resource::is_id(id)).map(ToOwned::to_owned),
            from: asked("from").and_then(|text| text.parse().ok()),
            to: asked("to").and_then(|text| text.parse().ok()),
        }
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        let day = |day: Option<NaiveDate>| day.map(|day| day.to_string());
        let all = [
            ("state", self.state.map(|state| state.to_string())),
            ("resource", self.resource.clone()),
            ("from", day(self.from)),
            ("to", day(self.to)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn filter(&self, address_id: Option<Uuid>) -> Filter {
        let start = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
        let after = self.to.and_then(|day| day.checked_add_days(Days::new(1))).map(start);
        let (last, _) = list::newest();
        let within = |at: DateTime<Utc>| at.clamp(DateTime::UNIX_EPOCH, last);
        Filter {
            address_id,
            state: self.state,
            from: self.from.map_or(DateTime::UNIX_EPOCH, |day| within(start(day))),
            to: after.map_or(last, within),
        }
    }
}

#[derive(Template)]
#[template(path = "x402/settlements.html")]
struct Page {
    shell: Shell,
    filters: Filters,
    rows: Vec<Row>,
    pages: Pages,
}

impl Page {
    fn is_state(&self, state: &Stage) -> bool {
        self.filters.state.as_ref() == Some(state)
    }

    fn is_filtered(&self) -> bool {
        self.filters != Filters::default()
    }

    fn resource(&self) -> &str {
        self.filters.resource.as_deref().unwrap_or_default()
    }

    fn first_day(&self) -> String {
        self.filters.from.map(|day| day.to_string()).unwrap_or_default()
    }

    fn last_day(&self) -> String {
        self.filters.to.map(|day| day.to_string()).unwrap_or_default()
    }
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let filters = Filters::read(|name| visit.asked(name));
    let resource = match &filters.resource {
        Some(id) => gateway.known_x402_resource(merchant_id, id).await?,
        None => None,
    };
    let asked = Asked::of(&visit);
    // A resource that is nobody's, or another merchant's, has no settlements here.
    let is_unknown = filters.resource.is_some() && resource.is_none();
    let mut found = if is_unknown {
        Vec::new()
    } else {
        let filter = filters.filter(resource.map(|resource| resource.address_id));
        let place = asked.place();
        gateway.x402_settlements_beside(merchant_id, &filter, place, ROWS_AND_NEXT).await?
    };
    let kept = filters.parameters();
    let kept: Vec<_> = kept.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let pages = Pages::cut(&mut found, asked, PATH, &kept, |row: &ListedSettlement| {
        (row.created_at, row.id)
    });
    let rows = found.into_iter().map(|row| Row::of(&gateway, row)).collect();
    show(&Page { shell: Shell::of(&visit, super::HERE), filters, rows, pages })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &'static [(&'static str, &'static str)]) -> Filters {
        Filters::read(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
        })
    }

    #[test]
    fn filters_read_back_and_nonsense_is_left_out() {
        let filters = read(&[
            ("state", "failed"),
            ("resource", "pzx_7n4c2v9k1x8m3q6w5e0r2t4y6a"),
            ("from", "2026-11-01"),
            ("to", "2026-11-30"),
        ]);
        let kept = filters.parameters();
        assert_eq!(kept.len(), 4);
        assert_eq!(
            Filters::read(|name| {
                kept.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
            }),
            filters
        );
        let filter = filters.filter(None);
        assert_eq!(filter.from.to_rfc3339(), "2026-11-01T00:00:00+00:00");
        assert_eq!(filter.to.to_rfc3339(), "2026-12-01T00:00:00+00:00");
        let nonsense = read(&[("state", "'"), ("resource", "pzx_1"), ("from", "yesterday")]);
        assert_eq!(nonsense, Filters::default());
    }

    #[test]
    fn no_day_is_beyond_the_times_of_the_database() {
        let filter = read(&[("from", "-262143-01-01"), ("to", "+262142-12-31")]).filter(None);
        assert_eq!((filter.from, filter.to), (DateTime::UNIX_EPOCH, list::newest().0));
    }
}
