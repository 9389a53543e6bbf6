//! The keys that pay. Only the payout-batch role opens a wallet; the API and every other role never hold one.

use bip32::{ChildNumber, XPrv};
use k256::ecdsa::SigningKey;
use secrecy::{ExposeSecret, SecretBox};

use crate::{
    app::Gateway,
    asset::{
        Family,
        address::{evm, sandbox},
    },
    config::ConfigError,
    merchant::secret::{SEED_BYTES, SealError},
};

/// Below it lie the keys of the deposit addresses, the orders' own among them.
const EVM_RECEIVE: &str = "m/44'/60'/0'/0";

/// Beside them, the one key of the wallet that fronts gas. Nobody pays to it but operators.
const EVM_GAS: &str = "m/44'/60'/0'/1/0";

/// Keys derived from one seed. It has no `Debug`, and gives one child key at a time.
pub struct Wallet {
    evm: XPrv,
    gas: XPrv,
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
        "the seed is not the one behind addresses.evm: it could spend nothing that orders receive"
    )]
    OtherAccount,
}

impl Wallet {
    /// Opens the sealed seed that the configuration names. The sandbox works with the published test seed without one.
    pub fn open(gateway: &Gateway) -> Result<Self, NoWallet> {
        let seed = match &gateway.config.payouts.seed_file {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(NoWallet::Unreadable)?;
                let sealed = hex::decode(text.trim()).map_err(|_| NoWallet::NotHex)?;
                gateway.config.seed_key()?.open_seed(&sealed)?
            }
            None if gateway.config.is_sandbox() => public_seed()?,
            None => return Err(NoWallet::NotConfigured),
        };
        let key = |path: &str| {
            let path = path.parse().map_err(|_| NoWallet::Underivable)?;
            XPrv::derive_from_path(seed.expose_secret(), &path).map_err(|_| NoWallet::Underivable)
        };
        let (evm, gas) = (key(EVM_RECEIVE)?, key(EVM_GAS)?);
        let known = sandbox::is_public_test_key(&hex::encode(seed.expose_secret()));
        if known && !gateway.config.is_sandbox() {
            return Err(NoWallet::Public);
        }
        let wallet = Self { evm, gas };
        if wallet.first_address() == gateway.first_evm_address() {
            Ok(wallet)
        } else {
            Err(NoWallet::OtherAccount)
        }
    }

    fn first_address(&self) -> Option<String> {
        let key = self.evm_key(0)?;
        Some(evm::address(&k256::PublicKey::from(key.verifying_key())))
    }

    /// The key of an EVM deposit address.
    pub(super) fn evm_key(&self, index: i64) -> Option<SigningKey> {
        let index = ChildNumber::new(u32::try_from(index).ok()?, false).ok()?;
        Some(self.evm.derive_child(index).ok()?.private_key().clone())
    }

    pub(super) fn gas_address(&self) -> String {
        evm::address(&k256::PublicKey::from(self.gas_key().verifying_key()))
    }

    /// The key of the gas wallet, on all EVM networks.
    pub(super) fn gas_key(&self) -> &SigningKey {
        self.gas.private_key()
    }
}

impl Gateway {
    /// What the account key derives at index 0, in the spelling of [`evm::address`].
    fn first_evm_address(&self) -> Option<String> {
        self.account_keys.get(&Family::Evm)?.address(0).ok()
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
