//! Conditions that a plan must fulfil before anything of it is signed, judged by the settings of
//! the machine that signs.
//!
//! The plan comes from a machine that faces the internet. So whatever it says, nothing goes
//! anywhere but to the treasury's address of these settings, and the network takes no more than
//! they allow: amounts are proved by the transactions that made them.

use std::collections::HashSet;

use super::{
    authorized, evm,
    plan::{Account, From, Plan, Transaction},
    utxo, worth,
};
use crate::{
    asset::{Family, Network, Realm, address},
    money::BaseUnits,
};

/// Far above a transfer to a contract wallet, or of any token of the catalogue.
pub const GAS_MAX: u64 = 500_000;

/// The settings of a network by which a plan is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// The only address that anything is sent to.
    pub treasury: String,
    pub realm: Realm,
    /// On EVM networks.
    pub chain_id: Option<u64>,
    /// Most for a unit of work: wei per gas, or the smallest coin per virtual byte.
    pub fee_rate_max: u128,
    /// Most that the network takes of an amount in its own coin.
    pub fee_percent_max: u8,
    /// Most that the network takes for an amount of a token, in its coin.
    pub token_fee_max: BaseUnits,
}

/// A transaction that passed, before its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsigned {
    Account(crate::payout::eip1559::Transaction),
    Authorized(Box<authorized::Unsigned>),
    Outputs(utxo::Unsigned),
}

/// Reason why a transaction of a plan is not signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("{0} is not collected by this program")]
    NotSwept(Network),
    #[error("these settings have no treasury.{0}")]
    NoTreasury(Network),
    #[error("it sends to {planned}, and treasury.{network} of these settings is {pinned}")]
    OtherTreasury { network: Network, planned: String, pinned: String },
    #[error("{0:?} is no currency of its network")]
    UnknownAsset(String),
    #[error("it is of chain {planned}, and these settings say {pinned}")]
    OtherChain { planned: u64, pinned: u64 },
    #[error("it takes money in a way that its network does not have")]
    OtherKind,
    #[error("it offers {offered} for a unit of work, and chains.*.fee_rate_max is {most}")]
    FeeRateTooHigh { offered: u128, most: u128 },
    #[error("it uses up to {0} gas, more than any transfer needs")]
    TooMuchGas(u64),
    #[error("its fee is {fee} of {amount} base units, above treasury.fee_percent_max")]
    FeeTooHigh { fee: u128, amount: u128 },
    #[error(
        "its fee is {fee} base units of the network's coin, and treasury.token_fee_max.{network} is \
         {most}"
    )]
    TokenFeeTooHigh { network: Network, fee: u128, most: u128 },
    #[error("its amounts do not add up")]
    Sums,
    #[error("input {0}: the transaction beside it did not make that output and amount")]
    Unproved(String),
    #[error("input {0} has no place in a transaction")]
    Outpoint(String),
    #[error("{0} is taken twice")]
    Twice(String),
    #[error("{address} is not the address number {index} of this seed")]
    OtherSeed { address: String, index: u32 },
    #[error(
        "treasury.{network} is the address number {index} of this seed: money that is collected there \
         stays behind the same words; set an address of another wallet"
    )]
    OwnTreasury { network: Network, index: u32 },
    #[error("there is no key number {0}")]
    NoKey(u32),
}

/// A fault with the transaction's place in the plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("transaction {position}: {fault}")]
pub struct Refused {
    /// From 0.
    pub position: usize,
    pub fault: Fault,
}

/// Checks all transactions of a plan; one fault refuses it whole.
///
/// # Errors
/// The first fault, with its place.
pub fn check(
    plan: &Plan,
    pinned: impl Fn(Network) -> Option<Pinned>,
) -> Result<Vec<Unsigned>, Refused> {
    let mut taken = HashSet::new();
    let mut checked = Vec::with_capacity(plan.transactions.len());
    for (position, transaction) in plan.transactions.iter().enumerate() {
        let refused = |fault| Refused { position, fault };
        let pinned = pinned(transaction.network);
        let pinned = pinned.ok_or_else(|| refused(Fault::NoTreasury(transaction.network)))?;
        checked.push(check_one(transaction, &pinned).map_err(refused)?);
        for coin in coins(transaction) {
            if !taken.insert((transaction.network, coin.clone())) {
                return Err(refused(Fault::Twice(coin)));
            }
        }
    }
    Ok(checked)
}

/// Checks one transaction.
///
/// # Errors
/// Its first fault.
pub fn check_one(transaction: &Transaction, pinned: &Pinned) -> Result<Unsigned, Fault> {
    let network = transaction.network;
    let family = network.family();
    if !super::is_swept(family) {
        return Err(Fault::NotSwept(network));
    }
    let key = |text: &str| address::match_key(family, text);
    if key(&transaction.to) != key(&pinned.treasury) {
        let (planned, pinned) = (transaction.to.clone(), pinned.treasury.clone());
        return Err(Fault::OtherTreasury { network, planned, pinned });
    }
    let currency = transaction.currency();
    let currency = currency.ok_or_else(|| Fault::UnknownAsset(transaction.asset.clone()))?;
    if transaction.amount.is_zero() {
        return Err(Fault::Sums);
    }
    let unsigned = match (&transaction.from, family) {
        (From::Account(account), Family::Evm) => {
            Unsigned::Account(evm::unsigned(transaction, account, currency, pinned)?)
        }
        (From::Outputs(inputs), Family::Bitcoin | Family::Litecoin | Family::Dogecoin)
            if currency.is_native() =>
        {
            Unsigned::Outputs(utxo::unsigned(transaction, inputs, pinned)?)
        }
        (From::Authorization(signed), Family::Evm) if !currency.is_native() => {
            let unsigned = authorized::unsigned(transaction, signed, currency, pinned)?;
            Unsigned::Authorized(Box::new(unsigned))
        }
        (From::Account(_) | From::Outputs(_) | From::Authorization(_), _) => {
            return Err(Fault::OtherKind);
        }
    };
    if currency.is_native() {
        let whole = transaction.amount.checked_add(transaction.fee_max).ok_or(Fault::Sums)?;
        check_part(transaction.fee_max, whole, pinned.fee_percent_max)?;
    } else if transaction.fee_max > pinned.token_fee_max {
        let (fee, most) = (transaction.fee_max.get(), pinned.token_fee_max.get());
        return Err(Fault::TokenFeeTooHigh { network, fee, most });
    }
    Ok(unsigned)
}

fn check_part(fee: BaseUnits, amount: BaseUnits, percent: u8) -> Result<(), Fault> {
    if worth::is_worth(fee, amount, percent) {
        return Ok(());
    }
    Err(Fault::FeeTooHigh { fee: fee.get(), amount: amount.get() })
}

pub(super) fn check_rate(offered: u128, pinned: &Pinned) -> Result<(), Fault> {
    if offered <= pinned.fee_rate_max {
        return Ok(());
    }
    Err(Fault::FeeRateTooHigh { offered, most: pinned.fee_rate_max })
}

/// Names of a transaction's coins, each of which can be taken once: outputs, or a nonce.
pub fn coins(transaction: &Transaction) -> Vec<String> {
    match &transaction.from {
        From::Outputs(inputs) => inputs.iter().map(|input| input.outpoint.clone()).collect(),
        From::Account(account) => vec![nonce_of(transaction.network, account)],
        From::Authorization(signed) => {
            let key = address::match_key(transaction.network.family(), &signed.address);
            let token = format!("{key}/{}", transaction.asset);
            vec![token, nonce_of(transaction.network, &signed.gas_payer)]
        }
    }
}

fn nonce_of(network: Network, account: &Account) -> String {
    let key = address::match_key(network.family(), &account.address);
    format!("{key}/{}", account.nonce)
}

#[cfg(test)]
pub(super) mod samples {
    use bitcoin::{
        Amount, ScriptBuf, TxOut, absolute::LockTime, consensus::encode, transaction::Version,
    };

    use super::*;
    use crate::{
        asset::address::{Account as Use, AccountKey, sandbox},
        sweep::plan::{Authorization, Input},
    };

    pub const TREASURY: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    pub const TOKEN_FEE_MAX: u128 = 10_000_000;
    pub const COLD: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

    pub fn seed() -> Vec<u8> {
        hex::decode(sandbox::seed()).unwrap()
    }

    pub fn deposit_address(family: Family, realm: Realm, index: u32) -> String {
        let key = Use::Invoices.xpub(&seed(), family, realm).unwrap();
        AccountKey::parse_in(realm, family, &key).unwrap().address(index).unwrap()
    }

    pub fn pinned(network: Network) -> Option<Pinned> {
        let (treasury, realm, chain_id) = if network == Network::Polygon {
            (TREASURY, Realm::Main, Some(31_337))
        } else if network == Network::Bitcoin {
            (COLD, Realm::Regtest, None)
        } else {
            return None;
        };
        let (treasury, fee_rate_max) = (treasury.to_owned(), 1_000_000_000_000);
        let token_fee_max = BaseUnits::new(TOKEN_FEE_MAX);
        let fee_percent_max = 5;
        Some(Pinned { treasury, realm, chain_id, fee_rate_max, fee_percent_max, token_fee_max })
    }

    pub fn token() -> Transaction {
        Transaction {
            network: Network::Polygon,
            asset: "usdcmatic@polygon".to_owned(),
            to: TREASURY.to_owned(),
            amount: BaseUnits::new(25_000_000),
            fee_max: BaseUnits::new(65_000 * 100),
            from: From::Account(Account {
                address: deposit_address(Family::Evm, Realm::Main, 3),
                index: 3,
                chain_id: 31_337,
                nonce: 0,
                gas_limit: 65_000,
                max_fee: BaseUnits::new(100),
                priority_fee: BaseUnits::new(2),
            }),
        }
    }

    /// A token of an address without coins.
    pub fn authorized() -> Transaction {
        let key = Use::Sweeps.first_address(&seed(), Family::Evm, Realm::Main).unwrap();
        let From::Account(account) = token().from else { unreachable!() };
        Transaction {
            from: From::Authorization(Authorization {
                address: account.address.clone(),
                index: account.index,
                name: "USD Coin".to_owned(),
                version: "2".to_owned(),
                number: 0,
                gas_payer: Account { address: key, index: 0, ..account },
            }),
            ..token()
        }
    }

    pub fn coin() -> Transaction {
        let amount = BaseUnits::new(1_000_000_000_000_000_000);
        Transaction { asset: "pol@polygon".to_owned(), amount, ..token() }
    }

    fn input(index: u32, amount: u64) -> Input {
        let address = deposit_address(Family::Bitcoin, Realm::Regtest, index);
        let script = address::script_of(Network::Bitcoin, Realm::Regtest, &address).unwrap();
        let previous = bitcoin::Transaction {
            version: Version::TWO,
            lock_time: LockTime::from_consensus(index),
            input: vec![],
            output: vec![TxOut {
                value: Amount::from_sat(amount),
                script_pubkey: ScriptBuf::from_bytes(script),
            }],
        };
        Input {
            outpoint: format!("{}:0", previous.compute_txid()),
            amount: BaseUnits::new(amount.into()),
            address,
            index,
            previous: hex::encode(encode::serialize(&previous)),
        }
    }

    pub fn outputs() -> Transaction {
        Transaction {
            network: Network::Bitcoin,
            asset: "btc@bitcoin".to_owned(),
            to: COLD.to_owned(),
            amount: BaseUnits::new(297_000),
            fee_max: BaseUnits::new(3_000),
            from: From::Outputs(vec![input(4, 100_000), input(9, 200_000)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{samples::*, *};

    fn fault(change: impl Fn(&mut Transaction), of: Transaction) -> Fault {
        let mut transaction = of;
        change(&mut transaction);
        check_one(&transaction, &pinned(transaction.network).unwrap()).unwrap_err()
    }

    fn account(change: impl Fn(&mut Account)) -> Fault {
        let change = |transaction: &mut Transaction| {
            let From::Account(account) = &mut transaction.from else { unreachable!() };
            change(account);
        };
        fault(change, token())
    }

    fn first_input(change: impl Fn(&mut super::super::plan::Input)) -> Fault {
        let change = |transaction: &mut Transaction| {
            let From::Outputs(inputs) = &mut transaction.from else { unreachable!() };
            change(&mut inputs[0]);
        };
        fault(change, outputs())
    }

    #[test]
    fn sound_transactions_pass() {
        let plan = Plan::new("swp_1".to_owned(), vec![token(), outputs(), authorized()]);
        assert_eq!(check(&plan, pinned).unwrap().len(), 3);
        assert!(check_one(&coin(), &pinned(Network::Polygon).unwrap()).is_ok());
    }

    #[test]
    fn no_destination_but_the_pinned_one_passes() {
        let stranger = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
        let other = |of| fault(|t: &mut Transaction| t.to = stranger.to_owned(), of);
        assert!(matches!(other(token()), Fault::OtherTreasury { .. }));
        assert!(matches!(other(outputs()), Fault::OtherTreasury { .. }));
        assert!(matches!(other(authorized()), Fault::OtherTreasury { .. }));
        let missing = Plan::new("swp_1".to_owned(), vec![token()]);
        let fault = check(&missing, |_| None).unwrap_err().fault;
        assert_eq!(fault, Fault::NoTreasury(Network::Polygon));
        // Another spelling of the same address is the same.
        let lower = Transaction { to: TREASURY.to_lowercase(), ..token() };
        assert!(check_one(&lower, &pinned(Network::Polygon).unwrap()).is_ok());
    }

    #[test]
    fn a_lie_about_an_amount_or_a_fee_is_refused() {
        assert!(matches!(first_input(|i| i.amount = BaseUnits::new(99_000)), Fault::Unproved(_)));
        assert!(matches!(first_input(|i| i.outpoint = "ab:0".to_owned()), Fault::Outpoint(_)));
        let other = "11".repeat(32) + ":0";
        assert!(matches!(first_input(|i| i.outpoint.clone_from(&other)), Fault::Unproved(_)));
        assert!(matches!(first_input(|i| i.previous.clear()), Fault::Unproved(_)));
        let less = |t: &mut Transaction| t.amount = BaseUnits::new(1_000);
        assert_eq!(fault(less, outputs()), Fault::Sums);
        let dear = |t: &mut Transaction| {
            (t.amount, t.fee_max) = (BaseUnits::new(280_000), BaseUnits::new(20_000));
        };
        assert!(matches!(fault(dear, outputs()), Fault::FeeTooHigh { .. }));
        assert!(matches!(
            account(|a| a.max_fee = BaseUnits::new(2_000_000_000_000)),
            Fault::FeeRateTooHigh { .. }
        ));
        assert_eq!(account(|a| a.gas_limit = 3_000_000), Fault::TooMuchGas(3_000_000));
        assert_eq!(account(|a| a.gas_limit = 65_001), Fault::Sums);
        assert_eq!(
            account(|a| a.chain_id = 137),
            Fault::OtherChain { planned: 137, pinned: 31_337 }
        );
        let coins = |t: &mut Transaction| t.amount = BaseUnits::new(1_000);
        assert!(matches!(fault(coins, coin()), Fault::FeeTooHigh { .. }));
    }

    #[test]
    fn a_token_s_fee_is_bounded_in_the_network_s_coin() {
        for transaction in [token(), authorized()] {
            let at = |fee| Transaction { fee_max: BaseUnits::new(fee), ..transaction.clone() };
            let pinned = pinned(Network::Polygon).unwrap();
            assert!(check_one(&at(TOKEN_FEE_MAX), &pinned).is_ok());
            let dear = check_one(&at(TOKEN_FEE_MAX + 1), &pinned).unwrap_err();
            assert!(matches!(dear, Fault::TokenFeeTooHigh { .. }), "{dear}");
        }
    }

    #[test]
    fn a_coin_is_taken_once() {
        let plan = Plan::new("swp_1".to_owned(), vec![token(), coin()]);
        assert!(matches!(check(&plan, pinned).unwrap_err().fault, Fault::Twice(_)));
        let plan = Plan::new("swp_1".to_owned(), vec![outputs(), outputs()]);
        let refused = check(&plan, pinned).unwrap_err();
        assert!(matches!(refused, Refused { position: 1, fault: Fault::Twice(_) }), "{refused}");
    }

    #[test]
    fn assets_and_kinds_belong_to_their_network() {
        let asset = |text: &'static str| move |t: &mut Transaction| t.asset = text.to_owned();
        assert!(matches!(fault(asset("btc@bitcoin"), token()), Fault::UnknownAsset(_)));
        assert!(matches!(fault(asset("none@polygon"), token()), Fault::UnknownAsset(_)));
        let from = token().from;
        assert_eq!(fault(|t| t.from = from.clone(), outputs()), Fault::OtherKind);
        let from = outputs().from;
        assert_eq!(fault(|t| t.from = from.clone(), token()), Fault::OtherKind);
    }
}
