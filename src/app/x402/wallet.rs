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
    merchant::secret::{SEED_BYTES, SealError, SeedUse},
};

type Seed = SecretBox<[u8; SEED_BYTES]>;

/// One key, on all EVM networks. It has no `Debug`.
pub struct GasWallet {
    key: SigningKey,
    address: String,
}

#[derive(Debug, thiserror::Error)]
pub enum NoGasWallet {
    #[error("x402.seed_file is not set; seal a seed with: gatewayctl payouts seal-seed --x402")]
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
        "the seed is also the one behind {0}: this program could spend what is received there. Make a seed for x402 alone"
    )]
    SharedSeed(&'static str),
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
                gateway.config.x402_seed_keys()?.open_seed(SeedUse::X402, &sealed)?.0
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
        let others = [
            ("addresses.evm", Account::Invoices, gateway.account_keys.get(&Family::Evm)),
            ("payouts.accounts.evm", Account::Payouts, gateway.payout_keys.get(&Family::Evm)),
            ("payouts.accounts.gas", Account::Gas, gateway.gas_key.as_ref()),
        ];
        for (name, account, known) in others.into_iter().filter(|_| !is_sandbox) {
            let known = known.and_then(|keys| keys.address(0).ok());
            let own = first(account).as_ref().map(spelt);
            if own.is_some() && own == known {
                return Err(NoGasWallet::SharedSeed(name));
            }
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{asset::Network, config::Config, merchant::secret::MasterKey};

    const SEED: [u8; SEED_BYTES] = [7; SEED_BYTES];
    const OF_INVOICES: [u8; SEED_BYTES] = [8; SEED_BYTES];

    fn xpub(account: Account, seed: &[u8]) -> String {
        account.xpub(seed, Family::Evm, Realm::Main).unwrap()
    }

    /// A production gateway that settles payments of programs on polygon, with `more` on top.
    fn gateway(more: &str) -> Result<Gateway, String> {
        let others = Network::ALL.into_iter().filter(|network| *network != Network::Polygon);
        let off: String =
            others.map(|network| format!("chains.{network}.source = \"off\"\n")).collect();
        let toml = format!(
            "profile = \"production\"\ndatabase_url = \"postgres://a:b-long-one@127.0.0.1/x\"\n\
             amqp_url = \"amqp://a:b-long-one@127.0.0.1/x\"\nmaster_key = {:?}\nrates.providers = [\"kraken\"]\n\
             chains.polygon = {{ source = \"node\", rpc_url = \"http://127.0.0.1:2\" }}\n\
             addresses.evm = {:?}\nx402.enabled = true\n{off}{more}",
            "ab".repeat(32),
            xpub(Account::Invoices, &OF_INVOICES),
        );
        let config = Config::from_toml(&toml).map_err(|error| error.to_string())?;
        Gateway::new(config).map_err(|error| error.to_string())
    }

    fn sealed(seed: &[u8; SEED_BYTES]) -> PathBuf {
        let key = MasterKey::parse(&"ab".repeat(32)).unwrap();
        let path = std::env::temp_dir().join(format!("x402-seed-{}", uuid::Uuid::now_v7()));
        std::fs::write(&path, hex::encode(key.seal_seed(SeedUse::X402, seed))).unwrap();
        path
    }

    #[tokio::test]
    async fn production_settles_only_with_an_account_that_nothing_else_has() {
        let with =
            |account, seed: &[u8]| gateway(&format!("x402.account = {:?}\n", xpub(account, seed)));
        assert!(gateway("").err().unwrap().contains("x402.account is not set"));
        let shared = with(Account::Invoices, &OF_INVOICES).err().unwrap();
        assert!(shared.contains("x402.account is the account of invoices"), "{shared}");
        assert!(with(Account::X402, &SEED).is_ok());
    }

    #[tokio::test]
    async fn the_wallet_opens_the_seed_behind_its_account_and_no_other() {
        let (own, of_invoices) = (sealed(&SEED), sealed(&OF_INVOICES));
        let open = |seed: &[u8], file: &PathBuf| {
            let account = xpub(Account::X402, seed);
            let more = format!("x402.account = {account:?}\nx402.seed_file = {file:?}\n");
            GasWallet::open(&gateway(&more).unwrap())
        };
        assert!(open(&SEED, &own).is_ok());
        assert!(matches!(open(&SEED, &of_invoices), Err(NoGasWallet::OtherAccount)));
        let shared = open(&OF_INVOICES, &of_invoices);
        assert!(matches!(shared, Err(NoGasWallet::SharedSeed("addresses.evm"))));
        let payouts = xpub(Account::Payouts, &SEED);
        let more = format!(
            "x402.account = {:?}\nx402.seed_file = {own:?}\npayouts.accounts.evm = {payouts:?}\n",
            xpub(Account::X402, &SEED)
        );
        let shared = GasWallet::open(&gateway(&more).unwrap());
        assert!(matches!(shared, Err(NoGasWallet::SharedSeed("payouts.accounts.evm"))));
        for file in [own, of_invoices] {
            std::fs::remove_file(file).unwrap();
        }
    }
}
