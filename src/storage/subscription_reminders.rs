//! Reminders of renewals that were written, with the hashes of their tokens.

use uuid::Uuid;

use super::{PgConnection, StorageError};

/// A reminder to be written.
#[derive(Debug)]
pub struct NewReminder {
    pub subscription: Uuid,
    /// The cycle to be paid.
    pub cycle: u32,
    pub day_offset: i8,
    pub token_hash: [u8; 32],
    pub event_id: String,
}

/// Writes reminders, and forgets the tokens that their subscriptions got more than 400 days ago. It
/// is an error to write a day of a renewal twice. The caller holds the locks of the subscriptions.
pub async fn insert(
    connection: &mut PgConnection,
    new: &[NewReminder],
) -> Result<(), StorageError> {
    let column = |of: fn(&NewReminder) -> Uuid| new.iter().map(of).collect::<Vec<_>>();
    let subscriptions = column(|one| one.subscription);
    let cycles = new.iter().map(|one| i32::try_from(one.cycle)).collect::<Result<Vec<_>, _>>();
    let cycles = cycles.map_err(|_| StorageError::damaged("subscription", "its cycle"))?;
    let days: Vec<_> = new.iter().map(|one| i16::from(one.day_offset)).collect();
    let hashes: Vec<_> = new.iter().map(|one| one.token_hash.to_vec()).collect();
    let events: Vec<_> = new.iter().map(|one| one.event_id.clone()).collect();
    sqlx::query!(
        r#"
        with forgotten as (
            delete from subscription_reminder
            where subscription_id = any ($1) and created_at < now() - interval '400 days'
        )
        insert into subscription_reminder (subscription_id, cycle, day_offset, token_hash, event_id)
        select *
        from unnest($1::uuid[], $2::integer[], $3::smallint[], $4::bytea[], $5::text[])
        "#,
        &subscriptions,
        &cycles,
        &days,
        &hashes,
        &events
    )
    .execute(connection)
    .await?;
    Ok(())
}
