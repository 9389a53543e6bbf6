//! Payouts of all kinds in one list, page by page.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    money::BaseUnits,
    payout::listed::{ListedKind, ListedState},
    storage::{PgConnection, StorageError},
};

/// A payout in the list.
#[derive(Debug, Clone)]
pub struct ListedPayout {
    pub id: Uuid,
    /// `mpo_…`, `empo_…` or `ncp_…`.
    pub public_id: String,
    pub kind: ListedKind,
    pub state: ListedState,
    /// `code@network`.
    pub token_id: String,
    pub total: BaseUnits,
    pub recipients: i64,
    pub label: Option<String>,
    pub is_held: bool,
    pub created_at: DateTime<Utc>,
}

/// Up to `limit` payouts that are older than a place, of one kind and one state or of all, the
/// newest first.
///
/// Each kind is read in the order of its index, and only the first rows of each are merged.
/// Indices: `payout_order_by_merchant`, `nc_payout_by_merchant`.
pub async fn before(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    (kind, state): (Option<ListedKind>, Option<ListedState>),
    (at, id): (DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<ListedPayout>, StorageError> {
    let rows = sqlx::query_as!(
        ListedPayout,
        r#"
        with orders as (
            select o.id, o.order_id as public_id, o.family as kind, o.state, o.token_id, o.payout_total as total,
                   o.item_count::bigint as recipients, o.label, o.held_at is not null as is_held, o.created_at
            from unnest(array['utxo', 'evm']) as f (family)
            cross join lateral (
                select id, order_id, family, state, token_id, payout_total, item_count, label, held_at, created_at
                from payout_order
                where merchant_id = $1 and family = f.family and (created_at, id) < ($4, $5)
                      and ($3::text is null or state = $3)
                order by created_at desc, id desc
                limit $6
            ) o
            where $2::text is null or f.family = $2
        ),
        own as (
            select n.id, n.payout_id as public_id, 'non-custodial' as kind, n.state, n.token_id, s.total, s.recipients,
                   null::text as label, false as is_held, n.created_at
            from (
                select id, payout_id, state, token_id, created_at
                from nc_payout
                where merchant_id = $1 and (created_at, id) < ($4, $5) and ($3::text is null or state = $3)
                      and ($2::text is null or $2 = 'non-custodial')
                order by created_at desc, id desc
                limit $6
            ) n
            cross join lateral (
                select coalesce(sum(amount), 0) as total, count(*) as recipients
                from nc_payout_output
                where payout_id = n.id
            ) s
        )
        select id as "id!", public_id as "public_id!", kind as "kind!: _", state as "state!: _", token_id as "token_id!",
               total as "total!: _", recipients as "recipients!", label, is_held as "is_held!", created_at as "created_at!"
        from (select id, public_id, kind, state, token_id, total, recipients, label, is_held, created_at from orders
              union all
              select id, public_id, kind, state, token_id, total, recipients, label, is_held, created_at from own) each
        order by created_at desc, id desc
        limit $6
        "#,
        merchant_id,
        kind.map(ListedKind::as_str),
        state.map(ListedState::as_str),
        at,
        id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
