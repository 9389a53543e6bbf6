//! The comparison of the master key with the database, for a process that began while its database
//! was away.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{admin::Readiness, relay::with_causes, tasks::TaskError};
use crate::{
    app::{Gateway, operator::master_key::MasterKeyError},
    retry::ReconnectDelay,
};

const CHECK_LIMIT: Duration = Duration::from_secs(10);
const PART: &str = "master-key";

/// Asks until the database has answered, then cancels `proven`. A wrong key is an error: with it
/// every delivery would be set aside.
pub async fn prove_key(
    gateway: Arc<Gateway>,
    readiness: Readiness,
    proven: CancellationToken,
    stop: CancellationToken,
) -> Result<(), TaskError> {
    if gateway.is_key_proven() {
        proven.cancel();
        return Ok(());
    }
    let mut delay = ReconnectDelay::new();
    readiness.set(PART, false);
    loop {
        let check = tokio::time::timeout(CHECK_LIMIT, gateway.check_master_key());
        match check.await {
            Ok(Ok(())) => break,
            Ok(Err(error @ (MasterKeyError::Wrong { .. } | MasterKeyError::OneKey))) => {
                return Err(error.into());
            }
            Ok(Err(MasterKeyError::Storage(error))) => {
                let error = with_causes(&error);
                tracing::warn!(error, "the master key could not be compared with the database yet");
            }
            Err(_) => tracing::debug!("the master key could not be compared in time"),
        }
        tokio::select! {
            () = tokio::time::sleep(delay.next()) => {}
            () = stop.cancelled() => return Ok(()),
        }
    }
    readiness.set(PART, true);
    proven.cancel();
    Ok(())
}
