//! Keys that seal secrets and seeds.

use secrecy::{ExposeSecret, SecretString};

use super::{Config, ConfigError};
use crate::merchant::secret::{KeyRing, MasterKey, SeedUse};

impl Config {
    /// The keys that open sealed data; the first of them seals.
    pub fn master_keys(&self) -> Result<KeyRing, ConfigError> {
        let current = parse_key("GATEWAY_MASTER_KEY", &self.master_key)?;
        let old = self.master_key_old.as_ref();
        let old = old.map(|key| parse_key("GATEWAY_MASTER_KEY_OLD", key)).transpose()?;
        Ok(KeyRing::new(current, old))
    }

    /// Returns whether the wallet's seed has a key of its own, so that a rotation of the master key
    /// does not concern it.
    pub fn has_seed_key(&self) -> bool {
        self.payouts.seed_key.is_some()
    }

    /// As [`Self::has_seed_key`], for the seed of x402's gas wallet.
    pub fn has_x402_seed_key(&self) -> bool {
        self.x402.seed_key.is_some()
    }

    /// The keys that open the wallet's seed: the one of its own where there is one, else the master
    /// keys.
    pub fn seed_keys(&self) -> Result<KeyRing, ConfigError> {
        let Some(key) = &self.payouts.seed_key else { return self.master_keys() };
        Ok(KeyRing::new(parse_key("GATEWAY_PAYOUTS__SEED_KEY", key)?, None))
    }

    /// The keys that open the seed of x402's gas wallet, as [`Self::seed_keys`].
    pub fn x402_seed_keys(&self) -> Result<KeyRing, ConfigError> {
        let Some(key) = &self.x402.seed_key else { return self.master_keys() };
        Ok(KeyRing::new(parse_key("GATEWAY_X402__SEED_KEY", key)?, None))
    }

    /// The keys that open a seed of this use; `None` where none is set. The seed of the invoices
    /// has a key of its own alone: the others are held by running programs.
    pub fn seed_keys_for(&self, of: SeedUse) -> Result<Option<KeyRing>, ConfigError> {
        let has_master = !self.master_key.expose_secret().is_empty();
        match of {
            SeedUse::Payouts => {
                (self.has_seed_key() || has_master).then(|| self.seed_keys()).transpose()
            }
            SeedUse::X402 => {
                let is_set = self.x402.seed_key.is_some() || has_master;
                is_set.then(|| self.x402_seed_keys()).transpose()
            }
            SeedUse::Invoices => {
                let key = self.cold_seed_key.as_ref();
                let key = key.map(|key| parse_key("GATEWAY_COLD_SEED_KEY", key)).transpose()?;
                Ok(key.map(|key| KeyRing::new(key, None)))
            }
        }
    }

    /// As [`Self::seed_keys_for`], for sealing, which an all-zero key does not do.
    pub fn sealing_keys_for(&self, of: SeedUse) -> Result<Option<KeyRing>, ConfigError> {
        let keys = self.seed_keys_for(of)?;
        if keys.as_ref().is_some_and(|keys| keys.current().is_all_zero()) {
            let fault = "GATEWAY_MASTER_KEY is all zeros, which everybody knows: it seals no seed; make one with: openssl \
                         rand -hex 32";
            return Err(ConfigError::Unusable(vec![fault.to_owned()]));
        }
        Ok(keys)
    }

    /// All keys that may have sealed a seed of the invoices: earlier releases took the key of
    /// payouts, or the master key.
    pub fn keys_of_invoices_seeds(&self) -> Result<Vec<KeyRing>, ConfigError> {
        let has_master = !self.master_key.expose_secret().is_empty();
        let rings = [
            self.seed_keys_for(SeedUse::Invoices)?,
            self.has_seed_key().then(|| self.seed_keys()).transpose()?,
            has_master.then(|| self.master_keys()).transpose()?,
        ];
        Ok(rings.into_iter().flatten().collect())
    }
}

fn parse_key(name: &str, text: &SecretString) -> Result<MasterKey, ConfigError> {
    MasterKey::parse(text.expose_secret())
        .map_err(|error| ConfigError::Unusable(vec![format!("{name}: {error}")]))
}
