//! The keys that pay. Only the payout-batch role opens a wallet; the API and every other role never
//! hold one.

use std::{collections::HashMap, path::Path};

use bip32::{ChildNumber, XPrv};
use k256::ecdsa::SigningKey;
use secrecy::{ExposeSecret, SecretBox};

use super::bind::Bound;
use crate::{
    app::Gateway,
    asset::{
        Family,
        address::{Account, AccountKey, Realm, evm, sandbox},
    },
    config::ConfigError,
    merchant::secret::{SEED_BYTES, SealError, SeedUse},
};

type Seed = SecretBox<[u8; SEED_BYTES]>;

/// Keys derived from the payout seed, by family, and from the seed before it as far as orders still
/// need that one. It has no `Debug`, and gives one child key at a time.
pub struct Wallet {
    receive: HashMap<Family, Vec<XPrv>>,
    accounts: HashMap<Family, AccountKey>,
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
    #[error("the seed is a published test seed; production refuses it")]
    Public,
    #[error(
        "the seed is not the one behind payouts.accounts.{0}: it could spend nothing that orders receive; \
         payouts.networks says where payouts are offered"
    )]
    OtherAccount(&'static str),
    #[error(
        "the payout seed is also the one behind addresses.{0}: this program could spend what every invoice receives. Make a seed \
         for payouts alone; the old one goes to payouts.earlier_seed_file until its orders have ended"
    )]
    SeedOfInvoices(&'static str),
}

impl Wallet {
    /// Opens the sealed seed that the configuration names. The sandbox works with the published
    /// test seed without one.
    pub fn open(gateway: &Gateway) -> Result<Self, NoWallet> {
        let payouts = &gateway.config.payouts;
        let sandbox = gateway.config.is_sandbox();
        let seed = match &payouts.seed_file {
            Some(path) => read(gateway, path)?,
            None if sandbox => public_seed()?,
            None => return Err(NoWallet::NotConfigured),
        };
        // Orders that were confirmed before payouts had accounts of their own: production knows
        // their seed by its own setting.
        let earlier = match &payouts.earlier_seed_file {
            Some(path) => Some(read(gateway, path)?),
            None if sandbox => Some(public_seed()?),
            None => None,
        };
        if sandbox::is_public_test_key(&hex::encode(seed.expose_secret())) && !sandbox {
            return Err(NoWallet::Public);
        }
        let mut receive = HashMap::new();
        for family in gateway.families_paid_from() {
            // Without an account key no order of this family ever gets an address.
            let Some(account) = gateway.payout_keys.get(&family) else { continue };
            let branch = |seed: &Seed, of: Account| {
                let keys = of.receiving(seed.expose_secret(), family, account.realm());
                keys.ok_or(NoWallet::Underivable)
            };
            let keys = branch(&seed, Account::Payouts)?;
            if !is_behind(&keys, account) {
                return Err(NoWallet::OtherAccount(family.name()));
            }
            let invoices = gateway.account_keys.get(&family);
            let of_invoices = branch(&seed, Account::Invoices)?;
            if !sandbox && invoices.is_some_and(|account| is_behind(&of_invoices, account)) {
                return Err(NoWallet::SeedOfInvoices(family.name()));
            }
            let mut branches = vec![keys];
            for of in [Account::Invoices, Account::Payouts] {
                branches.extend(earlier.as_ref().map(|seed| branch(seed, of)).transpose()?);
            }
            receive.insert(family, branches);
        }
        let gas = Account::Gas.receiving(seed.expose_secret(), Family::Evm, Realm::Main);
        let gas = gas.ok_or(NoWallet::Underivable)?;
        if gateway.gas_key.as_ref().is_some_and(|account| !is_behind(&gas, account)) {
            return Err(NoWallet::OtherAccount("gas"));
        }
        let gas = gas.derive_child(ChildNumber(0)).map_err(|_| NoWallet::Underivable)?;
        Ok(Self { receive, accounts: gateway.payout_keys.clone(), gas })
    }

    /// The key of a checked order's own address. The address shows the account that it belongs to.
    pub(super) fn key(&self, family: Family, order: &Bound) -> Option<SigningKey> {
        let (place, account) = (order.place(), self.accounts.get(&family)?);
        let index = u32::try_from(place.derivation_index).ok()?;
        let mut keys = self.receive.get(&family)?.iter().filter_map(|branch| child(branch, index));
        keys.find(|key| {
            let key = k256::PublicKey::from(key.verifying_key());
            account.spells(&key).as_deref() == Some(&place.address)
        })
    }

    pub(super) fn gas_address(&self) -> String {
        evm::address(&k256::PublicKey::from(self.gas.private_key().verifying_key()))
    }

    /// The key of the gas wallet, on all EVM networks, for gas of a checked order.
    pub(super) fn gas_key(&self, _: &Bound) -> &SigningKey {
        self.gas.private_key()
    }
}

fn read(gateway: &Gateway, path: &Path) -> Result<Seed, NoWallet> {
    let text = std::fs::read_to_string(path).map_err(NoWallet::Unreadable)?;
    let sealed = hex::decode(text.trim()).map_err(|_| NoWallet::NotHex)?;
    Ok(gateway.config.seed_keys()?.open_seed(SeedUse::Payouts, &sealed)?.0)
}

fn child(branch: &XPrv, index: u32) -> Option<SigningKey> {
    let index = ChildNumber::new(index, false).ok()?;
    Some(branch.derive_child(index).ok()?.private_key().clone())
}

/// Returns whether the account's first address is the branch's.
fn is_behind(branch: &XPrv, account: &AccountKey) -> bool {
    let first = child(branch, 0).map(|key| k256::PublicKey::from(key.verifying_key()));
    first.is_some_and(|key| account.spells(&key) == account.address(0).ok())
}

fn public_seed() -> Result<Seed, NoWallet> {
    let mut seed = Box::new([0_u8; SEED_BYTES]);
    hex::decode_to_slice(sandbox::seed(), seed.as_mut_slice()).map_err(|_| NoWallet::NotHex)?;
    Ok(SecretBox::new(seed))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{config::Config, storage::payouts::DepositPlace};

    const SEED: [u8; SEED_BYTES] = [7; SEED_BYTES];
    const EARLIER: [u8; SEED_BYTES] = [8; SEED_BYTES];

    fn xpub(account: Account, seed: &[u8], family: Family) -> String {
        account.xpub(seed, family, Realm::Main).unwrap()
    }

    /// Follows bitcoin and polygon and pays out on both, with `more` on top.
    fn production(more: &str) -> String {
        let others = crate::asset::Network::ALL.into_iter().filter(|network| {
            !matches!(network, crate::asset::Network::Bitcoin | crate::asset::Network::Polygon)
        });
        let off: String =
            others.map(|network| format!("chains.{network}.source = \"off\"\n")).collect();
        let invoices = |family| xpub(Account::Invoices, &EARLIER, family);
        format!(
            "profile = \"production\"\ndatabase_url = \"postgres://a:b-long-one@127.0.0.1/x\"\n\
             amqp_url = \"amqp://a:b-long-one@127.0.0.1/x\"\nmaster_key = {:?}\nrates.providers = [\"kraken\"]\n\
             chains.bitcoin = {{ source = \"node\", rpc_url = \"http://127.0.0.1:1\" }}\n\
             chains.polygon = {{ source = \"node\", rpc_url = \"http://127.0.0.1:2\" }}\n\
             addresses.bitcoin = {:?}\naddresses.evm = {:?}\npayouts.enabled = true\n{off}{more}",
            "ab".repeat(32),
            invoices(Family::Bitcoin),
            invoices(Family::Evm),
        )
    }

    fn accounts(seed: &[u8]) -> String {
        let line = |name: &str, account, family| {
            format!("payouts.accounts.{name} = {:?}\n", xpub(account, seed, family))
        };
        line("bitcoin", Account::Payouts, Family::Bitcoin)
            + &line("evm", Account::Payouts, Family::Evm)
            + &line("gas", Account::Gas, Family::Evm)
    }

    fn gateway(toml: &str) -> Result<Gateway, String> {
        Gateway::new(Config::from_toml(toml).unwrap()).map_err(|error| error.to_string())
    }

    /// A sealed seed in a file of its own.
    fn sealed(seed: &[u8; SEED_BYTES]) -> PathBuf {
        let key = crate::merchant::secret::MasterKey::parse(&"ab".repeat(32)).unwrap();
        let path = std::env::temp_dir().join(format!("seed-{}", uuid::Uuid::now_v7()));
        std::fs::write(&path, hex::encode(key.seal_seed(SeedUse::Payouts, seed))).unwrap();
        path
    }

    fn bound(address: &str, derivation_index: i64) -> Bound {
        Bound::at(DepositPlace { address: address.to_owned(), derivation_index })
    }

    #[tokio::test]
    async fn production_starts_only_with_accounts_that_no_invoice_has() {
        assert!(gateway(&production(&accounts(&SEED))).is_ok());
        let refused = |more: &str| gateway(&production(more)).err().unwrap();
        assert!(refused("").contains("payouts.accounts.bitcoin is not set"));
        let line = |name: &str, account, seed: &[u8], family| {
            let own: String = accounts(&SEED)
                .lines()
                .filter(|line| !line.starts_with(&format!("payouts.accounts.{name} ")))
                .map(|line| format!("{line}\n"))
                .collect();
            own + &format!("payouts.accounts.{name} = {:?}\n", xpub(account, seed, family))
        };
        let shared = line("evm", Account::Invoices, &EARLIER, Family::Evm);
        assert!(refused(&shared).contains("payouts.accounts.evm is the account of invoices too"));
        let shared = line("bitcoin", Account::Invoices, &EARLIER, Family::Bitcoin);
        assert!(refused(&shared).contains("payouts.accounts.bitcoin is the account of invoices"));
        let shared = line("gas", Account::Invoices, &EARLIER, Family::Evm);
        assert!(refused(&shared).contains("payouts.accounts.gas is the account of invoices"));
        let shared = line("gas", Account::Payouts, &SEED, Family::Evm);
        assert!(refused(&shared).contains("payouts.accounts.gas is the account of payouts"));
        // Payouts are disabled: no setting is required.
        let off = production("").replace("payouts.enabled = true", "payouts.enabled = false");
        assert!(gateway(&off).is_ok());
        // A network without payouts needs no account.
        let only = production(&accounts(&SEED)).replace("payouts.accounts.bitcoin", "# ");
        assert!(gateway(&only).is_err());
        assert!(gateway(&(only + "payouts.networks = [\"polygon\"]\n")).is_ok());
    }

    #[tokio::test]
    async fn the_seed_of_the_invoices_opens_no_wallet_in_production() {
        let (own, of_invoices) = (sealed(&SEED), sealed(&EARLIER));
        let with = |seed: &[u8], file: &PathBuf| {
            gateway(&production(&(accounts(seed) + &format!("payouts.seed_file = {file:?}\n"))))
        };
        assert!(Wallet::open(&with(&SEED, &own).unwrap()).is_ok());
        // Another account of the same seed: nothing but the seed itself shows it.
        let refused = Wallet::open(&with(&EARLIER, &of_invoices).unwrap()).err();
        assert!(matches!(refused, Some(NoWallet::SeedOfInvoices("bitcoin"))), "{refused:?}");
        let refused = Wallet::open(&with(&SEED, &of_invoices).unwrap()).err();
        assert!(matches!(refused, Some(NoWallet::OtherAccount("bitcoin"))), "{refused:?}");
        for file in [own, of_invoices] {
            std::fs::remove_file(file).unwrap();
        }
    }

    #[tokio::test]
    async fn an_order_is_signed_with_the_key_of_the_account_that_its_address_is_of() {
        let (own, earlier) = (sealed(&SEED), sealed(&EARLIER));
        let toml = accounts(&SEED) + &format!("payouts.seed_file = {own:?}\n");
        let without = Wallet::open(&gateway(&production(&toml)).unwrap()).unwrap();
        let toml = toml + &format!("payouts.earlier_seed_file = {earlier:?}\n");
        let with = Wallet::open(&gateway(&production(&toml)).unwrap()).unwrap();
        for family in [Family::Evm, Family::Bitcoin] {
            let cases = [
                (Account::Payouts, &SEED, true, true),
                (Account::Invoices, &EARLIER, false, true),
                (Account::Payouts, &EARLIER, false, true),
                // The wallet gives no key for invoices of a seed that signs.
                (Account::Invoices, &SEED, false, false),
            ];
            for (account, seed, signs, signs_with_earlier) in cases {
                let key = AccountKey::parse(family, &xpub(account, seed, family)).unwrap();
                let address = key.address(5).unwrap();
                for (wallet, signs) in [(&without, signs), (&with, signs_with_earlier)] {
                    let found = wallet.key(family, &bound(&address, 5));
                    assert_eq!(found.is_some(), signs, "{family:?} {account:?}");
                    let of = found.map(|key| k256::PublicKey::from(key.verifying_key()));
                    assert!(of.is_none_or(|of| key.spells(&of) == Some(address.clone())));
                    assert!(wallet.key(family, &bound(&address, 6)).is_none());
                }
            }
        }
        for file in [own, earlier] {
            std::fs::remove_file(file).unwrap();
        }
    }
}
