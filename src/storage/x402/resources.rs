//! Resources that merchants sell to programs.

use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    storage::{PgConnection, StorageError, addresses::NewAddress, numeric},
    x402::resource::Terms,
};

const TABLE: &str = "x402_resource";

/// A resource with its address.
#[derive(Debug, Clone)]
pub struct Resource {
    pub id: Uuid,
    /// The public id.
    pub resource_id: String,
    pub merchant_id: Uuid,
    pub address_id: Uuid,
    pub address: String,
    pub terms: Terms,
    pub created_at: DateTime<Utc>,
    /// It is sold no more.
    pub is_off: bool,
    /// Edits of its text so far.
    pub edits: i32,
}

/// A row as it is read.
pub(super) struct RawResource {
    pub(super) id: Uuid,
    pub(super) resource_id: String,
    pub(super) merchant_id: Uuid,
    pub(super) address_id: Uuid,
    pub(super) address: String,
    pub(super) url: String,
    pub(super) description: String,
    pub(super) mime_type: String,
    pub(super) price: BigDecimal,
    pub(super) networks: Vec<String>,
    pub(super) timeout_seconds: i32,
    pub(super) listed: bool,
    pub(super) created_at: DateTime<Utc>,
    pub(super) is_off: bool,
    pub(super) edits: i32,
}

/// Reads resources by the end of a query.
macro_rules! resources_where {
    ($end:literal; $($argument:expr),+) => {
        sqlx::query_as!(
            RawResource,
            r#"
            select r.id, r.resource_id, r.merchant_id, r.address_id, a.address, r.url, r.description, r.mime_type, r.price,
                   r.networks, r.timeout_seconds, r.listed, r.created_at, r.deleted_at is not null as "is_off!", r.edits
            from x402_resource r
            join deposit_address a on a.id = r.address_id
            where "# + $end,
            $($argument),+
        )
    };
}
pub(super) use resources_where;

/// Gives an address out to a resource. It has no owner among invoices and orders: the resource
/// names it.
pub async fn insert_address(
    connection: &mut PgConnection,
    address: &NewAddress,
    network: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into deposit_address (id, family, address, match_key, derivation_index, network, issued_height)
        values ($1, $2, $3, $4, $5, $6, (select height from chain_cursor where network = $6))
        "#,
        address.id,
        address.family.name(),
        address.address,
        address.match_key,
        address.derivation_index,
        network
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores a new resource under its two ids. The caller holds the merchant's row and has given its
/// address out.
pub async fn insert(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    (id, resource_id): (Uuid, &str),
    terms: &Terms,
    address: &NewAddress,
) -> Result<Resource, StorageError> {
    let timeout = i32::try_from(terms.timeout_seconds)
        .map_err(|_| StorageError::damaged(TABLE, "a number is too large"))?;
    let created_at = sqlx::query_scalar!(
        r#"
        insert into x402_resource (id, resource_id, merchant_id, address_id, url, description, mime_type, price, networks,
            timeout_seconds, listed)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        returning created_at
        "#,
        id,
        resource_id,
        merchant_id,
        address.id,
        terms.url,
        terms.description,
        terms.mime_type,
        numeric::from_price(terms.price),
        &terms.networks.iter().map(|network| network.name().to_owned()).collect::<Vec<_>>(),
        timeout,
        terms.listed
    )
    .fetch_one(connection)
    .await?;
    Ok(Resource {
        id,
        resource_id: resource_id.to_owned(),
        merchant_id,
        address_id: address.id,
        address: address.address.clone(),
        terms: terms.clone(),
        created_at,
        is_off: false,
        edits: 0,
    })
}

/// The number of a merchant's resources. Index: `x402_resource_by_merchant`.
pub async fn count(connection: &mut PgConnection, merchant_id: Uuid) -> Result<i64, StorageError> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from x402_resource where merchant_id = $1 and deleted_at is null"#,
        merchant_id
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// A merchant's resource by its public id. Index: `x402_resource_id_unique`.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    resource_id: &str,
) -> Result<Option<Resource>, StorageError> {
    let row = resources_where!(
        "r.deleted_at is null and r.resource_id = $2 and r.merchant_id = $1";
        merchant_id, resource_id
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// A merchant's resources, the newest first. Index: `x402_resource_by_merchant`.
pub async fn list(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    limit: i64,
    offset: i64,
) -> Result<Vec<Resource>, StorageError> {
    let rows = resources_where!(
        "r.deleted_at is null and r.merchant_id = $1 order by r.created_at desc, r.id desc limit $2 offset $3";
        merchant_id, limit, offset
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// The public catalogue: of merchants who are active, the newest first. `words` narrows it to
/// resources whose address or description has it. Index: `x402_resource_listed`.
pub async fn listed(
    connection: &mut PgConnection,
    words: Option<&str>,
    limit: i64,
    offset: i64,
) -> Result<Vec<Resource>, StorageError> {
    let rows = resources_where!(
        "r.deleted_at is null and r.listed and exists (select from merchant m where m.id = r.merchant_id and m.suspended_at is null)
         and ($1::text is null or position(lower($1) in lower(r.url || ' ' || r.description)) > 0)
         order by r.created_at desc, r.id desc limit $2 offset $3";
        words, limit, offset
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// The number of resources in the public catalogue.
pub async fn count_listed(
    connection: &mut PgConnection,
    words: Option<&str>,
) -> Result<i64, StorageError> {
    let count = sqlx::query_scalar!(
        r#"
        select count(*) as "count!"
        from x402_resource r
        where r.deleted_at is null and r.listed
          and exists (select from merchant m where m.id = r.merchant_id and m.suspended_at is null)
          and ($1::text is null or position(lower($1) in lower(r.url || ' ' || r.description)) > 0)
        "#,
        words
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// The resource that was given an address, also one that is deleted: what arrives is its merchant's
/// all the same. Index: `x402_resource_address_once`.
pub async fn of_address(
    connection: &mut PgConnection,
    address_id: Uuid,
) -> Result<Option<(Uuid, String)>, StorageError> {
    let row = sqlx::query!(
        "select merchant_id, resource_id from x402_resource where address_id = $1",
        address_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| (row.merchant_id, row.resource_id)))
}

/// Takes a resource out of the catalogue. `false` if the merchant has none with this id.
pub async fn delete(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    resource_id: &str,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update x402_resource set deleted_at = now()
        where resource_id = $2 and merchant_id = $1 and deleted_at is null
        "#,
        merchant_id,
        resource_id
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A resource by its row's id, also one that is switched off. Index: `x402_resource_pkey`.
pub async fn of_row(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<Resource>, StorageError> {
    let row = resources_where!("r.id = $1"; id).fetch_optional(connection).await?;
    row.map(TryInto::try_into).transpose()
}

/// A merchant's resource by its public id, also one that is switched off. Index:
/// `x402_resource_id_unique`.
pub async fn known(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    resource_id: &str,
) -> Result<Option<Resource>, StorageError> {
    let row = resources_where!(
        "r.merchant_id = $1 and r.resource_id = $2";
        merchant_id, resource_id
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// Changes everything of a resource that costs its payers nothing: all but price and networks.
/// `false` if it is off, or was edited since `seen`.
pub async fn edit(
    connection: &mut PgConnection,
    resource: &Resource,
    terms: &Terms,
    seen: i32,
) -> Result<bool, StorageError> {
    let timeout = i32::try_from(terms.timeout_seconds)
        .map_err(|_| StorageError::damaged(TABLE, "a number is too large"))?;
    let done = sqlx::query!(
        r#"
        update x402_resource
        set url = $3, description = $4, mime_type = $5, timeout_seconds = $6, listed = $7, edits = edits + 1
        where id = $1 and edits = $2 and deleted_at is null
        "#,
        resource.id,
        seen,
        terms.url,
        terms.description,
        terms.mime_type,
        timeout,
        terms.listed
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Sells a resource again. The caller holds the merchant's row and has counted the others.
pub async fn switch_on(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!("update x402_resource set deleted_at = null where id = $1", id)
        .execute(connection)
        .await?;
    Ok(())
}

impl TryFrom<RawResource> for Resource {
    type Error = StorageError;

    fn try_from(raw: RawResource) -> Result<Self, StorageError> {
        let network = |name: &String| {
            name.parse().map_err(|_| StorageError::damaged(TABLE, "a network is unknown"))
        };
        Ok(Self {
            id: raw.id,
            resource_id: raw.resource_id,
            merchant_id: raw.merchant_id,
            address_id: raw.address_id,
            address: raw.address,
            terms: Terms {
                url: raw.url,
                description: raw.description,
                mime_type: raw.mime_type,
                price: numeric::to_price(TABLE, &raw.price)?,
                networks: raw.networks.iter().map(network).collect::<Result<_, _>>()?,
                timeout_seconds: raw.timeout_seconds.unsigned_abs(),
                listed: raw.listed,
            },
            created_at: raw.created_at,
            is_off: raw.is_off,
            edits: raw.edits,
        })
    }
}
