//! What a sample webhook needs: the secret that signs it, and where such webhooks go.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    storage::{PgConnection, StorageError},
    webhook::Channel,
};

/// A merchant's receiver of one channel.
#[derive(Debug)]
pub struct Receiver {
    pub webhook_secret_sealed: Vec<u8>,
    /// Where the last webhook of the channel went, before that the merchant's setting.
    pub url: Option<String>,
    pub now: DateTime<Utc>,
}

/// The receiver of a merchant's webhooks; among his newest 100 deliveries. Index:
/// `delivery_by_merchant`.
pub async fn receiver(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    channel: Channel,
) -> Result<Option<Receiver>, StorageError> {
    let receiver = sqlx::query_as!(
        Receiver,
        r#"
        select webhook_secret_sealed,
               coalesce(
                   (
                       select newest.url
                       from (
                           select url, channel, created_at
                           from delivery
                           where merchant_id = $1
                           order by created_at desc
                           limit 100
                       ) as newest
                       where channel = $2
                       order by created_at desc
                       limit 1
                   ),
                   case $2 when 'payout' then payout_webhook_url end
               ) as url,
               clock_timestamp() as "now!"
        from merchant
        where id = $1
        "#,
        merchant_id,
        channel.as_str()
    )
    .fetch_optional(connection)
    .await?;
    Ok(receiver)
}
