//! Checks that the next buyer gets an address, and that it is ours.

use super::{Finding, Health};
use crate::{
    app::Gateway,
    asset::{Family, Network},
    storage::{PgConnection, StorageError, pools},
};

const KEYS_ADVICE: &str =
    "set the account public keys in section addresses (docs/operating.md, Keys)";

impl Gateway {
    /// Compares the first addresses of the keys with the configuration. `None` if only one network
    /// is checked and no first address is configured for its family.
    pub(super) fn first_addresses(&self, only: Option<Network>) -> Option<Finding> {
        let asked = |family: &Family| only.is_none_or(|only| only.family() == *family);
        let families: Vec<_> = Family::ALL.into_iter().filter(asked).collect();
        let firsts: Vec<_> =
            families.iter().filter_map(|f| Some((*f, self.derived_first(*f)?))).collect();
        let wrong: Vec<_> = firsts
            .iter()
            .filter_map(|(family, first)| self.check_first(*family, first).err())
            .map(|error| error.to_string())
            .collect();
        let pinned = firsts.iter().filter(|(family, _)| self.expected_first(*family).is_some());
        let (pinned, derived) = (pinned.count(), firsts.len());
        if derived == 0 && (only.is_none() || families.iter().any(|family| !family.has_pool())) {
            return Some(self.without_a_key(only));
        }
        if only.is_some() && pinned == 0 {
            return None;
        }
        let (health, detail) = if !wrong.is_empty() {
            (Health::Broken, wrong.join("; "))
        } else if pinned < derived && !self.config.is_sandbox() {
            let detail = format!("{pinned} of {derived} keys are compared with a first address");
            (Health::Doubtful, detail)
        } else {
            (
                Health::Ok,
                format!("{pinned} of {derived} keys give the first address that is expected"),
            )
        };
        let facts: serde_json::Map<_, _> = firsts
            .into_iter()
            .map(|(family, first)| (family.name().to_owned(), first.into()))
            .collect();
        Some(
            Finding::new("first addresses", health, detail)
                .fact("derived", facts)
                .advice("compare with the wallet, then set [addresses.expected_first_address]"),
        )
    }

    /// With addresses from pools alone, those networks are on sale; each pool has its own check. Of
    /// one network nothing follows for the others, which may have keys.
    fn without_a_key(&self, only: Option<Network>) -> Finding {
        let name = "first addresses";
        if let Some(network) = only {
            let detail = format!("no address key: {network} is not on sale");
            return Finding::new(name, Health::Broken, detail).advice(KEYS_ADVICE);
        }
        if self.config.addresses.pool_signer.is_some() {
            let detail = "no address key: only networks with an address pool are on sale";
            return Finding::new(name, Health::Doubtful, detail).advice(KEYS_ADVICE);
        }
        Finding::new(name, Health::Broken, "no address key: nothing is on sale").advice(KEYS_ADVICE)
    }

    pub(super) async fn pool(
        &self,
        connection: &mut PgConnection,
        network: Network,
    ) -> Result<Finding, StorageError> {
        let pool = pools::load(connection, network.family()).await?;
        let wrong = pool.first.as_deref();
        let wrong = wrong.and_then(|first| self.check_first(network.family(), first).err());
        let low = i64::from(self.config.addresses.pool_low);
        let (health, detail) = match (&wrong, pool.free) {
            (Some(wrong), _) => (Health::Broken, wrong.to_string()),
            (None, 0) => (
                Health::Broken,
                "no address is free: the network's currencies are not offered".to_owned(),
            ),
            (None, free) if free < low => (Health::Doubtful, format!("{free} addresses are free")),
            (None, free) => (Health::Ok, format!("{free} addresses are free")),
        };
        let advice = if self.config.is_sandbox() {
            format!("add some: gatewayctl addresses fill --network {network} --count 200")
        } else {
            format!(
                "on the machine with the seed: gatewayctl addresses export --network {network} --from {} …; then \
                 gatewayctl addresses import",
                pool.next
            )
        };
        Ok(Finding::new(format!("pool {network}"), health, detail)
            .fact("network", network.name())
            .fact("free", pool.free)
            .fact("next", pool.next)
            .advice(advice))
    }
}
