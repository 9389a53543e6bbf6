//! Transactions of the fake node: decoded from their bytes, with what they cost and log.

use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use sha3::{Digest, Keccak256};

use super::{
    Cast,
    authorized::{self, Authorized},
    bytes::{rlp_list, rlp_of_first},
};
use crate::node::anvil::address_word;

const COIN_GAS: u128 = 21_000;
const TOKEN_GAS: u128 = 51_600;
const TRANSFER_TOPIC: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// A signed transaction, decoded from its bytes.
#[derive(Clone, Debug)]
pub struct Handed {
    pub hash: String,
    pub sender: String,
    pub chain_id: u64,
    pub nonce: u64,
    /// The recipient, of a token as well.
    pub to: String,
    pub amount: u128,
    pub is_token: bool,
    /// Of a payer who is not the sender.
    pub(super) authorized: Option<Authorized>,
    pub(super) tip: u128,
    pub(super) max_fee: u128,
    pub(super) gas_limit: u128,
}

/// An error of JSON-RPC: its code and its message.
pub(super) type Refusal = (i64, &'static str);

const UNREADABLE: Refusal = (-32602, "the transaction cannot be read");
/// Half of the order of the curve: the greatest `s` of a signature (EIP-2).
const S_MAX: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0x5d, 0x57, 0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
];
/// Fields of a transaction of type 2 before those of its signature.
const SIGNED_FIELDS: usize = 9;

impl Handed {
    /// Decodes the bytes, and finds their sender by the signature.
    pub(super) fn read(raw: &str, cast: &Cast) -> Result<Self, Refusal> {
        let bytes = raw.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
        let bytes = bytes.ok_or(UNREADABLE)?;
        let handed = Self::decoded(&bytes, cast).ok_or(UNREADABLE)?;
        if handed.chain_id != cast.chain_id {
            return Err((-32000, "invalid chain id for signer"));
        }
        if handed.tip > handed.max_fee {
            return Err((-32000, "max priority fee per gas higher than max fee per gas"));
        }
        Ok(handed)
    }

    fn decoded(bytes: &[u8], cast: &Cast) -> Option<Self> {
        let list = bytes.strip_prefix(&[2])?;
        let fields = rlp_list(list)?;
        let number = |at: usize| {
            fields
                .get(at)?
                .iter()
                .try_fold(0_u128, |n, byte| n.checked_mul(256)?.checked_add(u128::from(*byte)))
        };
        let (called, data) = (format!("0x{}", hex::encode(fields.get(5)?)), fields.get(7)?);
        let is_token = called == cast.token;
        let authorized = authorized::read(data).filter(|_| is_token);
        let (to, amount) = if let Some(authorized) = &authorized {
            (authorized.to.clone(), authorized.amount)
        } else if is_token {
            let amount =
                data.get(52..68)?.iter().fold(0, |n: u128, byte| n * 256 + u128::from(*byte));
            (format!("0x{}", hex::encode(data.get(16..36)?)), amount)
        } else {
            (called, number(6)?)
        };
        Some(Self {
            hash: format!("0x{}", hex::encode(Keccak256::digest(bytes))),
            sender: signer(list, &fields)?,
            chain_id: u64::try_from(number(0)?).ok()?,
            nonce: u64::try_from(number(1)?).ok()?,
            tip: number(2)?,
            max_fee: number(3)?,
            gas_limit: number(4)?,
            to,
            amount,
            is_token,
            authorized,
        })
    }

    /// Returns true if it carries out this authorization.
    pub(super) fn is_of(&self, payer: &str, nonce: &str) -> bool {
        let authorized = self.authorized.as_ref();
        authorized.is_some_and(|one| one.payer == payer && one.nonce == nonce)
    }
}

/// The address whose key signed; `None` for no valid signature in its low form.
fn signer(list: &[u8], fields: &[&[u8]]) -> Option<String> {
    let signed = [vec![2], rlp_of_first(list, SIGNED_FIELDS)?].concat();
    let [parity, r, s] = fields.get(SIGNED_FIELDS..)? else { return None };
    let word = |digits: &[u8]| {
        let mut word = [0; 32];
        word.get_mut(32_usize.checked_sub(digits.len())?..)?.copy_from_slice(digits);
        Some(word)
    };
    let (r, s) = (word(r)?, word(s)?);
    let is_odd = match parity {
        [] => false,
        [1] => true,
        _ => return None,
    };
    if s > S_MAX {
        return None;
    }
    let signature = Signature::from_scalars(r, s).ok()?;
    let key = VerifyingKey::recover_from_prehash(
        &Keccak256::digest(signed),
        &signature,
        RecoveryId::new(is_odd, false),
    );
    let point = key.ok()?.to_sec1_point(false);
    Some(format!("0x{}", hex::encode(&Keccak256::digest(&point.as_bytes()[1..])[12..])))
}

/// Of the log of a token payment.
pub(super) fn topics(handed: &Handed) -> Vec<String> {
    let address = |address: &str| format!("0x{}", address_word(address));
    let payer = handed.authorized.as_ref().map_or(&handed.sender, |authorized| &authorized.payer);
    vec![TRANSFER_TOPIC.to_owned(), address(payer), address(&handed.to)]
}

pub(super) const fn gas_of(is_token: bool) -> u128 {
    if is_token { TOKEN_GAS } else { COIN_GAS }
}

pub(super) const fn gas(handed: &Handed) -> u128 {
    gas_of(handed.is_token)
}

pub(super) fn price(handed: &Handed, base: u128) -> u128 {
    handed.max_fee.min(base + handed.tip)
}

pub(super) fn fee(handed: &Handed, base: u128) -> u128 {
    gas(handed) * price(handed, base)
}

/// The most that a payment may take from its sender.
pub(super) fn cost(handed: &Handed) -> u128 {
    handed.gas_limit * handed.max_fee + if handed.is_token { 0 } else { handed.amount }
}
