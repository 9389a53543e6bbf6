//! A conflicting transaction (double-spend) that took a payment's place: the proof that our bytes
//! can never be mined, and the payments that it made instead.
//!
//! A nonce and an output are used once. So a transaction that is final and used those of a payment,
//! and is none of its versions, ends the payment for good, no matter who made it.

use std::collections::HashSet;

use bitcoin::{OutPoint, Transaction, TxOut, Txid, consensus::encode};
use serde::Deserialize;
use serde_json::json;

use super::{EvmPayer, Mined, Payer, UtxoPayer, Wanted, Witnesses};
use crate::{
    chain::{ChainError, evm::quantity},
    money::BaseUnits,
    payout::{
        batch::Seen,
        eip1559,
        multisend::{self, Act},
        transfer::{self, Asset, address_bytes},
    },
};

const TRANSACTION: &str = "eth_getTransactionByHash";

/// A transaction as a person names it. Nodes of bitcoin's kind find one by its block alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub hash: String,
    pub height: Option<u64>,
}

/// The transaction that took the place of one of several payments, final in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicting {
    /// Of the payment, among those that were asked about.
    pub at: usize,
    pub mined: Mined,
    pub did: Did,
    pub returned: Option<Returned>,
}

/// The money that came back by it, where that can be spent: its bytes, all that it spends
/// (`txid:n`), and the outputs that pay the payment's own address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    pub raw: Vec<u8>,
    pub spends: Vec<String>,
    pub own: Vec<(u32, BaseUnits)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    /// All that the payment was to do, to the unit.
    PaidAll,
    /// None of the payment's recipients got anything by it.
    PaidNobody,
    /// Something of the token moved, and not the amount that was signed for.
    MovedOther,
    /// It called the token, as far as is known, and the token logged no movement of the sender's.
    NoLog,
    /// A case that no rule can settle.
    Else(&'static str),
}

impl Witnesses {
    /// Finds the transaction that took the place of one of `payments`, as a witness confirms it too
    /// where there is one; `None` if there is none, or it is not final yet.
    pub async fn conflicting(
        &self,
        payer: &Payer,
        payments: &[Wanted],
        named: &Named,
        required: u64,
    ) -> Result<Option<Conflicting>, ChainError> {
        let Some(told) = payer.conflicting(payments, named, required).await? else {
            return Ok(None);
        };
        for node in &self.nodes {
            if node.conflicting(payments, named, required).await?.as_ref() == Some(&told) {
                return Ok(Some(told));
            }
        }
        Ok(self.nodes.is_empty().then_some(told))
    }
}

impl Payer {
    async fn conflicting(
        &self,
        payments: &[Wanted],
        named: &Named,
        required: u64,
    ) -> Result<Option<Conflicting>, ChainError> {
        match self {
            // A simulated nonce is used by its own payment alone.
            Self::Simulated(_) => Ok(None),
            Self::Evm(payer) => payer.conflicting(payments, &named.hash, required).await,
            Self::Utxo(payer) => payer.conflicting(payments, named, required).await,
        }
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    hash: &'a str,
    from: &'a str,
    nonce: &'a str,
    to: Option<&'a str>,
    value: &'a str,
    input: &'a str,
}

impl EvmPayer {
    async fn conflicting(
        &self,
        payments: &[Wanted],
        hash: &str,
        required: u64,
    ) -> Result<Option<Conflicting>, ChainError> {
        let result = self.rpc.call(TRANSACTION, json!([hash])).await?;
        let wire: Option<Wire> = self.rpc.read(TRANSACTION, &result)?;
        let Some(wire) = wire.filter(|wire| wire.hash.eq_ignore_ascii_case(hash)) else {
            return Ok(None);
        };
        let nonce = quantity::number(wire.nonce).ok_or_else(|| self.malformed(TRANSACTION))?;
        let is_its = |payment: &Wanted| {
            payment.sender.eq_ignore_ascii_case(wire.from) && payment.nonce == nonce
        };
        let Some(at) = payments.iter().position(is_its) else { return Ok(None) };
        let as_version = Wanted { hashes: vec![hash.to_ascii_lowercase()], ..payments[at].clone() };
        let standing = self.mined(&[&as_version], required).await?.pop().flatten();
        let Some(standing) = standing.filter(|standing| standing.seen.is_final(required)) else {
            return Ok(None);
        };
        let did = did(&payments[at].raw, &wire, standing.seen);
        Ok(standing.mined.map(|mined| Conflicting { at, mined, did, returned: None }))
    }
}

/// Compares a transaction with the payment that `raw` promised. The logs of a token were compared
/// already: `seen` has their result.
fn did(raw: &[u8], wire: &Wire<'_>, seen: Seen) -> Did {
    let Ok(promised) = eip1559::read_own(raw) else {
        return Did::Else("what the payment was to do cannot be read");
    };
    let of_coins = match (transfer::paid(&promised), multisend::read(&promised)) {
        (Some((Asset::Coin, output)), _) => Some(output),
        (Some((Asset::Token(_), _)), _) | (None, Some(Act::Pays { .. })) => None,
        (None, Some(Act::Allows { .. }) | None) => {
            return Did::Else("what the payment was to do cannot be read");
        }
    };
    match (seen, of_coins) {
        (Seen::Unexplained { moved: true, .. }, _) => Did::MovedOther,
        (Seen::Unexplained { moved: false, .. }, _) => Did::NoLog,
        (Seen::Mined { succeeded: false, .. }, _) => Did::PaidNobody,
        (Seen::Mined { succeeded: true, .. }, None) => Did::PaidAll,
        (Seen::Mined { succeeded: true, .. }, Some(output)) => {
            let value = wire.value.strip_prefix("0x").unwrap_or_default();
            let value = u128::from_str_radix(value, 16).ok();
            let to = wire.to.and_then(|to| address_bytes(&to.to_ascii_lowercase()));
            if wire.input != "0x" || to.is_none() {
                Did::Else("it calls a contract, so the recipients that it paid are not known")
            } else if value == Some(0) || to != Some(output.to) {
                Did::PaidNobody
            } else if value == Some(output.amount.get()) {
                Did::PaidAll
            } else {
                Did::Else("it paid the recipient another amount")
            }
        }
        (Seen::Nowhere | Seen::Waiting | Seen::Displaced, _) => Did::Else("it is in no block"),
    }
}

impl UtxoPayer {
    async fn conflicting(
        &self,
        payments: &[Wanted],
        named: &Named,
        required: u64,
    ) -> Result<Option<Conflicting>, ChainError> {
        let (Ok(id), Some(height)) = (named.hash.parse::<Txid>(), named.height) else {
            return Ok(None);
        };
        let mined = Mined { hash: id.to_string(), height, fee: BaseUnits::ZERO, gas: None };
        if !self.holds(&mined, required).await? {
            return Ok(None);
        }
        let found = self.transaction(id, height).await?;
        let spent: HashSet<_> = found.input.iter().map(|input| input.previous_output).collect();
        for (at, payment) in payments.iter().enumerate() {
            let ours = encode::deserialize::<Transaction>(&payment.raw).ok();
            let Some((ours, own)) = ours.zip(self.own_script(&payment.sender)) else { continue };
            if let Some(did) = took(&ours, &found, &spent, &own) {
                let own = own_outputs(&found, &own);
                let is_known = match did {
                    Did::PaidAll => true,
                    Did::PaidNobody => !own.is_empty(),
                    Did::MovedOther | Did::NoLog | Did::Else(_) => false,
                };
                let returned = is_known.then(|| Returned {
                    raw: encode::serialize(&found),
                    spends: spent.iter().map(ToString::to_string).collect(),
                    own,
                });
                return Ok(Some(Conflicting { at, mined, did, returned }));
            }
        }
        Ok(None)
    }
}

/// Compares `found` with the payment that `ours` promised; `None` if it spends nothing that ours
/// spends.
fn took(
    ours: &Transaction,
    found: &Transaction,
    spent: &HashSet<OutPoint>,
    own: &[u8],
) -> Option<Did> {
    let taken = ours.input.iter().filter(|input| spent.contains(&input.previous_output)).count();
    if taken == 0 {
        return None;
    }
    let pays = |of: &Transaction| -> Vec<TxOut> {
        of.output.iter().filter(|out| out.script_pubkey.as_bytes() != own).cloned().collect()
    };
    let (promised, paid) = (pays(ours), pays(found));
    let is_all = taken == ours.input.len();
    let meets = |out: &TxOut| promised.iter().any(|due| due.script_pubkey == out.script_pubkey);
    Some(if is_all && found.input.len() == taken && paid == promised {
        Did::PaidAll
    } else if paid.iter().any(meets) {
        Did::Else("it pays some of the recipients")
    } else if !is_all {
        Did::Else(
            "it spends a part of what the payment spends, and the rest could not be sent back",
        )
    } else {
        Did::PaidNobody
    })
}

fn own_outputs(found: &Transaction, own: &[u8]) -> Vec<(u32, BaseUnits)> {
    let outputs = (0_u32..).zip(&found.output);
    outputs
        .filter(|(_, out)| out.script_pubkey.as_bytes() == own)
        .map(|(n, out)| (n, BaseUnits::new(out.value.to_sat().into())))
        .collect()
}

#[cfg(test)]
mod tests {
    use bitcoin::{
        Amount, ScriptBuf, TxIn, absolute::LockTime, hashes::Hash, transaction::Version,
    };

    use super::*;

    const OWN: u8 = 1;

    /// Spends outputs by number, and pays scripts by number.
    fn transaction(spends: &[u8], pays: &[(u8, u64)]) -> Transaction {
        let input = |n: &u8| TxIn {
            previous_output: OutPoint { txid: Txid::from_byte_array([*n; 32]), vout: 0 },
            ..TxIn::default()
        };
        let output = |(script, amount): &(u8, u64)| TxOut {
            script_pubkey: ScriptBuf::from_bytes(vec![*script]),
            value: Amount::from_sat(*amount),
        };
        Transaction {
            version: Version::TWO,
            lock_time: LockTime::ZERO,
            input: spends.iter().map(input).collect(),
            output: pays.iter().map(output).collect(),
        }
    }

    #[test]
    fn a_double_spend_of_a_payment_paid_all_or_none_of_its_recipients_or_needs_an_operator() {
        let ours = transaction(&[10, 11], &[(2, 50), (3, 60), (OWN, 5)]);
        let verdict = |spends: &[u8], pays: &[(u8, u64)]| {
            let found = transaction(spends, pays);
            let spent = found.input.iter().map(|input| input.previous_output).collect();
            took(&ours, &found, &spent, &[OWN])
        };
        let all: &[(u8, u64)] = &[(2, 50), (3, 60), (OWN, 4)];
        assert_eq!(
            verdict(&[11, 10], all),
            Some(Did::PaidAll),
            "another fee, or another signature"
        );
        assert_eq!(verdict(&[12], all), None, "it took nothing of ours");
        for other in [
            verdict(&[10, 11, 12], all),
            verdict(&[10], all),
            verdict(&[10, 11], &[(2, 50)]),
            verdict(&[10, 11], &[(2, 50), (3, 61)]),
            verdict(&[10, 11], &[(3, 60), (2, 50)]),
            verdict(&[10], &[(9, 50)]),
        ] {
            assert!(matches!(other, Some(Did::Else(_))), "{other:?}");
        }
        assert_eq!(verdict(&[10, 11], &[(9, 110)]), Some(Did::PaidNobody));
        assert_eq!(verdict(&[10, 11, 12], &[(OWN, 110)]), Some(Did::PaidNobody));
    }

    #[test]
    fn a_conflicting_transaction_is_judged_by_the_recipients_and_amounts_it_paid() {
        let key = k256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap();
        let to = [0xaa; 20];
        let (to, value, data) =
            transfer::call(Asset::Coin, transfer::Output { to, amount: BaseUnits::new(500) });
        let (chain_id, nonce, gas_limit) = (1, 3, 21_000);
        let (priority_fee, max_fee) = (1, 1);
        let signed = eip1559::Transaction {
            chain_id,
            nonce,
            priority_fee,
            max_fee,
            gas_limit,
            to,
            value,
            data,
        }
        .sign(&key);
        let good = format!("0x{}", "AA".repeat(20));
        let other = format!("0x{}", "bb".repeat(20));
        let verdict = |to: Option<&str>, value: &str, input: &str, succeeded| {
            let wire = Wire { hash: "", from: "", nonce: "", to, value, input };
            did(&signed.raw, &wire, Seen::Mined { depth: 9, succeeded })
        };
        assert_eq!(verdict(Some(&good), "0x1f4", "0x", true), Did::PaidAll);
        assert_eq!(verdict(Some(&good), "0x1f4", "0x", false), Did::PaidNobody);
        assert_eq!(verdict(Some(&good), "0x0", "0x", true), Did::PaidNobody);
        assert_eq!(verdict(Some(&other), "0x1f4", "0x", true), Did::PaidNobody);
        for unclear in [
            verdict(Some(&good), "0x1f3", "0x", true),
            verdict(Some(&other), "0x1f4", "0x00", true),
            verdict(None, "0x1f4", "0x", true),
        ] {
            assert!(matches!(unclear, Did::Else(_)), "{unclear:?}");
        }
    }
}
