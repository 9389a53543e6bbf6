//! The file that the machine with the seed hands back, compared with the plan it was made of.

use bitcoin::consensus::encode;
use serde::{Deserialize, Serialize};

use super::{
    authorized,
    check::{self, Pinned, Refused, Unsigned},
    plan::{Account, From, Plan},
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
    #[error(
        "transaction {position}: the signature of {item} is not that of its address; sign the plan \
         again with the words of these addresses"
    )]
    Signature {
        position: usize,
        /// The input, or the address that sends or allows it.
        item: String,
    },
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
            sound(signed, from, &unsigned).map_err(|wrong| match wrong {
                Wrong::Else => Mismatch::Otherwise(position),
                Wrong::Signature(item) => Mismatch::Signature { position, item },
            })
        })
        .collect()
    }
}

/// Reason why one transaction is not taken.
enum Wrong {
    Else,
    /// Of this input or address.
    Signature(String),
}

/// Bytes with a wrong signature look like the planned ones, hold the plan's coins once they are
/// stored, and can never be mined: so each signature is verified first.
fn sound(signed: &Signed, from: &From, unsigned: &Unsigned) -> Result<Sound, Wrong> {
    let raw = hex::decode(&signed.raw).map_err(|_| Wrong::Else)?;
    let is_it = |is: bool| if is { Ok(()) } else { Err(Wrong::Else) };
    let hash = match (unsigned, from) {
        (Unsigned::Account(planned), From::Account(account)) => {
            let read = sent_by(&raw, account)?;
            is_it(read.transaction == *planned)?;
            signed_by(&read, account)?;
            read.hash
        }
        (Unsigned::Authorized(planned), From::Authorization(holder)) => {
            let read = sent_by(&raw, &holder.gas_payer)?;
            is_it(authorized::is_of(&read.transaction, planned))?;
            if !authorized::is_signed(&read.transaction, planned) {
                return Err(Wrong::Signature(holder.address.clone()));
            }
            signed_by(&read, &holder.gas_payer)?;
            read.hash
        }
        (Unsigned::Outputs(planned), From::Outputs(inputs)) => {
            let read: bitcoin::Transaction = encode::deserialize(&raw).map_err(|_| Wrong::Else)?;
            is_it(utxo::is_of(&read, &planned.transaction))?;
            if let Some(n) = utxo::first_unsigned(&read, planned) {
                let input = inputs.get(n).map(|input| input.outpoint.clone());
                return Err(Wrong::Signature(format!("input {}", input.unwrap_or_default())));
            }
            read.compute_txid().to_string()
        }
        (Unsigned::Account(_) | Unsigned::Authorized(_) | Unsigned::Outputs(_), _) => {
            return Err(Wrong::Else);
        }
    };
    is_it(hash == signed.hash)?;
    Ok(Sound { hash, raw })
}

fn sent_by(raw: &[u8], account: &Account) -> Result<eip1559::Signed, Wrong> {
    use eip1559::Unreadable;
    eip1559::read_signed(raw).map_err(|error| match error {
        Unreadable::BadSignature | Unreadable::HighSignature => {
            Wrong::Signature(account.address.clone())
        }
        Unreadable::OtherType | Unreadable::Malformed | Unreadable::AccessList => Wrong::Else,
    })
}

fn signed_by(read: &eip1559::Signed, account: &Account) -> Result<(), Wrong> {
    if read.sender.eq_ignore_ascii_case(&account.address) {
        return Ok(());
    }
    Err(Wrong::Signature(account.address.clone()))
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

    fn refused(signed: &SignedPlan, plan: &Plan, item: &str) {
        let wrong = Mismatch::Signature { position: 0, item: item.to_owned() };
        assert_eq!(signed.of_plan(plan, pinned), Err(wrong));
    }

    /// A plan of the sample's outputs, and its signed file with other bytes.
    fn changed(change: impl Fn(&mut bitcoin::Transaction)) -> (SignedPlan, Plan) {
        let plan = Plan::new("swp_1".to_owned(), vec![outputs()]);
        let mut signed = sign(&plan, pinned, &seed()).unwrap();
        let raw = hex::decode(&signed.transactions[0].raw).unwrap();
        let mut read: bitcoin::Transaction = encode::deserialize(&raw).unwrap();
        change(&mut read);
        signed.transactions[0].raw = hex::encode(encode::serialize(&read));
        (signed, plan)
    }

    #[test]
    fn an_input_without_the_signature_of_its_own_key_is_refused_by_name() {
        let plan = outputs();
        let From::Outputs(inputs) = &plan.from else { unreachable!() };
        let [first, second] = [0, 1].map(|n| format!("input {}", inputs[n].outpoint));
        let (signed, plan) = changed(|one| one.input[1].witness.clear());
        refused(&signed, &plan, &second);
        // Each is a signature and a key, of the other output.
        let (signed, plan) = changed(|one| {
            let witness = one.input[0].witness.clone();
            one.input[0].witness = one.input[1].witness.clone();
            one.input[1].witness = witness;
        });
        refused(&signed, &plan, &first);
        // The right key beside another digest's signature.
        let (signed, plan) = changed(|one| {
            let stranger = one.input[0].witness.nth(0).unwrap().to_vec();
            let key = one.input[1].witness.nth(1).unwrap().to_vec();
            one.input[1].witness = bitcoin::Witness::from_slice(&[stranger, key]);
        });
        refused(&signed, &plan, &second);
        let (signed, plan) = changed(|one| {
            let mut witness = one.input[1].witness.to_vec();
            witness[0][20] ^= 1;
            one.input[1].witness = bitcoin::Witness::from_slice(&witness);
        });
        refused(&signed, &plan, &second);
        let (signed, plan) = changed(|one| one.input[1].witness.push([7]));
        refused(&signed, &plan, &second);
        let (signed, plan) = changed(|_| ());
        assert_eq!(signed.of_plan(&plan, pinned).map(|sound| sound.len()), Ok(1));
    }

    #[test]
    fn a_transaction_of_another_sender_or_without_the_holder_s_signature_is_refused_by_name() {
        let stranger = k256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap();
        for planned in [token(), authorized()] {
            let plan = Plan::new("swp_1".to_owned(), vec![planned.clone()]);
            let mut signed = sign(&plan, pinned, &seed()).unwrap();
            let raw = hex::decode(&signed.transactions[0].raw).unwrap();
            let read = eip1559::read_signed(&raw).unwrap();
            let other = read.transaction.clone().sign(&stranger);
            let set = |signed: &mut SignedPlan, other: eip1559::Signed| {
                let (raw, hash) = (hex::encode(other.raw), other.hash);
                signed.transactions[0] = Signed { raw, hash };
            };
            set(&mut signed, other);
            let (sender, holder) = match &planned.from {
                From::Account(account) => (&account.address, None),
                From::Authorization(one) => (&one.gas_payer.address, Some(&one.address)),
                From::Outputs(_) => unreachable!(),
            };
            refused(&signed, &plan, sender);
            let Some(holder) = holder else { continue };
            let mut other = read.transaction;
            *other.data.last_mut().unwrap() ^= 1;
            set(&mut signed, other.clone().sign(&stranger));
            refused(&signed, &plan, holder);
            // Bytes behind the call that no token reads.
            other.data.push(0);
            set(&mut signed, other.sign(&stranger));
            refused(&signed, &plan, holder);
        }
    }
}
