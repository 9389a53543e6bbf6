//! Compares a payment with the terms, by its own fields alone. The chain is asked afterwards:
//! most bad payments end here, and cost a signature's recovery at most.

use super::{
    Reason, Word,
    authorization::Authorization,
    eip712::{Domain, KeySignature},
    wire::{Payment, Terms},
};
use crate::{asset::Network, money::BaseUnits};

/// Seconds for which an authorization must still be valid, as the reference asks.
const SECONDS_LEFT_MIN: u64 = 6;
/// Blocks that may come before the one with our transaction.
const BLOCKS_LEFT_MIN: u64 = 2;

/// Seconds for which an authorization must still be valid: what the reference asks, and the blocks
/// that a transaction may miss. A transaction that is mined later is reverted at our expense.
pub const fn seconds_left_min(network: Network) -> u64 {
    SECONDS_LEFT_MIN + BLOCKS_LEFT_MIN * block_seconds(network)
}

/// Seconds for which a payer is asked to sign: as the seller wishes, and so long that at least half
/// of it is left for what happens before our signature.
pub fn timeout_seconds(network: Network, wished: u64) -> u64 {
    wished.max(2 * seconds_left_min(network))
}

/// Seconds between two blocks, rounded up, of networks that have a token of x402: a slot of
/// Ethereum is twelve (consensus specification, `SECONDS_PER_SLOT`), the block time of Polygon, of
/// the OP stack and of Avalanche up to two, and that of Arbitrum a quarter, by their documentation.
const fn block_seconds(network: Network) -> u64 {
    match network {
        Network::Arbitrum => 1,
        Network::Polygon | Network::Optimism | Network::Base | Network::Avalanche => 2,
        Network::Ethereum
        // Nothing is settled on these.
        | Network::Bitcoin
        | Network::Litecoin
        | Network::Dogecoin
        | Network::Bsc
        | Network::Tron
        | Network::Solana
        | Network::Near
        | Network::Ton
        | Network::Thorchain => 12,
    }
}

/// The one whose word is the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signer {
    /// The payer's own key.
    Key,
    /// No key's of the payer: if there is a contract at the payer's address, it decides
    /// (EIP-1271), else the signature is wrong.
    Contract,
}

/// Facts of the network beside the payment.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    pub domain: &'a Domain,
    /// The least that is settled there: below it our gas costs more than is paid.
    pub minimum: BaseUnits,
    /// Unix seconds, by the database's clock.
    pub now: u64,
    /// Of [`seconds_left_min`].
    pub seconds_left_min: u64,
}

/// Checks everything that needs no node.
///
/// # Errors
///
/// The first reason in the order of the reference: network, terms, recipient, signature, window,
/// amount.
pub fn check(payment: &Payment, terms: &Terms, place: &Place<'_>) -> Result<Signer, Reason> {
    let (domain, signed) = (place.domain, &payment.authorization);
    if payment.chain_id != terms.chain_id || domain.chain_id != terms.chain_id {
        return Err(Reason::Network);
    }
    if domain.token != terms.asset || terms.amount.is_zero() || terms.amount < place.minimum {
        return Err(Reason::Requirements);
    }
    if payment.accepted.is_some_and(|accepted| !is_same(&accepted, terms)) {
        return Err(Reason::Requirements);
    }
    if signed.to != terms.pay_to {
        return Err(Reason::Recipient);
    }
    let key = KeySignature::read(&payment.signature.bytes)
        .and_then(|signature| domain.signer(signed, &signature));
    let is_wrapped = payment.signature.is_wrapped;
    let is_owner = key == Some(signed.from);
    let signer = if is_owner && !is_wrapped { Signer::Key } else { Signer::Contract };
    window(signed, place.now, place.seconds_left_min)?;
    if signed.value != Word::from(terms.amount.get()) {
        return Err(Reason::Value);
    }
    Ok(signer)
}

/// Checks the window of an authorization alone: it is asked again before anything is signed.
pub fn window(signed: &Authorization, now: u64, seconds_left_min: u64) -> Result<(), Reason> {
    // The token compares strictly: `validAfter < block.timestamp < validBefore`.
    if signed.valid_after > Word::from(now) {
        return Err(Reason::ValidAfter);
    }
    if signed.valid_before < Word::from(now.saturating_add(seconds_left_min)) {
        return Err(Reason::ValidBefore);
    }
    Ok(())
}

/// The time of a payment may differ: it was asked for at another moment.
fn is_same(accepted: &Terms, terms: &Terms) -> bool {
    (accepted.chain_id, accepted.asset, accepted.pay_to, accepted.amount)
        == (terms.chain_id, terms.asset, terms.pay_to, terms.amount)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Version,
            eip712::tests::usdc_on_base,
            wire::{
                Request,
                tests::{body, read},
            },
        },
        *,
    };

    const NOW: u64 = 1_740_672_100;

    fn verdict(change: impl Fn(&mut Request)) -> Vec<Result<Signer, Reason>> {
        verdict_at(NOW, 1, change)
    }

    fn verdict_at(
        now: u64,
        minimum: u128,
        change: impl Fn(&mut Request),
    ) -> Vec<Result<Signer, Reason>> {
        let domain = usdc_on_base();
        let place = Place {
            domain: &domain,
            minimum: BaseUnits::new(minimum),
            now,
            seconds_left_min: seconds_left_min(Network::Base),
        };
        let verdicts = Version::ALL.map(|version| {
            let mut request = read(&body(version)).unwrap();
            change(&mut request);
            // What the payer accepted follows what is asked, unless a case changes it itself.
            if let Some(accepted) = &mut request.payment.accepted {
                *accepted = request.terms;
            }
            check(&request.payment, &request.terms, &place)
        });
        verdicts.to_vec()
    }

    #[test]
    fn the_protocol_s_own_example_is_valid_in_both_versions() {
        assert_eq!(verdict(|_| {}), [Ok(Signer::Key); 2]);
    }

    #[test]
    fn each_deviation_has_its_reason() {
        let all = |reason| vec![Err(reason); 2];
        let more = |terms: &mut Terms| terms.amount = BaseUnits::new(10_001);
        assert_eq!(verdict(|request| more(&mut request.terms)), all(Reason::Value));
        let less = |request: &mut Request| request.terms.amount = BaseUnits::new(9_999);
        assert_eq!(verdict(less), all(Reason::Value));
        let none = |request: &mut Request| request.terms.amount = BaseUnits::ZERO;
        assert_eq!(verdict(none), all(Reason::Requirements));
        let other = |request: &mut Request| request.terms.pay_to = [1; 20];
        assert_eq!(verdict(other), all(Reason::Recipient));
        let token = |request: &mut Request| request.terms.asset = [1; 20];
        assert_eq!(verdict(token), all(Reason::Requirements));
        let chain = |request: &mut Request| request.terms.chain_id = 137;
        assert_eq!(verdict(chain), all(Reason::Network));
        // Another field than the signed one: no key's signature any more.
        let nonce = |request: &mut Request| request.payment.authorization.nonce = 7_u64.into();
        assert_eq!(verdict(nonce), [Ok(Signer::Contract); 2]);
        let cut = |request: &mut Request| request.payment.signature.bytes.truncate(64);
        assert_eq!(verdict(cut), [Ok(Signer::Contract); 2]);
        // A wrapper speaks for a contract, even around the signature of a key.
        let wrapped = |request: &mut Request| request.payment.signature.is_wrapped = true;
        assert_eq!(verdict(wrapped), [Ok(Signer::Contract); 2]);
    }

    #[test]
    fn a_payer_who_accepted_other_terms_is_refused() {
        let domain = usdc_on_base();
        let place = Place {
            domain: &domain,
            minimum: BaseUnits::new(1),
            now: NOW,
            seconds_left_min: seconds_left_min(Network::Base),
        };
        let mut request = read(&body(Version::V2)).unwrap();
        let accepted = request.payment.accepted.unwrap();
        request.payment.accepted = Some(Terms { amount: BaseUnits::new(9), ..accepted });
        let told = check(&request.payment, &request.terms, &place);
        assert_eq!(told, Err(Reason::Requirements));
        // Only the time differs.
        request.payment.accepted = Some(Terms { max_timeout_seconds: 9, ..accepted });
        assert_eq!(check(&request.payment, &request.terms, &place), Ok(Signer::Key));
    }

    #[test]
    fn the_window_leaves_time_for_a_block() {
        for (now, verdict) in [
            (1_740_672_088, Err(Reason::ValidAfter)),
            (1_740_672_089, Ok(Signer::Key)),
            // Ten seconds before the end, and nine.
            (1_740_672_144, Ok(Signer::Key)),
            (1_740_672_145, Err(Reason::ValidBefore)),
            (u64::MAX, Err(Reason::ValidBefore)),
        ] {
            assert_eq!(verdict_at(now, 1, |_| {}), [verdict; 2], "{now}");
        }
        // Wallets that sign without an end.
        let endless = |request: &mut Request| {
            request.payment.authorization.valid_before = Word::new([0xff; 32]);
        };
        assert_eq!(verdict(endless), [Ok(Signer::Contract); 2]);
    }

    /// On a network of twelve seconds a block, six are no time at all.
    #[test]
    fn a_network_has_time_for_two_blocks_more_than_the_reference_asks() {
        let offered = Network::ALL.into_iter().filter(|one| crate::x402::token_of(*one).is_some());
        let told: Vec<_> = offered.map(|one| (one.name(), seconds_left_min(one))).collect();
        let expected = [
            ("ethereum", 30),
            ("polygon", 10),
            ("arbitrum", 8),
            ("optimism", 10),
            ("base", 10),
            ("avalanche", 10),
        ];
        assert_eq!(told.len(), expected.len());
        assert!(expected.iter().all(|one| told.contains(one)), "{told:?}");
        let signed = crate::x402::authorization::tests::example();
        let left = seconds_left_min(Network::Ethereum);
        let ends_in = |seconds: u64| window(&signed, 1_740_672_154 - seconds, left);
        assert_eq!((ends_in(30), ends_in(29)), (Ok(()), Err(Reason::ValidBefore)));
        // What a seller asks for can be paid.
        assert_eq!(timeout_seconds(Network::Ethereum, 10), 60);
        assert_eq!(timeout_seconds(Network::Base, 60), 60);
    }

    #[test]
    fn less_than_the_gas_is_worth_is_refused() {
        assert_eq!(verdict_at(NOW, 10_000, |_| {}), [Ok(Signer::Key); 2]);
        assert_eq!(verdict_at(NOW, 10_001, |_| {}), [Err(Reason::Requirements); 2]);
    }
}
