//! The keys that pay. Only the payout-batch role opens a wallet; the API and every other role never hold one.

use std::collections::HashMap;

use bip32::{ChildNumber, XPrv};
use k256::ecdsa::SigningKey;
use secrecy::{ExposeSecret, SecretBox};

use crate::{
    app::Gateway,
    asset::{
        Family, Network, Realm,
        address::{AccountKey, evm, sandbox},
    },
    config::ConfigError,
    merchant::secret::{SEED_BYTES, SealError},
};

/// Beside the keys of deposit addresses, the one key of the wallet that fronts gas. Nobody pays to it but operators.
const EVM_GAS: &str = "m/44'/60'/0'/1/0";

/// Keys derived from one seed, by family. It has no `Debug`, and gives one child key at a time.
pub struct Wallet {
    receive: HashMap<Family, XPrv>,
    gas: XPrv,
}

/// Below it lie the keys of the deposit addresses, the orders' own among them (BIP-44, BIP-84).
const fn receive_path(family: Family, realm: Realm) -> Option<&'static str> {
    match (family, realm) {
        (Family::Evm, _) => Some("m/44'/60'/0'/0"),
        (Family::Bitcoin, Realm::Main) => Some("m/84'/0'/0'/0"),
        (Family::Litecoin, Realm::Main) => Some("m/84'/2'/0'/0"),
        (Family::Dogecoin, Realm::Main) => Some("m/44'/3'/0'/0"),
        (Family::Bitcoin | Family::Litecoin, Realm::Regtest) => Some("m/84'/1'/0'/0"),
        (Family::Dogecoin, Realm::Regtest) => Some("m/44'/1'/0'/0"),
        (Family::Tron | Family::Solana | Family::Near | Family::Ton | Family::Thorchain, _) => None,
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NoWallet {
    #[error("payouts.seed_file is not set; seal a seed with: gatewayctl payouts seal-seed")]
    NotConfigured,
    #[error("the seed file cannot be read: {0}")]
    Unreadable(std::io::Error),
    #[error("the seed file is not hex")]
    NotHex,
    #[error(transparent)]
    NoKey(#[from] ConfigError),
    #[error(
        "the seed file does not open: it was sealed under another GATEWAY_PAYOUTS__SEED_KEY, or under GATEWAY_MASTER_KEY"
    )]
    Sealed(#[from] SealError),
    #[error("the seed gives no key")]
    Underivable,
    #[error("the seed is one that everyone knows; production refuses it")]
    Public,
    #[error(
        "the seed is not the one behind addresses.{0}: it could spend nothing that orders receive; \
         payouts.networks says where payouts are offered"
    )]
    OtherAccount(&'static str),
}

impl Wallet {
    /// Opens the sealed seed that the configuration names. The sandbox works with the published test seed without one.
    pub fn open(gateway: &Gateway) -> Result<Self, NoWallet> {
        let seed = match &gateway.config.payouts.seed_file {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(NoWallet::Unreadable)?;
                let sealed = hex::decode(text.trim()).map_err(|_| NoWallet::NotHex)?;
                gateway.config.seed_keys()?.open_seed(&sealed)?.0
            }
            None if gateway.config.is_sandbox() => public_seed()?,
            None => return Err(NoWallet::NotConfigured),
        };
        let branch = |path: &str| {
            let path = path.parse().map_err(|_| NoWallet::Underivable)?;
            XPrv::derive_from_path(seed.expose_secret(), &path).map_err(|_| NoWallet::Underivable)
        };
        let known = sandbox::is_public_test_key(&hex::encode(seed.expose_secret()));
        if known && !gateway.config.is_sandbox() {
            return Err(NoWallet::Public);
        }
        let mut receive = HashMap::new();
        for family in gateway.families_paid_from() {
            // Without an account key no order of this family ever gets an address.
            let Some(account) = gateway.account_keys.get(&family) else { continue };
            let path = receive_path(family, account.realm()).ok_or(NoWallet::Underivable)?;
            let keys = branch(path)?;
            if !is_behind(&keys, account) {
                return Err(NoWallet::OtherAccount(family.name()));
            }
            receive.insert(family, keys);
        }
        Ok(Self { receive, gas: branch(EVM_GAS)? })
    }

    /// The key of a deposit address.
    pub(super) fn key(&self, family: Family, index: i64) -> Option<SigningKey> {
        child(self.receive.get(&family)?, u32::try_from(index).ok()?)
    }

    pub(super) fn gas_address(&self) -> String {
        evm::address(&k256::PublicKey::from(self.gas_key().verifying_key()))
    }

    /// The key of the gas wallet, on all EVM networks.
    pub(super) fn gas_key(&self) -> &SigningKey {
        self.gas.private_key()
    }
}

fn child(branch: &XPrv, index: u32) -> Option<SigningKey> {
    let index = ChildNumber::new(index, false).ok()?;
    Some(branch.derive_child(index).ok()?.private_key().clone())
}

/// Whether the account's first address is the branch's.
fn is_behind(branch: &XPrv, account: &AccountKey) -> bool {
    let first = child(branch, 0).map(|key| k256::PublicKey::from(key.verifying_key()));
    first.is_some_and(|key| account.spells(&key) == account.address(0).ok())
}

impl Gateway {
    /// The families on whose networks payouts are offered.
    fn families_paid_from(&self) -> Vec<Family> {
        let mut families: Vec<_> = Network::ALL
            .into_iter()
            .filter(|network| self.config.pays_out_on(*network))
            .map(Network::family)
            .collect();
        families.dedup();
        families
    }

    /// The address of the gas wallet, which needs no key to be known: operators send it coins.
    pub fn gas_address(&self) -> Option<String> {
        self.account_keys.get(&Family::Evm)?.internal_address()
    }
}

fn public_seed() -> Result<SecretBox<[u8; SEED_BYTES]>, NoWallet> {
    let mut seed = Box::new([0_u8; SEED_BYTES]);
    hex::decode_to_slice(sandbox::seed(), seed.as_mut_slice()).map_err(|_| NoWallet::NotHex)?;
    Ok(SecretBox::new(seed))
}
