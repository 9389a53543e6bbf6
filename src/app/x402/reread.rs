//! Reading a stored settlement again before it is signed.
//!
//! Its row was written by another program, whose password may be stolen, so nothing in it is
//! believed: the wallet signs nothing but a transfer of this token, as its payer signed it, to an
//! address of the merchant who is to be paid.

use super::token::Token;
use crate::{
    payout::eip1559::Transaction,
    storage::x402::following::OpenSettlement,
    x402::{
        Reason, Word,
        authorization::{Authorization, spelt},
        call,
        check::{self, Signer, seconds_left_min},
        eip712::KeySignature,
        gas,
    },
};

/// Seconds for which a settlement may wait for its signature, if its authorization lasts so long. A
/// payer learns then that he must sign another, and does not pay for what he gave up long ago.
const UNSIGNED_SECONDS_MAX: i64 = 600;

/// The authorization in a settlement's call, if it is what the rest of the row says.
fn authorized(token: &Token, settlement: &OpenSettlement) -> Option<Authorization> {
    let transaction = Transaction {
        chain_id: token.domain.chain_id,
        nonce: 0,
        priority_fee: 0,
        max_fee: 0,
        gas_limit: 0,
        to: token.domain.token,
        value: 0,
        data: settlement.call.clone(),
    };
    let (_, signed) = call::read(&transaction)?;
    let is_own = settlement.asset == token.contract
        && spelt(&signed.to) == settlement.pay_to
        && spelt(&signed.from) == settlement.payer
        && signed.nonce == settlement.nonce
        && signed.value == Word::from(settlement.amount.get());
    is_own.then_some(signed)
}

/// Why a stored settlement is not signed now or ever.
pub(super) fn refusal(
    token: &Token,
    settlement: &OpenSettlement,
) -> Option<(Reason, &'static str)> {
    let Some(signed) = authorized(token, settlement) else {
        return Some((Reason::Payload, "the stored call is not the payment that was verified"));
    };
    if !settlement.is_of_merchant {
        return Some((Reason::Recipient, "the address belongs to nothing that this seller sells"));
    }
    if settlement.amount < token.minimum {
        return Some((Reason::Requirements, "the amount is below the least that is settled"));
    }
    if settlement.is_suspended {
        return Some((Reason::Settling, "the seller is suspended"));
    }
    if call::is_by_contract(&settlement.call)
        && gas::is_too_often_reverted(settlement.payer_reverted)
    {
        return Some((Reason::Transaction, gas::TOO_OFTEN_REVERTED));
    }
    let now = u64::try_from(settlement.now).unwrap_or(0);
    let left = seconds_left_min(token.network);
    if let Err(reason) = check::window(&signed, now, left) {
        return Some((reason, "the authorization ended before a transaction was signed"));
    }
    let waited_too_long = settlement.known_for_seconds >= UNSIGNED_SECONDS_MAX;
    let why = "nothing could be sent for ten minutes; sign another authorization";
    waited_too_long.then_some((Reason::Settling, why))
}

/// Why the signature in a settlement's call is none that was verified. It is asked about those that
/// are next alone, because it costs more than all the rest.
///
/// The word of a contract is the token's to ask for: without it the node refuses the call.
pub(super) fn forgery(
    token: &Token,
    settlement: &OpenSettlement,
) -> Option<(Reason, &'static str)> {
    let told = authorized(token, settlement)
        .and_then(|signed| Some((signed, call::signature(&settlement.call, &signed)?)));
    let Some((signed, (signer, bytes))) = told else {
        return Some((Reason::Payload, "the stored call has other bytes than its payment"));
    };
    let is_payer = || {
        let key = KeySignature::read(&bytes)?;
        Some(token.domain.signer(&signed, &key)? == signed.from)
    };
    let is_forged = signer == Signer::Key && is_payer() != Some(true);
    is_forged.then_some((Reason::Signature, "another key than the payer's signed"))
}

#[cfg(test)]
mod tests {
    use k256::ecdsa::SigningKey;
    use uuid::Uuid;

    use super::*;
    use crate::{
        asset::{Network, address::evm},
        money::BaseUnits,
        payout::transfer::address_bytes,
        x402::{eip712::Domain, settlement::State, token_of},
    };

    const NOW: u64 = 1_800_000_000;

    fn token() -> Token {
        let currency = token_of(Network::Ethereum).unwrap();
        let contract = currency.contract.unwrap();
        let token = address_bytes(contract).unwrap();
        let (name, version) = ("USD Coin".to_owned(), "2".to_owned());
        Token {
            network: Network::Ethereum,
            currency,
            contract: spelt(&token),
            domain: Domain { name, version, chain_id: 1, token },
            minimum: BaseUnits::new(10_000),
        }
    }

    fn key() -> SigningKey {
        SigningKey::from_slice(&[7; 32]).unwrap()
    }

    fn signature(authorization: &Authorization) -> Vec<u8> {
        let digest = token().domain.digest(authorization);
        let (signature, recovery) = key().sign_prehash_recoverable(&digest);
        let mut bytes = signature.to_bytes().to_vec();
        bytes.push(27 + u8::from(recovery.is_y_odd()));
        bytes
    }

    fn authorization() -> Authorization {
        let payer = evm::address(&k256::PublicKey::from(key().verifying_key()));
        Authorization {
            from: address_bytes(&payer).unwrap(),
            to: [9; 20],
            value: 10_000_u64.into(),
            valid_after: 0_u64.into(),
            valid_before: (NOW + 60).into(),
            nonce: 5_u64.into(),
        }
    }

    /// As a program stores it that has verified it.
    fn row(signed: &Authorization, call: Vec<u8>) -> OpenSettlement {
        OpenSettlement {
            id: Uuid::from_u128(1),
            merchant_id: Uuid::from_u128(2),
            is_suspended: false,
            asset: token().contract,
            payer: spelt(&signed.from),
            nonce: signed.nonce,
            pay_to: spelt(&signed.to),
            is_of_merchant: true,
            amount: BaseUnits::new(signed.value.to_u128().unwrap()),
            call,
            state: State::Verified,
            sender: None,
            tx_nonce: None,
            height: None,
            answered_hash: None,
            sent_for_seconds: None,
            payer_reverted: 0,
            known_for_seconds: 0,
            now: i64::try_from(NOW).unwrap(),
            booked_as: Uuid::nil(),
            versions: vec![],
        }
    }

    fn stored(authorization: &Authorization) -> OpenSettlement {
        let call = call::data(authorization, &signature(authorization), Signer::Key);
        row(authorization, call)
    }

    fn reason(settlement: &OpenSettlement) -> Option<Reason> {
        let told = refusal(&token(), settlement).or_else(|| forgery(&token(), settlement));
        told.map(|(reason, _)| reason)
    }

    #[test]
    fn only_a_row_that_was_verified_is_signed() {
        let good = stored(&authorization());
        assert_eq!(reason(&good), None);
        let changed = |change: fn(&mut OpenSettlement)| {
            let mut settlement = good.clone();
            change(&mut settlement);
            reason(&settlement)
        };
        assert_eq!(changed(|one| one.payer = spelt(&[1; 20])), Some(Reason::Payload));
        assert_eq!(changed(|one| one.pay_to = spelt(&[1; 20])), Some(Reason::Payload));
        assert_eq!(changed(|one| one.amount = BaseUnits::new(20_000)), Some(Reason::Payload));
        // The same authorization under another nonce would be sent twice.
        assert_eq!(changed(|one| one.nonce = 6_u64.into()), Some(Reason::Payload));
        assert_eq!(changed(|one| one.call.extend([0; 32])), Some(Reason::Payload));
        assert_eq!(changed(|one| one.is_of_merchant = false), Some(Reason::Recipient));
        assert_eq!(changed(|one| one.is_suspended = true), Some(Reason::Settling));
        let less = Authorization { value: 9_999_u64.into(), ..authorization() };
        assert_eq!(reason(&stored(&less)), Some(Reason::Requirements));
    }

    #[test]
    fn a_signature_in_the_form_of_a_key_is_the_payer_s() {
        let signed = authorization();
        let other = Authorization { nonce: 6_u64.into(), ..signed };
        for bytes in [signature(&other), [[1; 64].as_slice(), &[27]].concat()] {
            let call = call::data(&signed, &bytes, Signer::Key);
            assert_eq!(reason(&row(&signed, call)), Some(Reason::Signature));
        }
        // The token asks the payer's contract.
        let call = call::data(&signed, &[1; 70], Signer::Contract);
        assert_eq!(reason(&row(&signed, call.clone())), None);
        // What it cost before, a key's payment may have cost for other reasons.
        let reverted =
            |call, payer_reverted| reason(&OpenSettlement { payer_reverted, ..row(&signed, call) });
        assert_eq!(reverted(call.clone(), 2), None);
        assert_eq!(reverted(call, 3), Some(Reason::Transaction));
        let by_key = call::data(&signed, &signature(&signed), Signer::Key);
        assert_eq!(reverted(by_key, 3), None);
    }

    #[test]
    fn a_row_waits_while_a_block_can_take_it_and_ten_minutes_at_most() {
        let ends_in = |seconds: u64| {
            let valid_before = (NOW + seconds).into();
            reason(&stored(&Authorization { valid_before, ..authorization() }))
        };
        // Ethereum's two blocks and what the reference asks.
        assert_eq!((ends_in(30), ends_in(29)), (None, Some(Reason::ValidBefore)));
        let waited = |seconds| {
            let valid_before = (NOW + 100_000).into();
            let stored = stored(&Authorization { valid_before, ..authorization() });
            reason(&OpenSettlement { known_for_seconds: seconds, ..stored })
        };
        assert_eq!((waited(599), waited(600)), (None, Some(Reason::Settling)));
    }
}
