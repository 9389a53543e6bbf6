//! Replaced payments (replace-by-fee): they were made when the first version was seen.

use std::collections::HashSet;

use crate::{
    asset::Network,
    chain::Transfer,
    storage::{
        PgConnection, StorageError,
        deposits::{replaced, sightings::Sighting},
    },
};

/// Runs after `sightings` were made of some of `transfers` and recorded: notes the outputs that
/// their transactions spend, and lets those that take the place of others count as seen when these
/// were.
pub(super) async fn inherit(
    tx: &mut PgConnection,
    network: Network,
    transfers: &[Transfer],
    sightings: &[Sighting],
) -> Result<(), StorageError> {
    if sightings.is_empty() {
        return Ok(());
    }
    let ours: HashSet<&str> = sightings.iter().map(|sighting| &*sighting.deposit_key).collect();
    let (mut keys, mut spends) = (Vec::new(), Vec::new());
    for transfer in transfers.iter().filter(|transfer| !transfer.spends.is_empty()) {
        if ours.contains(&*transfer.key) {
            let outputs: Vec<String> = transfer.spends.iter().map(ToString::to_string).collect();
            keys.push(&*transfer.key);
            spends.push(outputs.join(" "));
        }
    }
    if keys.is_empty() {
        return Ok(());
    }
    let new = replaced::note_spends(tx, network, (&keys, &spends)).await?;
    if !new.is_empty() {
        replaced::inherit_first_seen(tx, &new).await?;
    }
    Ok(())
}
