//! The file of a plan: everything that the machine with the seed needs, and nothing secret.

use serde::{Deserialize, Serialize};

use crate::{
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
    money::BaseUnits,
};

const FORMAT: &str = "gateway-sweep-plan";
const VERSION: u32 = 1;

/// Transactions that belong together: planned, signed and sent as one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    format: String,
    version: u32,
    /// `swp_…`
    pub id: String,
    pub transactions: Vec<Transaction>,
}

/// One transaction to the treasury.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    pub network: Network,
    /// `code@network`.
    pub asset: String,
    /// The treasury's address.
    pub to: String,
    /// Amount that arrives there.
    #[serde(with = "units")]
    pub amount: BaseUnits,
    /// The most that the network takes, in its coin.
    #[serde(with = "units")]
    pub fee_max: BaseUnits,
    pub from: From,
}

/// Where the money is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum From {
    /// Outputs, all of which are spent.
    Outputs(Vec<Input>),
    Account(Account),
    /// A token of an address without coins: its key allows the transfer, and the wallet that pays
    /// for gas sends it (EIP-3009).
    Authorization(Authorization),
}

/// An output at a deposit address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// `txid:n`
    pub outpoint: String,
    #[serde(with = "units")]
    pub amount: BaseUnits,
    pub address: String,
    /// Index of the address below the account of the invoices.
    pub index: u32,
    /// The transaction that made it, hex, without its witnesses: its hash proves the amount, which
    /// not every signature covers.
    pub previous: String,
}

/// An account of an EVM network that sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    pub address: String,
    pub index: u32,
    pub chain_id: u64,
    pub nonce: u64,
    pub gas_limit: u64,
    /// Wei per gas, the tip included.
    #[serde(with = "units")]
    pub max_fee: BaseUnits,
    #[serde(with = "units")]
    pub priority_fee: BaseUnits,
}

/// A transfer that the key of an address allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Authorization {
    /// The address that has the token.
    pub address: String,
    pub index: u32,
    /// The token's own name and version, which its signatures cover (EIP-712).
    pub name: String,
    pub version: String,
    /// Counts the authorizations of this token and address, from 0. Its nonce is made of it, so the
    /// token takes only one of any two plans with the same number.
    pub number: u32,
    /// The wallet that sends and pays.
    pub gas_payer: Account,
}

/// Reason why a text is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it is not the file that gatewayctl sweep plan writes: {0}")]
    Malformed(String),
    #[error("it has version {0}, which this program does not know; use programs of one release")]
    OtherVersion(u32),
    #[error("it has no transaction")]
    Empty,
}

impl Plan {
    pub fn new(id: String, transactions: Vec<Transaction>) -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, id, transactions }
    }

    /// The file. The same plan has the same bytes.
    ///
    /// # Errors
    /// Never for a plan of ours.
    pub fn write(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Reads a file; a field that it does not know is an error.
    ///
    /// # Errors
    /// If it is no plan of this version.
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let malformed = |error: serde_json::Error| Unreadable::Malformed(error.to_string());
        let head: Head = serde_json::from_str(text).map_err(malformed)?;
        if head.format != FORMAT {
            return Err(Unreadable::Malformed("its format is another".to_owned()));
        }
        if head.version != VERSION {
            return Err(Unreadable::OtherVersion(head.version));
        }
        let plan: Self = serde_json::from_str(text).map_err(malformed)?;
        if plan.transactions.is_empty() { Err(Unreadable::Empty) } else { Ok(plan) }
    }
}

impl Transaction {
    /// The catalogue's entry of its asset; `None` if that is not of its network.
    pub fn currency(&self) -> Option<&'static Currency> {
        let currency = Catalogue::get().by_token_id(&self.asset)?;
        (currency.network == self.network).then_some(currency)
    }
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    format: String,
    #[serde(default)]
    version: u32,
}

/// Base units as digits in a string: JSON's numbers are not exact everywhere.
mod units {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::money::BaseUnits;

    pub fn serialize<S: Serializer>(units: &BaseUnits, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&units.get())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BaseUnits, D::Error> {
        let text = String::deserialize(from)?;
        let units = text.parse().ok().filter(|units: &u128| units.to_string() == text);
        units.map(BaseUnits::new).ok_or_else(|| D::Error::custom("an amount is no whole number"))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::check::samples, *};

    #[test]
    fn a_written_plan_is_read_back_and_has_the_same_bytes_again() {
        let plan = Plan::new("swp_1".to_owned(), vec![samples::token(), samples::outputs()]);
        let text = plan.write().unwrap();
        assert_eq!(Plan::read(&text), Ok(plan.clone()));
        assert_eq!(Plan::read(&text).unwrap().write().unwrap(), text);
    }

    #[test]
    fn other_files_and_unknown_fields_are_refused() {
        let text = Plan::new("swp_1".to_owned(), vec![samples::token()]).write().unwrap();
        let change = |from: &str, to: &str| Plan::read(&text.replacen(from, to, 1));
        assert_eq!(change("\"version\": 1", "\"version\": 2"), Err(Unreadable::OtherVersion(2)));
        for (from, to) in [
            (FORMAT, "other"),
            ("\"nonce\"", "\"data\": \"0x\", \"nonce\""),
            ("\"id\"", "\"change_to\": \"0x\", \"id\""),
            ("\"amount\": \"", "\"amount\": \"0"),
            ("\"amount\": \"", "\"amount\": \"-"),
        ] {
            assert!(matches!(change(from, to), Err(Unreadable::Malformed(_))), "{from} {to}");
        }
        let empty = Plan::new("swp_1".to_owned(), vec![]).write().unwrap();
        assert_eq!(Plan::read(&empty), Err(Unreadable::Empty));
    }
}
