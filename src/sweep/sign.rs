//! Signing a plan with the seed of the invoices, on a machine without a network.

use std::collections::HashSet;

use bip32::{ChildNumber, XPrv};
use bitcoin::consensus::encode;
use k256::ecdsa::SigningKey;

use super::{
    authorized,
    check::{self, Fault, Pinned, Refused, Unsigned},
    own,
    plan::{From, Plan, Transaction},
    signed::{Signed, SignedPlan},
    utxo,
};
use crate::asset::{
    Family, Network, Realm,
    address::{self, Account, AccountKey},
};

/// Checks and signs all of a plan. The same plan, settings and seed give the same bytes.
///
/// # Errors
/// The first fault; then nothing is signed.
pub fn sign(
    plan: &Plan,
    pinned: impl Fn(Network) -> Option<Pinned>,
    seed: &[u8],
) -> Result<SignedPlan, Refused> {
    let checked = check::check(plan, &pinned)?;
    refuse_own(plan, &pinned, seed)?;
    // The keys of all are compared before the first signature.
    let mut prepared = Vec::with_capacity(checked.len());
    for (position, (planned, unsigned)) in plan.transactions.iter().zip(checked).enumerate() {
        let refused = |fault| Refused { position, fault };
        let realm = pinned(planned.network).map_or(Realm::Main, |pinned| pinned.realm);
        let keys = keys(planned, realm, seed).map_err(refused)?;
        prepared.push((unsigned, keys));
    }
    let mut transactions = Vec::with_capacity(prepared.len());
    for (position, (unsigned, keys)) in prepared.into_iter().enumerate() {
        let signed = signed(unsigned, &keys);
        transactions.push(signed.ok_or(Refused { position, fault: Fault::OtherKind })?);
    }
    Ok(SignedPlan::new(plan.id.clone(), transactions))
}

/// Refuses a treasury whose key is one of this seed's. The other machine looks too, and may be
/// anybody's.
fn refuse_own(
    plan: &Plan,
    pinned: impl Fn(Network) -> Option<Pinned>,
    seed: &[u8],
) -> Result<(), Refused> {
    let highest = plan.transactions.iter().map(highest).max().unwrap_or(0);
    // All EVM networks share their keys, and mostly their treasury.
    let mut looked = HashSet::new();
    for (position, planned) in plan.transactions.iter().enumerate() {
        let (network, family) = (planned.network, planned.network.family());
        let refused = |fault| Refused { position, fault };
        let pinned = pinned(network).ok_or_else(|| refused(Fault::NoTreasury(network)))?;
        if !looked.insert((family, address::match_key(family, &pinned.treasury))) {
            continue;
        }
        let owner = Owner::of(Account::Invoices, family, pinned.realm, seed);
        let key = owner.ok_or_else(|| refused(Fault::NotSwept(network)))?.public;
        if let Some(index) = own::index_of(&key, family, &pinned.treasury, highest) {
            return Err(refused(Fault::OwnTreasury { network, index }));
        }
        let gas_payer = Account::Sweeps.first_address(seed, family, pinned.realm);
        let spelt = |text: &str| address::match_key(family, text);
        if gas_payer.is_some_and(|own| spelt(&own) == spelt(&pinned.treasury)) {
            return Err(refused(Fault::OwnTreasury { network, index: 0 }));
        }
    }
    Ok(())
}

/// The highest index that a transaction takes from.
fn highest(planned: &Transaction) -> u32 {
    match &planned.from {
        From::Account(account) => account.index,
        From::Authorization(signed) => signed.index,
        From::Outputs(inputs) => inputs.iter().map(|input| input.index).max().unwrap_or(0),
    }
}

fn signed(unsigned: Unsigned, keys: &[SigningKey]) -> Option<Signed> {
    match unsigned {
        Unsigned::Account(transaction) => {
            let signed = transaction.sign(keys.first()?);
            Some(Signed { hash: signed.hash, raw: hex::encode(signed.raw) })
        }
        Unsigned::Authorized(unsigned) => {
            let [holder, gas_payer] = keys else { return None };
            let signed = authorized::sign(&unsigned, holder, gas_payer);
            Some(Signed { hash: signed.hash, raw: hex::encode(signed.raw) })
        }
        Unsigned::Outputs(unsigned) => {
            let signed = utxo::sign(&unsigned, keys)?;
            let hash = signed.compute_txid().to_string();
            Some(Signed { hash, raw: hex::encode(encode::serialize(&signed)) })
        }
    }
}

/// The keys of a transaction's inputs, each compared with the address that the plan names.
fn keys(planned: &Transaction, realm: Realm, seed: &[u8]) -> Result<Vec<SigningKey>, Fault> {
    let family = planned.network.family();
    let of =
        |account| Owner::of(account, family, realm, seed).ok_or(Fault::NotSwept(planned.network));
    let owner = of(Account::Invoices)?;
    match &planned.from {
        From::Account(account) => Ok(vec![owner.key(&account.address, account.index)?]),
        From::Authorization(signed) => {
            let payer = &signed.gas_payer;
            let gas_payer = of(Account::Sweeps)?.key(&payer.address, payer.index)?;
            Ok(vec![owner.key(&signed.address, signed.index)?, gas_payer])
        }
        From::Outputs(inputs) => {
            inputs.iter().map(|input| owner.key(&input.address, input.index)).collect()
        }
    }
}

/// An account of the seed in a family.
struct Owner {
    family: Family,
    private: XPrv,
    public: AccountKey,
}

impl Owner {
    fn of(account: Account, family: Family, realm: Realm, seed: &[u8]) -> Option<Self> {
        let private = account.receiving(seed, family, realm)?;
        let public = account.xpub(seed, family, realm)?;
        let public = AccountKey::parse_in(realm, family, &public).ok()?;
        Some(Self { family, private, public })
    }

    fn key(&self, planned: &str, index: u32) -> Result<SigningKey, Fault> {
        let own = self.public.address(index).map_err(|_| Fault::NoKey(index))?;
        let spelt = |text: &str| address::match_key(self.family, text);
        if spelt(&own) != spelt(planned) {
            return Err(Fault::OtherSeed { address: planned.to_owned(), index });
        }
        let number = ChildNumber::new(index, false).map_err(|_| Fault::NoKey(index))?;
        let child = self.private.derive_child(number).map_err(|_| Fault::NoKey(index))?;
        Ok(child.private_key().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::check::samples::*, *};

    fn plan() -> Plan {
        Plan::new("swp_1".to_owned(), vec![token(), outputs()])
    }

    #[test]
    fn the_same_plan_gives_the_same_bytes_and_they_are_its_own() {
        let signed = sign(&plan(), pinned, &seed()).unwrap();
        assert_eq!(sign(&plan(), pinned, &seed()).unwrap(), signed);
        assert_eq!(signed.of_plan(&plan(), pinned).unwrap().len(), 2);
    }

    #[test]
    fn a_treasury_of_the_same_seed_is_refused_at_any_index_to_come() {
        for index in [0, 3, 500, 4_000] {
            let treasury = deposit_address(Family::Evm, Realm::Main, index);
            let own = |network| Some(Pinned { treasury: treasury.clone(), ..pinned(network)? });
            let to = Transaction { to: treasury.clone(), ..token() };
            let plan = Plan::new("swp_1".to_owned(), vec![to]);
            let refused = sign(&plan, own, &seed()).unwrap_err().fault;
            assert_eq!(refused, Fault::OwnTreasury { network: Network::Polygon, index });
        }
    }

    #[test]
    fn another_seed_signs_nothing() {
        let refused = sign(&plan(), pinned, &[7; 64]).unwrap_err();
        assert!(matches!(refused.fault, Fault::OtherSeed { index: 3, .. }), "{refused}");
        let mut other = plan();
        let From::Outputs(inputs) = &mut other.transactions[1].from else { unreachable!() };
        inputs[1].index = 8;
        let refused = sign(&other, pinned, &seed()).unwrap_err();
        assert!(matches!(refused.fault, Fault::OtherSeed { index: 8, .. }), "{refused}");
        assert_eq!(refused.position, 1);
    }
}
