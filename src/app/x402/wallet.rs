//! The wallet that pays the gas of settlements: a seed of its own, which can move nobody's money.

use bip32::ChildNumber;
use k256::ecdsa::SigningKey;
use secrecy::{ExposeSecret, SecretBox};

use crate::{
    app::Gateway,
    asset::{
        Family,
        address::{Account, Realm, evm, sandbox},
    },
    config::ConfigError,
    merchant::secret::{SEED_BYTES, SealError},
};

type Seed = SecretBox<[u8; SEED_BYTES]>;

/// One key, on all EVM networks. It has no `Debug`.
pub struct GasWallet {
    key: SigningKey,
    address: String,
}

#[derive(Debug, thiserror::Error)]
pub enum NoGasWallet {
    #[error("x402.seed_file is not set; seal a seed with: gatewayctl payouts seal-seed")]
    NotConfigured,
    #[error("the seed file cannot be read: {0}")]
    Unreadable(std::io::Error),
    #[error("the seed file is not hex")]
    NotHex,
    #[error(transparent)]
    NoKey(#[from] ConfigError),
    #[error("the seed file does not open: it was sealed under another GATEWAY_X402__SEED_KEY")]
    Sealed(#[from] SealError),
    #[error("the seed gives no key")]
    Underivable,
    #[error("the seed is a published test seed; production refuses it")]
    Public,
    #[error("the seed is not the one behind x402.account, whose address gets the coins")]
    OtherAccount,
    #[error(
        "the seed is also the one behind addresses.evm: this program could spend what every invoice receives. Make a seed for \
         x402 alone"
    )]
    SeedOfInvoices,
}

impl GasWallet {
    /// Opens the sealed seed that the configuration names. The sandbox works with the published
    /// test seed without one.
    pub fn open(gateway: &Gateway) -> Result<Self, NoGasWallet> {
        let is_sandbox = gateway.config.is_sandbox();
        let seed = match &gateway.config.x402.seed_file {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(NoGasWallet::Unreadable)?;
                let sealed = hex::decode(text.trim()).map_err(|_| NoGasWallet::NotHex)?;
                gateway.config.x402_seed_keys()?.open_seed(&sealed)?.0
            }
            None if is_sandbox => public_seed()?,
            None => return Err(NoGasWallet::NotConfigured),
        };
        let is_public = sandbox::is_public_test_key(&hex::encode(seed.expose_secret()));
        if is_public && !is_sandbox {
            return Err(NoGasWallet::Public);
        }
        let first = |account: Account| {
            let branch = account.receiving(seed.expose_secret(), Family::Evm, Realm::Main)?;
            branch.derive_child(ChildNumber(0)).ok().map(|child| child.private_key().clone())
        };
        let spelt = |key: &SigningKey| evm::address(&k256::PublicKey::from(key.verifying_key()));
        let key = first(Account::X402).ok_or(NoGasWallet::Underivable)?;
        let address = spelt(&key);
        if gateway.x402_gas_address().is_none_or(|known| known != address) {
            return Err(NoGasWallet::OtherAccount);
        }
        let invoices = gateway.account_keys.get(&Family::Evm).and_then(|keys| keys.address(0).ok());
        let of_invoices = first(Account::Invoices).as_ref().map(spelt);
        if !is_sandbox && of_invoices.is_some() && of_invoices == invoices {
            return Err(NoGasWallet::SeedOfInvoices);
        }
        Ok(Self { key, address: address.to_ascii_lowercase() })
    }

    /// In lower case, as rows spell it.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub(super) const fn key(&self) -> &SigningKey {
        &self.key
    }
}

fn public_seed() -> Result<Seed, NoGasWallet> {
    let mut seed = Box::new([0_u8; SEED_BYTES]);
    hex::decode_to_slice(sandbox::seed(), seed.as_mut_slice()).map_err(|_| NoGasWallet::NotHex)?;
    Ok(SecretBox::new(seed))
}
