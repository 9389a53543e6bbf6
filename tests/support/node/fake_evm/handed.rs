//! Transactions of the fake node: decoded from their bytes, with what they cost and log.

use sha3::{Digest, Keccak256};

use super::{
    Cast,
    authorized::{self, Authorized},
    bytes::rlp_list,
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
    pub nonce: u64,
    /// The recipient, of a token as well.
    pub to: String,
    pub amount: u128,
    pub is_token: bool,
    /// Of a payer who is not the sender.
    pub(super) authorized: Option<Authorized>,
    pub(super) tip: u128,
    pub(super) max_fee: u128,
}

impl Handed {
    /// Decodes the bytes. The signer follows from their content: only four kinds of payment exist
    /// here.
    pub(super) fn read(raw: &str, cast: &Cast) -> Option<Self> {
        let bytes = hex::decode(raw.strip_prefix("0x")?).ok()?;
        let fields = rlp_list(bytes.strip_prefix(&[2])?)?;
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
        let is_of_wallet = authorized.is_some() || !is_token && to == cast.order;
        let sender = if is_of_wallet { &cast.gas_wallet } else { &cast.order };
        Some(Self {
            hash: format!("0x{}", hex::encode(Keccak256::digest(&bytes))),
            sender: sender.clone(),
            nonce: u64::try_from(number(1)?).ok()?,
            tip: number(2)?,
            max_fee: number(3)?,
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
    gas(handed) * handed.max_fee + if handed.is_token { 0 } else { handed.amount }
}
