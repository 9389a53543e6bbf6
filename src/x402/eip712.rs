//! The digest of an authorization (EIP-712, EIP-3009), and the address whose key signed it.

use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use sha3::{Digest, Keccak256};

use super::{Word, authorization::Authorization};
use crate::{asset::address::evm, payout::transfer::address_bytes};

const DOMAIN_TYPE: &str =
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
const TRANSFER_TYPE: &str = "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)";
/// `r`, `s` and `v`.
const SIGNATURE_BYTES: usize = 65;
/// Added to the parity of a signature since the first wallets.
const V_OFFSET: u8 = 27;

/// The signer's context: a signature for one token on one chain is worth nothing for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// As the token's own `name()` says. Lists of clients disagree about it.
    pub name: String,
    /// As the token's own `version()` says.
    pub version: String,
    pub chain_id: u64,
    pub token: [u8; 20],
}

/// A signature of a key, in the form that tokens take: low `s`, `v` of 27 or 28.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySignature {
    pub v: u8,
    pub r: Word,
    pub s: Word,
}

impl KeySignature {
    /// `None` for bytes that no key of ours to know can have signed: those of a contract's wallet.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIGNATURE_BYTES] = bytes.try_into().ok()?;
        let (r, rest) = bytes.split_first_chunk::<32>()?;
        let (s, rest) = rest.split_first_chunk::<32>()?;
        let v = match rest {
            [parity @ (0 | 1)] => parity + V_OFFSET,
            [v @ (27 | 28)] => *v,
            _ => return None,
        };
        Some(Self { v, r: Word::new(*r), s: Word::new(*s) })
    }
}

impl Domain {
    pub fn separator(&self) -> [u8; 32] {
        let (name, version) = (keccak(self.name.as_bytes()), keccak(self.version.as_bytes()));
        let chain_id = Word::from(self.chain_id);
        keccak(
            &[
                keccak(DOMAIN_TYPE.as_bytes()),
                name,
                version,
                *chain_id.bytes(),
                of_address(&self.token),
            ]
            .concat(),
        )
    }

    /// The hash that the payer's key signs.
    pub fn digest(&self, authorization: &Authorization) -> [u8; 32] {
        let Authorization { from, to, value, valid_after, valid_before, nonce } = authorization;
        let fields = keccak(
            &[
                keccak(TRANSFER_TYPE.as_bytes()),
                of_address(from),
                of_address(to),
                *value.bytes(),
                *valid_after.bytes(),
                *valid_before.bytes(),
                *nonce.bytes(),
            ]
            .concat(),
        );
        keccak(&[&[0x19, 0x01][..], &self.separator(), &fields].concat())
    }

    /// The address whose key signed; `None` for a signature that no key gives, and for one in its
    /// high form, which tokens refuse.
    pub fn signer(
        &self,
        authorization: &Authorization,
        signature: &KeySignature,
    ) -> Option<[u8; 20]> {
        let KeySignature { v, r, s } = signature;
        let given = Signature::from_scalars(*r.bytes(), *s.bytes()).ok()?;
        if given.normalize_s() != given {
            return None;
        }
        let recovery = RecoveryId::new(*v == V_OFFSET + 1, false);
        let digest = self.digest(authorization);
        let key = VerifyingKey::recover_from_prehash(&digest, &given, recovery).ok()?;
        address_bytes(&evm::address(&k256::PublicKey::from(&key)))
    }
}

pub(super) fn of_address(address: &[u8; 20]) -> [u8; 32] {
    let mut word = [0; 32];
    word[12..].copy_from_slice(address);
    word
}

fn keccak(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

#[cfg(test)]
pub(super) mod tests {
    use k256::ecdsa::SigningKey;
    use proptest::prelude::*;

    use super::{
        super::authorization::tests::{FROM, example},
        *,
    };

    /// Made by viem 2.45 with the key of [`FROM`], over the authorization of [`example`].
    pub const SIGNED: &str = "a70a7d235fd4218a3ed6625525892efed6fd1ac6a193ba612bb9da921620bce74885a8f7f56d2dc2f46005b7d6a089ae3469455a911004b6c4a6ab600677f56c1c";
    const KEY: &str = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

    pub fn usdc_on_base() -> Domain {
        let token = address_bytes("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913").unwrap();
        Domain { name: "USD Coin".into(), version: "2".into(), chain_id: 8_453, token }
    }

    fn signature() -> KeySignature {
        KeySignature::read(&hex::decode(SIGNED).unwrap()).unwrap()
    }

    fn sign(domain: &Domain, authorization: &Authorization) -> KeySignature {
        let key = SigningKey::from_slice(&hex::decode(KEY).unwrap()).unwrap();
        let (signature, recovery) = key.sign_prehash_recoverable(&domain.digest(authorization));
        let mut bytes = signature.to_bytes().to_vec();
        bytes.push(u8::from(recovery.is_y_odd()));
        KeySignature::read(&bytes).unwrap()
    }

    #[test]
    fn the_digest_is_the_one_that_wallets_compute() {
        let domain = usdc_on_base();
        let separator = "02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f";
        assert_eq!(hex::encode(domain.separator()), separator);
        let digest = "7e9613714edd92ad20fa5b252ec168245031911a3438dd20225f083b6a688f8a";
        assert_eq!(hex::encode(domain.digest(&example())), digest);
    }

    #[test]
    fn the_signer_is_recovered_and_our_own_signature_is_the_wallet_s() {
        let (domain, authorization) = (usdc_on_base(), example());
        let signer = domain.signer(&authorization, &signature());
        assert_eq!(signer, address_bytes(FROM));
        assert_eq!(sign(&domain, &authorization), signature());
    }

    #[test]
    fn the_parity_may_be_written_in_either_way_and_in_no_third() {
        let mut bytes = hex::decode(SIGNED).unwrap();
        for (v, read) in [(0, Some(27)), (1, Some(28)), (27, Some(27)), (28, Some(28)), (2, None)] {
            bytes[64] = v;
            assert_eq!(KeySignature::read(&bytes).map(|signature| signature.v), read);
        }
        assert_eq!(KeySignature::read(&bytes[..64]), None);
        assert_eq!(KeySignature::read(&[bytes.as_slice(), &[0]].concat()), None);
    }

    /// Tokens refuse it, so a payment that was found valid with it would fail and cost our gas.
    #[test]
    fn the_mirrored_signature_has_no_signer() {
        let given = signature();
        let parsed = Signature::from_scalars(*given.r.bytes(), *given.s.bytes()).unwrap();
        let (_, s) = parsed.split_scalars();
        let high: [u8; 32] = (-*s).to_bytes().into();
        let mirrored = KeySignature { v: 55 - given.v, s: Word::new(high), ..given };
        assert_eq!(usdc_on_base().signer(&example(), &mirrored), None);
    }

    proptest! {
        /// Every field is covered, and so are chain, token, name and version.
        #[test]
        fn a_changed_field_changes_the_signer(place in 0_usize..10, bit in 0_u8..8, at in 0_usize..20) {
            let (mut domain, mut authorization) = (usdc_on_base(), example());
            let flip = |word: &mut Word| {
                let mut bytes = *word.bytes();
                bytes[at] ^= 1 << bit;
                *word = Word::new(bytes);
            };
            match place {
                0 => authorization.from[at] ^= 1 << bit,
                1 => authorization.to[at] ^= 1 << bit,
                2 => flip(&mut authorization.value),
                3 => flip(&mut authorization.valid_after),
                4 => flip(&mut authorization.valid_before),
                5 => flip(&mut authorization.nonce),
                6 => domain.token[at] ^= 1 << bit,
                7 => domain.chain_id ^= 1 << (at % 64),
                8 => domain.name.push('x'),
                _ => domain.version.push('x'),
            }
            prop_assert_ne!(domain.signer(&authorization, &signature()), address_bytes(FROM));
        }
    }
}
