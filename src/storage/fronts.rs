//! Merchants as buyers see them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};

/// A merchant as its buyers see it; a logo without its picture.
#[derive(Debug, Clone)]
pub struct FrontRow {
    pub name: String,
    pub colour: Option<String>,
    pub contact: Option<String>,
    /// The head of the SHA-256 of its file.
    pub logo_name: Option<String>,
    pub logo_width: Option<i32>,
    pub logo_height: Option<i32>,
    /// `None` if nothing was ever set.
    pub updated_at: Option<DateTime<Utc>>,
}

/// A logo as it is stored.
#[derive(Clone)]
pub struct LogoRow {
    pub name: String,
    pub width: i32,
    pub height: i32,
    pub png: Vec<u8>,
}

/// Indices: `merchant_pkey`, `merchant_front_pkey`.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<Option<FrontRow>, StorageError> {
    let row = sqlx::query_as!(
        FrontRow,
        r#"
        select m.name, f.colour as "colour?", f.contact as "contact?", f.logo_name as "logo_name?",
               f.logo_width as "logo_width?", f.logo_height as "logo_height?", f.updated_at as "updated_at?"
        from merchant m
        left join merchant_front f on f.merchant_id = m.id
        where m.id = $1
        "#,
        merchant_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// The merchant of an invoice. Indices: `invoice_payment_id_unique`, `merchant_pkey`,
/// `merchant_front_pkey`.
pub async fn of_payment(
    connection: &mut PgConnection,
    payment_id: &str,
) -> Result<Option<FrontRow>, StorageError> {
    let row = sqlx::query_as!(
        FrontRow,
        r#"
        select m.name, f.colour as "colour?", f.contact as "contact?", f.logo_name as "logo_name?",
               f.logo_width as "logo_width?", f.logo_height as "logo_height?", f.updated_at as "updated_at?"
        from invoice i
        join merchant m on m.id = i.merchant_id
        left join merchant_front f on f.merchant_id = m.id
        where i.payment_id = $1
        "#,
        payment_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Stores the colour and the contact, and a logo if there is a new one. The caller holds the row
/// lock of the merchant.
pub async fn store(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    colour: Option<&str>,
    contact: Option<&str>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into merchant_front (merchant_id, colour, contact)
        values ($1, $2, $3)
        on conflict (merchant_id) do update
        set colour = excluded.colour, contact = excluded.contact, updated_at = clock_timestamp()
        "#,
        merchant_id,
        colour,
        contact
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces the logo, or removes it. The row exists, and the caller holds the merchant's row lock.
pub async fn store_logo(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    logo: Option<&LogoRow>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update merchant_front
        set logo_name = $2, logo_width = $3, logo_height = $4, logo = $5, updated_at = clock_timestamp()
        where merchant_id = $1
        "#,
        merchant_id,
        logo.map(|logo| &*logo.name),
        logo.map(|logo| logo.width),
        logo.map(|logo| logo.height),
        logo.map(|logo| &*logo.png)
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A logo's file by its name. Index: `merchant_front_by_logo`.
pub async fn logo(
    connection: &mut PgConnection,
    name: &str,
) -> Result<Option<Vec<u8>>, StorageError> {
    let png = sqlx::query_scalar!(
        r#"select logo as "logo!" from merchant_front where logo_name = $1 limit 1"#,
        name
    )
    .fetch_optional(connection)
    .await?;
    Ok(png)
}
