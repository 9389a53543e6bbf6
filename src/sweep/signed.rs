//! The file that the machine with the seed hands back, compared with the plan it was made of.

use bitcoin::consensus::encode;
use serde::{Deserialize, Serialize};

use super::{
    authorized,
    check::{self, Pinned, Refused, Unsigned},
    plan::{From, Plan},
    utxo,
};
use crate::{asset::Network, payout::eip1559};

const FORMAT: &str = "gateway-sweep-signed";
const VERSION: u32 = 1;

/// The signed transactions of a plan, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedPlan {
    format: String,
    version: u32,
    pub plan: String,
    pub transactions: Vec<Signed>,
}

/// The bytes of a transaction in hex, and its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    pub hash: String,
    pub raw: String,
}

/// Bytes that make exactly the planned transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sound {
    pub hash: String,
    pub raw: Vec<u8>,
}

/// Reason why signed bytes are not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("it is not the file that gatewayctl sweep sign writes: {0}")]
    Malformed(String),
    #[error("it belongs to the plan {found}, and not to {wanted}")]
    OtherPlan { found: String, wanted: String },
    #[error("it has {found} transactions, and the plan has {wanted}")]
    Count { found: usize, wanted: usize },
    #[error("transaction {0} does not do what was planned")]
    Otherwise(usize),
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl SignedPlan {
    pub(super) fn new(plan: String, transactions: Vec<Signed>) -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, plan, transactions }
    }

    /// The file. The same plan has the same bytes.
    ///
    /// # Errors
    /// Never for one of ours.
    pub fn write(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// # Errors
    /// If it is not such a file.
    pub fn read(text: &str) -> Result<Self, Mismatch> {
        let malformed = |text: String| Mismatch::Malformed(text);
        let read: Self =
            serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        if read.format == FORMAT && read.version == VERSION {
            return Ok(read);
        }
        Err(malformed(format!("its format is {:?} {}", read.format, read.version)))
    }

    /// The bytes, if they make the transactions of `plan`, and the settings here allow these.
    ///
    /// # Errors
    /// The first difference.
    pub fn of_plan(
        &self,
        plan: &Plan,
        pinned: impl Fn(Network) -> Option<Pinned>,
    ) -> Result<Vec<Sound>, Mismatch> {
        if self.plan != plan.id {
            let (found, wanted) = (self.plan.clone(), plan.id.clone());
            return Err(Mismatch::OtherPlan { found, wanted });
        }
        let (found, wanted) = (self.transactions.len(), plan.transactions.len());
        if found != wanted {
            return Err(Mismatch::Count { found, wanted });
        }
        let checked = check::check(plan, pinned)?;
        let planned = plan.transactions.iter().map(|planned| &planned.from);
        let all = self.transactions.iter().zip(planned.zip(checked)).enumerate();
        all.map(|(position, (signed, (from, unsigned)))| {
            sound(signed, from, &unsigned).ok_or(Mismatch::Otherwise(position))
        })
        .collect()
    }
}

fn sound(signed: &Signed, from: &From, unsigned: &Unsigned) -> Option<Sound> {
    let raw = hex::decode(&signed.raw).ok()?;
    let hash = match (unsigned, from) {
        (Unsigned::Account(planned), From::Account(account)) => {
            let read = eip1559::read_signed(&raw).ok()?;
            let is_own = read.sender.eq_ignore_ascii_case(&account.address);
            (is_own && read.transaction == *planned).then_some(read.hash)?
        }
        (Unsigned::Authorized(planned), From::Authorization(signed)) => {
            let read = eip1559::read_signed(&raw).ok()?;
            let is_own = read.sender.eq_ignore_ascii_case(&signed.gas_payer.address);
            (is_own && authorized::is_of(&read.transaction, planned)).then_some(read.hash)?
        }
        (Unsigned::Outputs(planned), From::Outputs(_)) => {
            let read: bitcoin::Transaction = encode::deserialize(&raw).ok()?;
            let has_signatures = read
                .input
                .iter()
                .all(|input| !input.witness.is_empty() || !input.script_sig.is_empty());
            let is_it = has_signatures && utxo::is_of(&read, &planned.transaction);
            is_it.then(|| read.compute_txid().to_string())?
        }
        (Unsigned::Account(_) | Unsigned::Authorized(_) | Unsigned::Outputs(_), _) => return None,
    };
    (hash == signed.hash).then_some(Sound { hash, raw })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{check::samples::*, sign::sign},
        *,
    };

    #[test]
    fn bytes_that_do_anything_else_are_refused() {
        let plan = Plan::new("swp_1".to_owned(), vec![token(), outputs()]);
        let signed = sign(&plan, pinned, &seed()).unwrap();
        let text = signed.write().unwrap();
        assert_eq!(SignedPlan::read(&text), Ok(signed.clone()));

        let mut swapped = signed.clone();
        swapped.transactions.swap(0, 1);
        assert_eq!(swapped.of_plan(&plan, pinned), Err(Mismatch::Otherwise(0)));
        let mut short = signed.clone();
        short.transactions.pop();
        let count = Mismatch::Count { found: 1, wanted: 2 };
        assert_eq!(short.of_plan(&plan, pinned), Err(count));
        let mut changed = plan.clone();
        changed.transactions[0].amount = crate::money::BaseUnits::new(1);
        assert_eq!(signed.of_plan(&changed, pinned), Err(Mismatch::Otherwise(0)));
        let other = Plan::new("swp_2".to_owned(), plan.transactions.clone());
        assert!(matches!(signed.of_plan(&other, pinned), Err(Mismatch::OtherPlan { .. })));
        let moved = |network| {
            let treasury = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC".to_owned();
            pinned(network).map(|pinned| Pinned { treasury, ..pinned })
        };
        assert!(matches!(signed.of_plan(&plan, moved), Err(Mismatch::Refused(_))));
    }

    #[test]
    fn a_transaction_without_signatures_is_not_sent() {
        let plan = Plan::new("swp_1".to_owned(), vec![outputs()]);
        let mut signed = sign(&plan, pinned, &seed()).unwrap();
        let raw = hex::decode(&signed.transactions[0].raw).unwrap();
        let mut bare: bitcoin::Transaction = encode::deserialize(&raw).unwrap();
        bare.input[1].witness.clear();
        signed.transactions[0].raw = hex::encode(encode::serialize(&bare));
        assert_eq!(signed.of_plan(&plan, pinned), Err(Mismatch::Otherwise(0)));
    }
}
