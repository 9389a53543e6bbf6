//! Signed payments and their versions. The bytes are stored here before any node has them.

use std::str::FromStr;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    payout::{
        coins::Spent,
        fee::Fee,
        payment::{PaymentState, Purpose},
    },
    storage::{PgConnection, StorageError, cursors, numeric},
    vocabulary::UnknownText,
};

const TABLE: &str = "payout_payment";

/// A payment and its first version.
#[derive(Debug, Clone)]
pub struct NewPayment {
    pub id: Uuid,
    pub order_id: Uuid,
    pub purpose: Purpose,
    pub network: Network,
    pub sender: String,
    pub nonce: i64,
    pub amount: BaseUnits,
    pub value_usd: rust_decimal::Decimal,
    pub raw: Vec<u8>,
    pub tx_hash: String,
    pub fee: Fee,
    /// Inputs and remaining change, on UTXO networks.
    pub spent: Option<Spent>,
    /// The gas wallet that gets gas back, as `match_key` spells it.
    pub returned_to: Option<String>,
}

/// A payment that is not final yet.
#[derive(Debug, Clone)]
pub struct OpenPayment {
    pub id: Uuid,
    pub purpose: Purpose,
    pub nonce: i64,
    pub sender: String,
    pub amount: BaseUnits,
    pub state: PaymentState,
    pub tx_hash: String,
    /// The block in which it was seen last.
    pub height: Option<u64>,
    /// Seconds since a node last accepted it.
    pub sent_for_seconds: Option<i64>,
    pub versions: Vec<Version>,
}

/// One version, oldest first in its payment.
#[derive(Debug, Clone)]
pub struct Version {
    pub version: i16,
    pub raw: Vec<u8>,
    pub tx_hash: String,
    pub fee: Fee,
    /// Total network fee, known in advance on UTXO networks.
    pub taken: Option<BaseUnits>,
    /// Index and amount of the change output.
    pub change: Option<(u32, BaseUnits)>,
}

/// Number of blocks that are read again: no block below those that existed at the time of signing
/// can contain the transaction, except after a reorg just then.
const SEARCHED_AGAIN: i64 = 12;

/// Stores a payment with its bytes, before anything is sent. Fails on `payout_payment_nonce_once`
/// or `payout_input_once` if another worker was first: then the transaction must be rolled back.
pub async fn insert(connection: &mut PgConnection, new: &NewPayment) -> Result<(), StorageError> {
    let spent = new.spent.as_ref();
    let change = spent.and_then(|spent| spent.change);
    let coins = spent.map(|spent| spent.coins.as_slice()).unwrap_or_default();
    let outpoints: Vec<_> = coins.iter().map(|coin| coin.outpoint.clone()).collect();
    let amounts: Vec<_> = coins.iter().map(|coin| numeric::from_units(coin.amount)).collect();
    sqlx::query!(
        r#"
        with payment as (
            insert into payout_payment (id, order_id, purpose, network, sender, nonce, state, amount, value_usd, tx_hash,
                                        returned_to)
            values ($1, $2, $3, $4, $5, $6, 'signed', $7, $8, $9, $19)
            returning id
        ),
        spent as (
            insert into payout_input (network, outpoint, payment_id, amount)
            select $4, t.outpoint, payment.id, t.amount
            from payment
            cross join unnest($15::text[], $16::numeric[]) as t (outpoint, amount)
        ),
        search as (
            insert into payout_search (payment_id, height)
            select payment.id, coalesce((select greatest(c.height - $17, 0) from chain_cursor c where c.network = $4), 0)
            from payment
            where cardinality($15::text[]) > 0
        )
        insert into payout_version (payment_id, version, raw, tx_hash, fee_rate, tip, fee, change_n, change_amount)
        select id, 1, $10, $9, $11, $18, $12, $13, $14
        from payment
        "#,
        new.id,
        new.order_id,
        new.purpose.as_str(),
        new.network.name(),
        new.sender,
        new.nonce,
        numeric::from_units(new.amount),
        numeric::from_decimal(new.value_usd),
        new.tx_hash,
        new.raw,
        numeric::from_units(BaseUnits::new(new.fee.rate)),
        spent.map(|spent| numeric::from_units(spent.fee)),
        change.map(|(n, _)| to_integer(n)),
        change.map(|(_, amount)| numeric::from_units(amount)),
        &outpoints,
        &amounts,
        SEARCHED_AGAIN,
        numeric::from_units(BaseUnits::new(new.fee.tip)),
        new.returned_to
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Adds a version with a higher fee, which is the one sent from now on.
pub async fn add_version(
    connection: &mut PgConnection,
    payment_id: Uuid,
    version: &Version,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with added as (
            insert into payout_version (payment_id, version, raw, tx_hash, fee_rate, fee, change_n, change_amount, tip)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        )
        update payout_payment
        set tx_hash = $4, state = 'signed', sent_at = null
        where id = $1 and state in ('signed', 'sent')
        "#,
        payment_id,
        version.version,
        version.raw,
        version.tx_hash,
        numeric::from_units(BaseUnits::new(version.fee.rate)),
        version.taken.map(numeric::from_units),
        version.change.map(|(n, _)| to_integer(n)),
        version.change.map(|(_, amount)| numeric::from_units(amount)),
        numeric::from_units(BaseUnits::new(version.fee.tip))
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The next nonce of a sender: one more than the highest ever signed. The chain is not asked, so a
/// lying or lagging node cannot cause the reuse of a nonce.
pub async fn next_nonce(
    connection: &mut PgConnection,
    network: Network,
    sender: &str,
) -> Result<i64, StorageError> {
    let row = sqlx::query!(
        r#"select coalesce(max(nonce) + 1, 0) as "nonce!" from payout_payment where network = $1 and sender = $2"#,
        network.name(),
        sender
    )
    .fetch_one(connection)
    .await?;
    Ok(row.nonce)
}

/// Serializes the allocation of nonces of `sender`: many orders share the gas wallet.
pub async fn lock_sender(
    connection: &mut PgConnection,
    network: Network,
    sender: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('payout:sender:' || $1::text || ':' || $2::text, 0)) as "locked?: ()""#,
        network.name(),
        sender
    )
    .fetch_one(connection)
    .await?;
    Ok(())
}

/// Payments of an order that are not final, by sender and in the order of their nonces.
pub async fn open(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<Vec<OpenPayment>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select p.id, p.purpose, p.nonce, p.sender, p.amount, p.state, p.tx_hash, p.height,
               extract(epoch from now() - p.sent_at)::bigint as sent_for,
               v.version, v.raw, v.tx_hash as version_hash, v.fee_rate, v.tip, v.fee as version_fee, v.change_n,
               v.change_amount
        from payout_payment p
        join payout_version v on v.payment_id = p.id
        where p.order_id = $1 and p.state in ('signed', 'sent')
        order by p.sender, p.nonce, v.version
        limit 5000
        "#,
        order_id
    )
    .fetch_all(connection)
    .await?;
    let mut payments: Vec<OpenPayment> = Vec::new();
    for row in rows {
        let version = Version {
            version: row.version,
            raw: row.raw,
            tx_hash: row.version_hash,
            fee: Fee {
                tip: numeric::to_units(TABLE, &row.tip)?.get(),
                ..Fee::of(numeric::to_units(TABLE, &row.fee_rate)?.get())
            },
            taken: row.version_fee.map(|fee| numeric::to_units(TABLE, &fee)).transpose()?,
            change: match (row.change_n, &row.change_amount) {
                (Some(n), Some(amount)) => {
                    Some((n.unsigned_abs(), numeric::to_units(TABLE, amount)?))
                }
                (None, None) => None,
                (Some(_), None) | (None, Some(_)) => {
                    return Err(StorageError::damaged(TABLE, "half of its change is missing"));
                }
            },
        };
        match payments.last_mut().filter(|payment| payment.id == row.id) {
            Some(payment) => payment.versions.push(version),
            None => payments.push(OpenPayment {
                id: row.id,
                purpose: word(&row.purpose)?,
                nonce: row.nonce,
                sender: row.sender,
                amount: numeric::to_units(TABLE, &row.amount)?,
                state: word(&row.state)?,
                tx_hash: row.tx_hash,
                height: row.height.map(cursors::from_column).transpose()?,
                sent_for_seconds: row.sent_for,
                versions: vec![version],
            }),
        }
    }
    Ok(payments)
}

/// Records that a node accepted a payment.
pub async fn mark_sent(connection: &mut PgConnection, ids: &[Uuid]) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update payout_payment
        set state = 'sent', sent_at = now()
        where id = any ($1) and state in ('signed', 'sent')
        "#,
        ids
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Backdates the open payments of an order, so that the next look raises their fee if it may.
pub async fn age(connection: &mut PgConnection, order_id: Uuid) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        update payout_payment
        set sent_at = now() - interval '1 hour'
        where order_id = $1 and state = 'sent'
        "#,
        order_id
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Whether an order's rows may be paid many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Together {
    /// Its allowance is signed, and not final.
    pub allowance_open: bool,
    pub allowance_given: bool,
    /// An allowance or a payment failed in its block.
    pub any_failed: bool,
}

pub async fn together(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<Together, StorageError> {
    let row = sqlx::query!(
        r#"
        select coalesce(bool_or(purpose = 'allowance' and state in ('signed', 'sent')), false) as "open!",
               coalesce(bool_or(purpose = 'allowance' and state = 'confirmed'), false) as "given!",
               coalesce(bool_or(purpose in ('allowance', 'pay') and state = 'failed'), false) as "failed!"
        from payout_payment
        where order_id = $1
        "#,
        order_id
    )
    .fetch_one(connection)
    .await?;
    Ok(Together { allowance_open: row.open, allowance_given: row.given, any_failed: row.failed })
}

/// Result of a final payment.
#[derive(Debug, Clone)]
pub struct Ended {
    pub succeeded: bool,
    /// Hash of the version that was mined.
    pub tx_hash: String,
    pub fee: BaseUnits,
    /// Gas that it used, where there is any.
    pub gas: Option<u64>,
    pub height: u64,
    /// Error text of its rows if it did not succeed.
    pub why: &'static str,
}

/// Ends a payment. `false` if it had ended before.
pub async fn end(
    connection: &mut PgConnection,
    id: Uuid,
    ended: &Ended,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update payout_payment
        set state = $2, tx_hash = $3, fee = $4, height = $5, ended_at = now()
        where id = $1 and state in ('signed', 'sent')
        "#,
        id,
        if ended.succeeded { PaymentState::Confirmed } else { PaymentState::Failed }.as_str(),
        ended.tx_hash,
        numeric::from_units(ended.fee),
        cursors::to_column(ended.height)?
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Stores the block that contains a payment for now.
pub async fn set_height(
    connection: &mut PgConnection,
    id: Uuid,
    height: Option<u64>,
    tx_hash: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update payout_payment
        set height = $2, tx_hash = $3
        where id = $1 and state in ('signed', 'sent') and (height is distinct from $2 or tx_hash <> $3)
        "#,
        id,
        height.map(cursors::to_column).transpose()?,
        tx_hash
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A payment for operators, and for the refund of an order.
#[derive(Debug, Clone)]
pub struct PaymentRow {
    pub purpose: Purpose,
    pub nonce: i64,
    pub state: PaymentState,
    pub amount: BaseUnits,
    pub tx_hash: String,
    pub versions: i64,
    pub created_at: DateTime<Utc>,
    pub sent_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
}

/// Payments of an order, newest last; of one purpose or of all.
pub async fn of_order(
    connection: &mut PgConnection,
    order_id: Uuid,
    purpose: Option<Purpose>,
) -> Result<Vec<PaymentRow>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select purpose, nonce, state, amount, tx_hash, created_at, sent_at, ended_at,
               (select count(*) from payout_version v where v.payment_id = p.id) as "versions!"
        from payout_payment p
        where order_id = $1 and ($2::text is null or purpose = $2)
        order by created_at, id
        limit 5000
        "#,
        order_id,
        purpose.map(Purpose::as_str)
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(PaymentRow {
                purpose: word(&row.purpose)?,
                nonce: row.nonce,
                state: word(&row.state)?,
                amount: numeric::to_units(TABLE, &row.amount)?,
                tx_hash: row.tx_hash,
                versions: row.versions,
                created_at: row.created_at,
                sent_at: row.sent_at,
                ended_at: row.ended_at,
            })
        })
        .collect()
}

fn word<Word>(text: &str) -> Result<Word, StorageError>
where
    Word: FromStr<Err = UnknownText>,
{
    text.parse().map_err(|error| StorageError::damaged(TABLE, error))
}

fn to_integer(n: u32) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
