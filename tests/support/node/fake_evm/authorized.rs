//! Authorizations of payers (EIP-3009) on the fake node: a token that knows balances and used
//! nonces, and checks no signature.

use serde_json::{Value, json};
use sha3::{Digest, Keccak256};

use super::State;
use crate::node::anvil::word;

/// `transferWithAuthorization` with the signature of a key.
const BY_KEY: [u8; 4] = [0xe3, 0xee, 0x16, 0x0e];
const WORD: usize = 32;

/// A payer's permission, which a transaction of another sender carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorized {
    pub payer: String,
    /// In hex.
    pub nonce: String,
    pub(super) to: String,
    pub(super) amount: u128,
}

/// The permission in a call of the token; `None` for any other call.
pub(super) fn read(data: &[u8]) -> Option<Authorized> {
    let words = data.strip_prefix(&BY_KEY)?;
    let word = |at: usize| words.get(at * WORD..(at + 1) * WORD);
    let address = |at: usize| Some(format!("0x{}", hex::encode(&word(at)?[12..])));
    Some(Authorized {
        payer: address(0)?,
        nonce: hex::encode(word(5)?),
        to: address(1)?,
        amount: word(2)?[16..].iter().fold(0, |n: u128, byte| n * 256 + u128::from(*byte)),
    })
}

impl State {
    /// Gives an account so much of the token, from the first block on.
    pub fn grant(&mut self, account: &str, amount: u128) {
        *self.first_tokens.entry(account.to_owned()).or_default() += amount;
    }

    /// Payments of an authorization on the current chain: their number and their sum.
    pub fn carried_out(&self, payer: &str, nonce: &str) -> (u32, u128) {
        let all = self.chain.iter().flat_map(|block| &block.transactions);
        let of = all.filter(|(handed, ok)| *ok && handed.is_of(payer, nonce));
        of.fold((0, 0), |(times, sum), (handed, _)| (times + 1, sum + handed.amount))
    }

    /// Nonces of any transaction that was ever signed for an authorization.
    pub fn nonces_of(&self, payer: &str, nonce: &str) -> Vec<u64> {
        let known = self.known.values().filter(|handed| handed.is_of(payer, nonce));
        let mut nonces: Vec<_> = known.map(|handed| handed.nonce).collect();
        nonces.sort_unstable();
        nonces.dedup();
        nonces
    }

    pub fn tokens(&self, account: &str) -> u128 {
        self.tokens_at(account, self.chain.len() - 1)
    }

    fn tokens_at(&self, account: &str, height: usize) -> u128 {
        let mut held = self.first_tokens.get(account).copied().unwrap_or(0);
        let blocks = self.chain.iter().take(height + 1);
        for (handed, _) in blocks.flat_map(|block| &block.transactions).filter(|(_, ok)| *ok) {
            let Some(authorized) = &handed.authorized else { continue };
            if authorized.to == account {
                held += authorized.amount;
            }
            if authorized.payer == account {
                held -= authorized.amount;
            }
        }
        held
    }

    fn is_used(&self, payer: &str, nonce: &str, height: usize) -> bool {
        let blocks = self.chain.iter().take(height + 1);
        blocks.flat_map(|block| &block.transactions).any(|(one, ok)| *ok && one.is_of(payer, nonce))
    }

    /// Returns false for an authorization that is used, or that its payer cannot pay.
    pub(super) fn can_move(&self, authorized: Option<&Authorized>, height: usize) -> bool {
        authorized.is_none_or(|one| {
            !self.is_used(&one.payer, &one.nonce, height)
                && self.tokens_at(&one.payer, height) >= one.amount
        })
    }

    /// Returns whether the token refuses a call that carries an authorization out; `None` for any
    /// other call.
    pub(super) fn refuses(&self, data: &str) -> Option<bool> {
        let bytes = hex::decode(data.strip_prefix("0x")?).ok()?;
        let authorized = read(&bytes)?;
        Some(!self.can_move(Some(&authorized), self.chain.len() - 1))
    }

    /// The token's answer about itself and its accounts, once any has some of it.
    pub(super) fn ask(&self, call: &Value, height: usize) -> Result<Value, (i64, &'static str)> {
        let unknown = Err((-32601, "the method does not exist"));
        let to = call["to"].as_str().unwrap_or_default().to_lowercase();
        let data = call["data"].as_str().and_then(|data| data.strip_prefix("0x"));
        let Some(bytes) = data.and_then(|data| hex::decode(data).ok()) else { return unknown };
        if to != self.cast.token || self.first_tokens.is_empty() || bytes.len() < 4 {
            return unknown;
        }
        let account = || format!("0x{}", bytes.get(16..36).map(hex::encode).unwrap_or_default());
        let nonce = || bytes.get(36..68).map(hex::encode).unwrap_or_default();
        let asked = |signature: &str| Keccak256::digest(signature)[..4] == bytes[..4];
        let number = |n: u128| json!(format!("0x{}", word(&format!("{n:x}"))));
        if asked("balanceOf(address)") {
            return Ok(number(self.tokens_at(&account(), height)));
        }
        if asked("authorizationState(address,bytes32)") {
            return Ok(number(u128::from(self.is_used(&account(), &nonce(), height))));
        }
        match [("name()", "USD Coin"), ("version()", "2")].into_iter().find(|(name, _)| asked(name))
        {
            Some((_, told)) => Ok(json!(text(told))),
            None => unknown,
        }
    }
}

/// A text of at most a word, as contracts return it.
fn text(told: &str) -> String {
    let padded = format!("{:0<64}", hex::encode(told));
    format!("0x{}{}{padded}", word("20"), word(&format!("{:x}", told.len())))
}
