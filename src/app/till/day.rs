//! The takings of a till's day.

use super::{
    Keys,
    visit::{Desk, NotAtDesk},
};
use crate::app::Gateway;
use crate::storage::{
    self,
    till_charges::{self, Day},
};

/// The zone of a till that names none.
const DEFAULT_ZONE: &str = "UTC";

impl Gateway {
    /// The present day of the till, over all its devices. The database says which day it is.
    pub async fn till_day(&self, link_id: &str, keys: &Keys) -> Result<(Desk, Day), NotAtDesk> {
        let desk = self.desk(link_id, keys).await?;
        let zone = desk.link.terms.time_zone.as_deref().unwrap_or(DEFAULT_ZONE);
        let mut connection = self.db.connection().await?;
        let now = storage::now(&mut connection).await?;
        let day = till_charges::day(&mut connection, desk.link.id, zone, now).await?;
        Ok((desk, day))
    }
}
