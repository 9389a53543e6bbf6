//! Non-custodial payouts: one row each, with its recipients, the transactions that pay them, and
//! their inputs.

pub mod coins;
pub mod parts;
pub mod reorgs;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, cursors};
use crate::{
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
    nc_payout::{FeeLevel, State},
};

const TABLE: &str = "nc_payout";

/// A payout without its parts.
#[derive(Debug, Clone)]
pub struct NcPayout {
    pub id: Uuid,
    pub payout_id: String,
    pub merchant_id: Uuid,
    pub state: State,
    pub currency: &'static Currency,
    /// Chain id of an EVM network.
    pub chain_id: Option<u64>,
    /// Spelt as by `match_key`.
    pub sender: String,
    pub fee_level: FeeLevel,
    /// Confirmations after which its transactions are final, decided when it was submitted.
    pub required_confirmations: Option<u64>,
    pub expires_at: DateTime<Utc>,
    /// Time of the next look; `None` once it has ended.
    pub look_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub submitted_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
}

/// Stored response to an earlier request under the same key.
#[derive(Debug, Clone)]
pub struct KeptAnswer {
    pub request_sha256: Vec<u8>,
    pub response: String,
}

struct Raw {
    id: Uuid,
    payout_id: String,
    merchant_id: Uuid,
    state: String,
    token_id: String,
    chain_id: Option<i64>,
    sender: String,
    fee_level: String,
    required_confirmations: Option<i64>,
    expires_at: DateTime<Utc>,
    look_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    submitted_at: Option<DateTime<Utc>>,
    ended_at: Option<DateTime<Utc>>,
    updated_at: DateTime<Utc>,
}

impl TryFrom<Raw> for NcPayout {
    type Error = StorageError;

    fn try_from(raw: Raw) -> Result<Self, StorageError> {
        let damaged = |reason: &dyn ToString| StorageError::damaged(TABLE, reason.to_string());
        let currency = Catalogue::get().by_token_id(&raw.token_id);
        Ok(Self {
            id: raw.id,
            payout_id: raw.payout_id,
            merchant_id: raw.merchant_id,
            state: raw.state.parse().map_err(|e| damaged(&e))?,
            currency: currency.ok_or_else(|| damaged(&"its currency is not in the catalogue"))?,
            chain_id: raw
                .chain_id
                .map(|id| id.try_into().map_err(|_| damaged(&"a negative chain id")))
                .transpose()?,
            sender: raw.sender,
            fee_level: raw.fee_level.parse().map_err(|e| damaged(&e))?,
            required_confirmations: raw
                .required_confirmations
                .map(cursors::from_column)
                .transpose()?,
            expires_at: raw.expires_at,
            look_at: raw.look_at,
            created_at: raw.created_at,
            submitted_at: raw.submitted_at,
            ended_at: raw.ended_at,
            updated_at: raw.updated_at,
        })
    }
}

/// Stores a payout that waits for its signatures; the first look is at its deadline.
pub async fn insert(connection: &mut PgConnection, new: &NcPayout) -> Result<(), StorageError> {
    let chain_id = new.chain_id.map(i64::try_from).transpose();
    let chain_id =
        chain_id.map_err(|_| StorageError::damaged(TABLE, "a chain id exceeds 63 bits"))?;
    sqlx::query!(
        r#"
        insert into nc_payout (id, payout_id, merchant_id, state, token_id, network, chain_id, sender, fee_level,
                               expires_at, look_at, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, $11)
        "#,
        new.id,
        new.payout_id,
        new.merchant_id,
        new.state.as_str(),
        new.currency.token_id(),
        new.currency.network.name(),
        chain_id,
        new.sender,
        new.fee_level.as_str(),
        new.expires_at,
        new.created_at
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores the response under its key. Fails on `nc_payout_key_once` if there is one: then the
/// transaction must be rolled back.
pub async fn keep_answer(
    connection: &mut PgConnection,
    id: Uuid,
    key: &str,
    request_sha256: &[u8],
    response: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update nc_payout set idempotency_key = $2, request_sha256 = $3, response = $4 where id = $1",
        id,
        key,
        request_sha256,
        response
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn kept_answer(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    key: &str,
) -> Result<Option<KeptAnswer>, StorageError> {
    let row = sqlx::query_as!(
        KeptAnswer,
        r#"
        select request_sha256 as "request_sha256!", response as "response!"
        from nc_payout
        where merchant_id = $1 and idempotency_key = $2
        "#,
        merchant_id,
        key
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// A merchant's own payout.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    payout_id: &str,
) -> Result<Option<NcPayout>, StorageError> {
    let row = sqlx::query_as!(
        Raw,
        r#"
        select id, payout_id, merchant_id, state, token_id, chain_id, sender, fee_level, required_confirmations, expires_at,
               look_at, created_at, submitted_at, ended_at, updated_at
        from nc_payout
        where merchant_id = $1 and payout_id = $2
        "#,
        merchant_id,
        payout_id
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// A payout of any merchant, for operators.
pub async fn find(
    connection: &mut PgConnection,
    payout_id: &str,
) -> Result<Option<NcPayout>, StorageError> {
    let row = sqlx::query_as!(
        Raw,
        r#"
        select id, payout_id, merchant_id, state, token_id, chain_id, sender, fee_level, required_confirmations, expires_at,
               look_at, created_at, submitted_at, ended_at, updated_at
        from nc_payout
        where payout_id = $1
        "#,
        payout_id
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// Payouts of all merchants for operators, open ones first.
pub async fn list(
    connection: &mut PgConnection,
    merchant_id: Option<Uuid>,
    state: Option<State>,
    limit: i64,
) -> Result<Vec<NcPayout>, StorageError> {
    let rows = sqlx::query_as!(
        Raw,
        r#"
        select id, payout_id, merchant_id, state, token_id, chain_id, sender, fee_level, required_confirmations, expires_at,
               look_at, created_at, submitted_at, ended_at, updated_at
        from nc_payout
        where ($1::uuid is null or merchant_id = $1) and ($2::text is null or state = $2)
        order by ended_at is not null, created_at desc, id desc
        limit $3
        "#,
        merchant_id,
        state.map(State::as_str),
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// Number of payouts submitted at least an hour ago of which no block has any transaction. Index:
/// `nc_payout_due`.
pub async fn stuck(connection: &mut PgConnection) -> Result<i64, StorageError> {
    let row = sqlx::query!(
        r#"
        select count(*) as "stuck!"
        from nc_payout
        where look_at is not null and state = 'submitted' and submitted_at < now() - interval '1 hour'
        "#
    )
    .fetch_one(connection)
    .await?;
    Ok(row.stuck)
}

/// The row, locked until the transaction ends.
pub async fn lock(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<NcPayout>, StorageError> {
    let row = sqlx::query_as!(
        Raw,
        r#"
        select id, payout_id, merchant_id, state, token_id, chain_id, sender, fee_level, required_confirmations, expires_at,
               look_at, created_at, submitted_at, ended_at, updated_at
        from nc_payout
        where id = $1
        for no key update
        "#,
        id
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// One page of a merchant's payouts, newest first, and their total number.
pub async fn page(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    state: Option<State>,
    limit: i64,
    offset: i64,
) -> Result<(Vec<NcPayout>, i64), StorageError> {
    let state = state.map(State::as_str);
    let total = sqlx::query!(
        r#"select count(*) as "count!" from nc_payout where merchant_id = $1 and ($2::text is null or state = $2)"#,
        merchant_id,
        state
    )
    .fetch_one(&mut *connection)
    .await?;
    let rows = sqlx::query_as!(
        Raw,
        r#"
        select id, payout_id, merchant_id, state, token_id, chain_id, sender, fee_level, required_confirmations, expires_at,
               look_at, created_at, submitted_at, ended_at, updated_at
        from nc_payout
        where merchant_id = $1 and ($2::text is null or state = $2)
        order by created_at desc, id desc
        limit $3 offset $4
        "#,
        merchant_id,
        state,
        limit,
        offset
    )
    .fetch_all(connection)
    .await?;
    let payouts = rows.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?;
    Ok((payouts, total.count))
}

/// A payout's state and the fields that change with it.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    pub state: State,
    /// Time of the next look; ignored once it has ended.
    pub look_at: DateTime<Utc>,
    /// True if anything differs from before.
    pub changed: bool,
}

/// Stores the state of a payout, and returns the updated row.
pub async fn set_standing(
    connection: &mut PgConnection,
    id: Uuid,
    standing: Standing,
) -> Result<NcPayout, StorageError> {
    let ended = standing.state.is_terminal();
    let row = sqlx::query_as!(
        Raw,
        r#"
        update nc_payout
        set state = $2,
            look_at = case when $3 then null else $4::timestamptz end,
            ended_at = case when $3 then coalesce(ended_at, now()) end,
            submitted_at = case when $2 = 'submitted' then coalesce(submitted_at, now()) else submitted_at end,
            updated_at = case when $5 then now() else updated_at end
        where id = $1
        returning id, payout_id, merchant_id, state, token_id, chain_id, sender, fee_level, required_confirmations, expires_at,
                  look_at, created_at, submitted_at, ended_at, updated_at
        "#,
        id,
        standing.state.as_str(),
        ended,
        standing.look_at,
        standing.changed
    )
    .fetch_one(connection)
    .await?;
    row.try_into()
}

/// Stores the confirmations that a payout needs, as it is submitted.
pub async fn require_confirmations(
    connection: &mut PgConnection,
    id: Uuid,
    required: u64,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update nc_payout set required_confirmations = $2 where id = $1",
        id,
        cursors::to_column(required)?
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores the new fee level and deadline of a rebuilt payout.
pub async fn rebuilt(
    connection: &mut PgConnection,
    id: Uuid,
    fee_level: FeeLevel,
    expires_at: DateTime<Utc>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update nc_payout
        set fee_level = $2, expires_at = $3, look_at = $3, updated_at = now()
        where id = $1 and state = 'awaiting_signature'
        "#,
        id,
        fee_level.as_str(),
        expires_at
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Claims up to `limit` due payouts, each under a lease of `lease_seconds`: if the worker dies, the
/// next one takes over. Index: `nc_payout_due`.
pub async fn claim_due(
    connection: &mut PgConnection,
    lease_seconds: i32,
    limit: i64,
) -> Result<Vec<Uuid>, StorageError> {
    let rows = sqlx::query!(
        r#"
        with due as (
            select id
            from nc_payout
            where look_at <= now()
            order by look_at
            limit $2
            for update skip locked
        )
        update nc_payout
        set look_at = now() + make_interval(secs => $1::integer)
        from due
        where nc_payout.id = due.id
        returning nc_payout.id
        "#,
        lease_seconds,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// The highest nonce that a sender has submitted and that is not final.
pub async fn highest_open_nonce(
    connection: &mut PgConnection,
    network: Network,
    sender: &str,
) -> Result<Option<u64>, StorageError> {
    let row = sqlx::query!(
        r#"
        select max(nonce) as nonce
        from nc_payout_transaction
        where network = $1 and sender = $2 and raw is not null and state in ('signed', 'sent')
        "#,
        network.name(),
        sender
    )
    .fetch_one(connection)
    .await?;
    Ok(row.nonce.and_then(|nonce| u64::try_from(nonce).ok()))
}
