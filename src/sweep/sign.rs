//! Signing a plan with the seed of the invoices, on a machine without a network.

use bip32::{ChildNumber, XPrv};
use bitcoin::consensus::encode;
use k256::ecdsa::SigningKey;

use super::{
    authorized,
    check::{self, Fault, Pinned, Refused, Unsigned},
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
