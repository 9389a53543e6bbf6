//! Deposits that a deadline waits for.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::Owner;
use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError},
};

/// Deposits of an owner's own token that are not booked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    pub sum: BaseUnits,
    /// Some of them are in a block that is dated in time, and are not final.
    pub is_any_mined: bool,
    /// Some of them are final and only wait for their booking, which needs no chain.
    pub is_any_final: bool,
}

/// Sum for `owner` by `deadline`, beside the booked deposits, if everything that is under way
/// confirms: the sum over all deposits of that token on that network, however many a stranger sent,
/// cut to 128 bits.
///
/// [`is_on_time`](crate::invoice::deadline::is_on_time) defines which are in time. Deposits
/// withdrawn after `vanished_after` count as well, unless another deposit took their place: nodes
/// forget transactions that are mined all the same. Indices: `deposit_by_invoice`,
/// `deposit_by_payout`.
pub async fn in_time(
    connection: &mut PgConnection,
    owner: Owner,
    (network, token_id): (Network, &str),
    (deadline, vanished_after): (DateTime<Utc>, DateTime<Utc>),
) -> Result<UnderWay, StorageError> {
    let under_way = sqlx::query_as!(
        UnderWay,
        r#"
        with taken as materialized (
            select distinct unnest(spends) as output
            from deposit
            where (invoice_id = $1 or payout_order_id = $2) and state in ('seen', 'final', 'settled')
        )
        select least(coalesce(sum(amount), 0), 340282366920938463463374607431768211455) as "sum!: _",
               coalesce(bool_or(state = 'seen' and mined_at <= $5), false) as "is_any_mined!",
               coalesce(bool_or(state = 'final'), false) as "is_any_final!"
        from deposit
        where (invoice_id = $1 or payout_order_id = $2) and network = $3 and token_id = $4
          and (state in ('seen', 'final')
               or state = 'withdrawn' and updated_at > $6
                  and not exists (select from unnest(spends) as own (output)
                                  where own.output in (select output from taken)))
          and least(first_seen_at, mined_at) <= $5
        "#,
        owner.invoice_id,
        owner.payout_order_id,
        network.name(),
        token_id,
        deadline,
        vanished_after
    )
    .fetch_one(connection)
    .await?;
    Ok(under_way)
}

/// The subset of `invoice_ids` for which a deposit is on its way or waits for its booking, or that
/// had one which was withdrawn: their deadlines need a look at each deposit. Index:
/// `deposit_by_invoice`.
pub async fn expecting(
    connection: &mut PgConnection,
    invoice_ids: &[Uuid],
) -> Result<HashSet<Uuid>, StorageError> {
    let rows = sqlx::query_scalar!(
        r#"
        select id as "id!"
        from unnest($1::uuid[]) as asked (id)
        where exists (select from deposit d
                      where d.invoice_id = asked.id and d.state in ('seen', 'final', 'withdrawn'))
        "#,
        invoice_ids
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().collect())
}
