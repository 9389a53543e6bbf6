//! x402 as the dashboard shows it: a merchant's resources and settlements page by page.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use super::resources::{RawResource, Resource, resources_where};
use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError, payment_search::Side},
    x402::settlement::State,
};

/// Up to `limit` resources of a merchant that are sold, or that are switched off, on one side of a
/// place; the newest first. Indices: `x402_resource_by_merchant`, `x402_resource_off`.
pub async fn resources(
    connection: &mut PgConnection,
    (merchant_id, is_off): (Uuid, bool),
    (side, at, id): (Side, DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<Resource>, StorageError> {
    let rows: Vec<RawResource> =
        match (is_off, side) {
            (false, Side::Older) => {
                resources_where!(
                    "r.deleted_at is null and r.merchant_id = $1 and (r.created_at, r.id) < ($2, $3)
                     order by r.created_at desc, r.id desc limit $4";
                    merchant_id, at, id, limit
                )
                .fetch_all(connection)
                .await?
            }
            (false, Side::Newer) => {
                resources_where!(
                    "r.deleted_at is null and r.merchant_id = $1 and (r.created_at, r.id) > ($2, $3)
                     order by r.created_at, r.id limit $4";
                    merchant_id, at, id, limit
                )
                .fetch_all(connection)
                .await?
            }
            (true, Side::Older) => resources_where!(
                "r.deleted_at is not null and r.merchant_id = $1 and (r.created_at, r.id) < ($2, $3)
                 order by r.created_at desc, r.id desc limit $4";
                merchant_id, at, id, limit
            )
            .fetch_all(connection)
            .await?,
            (true, Side::Newer) => resources_where!(
                "r.deleted_at is not null and r.merchant_id = $1 and (r.created_at, r.id) > ($2, $3)
                 order by r.created_at, r.id limit $4";
                merchant_id, at, id, limit
            )
            .fetch_all(connection)
            .await?,
        };
    let found: Result<Vec<Resource>, _> = rows.into_iter().map(TryInto::try_into).collect();
    found.map(|found| newest_first(found, side))
}

fn newest_first<T>(mut rows: Vec<T>, side: Side) -> Vec<T> {
    if side == Side::Newer {
        rows.reverse();
    }
    rows
}

/// A settlement in a list.
#[derive(Debug, Clone)]
pub struct ListedSettlement {
    pub id: Uuid,
    pub created_at: DateTime<Utc>,
    pub network: Network,
    pub payer: String,
    pub amount: BaseUnits,
    pub state: State,
    /// Of one that failed: the protocol's word, and a sentence.
    pub reason: Option<String>,
    pub message: Option<String>,
    /// The transaction that was answered first, or the one that was signed last.
    pub tx_hash: Option<String>,
    pub is_in_block: bool,
    /// Its resource, or its invoice.
    pub resource_id: Option<String>,
    pub payment_id: Option<String>,
}

/// The settlements that a list shows.
#[derive(Debug, Clone, Copy)]
pub struct Filter {
    /// Of one resource, by its address.
    pub address_id: Option<Uuid>,
    pub state: Option<State>,
    /// Created from then on.
    pub from: DateTime<Utc>,
    /// Created before then.
    pub to: DateTime<Utc>,
}

/// Reads settlements by the end of a query.
macro_rules! settlements_where {
    ($end:literal; $($argument:expr),+) => {
        sqlx::query_as!(
            ListedSettlement,
            r#"
            select s.id, s.created_at, s.network as "network: _", s.payer, s.amount as "amount: _", s.state as "state: _",
                   s.reason, s.message, coalesce(s.answered_hash, s.tx_hash) as tx_hash,
                   s.height is not null as "is_in_block!", r.resource_id as "resource_id?", i.payment_id as "payment_id?"
            from x402_settlement s
            join deposit_address a on a.id = s.address_id
            left join x402_resource r on r.address_id = s.address_id
            left join invoice i on i.id = a.invoice_id
            where s.merchant_id = $1 and s.created_at >= $2 and s.created_at < $3 and "# + $end,
            $($argument),+
        )
    };
}

/// Up to `limit` settlements of a merchant on one side of a place; the newest first.
pub async fn settlements(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    filter: &Filter,
    place: (Side, DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<ListedSettlement>, StorageError> {
    let place = within(filter, place);
    let rows = match filter.address_id {
        Some(address_id) => {
            at_address(connection, (merchant_id, address_id), filter, place, limit).await?
        }
        None => of_merchant(connection, merchant_id, filter, place, limit).await?,
    };
    Ok(newest_first(rows, place.0))
}

/// The same place, or the nearest one within the filter's days. An index is read from the place on,
/// so that one beyond these days would have all rows between read in vain.
fn within(
    filter: &Filter,
    (side, at, id): (Side, DateTime<Utc>, Uuid),
) -> (Side, DateTime<Utc>, Uuid) {
    match side {
        Side::Older if at >= filter.to => (side, filter.to, Uuid::nil()),
        Side::Newer if at < filter.from => {
            (side, filter.from - TimeDelta::microseconds(1), Uuid::max())
        }
        Side::Older | Side::Newer => (side, at, id),
    }
}

/// True for a state of which there are few: its rows are found by an index of their own.
fn is_rare(state: Option<State>) -> bool {
    state.is_some_and(|state| state != State::Settled)
}

/// Indices: `x402_settlement_by_merchant`, `x402_settlement_unsettled`.
async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    &Filter { state, from, to, .. }: &Filter,
    (side, at, id): (Side, DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<ListedSettlement>, StorageError> {
    let name = state.map(State::as_str);
    let rows = match (is_rare(state), side) {
        (false, Side::Older) => {
            settlements_where!(
                "(s.created_at, s.id) < ($4, $5) and ($6::text is null or s.state = $6)
                 order by s.created_at desc, s.id desc limit $7";
                merchant_id, from, to, at, id, name, limit
            )
            .fetch_all(connection)
            .await?
        }
        (false, Side::Newer) => {
            settlements_where!(
                "(s.created_at, s.id) > ($4, $5) and ($6::text is null or s.state = $6)
                 order by s.created_at, s.id limit $7";
                merchant_id, from, to, at, id, name, limit
            )
            .fetch_all(connection)
            .await?
        }
        (true, Side::Older) => {
            settlements_where!(
                "(s.created_at, s.id) < ($4, $5) and s.state <> 'settled' and s.state = $6
                 order by s.created_at desc, s.id desc limit $7";
                merchant_id, from, to, at, id, name, limit
            )
            .fetch_all(connection)
            .await?
        }
        (true, Side::Newer) => {
            settlements_where!(
                "(s.created_at, s.id) > ($4, $5) and s.state <> 'settled' and s.state = $6
                 order by s.created_at, s.id limit $7";
                merchant_id, from, to, at, id, name, limit
            )
            .fetch_all(connection)
            .await?
        }
    };
    Ok(rows)
}

/// Indices: `x402_settlement_by_address`, `x402_settlement_unsettled_by_address`.
async fn at_address(
    connection: &mut PgConnection,
    (merchant_id, address_id): (Uuid, Uuid),
    &Filter { state, from, to, .. }: &Filter,
    (side, at, id): (Side, DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<ListedSettlement>, StorageError> {
    let name = state.map(State::as_str);
    let rows = match (is_rare(state), side) {
        (false, Side::Older) => {
            settlements_where!(
                "(s.created_at, s.id) < ($4, $5) and ($6::text is null or s.state = $6) and s.address_id = $8
                 order by s.created_at desc, s.id desc limit $7";
                merchant_id, from, to, at, id, name, limit, address_id
            )
            .fetch_all(connection)
            .await?
        }
        (false, Side::Newer) => {
            settlements_where!(
                "(s.created_at, s.id) > ($4, $5) and ($6::text is null or s.state = $6) and s.address_id = $8
                 order by s.created_at, s.id limit $7";
                merchant_id, from, to, at, id, name, limit, address_id
            )
            .fetch_all(connection)
            .await?
        }
        (true, Side::Older) => {
            settlements_where!(
                "(s.created_at, s.id) < ($4, $5) and s.state <> 'settled' and s.state = $6 and s.address_id = $8
                 order by s.created_at desc, s.id desc limit $7";
                merchant_id, from, to, at, id, name, limit, address_id
            )
            .fetch_all(connection)
            .await?
        }
        (true, Side::Newer) => {
            settlements_where!(
                "(s.created_at, s.id) > ($4, $5) and s.state <> 'settled' and s.state = $6 and s.address_id = $8
                 order by s.created_at, s.id limit $7";
                merchant_id, from, to, at, id, name, limit, address_id
            )
            .fetch_all(connection)
            .await?
        }
    };
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_begins_within_the_days_of_its_filter() {
        let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
        let filter = Filter { address_id: None, state: None, from: at(100), to: at(200) };
        let id = Uuid::from_u128(7);
        for (side, seconds, expected) in [
            (Side::Older, 900, (at(200), Uuid::nil())),
            (Side::Older, 200, (at(200), Uuid::nil())),
            (Side::Older, 150, (at(150), id)),
            (Side::Newer, 99, (at(100) - TimeDelta::microseconds(1), Uuid::max())),
            (Side::Newer, 100, (at(100), id)),
            (Side::Newer, 150, (at(150), id)),
        ] {
            let (_, at, id) = within(&filter, (side, at(seconds), id));
            assert_eq!((at, id), expected, "{side:?} {seconds}");
        }
    }
}
