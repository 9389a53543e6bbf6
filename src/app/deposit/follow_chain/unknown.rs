//! Tokens outside the catalogue: an address keeps a few of their transfers for operators to see,
//! and counts the rest.
//!
//! On a cheap network a stranger writes thousands of such transfers into one block for next to
//! nothing, and each deposit is written, made final and settled. They pay for nothing, so the first
//! few show an operator all there is to know. A transfer that may pay is never left out, however
//! small it is: the chain's own coin and every token of the catalogue.

use std::collections::{BTreeMap, HashMap, HashSet};

use uuid::Uuid;

use super::{FollowError, Follower};
use crate::{
    chain::ChainSource,
    storage::{
        PgConnection,
        deposits::{
            left_out::{self, More, Unknown},
            sightings::Sighting,
        },
    },
};

/// Deposits of one unknown contract that an address keeps.
const KEPT_OF_A_CONTRACT: usize = 10;
/// Deposits of all unknown contracts together: a new contract costs a stranger little more than a
/// transfer.
const KEPT: usize = 50;

impl<S: ChainSource> Follower<S> {
    /// Takes out of a block's sightings those of unknown contracts that their address has enough
    /// of, and counts them.
    pub(super) async fn leave_out(
        &self,
        tx: &mut PgConnection,
        sightings: Vec<Sighting>,
    ) -> Result<Vec<Sighting>, FollowError> {
        let network = self.settings.network;
        let unknown = sightings.iter().filter(|sighting| is_unknown(sighting));
        let mut addresses: Vec<Uuid> = unknown.map(|sighting| sighting.address_id).collect();
        if addresses.is_empty() {
            return Ok(sightings);
        }
        addresses.sort_unstable();
        addresses.dedup();
        let kept = left_out::unknown_at(tx, network, &addresses).await?;
        let (sightings, more) = Kept::new(kept).divide(sightings);
        if !more.is_empty() {
            left_out::count(tx, network, &more).await?;
            let count = more.iter().map(|one| one.transfers.unsigned_abs()).sum::<u64>();
            metrics::counter!("deposits_left_out_total", "network" => network.name())
                .increment(count);
            tracing::warn!(
                %network, count, addresses = more.len(),
                "transfers of unknown tokens are left out: their addresses have reached the limit"
            );
        }
        Ok(sightings)
    }
}

pub(super) const fn is_unknown(sighting: &Sighting) -> bool {
    sighting.token_id.is_none()
}

/// Deposits of unknown contracts that addresses have.
#[derive(Default)]
struct Kept {
    keys: HashSet<String>,
    by_address: HashMap<Uuid, usize>,
    by_contract: HashMap<(Uuid, Option<String>), usize>,
}

impl Kept {
    fn new(rows: Vec<Unknown>) -> Self {
        let mut kept = Self::default();
        for Unknown { address_id, contract, deposit_key } in rows {
            kept.keys.insert(deposit_key);
            kept.add(address_id, contract);
        }
        kept
    }

    fn add(&mut self, address_id: Uuid, contract: Option<String>) {
        *self.by_address.entry(address_id).or_default() += 1;
        *self.by_contract.entry((address_id, contract)).or_default() += 1;
    }

    /// One that is kept already stays: it may stand in another block now.
    fn takes(&mut self, sighting: &Sighting) -> bool {
        if !is_unknown(sighting) || self.keys.contains(&sighting.deposit_key) {
            return true;
        }
        let contract = (sighting.address_id, sighting.contract.clone());
        let of_contract = self.by_contract.get(&contract).copied().unwrap_or(0);
        let of_address = self.by_address.get(&sighting.address_id).copied().unwrap_or(0);
        if of_contract >= KEPT_OF_A_CONTRACT || of_address >= KEPT {
            return false;
        }
        self.add(contract.0, contract.1);
        true
    }

    fn divide(mut self, sightings: Vec<Sighting>) -> (Vec<Sighting>, Vec<More>) {
        let mut more: BTreeMap<Uuid, More> = BTreeMap::new();
        let mut taken = Vec::with_capacity(sightings.len());
        for sighting in sightings {
            if self.takes(&sighting) {
                taken.push(sighting);
                continue;
            }
            let (address_id, tx_hash) = (sighting.address_id, sighting.tx_hash);
            let one = more.entry(address_id).or_insert_with(|| More {
                address_id,
                transfers: 0,
                tx_hash: String::new(),
            });
            one.transfers = one.transfers.saturating_add(1);
            one.tx_hash = tx_hash;
        }
        (taken, more.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::BaseUnits;

    fn sighting(
        address: u128,
        key: usize,
        token: Option<&str>,
        contract: Option<&str>,
    ) -> Sighting {
        Sighting {
            found_by: crate::deposit::FoundBy::Transaction,
            deposit_key: key.to_string(),
            tx_hash: format!("tx{key}"),
            address_id: Uuid::from_u128(address),
            invoice_id: None,
            payout_order_id: None,
            token_id: token.map(ToOwned::to_owned),
            contract: contract.map(ToOwned::to_owned),
            amount: Some(BaseUnits::new(1)),
            amount_text: "1".to_owned(),
            sender: None,
            min_confirmations: 1,
        }
    }

    #[test]
    fn unknown_tokens_are_limited_per_contract_and_address_and_known_ones_are_not() {
        let contracts: Vec<_> = (0..20).map(|number| format!("0x{number}")).collect();
        let mut all: Vec<_> =
            (0..1_000).map(|key| sighting(1, key, Some("usdt@polygon"), Some("0xusdt"))).collect();
        all.extend((1_000..2_000).map(|key| sighting(1, key, None, Some(contracts[0].as_str()))));
        for (place, contract) in contracts.iter().enumerate() {
            all.extend(
                (0..50).map(|key| sighting(1, 10_000 + place * 100 + key, None, Some(contract))),
            );
        }
        all.push(sighting(2, 99_999, None, Some("0x0")));
        let (taken, more) = Kept::default().divide(all);
        let unknown = |address: u128| {
            let of = taken.iter().filter(|one| one.address_id == Uuid::from_u128(address));
            of.filter(|one| is_unknown(one)).count()
        };
        assert_eq!((unknown(1), unknown(2)), (KEPT, 1));
        assert_eq!(taken.iter().filter(|one| !is_unknown(one)).count(), 1_000);
        let first = taken.iter().filter(|one| one.contract.as_deref() == Some("0x0"));
        assert_eq!(first.count(), KEPT_OF_A_CONTRACT + 1);
        let [more] = more.as_slice() else { panic!("one address has more: {more:?}") };
        assert_eq!(more.transfers, 2_000 - i64::try_from(KEPT).unwrap());
        assert_eq!(more.tx_hash, "tx11949");
    }

    #[test]
    fn one_that_is_kept_stays_when_its_block_changes_and_leaves_no_room_for_others() {
        let row = |key: usize| Unknown {
            address_id: Uuid::from_u128(1),
            contract: Some("0x0".to_owned()),
            deposit_key: key.to_string(),
        };
        let kept = Kept::new((0..KEPT_OF_A_CONTRACT).map(row).collect());
        let again = (0..KEPT_OF_A_CONTRACT + 1).map(|key| sighting(1, key, None, Some("0x0")));
        let (taken, more) = kept.divide(again.collect());
        assert_eq!((taken.len(), more[0].transfers), (KEPT_OF_A_CONTRACT, 1));
    }
}
