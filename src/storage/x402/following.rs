//! Settlements as the role carries them out: signed, sent, followed and ended.

use std::str::FromStr;

use bigdecimal::BigDecimal;
use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    payout::fee::Fee,
    storage::{PgConnection, StorageError, cursors, numeric},
    x402::{
        Word,
        gas::{self, Spent},
        settlement::State,
    },
};

const TABLE: &str = "x402_settlement";

/// A settlement that has not ended.
#[derive(Debug, Clone)]
pub struct OpenSettlement {
    pub id: Uuid,
    pub merchant_id: Uuid,
    /// The merchant may sell nothing now.
    pub is_suspended: bool,
    pub asset: String,
    pub payer: String,
    pub nonce: Word,
    pub pay_to: String,
    /// The address is that of a resource or an invoice of this merchant.
    pub is_of_merchant: bool,
    pub amount: BaseUnits,
    pub call: Vec<u8>,
    pub state: State,
    pub sender: Option<String>,
    pub tx_nonce: Option<i64>,
    pub height: Option<u64>,
    pub answered_hash: Option<String>,
    /// Seconds since a node last took it; `None` if none did since it was signed last.
    pub sent_for_seconds: Option<i64>,
    /// Payments of its payer that cost gas and moved nothing: final ones of the last hour, and
    /// those whose block is not final yet.
    pub payer_reverted: i64,
    /// Seconds since it was stored.
    pub known_for_seconds: i64,
    /// Unix seconds, by the database.
    pub now: i64,
    /// The source of its ledger entries.
    pub booked_as: Uuid,
    pub versions: Vec<Version>,
}

/// A signed version, oldest first.
#[derive(Debug, Clone)]
pub struct Version {
    pub version: i16,
    pub raw: Vec<u8>,
    pub tx_hash: String,
    pub fee: Fee,
}

/// Locks a settlement against its end until the transaction ends; `false` if it has ended.
pub async fn lock_if_open(connection: &mut PgConnection, id: Uuid) -> Result<bool, StorageError> {
    let open = sqlx::query_scalar!(
        r#"
        select id
        from x402_settlement
        where id = $1 and state in ('verified', 'submitted')
        for no key update
        "#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(open.is_some())
}

/// Settlements of a network without an end, the oldest first: up to `limit` of those that no block
/// holds, and as many of those that wait for their confirmations, so that a long wait of these
/// keeps nobody else's from being signed. Indices: `x402_settlement_open`,
/// `x402_settlement_reverted`, `x402_settlement_unanswered`.
#[expect(clippy::too_many_lines, reason = "one statement and its columns")]
pub async fn open(
    connection: &mut PgConnection,
    network: Network,
    limit: i64,
) -> Result<Vec<OpenSettlement>, StorageError> {
    let rows = sqlx::query!(
        r#"
        with open as (
            (select id
             from x402_settlement
             where network = $1 and state in ('verified', 'submitted') and height is null
             order by created_at, id
             limit $2)
            union all
            (select id
             from x402_settlement
             where network = $1 and state in ('verified', 'submitted') and height is not null
             order by created_at, id
             limit $2)
        )
        select s.id, s.merchant_id, m.suspended_at is not null as "is_suspended!", s.asset, s.payer, s.nonce,
               a.match_key as pay_to, coalesce(s.merchant_id in (r.merchant_id, i.merchant_id), false) as "is_of_merchant!", s.amount,
               s.call, s.state, s.sender, s.tx_nonce, s.height, s.answered_hash, extract(epoch from now() - s.sent_at)::bigint as sent_for,
               extract(epoch from now() - s.created_at)::bigint as "known_for!", extract(epoch from now())::bigint as "now!",
               coalesce(s.booked_as, s.id) as "booked_as!",
               (select count(*) from x402_settlement f
                where f.network = s.network and f.asset = s.asset and f.payer = s.payer and f.state = 'failed'
                  and f.fee is not null and f.ended_at > now() - interval '1 hour')
                + (select count(*) from x402_settlement f
                   where f.network = s.network and f.asset = s.asset and f.payer = s.payer and f.state = 'submitted'
                     and f.answered_hash is null and f.height is not null) as "payer_reverted!",
               v.version as "version?", v.raw as "raw?", v.tx_hash as "tx_hash?", v.fee_rate as "fee_rate?", v.tip as "tip?"
        from open
        join x402_settlement s on s.id = open.id
        join merchant m on m.id = s.merchant_id
        join deposit_address a on a.id = s.address_id
        left join invoice i on i.id = a.invoice_id
        -- A deleted one too: what is under way still arrives.
        left join x402_resource r on r.address_id = a.id
        left join x402_version v on v.settlement_id = s.id
        order by s.created_at, s.id, v.version
        "#,
        network.name(),
        limit
    )
    .fetch_all(connection)
    .await?;
    let mut open: Vec<OpenSettlement> = Vec::new();
    for row in rows {
        let version = version((row.version, row.raw, row.tx_hash), (row.fee_rate, row.tip))?;
        match open.last_mut().filter(|last| last.id == row.id) {
            Some(last) => last.versions.extend(version),
            None => open.push(OpenSettlement {
                id: row.id,
                merchant_id: row.merchant_id,
                is_suspended: row.is_suspended,
                asset: row.asset,
                payer: row.payer,
                nonce: nonce(row.nonce)?,
                pay_to: row.pay_to,
                is_of_merchant: row.is_of_merchant,
                amount: numeric::to_units(TABLE, &row.amount)?,
                call: row.call,
                state: state(&row.state)?,
                sender: row.sender,
                tx_nonce: row.tx_nonce,
                height: row.height.map(cursors::from_column).transpose()?,
                answered_hash: row.answered_hash,
                sent_for_seconds: row.sent_for,
                payer_reverted: row.payer_reverted,
                known_for_seconds: row.known_for,
                now: row.now,
                booked_as: row.booked_as,
                versions: version.into_iter().collect(),
            }),
        }
    }
    Ok(open)
}

fn state(text: &str) -> Result<State, StorageError> {
    State::from_str(text).map_err(|error| StorageError::damaged(TABLE, error))
}

/// The version of a joined row; `None` for a settlement that has none yet.
fn version(
    signed: (Option<i16>, Option<Vec<u8>>, Option<String>),
    (rate, tip): (Option<BigDecimal>, Option<BigDecimal>),
) -> Result<Option<Version>, StorageError> {
    let ((Some(version), Some(raw), Some(tx_hash)), Some(rate), Some(tip)) = (signed, rate, tip)
    else {
        return Ok(None);
    };
    let units = |value| numeric::to_units(TABLE, value).map(BaseUnits::get);
    let fee = Fee { tip: units(&tip)?, ..Fee::of(units(&rate)?) };
    Ok(Some(Version { version, raw, tx_hash, fee }))
}

fn nonce(bytes: Vec<u8>) -> Result<Word, StorageError> {
    let bytes = <[u8; 32]>::try_from(bytes);
    bytes.map(Word::new).map_err(|_| StorageError::damaged(TABLE, "its nonce is no word"))
}

/// Networks with settlements that have not ended, and their number. Index: `x402_settlement_open`.
pub async fn backlog(connection: &mut PgConnection) -> Result<Vec<(String, i64)>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select network, count(*) as "count!"
        from x402_settlement
        where state in ('verified', 'submitted')
        group by network
        "#
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.network, row.count)).collect())
}

/// The reason for which nothing may be signed on a network: its own switch, that of all payouts, or
/// that of x402 alone.
pub async fn stopped(
    connection: &mut PgConnection,
    network: Network,
) -> Result<Option<String>, StorageError> {
    let reason = sqlx::query_scalar!(
        "select reason from payout_stop where network in ('*', 'x402', $1) order by network limit 1",
        network.name()
    )
    .fetch_optional(connection)
    .await?;
    Ok(reason)
}

/// The next nonce of the gas wallet, from rows alone: a node that lies or lags causes no reuse.
///
/// Signers of one wallet wait for one another until their transactions end.
pub async fn next_nonce(
    connection: &mut PgConnection,
    network: Network,
    sender: &str,
) -> Result<i64, StorageError> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('x402:sender:' || $1::text || ':' || $2::text, 0)) as "locked?: ()""#,
        network.name(),
        sender
    )
    .fetch_one(&mut *connection)
    .await?;
    let nonce = sqlx::query_scalar!(
        r#"select coalesce(max(tx_nonce) + 1, 0) as "nonce!" from x402_settlement where network = $1 and sender = $2"#,
        network.name(),
        sender
    )
    .fetch_one(connection)
    .await?;
    Ok(nonce)
}

/// Micro-USD that gas may have cost in the last hour and the last 24 hours, over all networks,
/// except that of the settlement whose transaction is in hand. Signers that sum at once wait for
/// one another. A price that was raised later counts at the time of the first signature. Index:
/// `x402_settlement_by_signing`.
pub async fn gas_lately(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    except: Uuid,
) -> Result<Spent, StorageError> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('x402:gas', 0)) as "locked?: ()""#
    )
    .fetch_one(&mut *connection)
    .await?;
    let row = sqlx::query!(
        r#"
        with lately as (
            select (gas_usd * 1000000)::bigint as micro, signed_at > now() - interval '1 hour' as is_of_hour,
                   merchant_id = $1 as is_own
            from x402_settlement
            where signed_at > now() - interval '24 hours' and id <> $2
        )
        select coalesce(sum(micro) filter (where is_of_hour), 0)::bigint as "hour!",
               coalesce(sum(micro), 0)::bigint as "day!",
               coalesce(sum(micro) filter (where is_of_hour and is_own), 0)::bigint as "merchant_hour!",
               coalesce(sum(micro) filter (where is_own), 0)::bigint as "merchant_day!"
        from lately
        "#,
        merchant_id,
        except
    )
    .fetch_one(connection)
    .await?;
    let micro = |sum: i64| u64::try_from(sum).map_err(|error| StorageError::damaged(TABLE, error));
    Ok(Spent {
        hour: micro(row.hour)?,
        day: micro(row.day)?,
        merchant_hour: micro(row.merchant_hour)?,
        merchant_day: micro(row.merchant_day)?,
    })
}

/// A settlement's transaction before it is sent.
#[derive(Debug, Clone)]
pub struct Signed {
    pub id: Uuid,
    pub network: Network,
    pub sender: String,
    pub tx_nonce: i64,
    /// The most that its gas may cost, in micro-USD.
    pub gas_usd: u64,
    pub version: Version,
}

/// Stores nonce and bytes of a settlement. `false` if it was signed or ended meanwhile: then the
/// transaction must be rolled back.
pub async fn store_signed(
    connection: &mut PgConnection,
    signed: &Signed,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update x402_settlement
        set state = 'submitted', sender = $2, tx_nonce = $3, tx_hash = $4, gas_usd = $5, signed_at = clock_timestamp()
        where id = $1 and state = 'verified' and network = $6
        "#,
        signed.id,
        signed.sender,
        signed.tx_nonce,
        signed.version.tx_hash,
        numeric::from_decimal(gas::usd(signed.gas_usd)),
        signed.network.name()
    )
    .execute(&mut *connection)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    insert_version(connection, signed.id, &signed.version).await?;
    Ok(true)
}

async fn insert_version(
    connection: &mut PgConnection,
    id: Uuid,
    version: &Version,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into x402_version (settlement_id, version, raw, tx_hash, fee_rate, tip)
        values ($1, $2, $3, $4, $5, $6)
        "#,
        id,
        version.version,
        version.raw,
        version.tx_hash,
        numeric::from_units(BaseUnits::new(version.fee.rate)),
        numeric::from_units(BaseUnits::new(version.fee.tip))
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Adds a version with a higher fee, which is the one sent from now on; `gas_usd` is the most that
/// it may cost, in micro-USD.
pub async fn add_version(
    connection: &mut PgConnection,
    id: Uuid,
    version: &Version,
    gas_usd: u64,
) -> Result<(), StorageError> {
    insert_version(connection, id, version).await?;
    sqlx::query!(
        r#"
        update x402_settlement set tx_hash = $2, gas_usd = greatest(gas_usd, $3), sent_at = null
        where id = $1 and state = 'submitted'
        "#,
        id,
        version.tx_hash,
        numeric::from_decimal(gas::usd(gas_usd))
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn mark_sent(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!(
        "update x402_settlement set sent_at = now() where id = $1 and state = 'submitted'",
        id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes the block in which a settlement's transaction stands now, and answers it if `moved`. A
/// block that is gone takes the height back; the first answer stays.
pub async fn note_block(
    connection: &mut PgConnection,
    id: Uuid,
    height: Option<u64>,
    moved_by: Option<&str>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update x402_settlement
        set height = $2, answered_hash = coalesce(answered_hash, $3)
        where id = $1 and state = 'submitted'
        "#,
        id,
        height.map(cursors::to_column).transpose()?,
        moved_by
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The end of a settlement.
#[derive(Debug, Clone)]
pub struct End<'a> {
    /// The one that it was decided on.
    pub from: State,
    pub to: State,
    pub reason: Option<&'a str>,
    pub message: Option<&'a str>,
    pub tx_hash: Option<&'a str>,
    pub fee: Option<BaseUnits>,
    pub height: Option<u64>,
}

/// Ends a settlement. `false` if it is not in that state any more: then nothing is booked.
pub async fn end(
    connection: &mut PgConnection,
    id: Uuid,
    end: &End<'_>,
) -> Result<bool, StorageError> {
    let is_settled = end.to == State::Settled;
    let done = sqlx::query!(
        r#"
        update x402_settlement
        set state = $3, reason = $4, message = $5, tx_hash = coalesce($6, tx_hash), fee = $7, height = $8,
            answered_hash = coalesce(answered_hash, case when $9 then $6 end), ended_at = clock_timestamp()
        where id = $1 and state = $2
        "#,
        id,
        end.from.as_str(),
        end.to.as_str(),
        end.reason,
        end.message,
        end.tx_hash,
        end.fee.map(numeric::from_units),
        end.height.map(cursors::to_column).transpose()?,
        is_settled
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}
