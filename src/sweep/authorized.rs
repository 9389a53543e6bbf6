//! Tokens of addresses without coins (EIP-3009): the key of the address signs an authorization, and
//! the wallet that pays for gas the transaction that carries it out. Both keys are of the cold
//! seed.

use k256::ecdsa::SigningKey;
use sha3::{Digest, Keccak256};

use super::{
    check::{Fault, Pinned},
    evm::check_gas,
    plan::{Authorization, Transaction},
};
use crate::{
    asset::catalogue::Currency,
    payout::{eip1559, transfer::address_bytes},
    x402::{
        Word, authorization, call,
        check::Signer,
        eip712::{Domain, KeySignature},
    },
};

/// Added to the parity of a signature, as tokens expect it.
const V_OFFSET: u8 = 27;
/// `r`, `s` and `v`.
const SIGNATURE_BYTES: usize = 65;

/// A transaction whose data is not made yet: it has the authorization's signature in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    domain: Domain,
    authorization: authorization::Authorization,
    /// Without its data.
    transaction: eip1559::Transaction,
}

/// The authorized transfer to the treasury, if the settings allow it. A domain that the token does
/// not have gives a signature that is worth nothing.
pub(super) fn unsigned(
    planned: &Transaction,
    signed: &Authorization,
    currency: &Currency,
    pinned: &Pinned,
) -> Result<Unsigned, Fault> {
    let payer = &signed.gas_payer;
    check_gas(planned, payer, pinned)?;
    read(planned, signed, currency).ok_or(Fault::OtherKind)
}

fn read(planned: &Transaction, signed: &Authorization, currency: &Currency) -> Option<Unsigned> {
    let payer = &signed.gas_payer;
    let token = address_bytes(currency.contract?)?;
    let domain = Domain {
        name: signed.name.clone(),
        version: signed.version.clone(),
        chain_id: payer.chain_id,
        token,
    };
    let authorization = authorization::Authorization {
        from: address_bytes(&signed.address)?,
        to: address_bytes(&planned.to)?,
        value: Word::from(planned.amount.get()),
        // Without an end: whenever it is used, it pays the treasury.
        valid_after: Word::from(0_u64),
        valid_before: Word::from(u64::MAX),
        nonce: nonce(payer.chain_id, &token, &address_bytes(&signed.address)?, signed.number),
    };
    let transaction = eip1559::Transaction {
        chain_id: payer.chain_id,
        nonce: payer.nonce,
        priority_fee: payer.priority_fee.get(),
        max_fee: payer.max_fee.get(),
        gas_limit: payer.gas_limit,
        to: token,
        value: 0,
        data: vec![],
    };
    Some(Unsigned { domain, authorization, transaction })
}

/// The nonce of an authorization. Made of nothing that a plan chooses but the number: not of the
/// amount and not of the destination, so that no second plan can pay beside the first.
pub fn nonce(chain_id: u64, token: &[u8; 20], holder: &[u8; 20], number: u32) -> Word {
    const PURPOSE: &[u8] = b"gateway sweep";
    let hashed = Keccak256::new()
        .chain_update(PURPOSE)
        .chain_update(chain_id.to_be_bytes())
        .chain_update(token)
        .chain_update(holder)
        .chain_update(number.to_be_bytes());
    Word::new(hashed.finalize().into())
}

/// Signs the authorization with the holder's key, and its transaction with that of the wallet that
/// pays. The same keys give the same bytes.
pub(super) fn sign(
    unsigned: &Unsigned,
    holder: &SigningKey,
    gas_payer: &SigningKey,
) -> eip1559::Signed {
    let digest = unsigned.domain.digest(&unsigned.authorization);
    let (signature, recovery) = holder.sign_prehash_recoverable(&digest);
    let mut bytes = Vec::with_capacity(SIGNATURE_BYTES);
    let (r, s) = signature.split_bytes();
    bytes.extend_from_slice(&r);
    bytes.extend_from_slice(&s);
    bytes.push(V_OFFSET + u8::from(recovery.is_y_odd()));
    let data = call::data(&unsigned.authorization, &bytes, Signer::Key);
    eip1559::Transaction { data, ..unsigned.transaction.clone() }.sign(gas_payer)
}

/// Returns true if a transaction calls for the authorization, whatever its signatures.
pub(super) fn is_of(signed: &eip1559::Transaction, unsigned: &Unsigned) -> bool {
    let bare = eip1559::Transaction { data: vec![], ..signed.clone() };
    bare == unsigned.transaction
        && call::read(signed) == Some((unsigned.domain.token, unsigned.authorization))
}

/// Returns true if the call has the signature of the authorization's holder, and nothing behind it.
pub(super) fn is_signed(signed: &eip1559::Transaction, unsigned: &Unsigned) -> bool {
    let Unsigned { domain, authorization, .. } = unsigned;
    let Some((Signer::Key, bytes)) = call::signature(&signed.data, authorization) else {
        return false;
    };
    let signature = KeySignature::read(&bytes);
    let signer = signature.and_then(|signature| domain.signer(authorization, &signature));
    signer == Some(authorization.from)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            check::{Unsigned as Checked, check_one, samples::*},
            plan::{From, Plan},
            sign::sign,
        },
        *,
    };
    use crate::asset::Network;

    #[test]
    fn the_transaction_carries_the_holder_s_signature_for_the_treasury_alone() {
        let plan = Plan::new("swp_1".to_owned(), vec![authorized()]);
        let signed = sign(&plan, pinned, &seed()).unwrap();
        assert_eq!(sign(&plan, pinned, &seed()).unwrap(), signed);
        assert_eq!(signed.of_plan(&plan, pinned).unwrap().len(), 1);
        let raw = hex::decode(&signed.transactions[0].raw).unwrap();
        let read = eip1559::read_signed(&raw).unwrap();
        let (_, authorization) = call::read(&read.transaction).unwrap();
        assert_eq!(Some(authorization.to), address_bytes(TREASURY));

        // Signed by another key than the holder's.
        let checked = check_one(&authorized(), &pinned(Network::Polygon).unwrap()).unwrap();
        let Checked::Authorized(unsigned) = checked else { unreachable!() };
        let stranger = SigningKey::from_slice(&[7; 32]).unwrap();
        assert!(is_of(&read.transaction, &unsigned) && is_signed(&read.transaction, &unsigned));
        let other = super::sign(&unsigned, &stranger, &stranger).transaction;
        assert!(is_of(&other, &unsigned) && !is_signed(&other, &unsigned));
    }

    #[test]
    fn of_two_plans_for_one_token_of_an_address_the_token_takes_one() {
        let nonce_of = |transaction: &Transaction| {
            let checked = check_one(transaction, &pinned(Network::Polygon).unwrap()).unwrap();
            let Checked::Authorized(unsigned) = checked else { unreachable!() };
            unsigned.authorization.nonce
        };
        let first = nonce_of(&authorized());
        let more = Transaction { amount: crate::money::BaseUnits::new(7), ..authorized() };
        assert_eq!(nonce_of(&more), first);
        let mut next = authorized();
        let From::Authorization(signed) = &mut next.from else { unreachable!() };
        signed.number += 1;
        assert_ne!(nonce_of(&next), first);
        // Another place of the same number has a nonce of its own.
        let here = nonce(137, &[1; 20], &[2; 20], 0);
        for there in [
            nonce(138, &[1; 20], &[2; 20], 0),
            nonce(137, &[2; 20], &[2; 20], 0),
            nonce(137, &[1; 20], &[1; 20], 0),
        ] {
            assert_ne!(there, here);
        }
    }

    #[test]
    fn another_wallet_cannot_pay_for_the_gas() {
        let mut transaction = authorized();
        let From::Authorization(signed) = &mut transaction.from else { unreachable!() };
        signed.gas_payer.address = TREASURY.to_owned();
        let plan = Plan::new("swp_1".to_owned(), vec![transaction]);
        let refused = sign(&plan, pinned, &seed()).unwrap_err();
        assert!(matches!(refused.fault, Fault::OtherSeed { index: 0, .. }), "{refused}");
    }
}
