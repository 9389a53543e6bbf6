//! Devices of tills: their codes, tokens, PINs and sessions, all as hashes, and the charge that
//! each shows.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, links::Link};
use crate::till::{
    CODE_SECONDS, DeviceFacts, DeviceState, SESSION_SECONDS,
    pin::{TRIES_MAX, TRIES_TOGETHER, WAIT_SECONDS},
};

/// Devices that a list shows; a till has fewer that are not revoked.
const LISTED_MAX: i64 = 200;

/// A device as it is stored, without anything that opens it.
#[derive(Debug, Clone)]
pub struct Device {
    pub id: Uuid,
    /// The public id.
    pub device_id: String,
    pub name: String,
    pub state: DeviceState,
    pub code_expires_at: DateTime<Utc>,
    pub enrolled_at: Option<DateTime<Utc>>,
    /// Its last use, to the minute.
    pub seen_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// A device that its own token names.
pub struct Held {
    pub device: Device,
    pub pin_hash: Option<String>,
    /// True while it is unlocked by this session.
    pub is_open: bool,
    /// `payment_id` of the charge that it shows.
    pub shown: Option<String>,
}

struct Raw {
    id: Uuid,
    device_id: String,
    name: String,
    code_expires_at: DateTime<Utc>,
    is_code_over: bool,
    enrolled_at: Option<DateTime<Utc>>,
    pin_tries: i32,
    seen_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
}

impl From<Raw> for Device {
    fn from(raw: Raw) -> Self {
        let state = DeviceState::of(DeviceFacts {
            is_revoked: raw.revoked_at.is_some(),
            is_enrolled: raw.enrolled_at.is_some(),
            is_code_over: raw.is_code_over,
            pin_tries: raw.pin_tries,
        });
        Self {
            id: raw.id,
            device_id: raw.device_id,
            name: raw.name,
            state,
            code_expires_at: raw.code_expires_at,
            enrolled_at: raw.enrolled_at,
            seen_at: raw.seen_at,
            revoked_at: raw.revoked_at,
            created_at: raw.created_at,
        }
    }
}

/// Reads devices by a condition.
macro_rules! devices_where {
    ($condition:literal; $($argument:expr),+) => {
        sqlx::query_as!(
            Raw,
            r#"
            select id, device_id, name, code_expires_at, code_expires_at <= now() as "is_code_over!", enrolled_at,
                   pin_tries, seen_at, revoked_at, created_at
            from till_device
            where "# + $condition,
            $($argument),+
        )
    };
}

/// Stores a device that waits for its code. Its times are the database's.
pub async fn insert(
    connection: &mut PgConnection,
    link: &Link,
    device_id: &str,
    name: &str,
    code_hash: &[u8; 32],
) -> Result<Device, StorageError> {
    let id = Uuid::now_v7();
    sqlx::query!(
        r#"
        insert into till_device (id, device_id, merchant_id, link_id, name, code_hash, code_expires_at)
        values ($1, $2, $3, $4, $5, $6, now() + $7::int * interval '1 second')
        "#,
        id,
        device_id,
        link.merchant_id,
        link.id,
        name,
        code_hash.as_slice(),
        CODE_SECONDS
    )
    .execute(&mut *connection)
    .await?;
    Ok(devices_where!("id = $1"; id).fetch_one(connection).await?.into())
}

/// Number of a till's devices that may still be used: enrolled, or with a code that is good. The
/// caller holds the lock of the link. Index: `till_device_by_link`.
pub async fn count(connection: &mut PgConnection, link: Uuid) -> Result<i64, StorageError> {
    let count = sqlx::query_scalar!(
        r#"
        select count(*) as "count!"
        from till_device
        where link_id = $1 and revoked_at is null and (enrolled_at is not null or code_expires_at > now())
        "#,
        link
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// A till's devices: those in use first, which are all in the list, then those that were revoked
/// or never enrolled in time; each group the newest first. Index: `till_device_by_link`.
pub async fn of_link(
    connection: &mut PgConnection,
    link: Uuid,
) -> Result<Vec<Device>, StorageError> {
    let rows = devices_where!(
        "link_id = $1
            order by revoked_at is not null or (enrolled_at is null and code_expires_at <= now()),
                     created_at desc, id desc
            limit $2";
        link, LISTED_MAX
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(Device::from).collect())
}

/// Revokes a device of a link; one that is revoked stays as it is. `None` if the link has no such
/// device. Index: `till_device_id_unique`.
pub async fn revoke(
    connection: &mut PgConnection,
    link: Uuid,
    device_id: &str,
) -> Result<Option<Device>, StorageError> {
    sqlx::query!(
        r#"
        update till_device
        set revoked_at = clock_timestamp(), code_hash = null, session_hash = null
        where device_id = $2 and link_id = $1 and revoked_at is null
        "#,
        link,
        device_id
    )
    .execute(&mut *connection)
    .await?;
    let row = devices_where!("device_id = $2 and link_id = $1"; link, device_id)
        .fetch_optional(connection)
        .await?;
    Ok(row.map(Device::from))
}

/// The device that a code enrols on this link now. Index: `till_device_code_unique`.
pub async fn of_code(
    connection: &mut PgConnection,
    link: Uuid,
    code_hash: &[u8; 32],
) -> Result<Option<Uuid>, StorageError> {
    let device = sqlx::query_scalar!(
        r#"
        select id
        from till_device
        where code_hash = $2 and link_id = $1 and code_expires_at > clock_timestamp() and revoked_at is null
        "#,
        link,
        code_hash.as_slice()
    )
    .fetch_optional(connection)
    .await?;
    Ok(device)
}

/// Sets the PIN of a till for the devices that are enrolled from then on; `None` leaves it to each.
/// The caller holds the lock of the link.
pub async fn set_pin(
    connection: &mut PgConnection,
    link: Uuid,
    digest: Option<&[u8; 32]>,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update link set pin_digest = $2 where id = $1",
        link,
        digest.map(<[u8; 32]>::as_slice)
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The digest of the PIN that a till's merchant has set.
pub async fn pin_digest(
    connection: &mut PgConnection,
    link: Uuid,
) -> Result<Option<Vec<u8>>, StorageError> {
    let digest = sqlx::query_scalar!("select pin_digest from link where id = $1", link)
        .fetch_optional(connection)
        .await?;
    Ok(digest.flatten())
}

/// Hashes by which an enrolled device is known from then on.
pub struct Secrets<'a> {
    pub token_hash: [u8; 32],
    pub pin_hash: &'a str,
    pub session_hash: [u8; 32],
}

/// Uses a code up and enrols its device, unlocked. Returns its public id; `None` if the code was
/// used, expired or revoked meanwhile.
pub async fn enrol(
    connection: &mut PgConnection,
    link: Uuid,
    code_hash: &[u8; 32],
    secrets: &Secrets<'_>,
) -> Result<Option<String>, StorageError> {
    let device_id = sqlx::query_scalar!(
        r#"
        update till_device
        set code_hash = null, token_hash = $3, pin_hash = $4, enrolled_at = clock_timestamp(), session_hash = $5,
            pin_tries = 0, pin_next_at = null,
            session_ends_at = clock_timestamp() + $6::int * interval '1 second', seen_at = clock_timestamp()
        where code_hash = $2 and link_id = $1 and code_expires_at > clock_timestamp() and revoked_at is null
        returning device_id
        "#,
        link,
        code_hash.as_slice(),
        secrets.token_hash.as_slice(),
        secrets.pin_hash,
        secrets.session_hash.as_slice(),
        SESSION_SECONDS
    )
    .fetch_optional(connection)
    .await?;
    Ok(device_id)
}

/// Revokes the device that a browser was before it enrolled as another one, and shows its charge
/// on that one. Index: `till_device_token_unique`.
pub async fn hand_over(
    connection: &mut PgConnection,
    link: Uuid,
    token_hash: &[u8; 32],
    device_id: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with earlier as (
            update till_device
            set revoked_at = clock_timestamp(), session_hash = null
            where token_hash = $2 and link_id = $1 and revoked_at is null
            returning shown_invoice
        )
        update till_device d
        set shown_invoice = earlier.shown_invoice
        from earlier
        where d.device_id = $3
        "#,
        link,
        token_hash.as_slice(),
        device_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The device of a token, unless it is revoked, and whether this session unlocks it. Index:
/// `till_device_token_unique`.
pub async fn by_token(
    connection: &mut PgConnection,
    link: Uuid,
    token_hash: &[u8; 32],
    session_hash: Option<&[u8; 32]>,
) -> Result<Option<Held>, StorageError> {
    let row = sqlx::query!(
        r#"
        select d.id, d.device_id, d.name, d.code_expires_at, d.enrolled_at, d.pin_tries, d.seen_at, d.created_at,
               d.pin_hash, i.payment_id as "shown?",
               coalesce(d.session_hash = $3 and d.session_ends_at > clock_timestamp(), false) as "is_open!"
        from till_device d
        left join invoice i on i.id = d.shown_invoice
        where d.token_hash = $2 and d.link_id = $1 and d.revoked_at is null
        "#,
        link,
        token_hash.as_slice(),
        session_hash.map(<[u8; 32]>::as_slice)
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Held {
        device: Raw {
            id: row.id,
            device_id: row.device_id,
            name: row.name,
            code_expires_at: row.code_expires_at,
            is_code_over: true,
            enrolled_at: row.enrolled_at,
            pin_tries: row.pin_tries,
            seen_at: row.seen_at,
            revoked_at: None,
            created_at: row.created_at,
        }
        .into(),
        pin_hash: row.pin_hash,
        is_open: row.is_open,
        shown: row.shown,
    }))
}

/// Notes that a device is in use, once a minute.
pub async fn note_use(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update till_device
        set seen_at = clock_timestamp()
        where id = $1 and (seen_at is null or seen_at < clock_timestamp() - interval '1 minute')
        "#,
        id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes one try of the PIN before it is looked at: of tries that come at once, none is free.
/// `false` while the device has to wait, or for ever after too many.
pub async fn take_try(connection: &mut PgConnection, id: Uuid) -> Result<bool, StorageError> {
    let taken = sqlx::query!(
        r#"
        update till_device
        set pin_tries = pin_tries + 1,
            pin_next_at = case when (pin_tries + 1) % $2::int = 0
                               then clock_timestamp() + $3::int * interval '1 second' end
        where id = $1 and pin_tries < $4::int and (pin_next_at is null or pin_next_at <= clock_timestamp())
          and revoked_at is null
        "#,
        id,
        TRIES_TOGETHER,
        WAIT_SECONDS,
        TRIES_MAX
    )
    .execute(connection)
    .await?;
    Ok(taken.rows_affected() == 1)
}

/// Gives the last try back, if there was one: it led to nothing because the server was busy.
pub async fn return_try(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update till_device
        set pin_tries = pin_tries - 1, pin_next_at = case when pin_tries % $2::int <> 0 then pin_next_at end
        where id = $1 and pin_tries > 0
        "#,
        id,
        TRIES_TOGETHER
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Unlocks a device after the right PIN, and gives its tries back. `false` if it was revoked
/// meanwhile.
pub async fn unlock(
    connection: &mut PgConnection,
    id: Uuid,
    session_hash: &[u8; 32],
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update till_device
        set pin_tries = 0, pin_next_at = null, session_hash = $2, seen_at = clock_timestamp(),
            session_ends_at = clock_timestamp() + $3::int * interval '1 second'
        where id = $1 and revoked_at is null
        "#,
        id,
        session_hash.as_slice(),
        SESSION_SECONDS
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Locks a device: its PIN is asked for again.
pub async fn lock(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!("update till_device set session_hash = null where id = $1", id)
        .execute(connection)
        .await?;
    Ok(())
}
