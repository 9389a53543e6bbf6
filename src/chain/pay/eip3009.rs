//! Tokens with authorizations (EIP-3009): what they tell of themselves and of a payer, and the
//! transaction that carries an authorization out.

use k256::ecdsa::SigningKey;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    EvmPayer, Payer, SignError, SignedTx,
    account::GAS_MAX,
    evm::{CALL, is_revert, signed},
};
use crate::{
    chain::{ChainError, evm::quantity},
    money::BaseUnits,
    payout::{eip1559::Transaction, fee::Fee},
    x402::{Word, call},
};

const CODE: &str = "eth_getCode";
const LOGS: &str = "eth_getLogs";
/// `AuthorizationUsed(address,bytes32)` of EIP-3009.
const USED_TOPIC: &str = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
/// Blocks of one question: public nodes refuse many more.
const LOG_BLOCKS: u64 = 1_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsedLog<'a> {
    address: &'a str,
    #[serde(borrow)]
    topics: Vec<&'a str>,
    transaction_hash: &'a str,
    #[serde(default)]
    removed: bool,
}

/// A payer as the token knows him, and whether his word is a contract's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holdings {
    pub balance: BaseUnits,
    /// The nonce was used or cancelled.
    pub is_used: bool,
    /// A contract stands at his address, which decides about his signatures. A key may have one too
    /// (EIP-7702).
    pub has_code: bool,
}

impl Payer {
    /// The EVM node behind it; `None` on simulated chains, which have no tokens with code.
    pub const fn evm(&self) -> Option<&EvmPayer> {
        match self {
            Self::Evm(payer) => Some(payer),
            Self::Simulated(_) | Self::Utxo(_) => None,
        }
    }
}

impl EvmPayer {
    /// The name and the version of a token, by which wallets sign for it; `None` for a contract
    /// that has none.
    pub async fn domain(&self, token: &[u8; 20]) -> Result<Option<(String, String)>, ChainError> {
        let asks = [call::NAME, call::VERSION].map(|data| self.ask(token, &data));
        let mut texts = Vec::new();
        for answer in self.rpc.batch_each(CALL, &asks).await? {
            match answer {
                Ok(result) => texts.push(call::text(&self.bytes(&result)?)),
                Err(ChainError::Refused { .. }) => texts.push(None),
                Err(error) => return Err(error),
            }
        }
        let mut texts = texts.into_iter();
        Ok(texts.next().flatten().zip(texts.next().flatten()))
    }

    /// Balance, nonce and code of a payer in the last block, in two requests at once.
    pub async fn holdings(
        &self,
        token: &[u8; 20],
        payer: &[u8; 20],
        nonce: &Word,
    ) -> Result<Holdings, ChainError> {
        let asks = [call::balance_data(payer), call::state_data(payer, nonce)]
            .map(|d| self.ask(token, &d));
        let (answers, has_code) =
            tokio::try_join!(self.rpc.batch(CALL, &asks), self.has_code(payer))?;
        let [balance, state] = answers.as_slice() else {
            return Err(self.malformed(CALL));
        };
        let balance: &str = self.rpc.read(CALL, balance)?;
        let state: &str = self.rpc.read(CALL, state)?;
        let number = |text: &str| quantity::balance(text).ok_or_else(|| self.malformed(CALL));
        let is_used = !number(state)?.is_zero();
        Ok(Holdings { balance: number(balance)?, is_used, has_code })
    }

    /// The balance of a payer in the last block.
    pub async fn token_balance(
        &self,
        token: &[u8; 20],
        payer: &[u8; 20],
    ) -> Result<BaseUnits, ChainError> {
        self.told_balance(self.ask(token, &call::balance_data(payer))).await
    }

    /// The balance of an address after a block, where the node still knows it.
    pub async fn balance_at(
        &self,
        token: &[u8; 20],
        address: &[u8; 20],
        height: u64,
    ) -> Result<BaseUnits, ChainError> {
        let data = format!("0x{}", hex::encode(call::balance_data(address)));
        let ask = json!({ "to": spelt(token), "data": data });
        self.told_balance(json!([ask, format!("{height:#x}")])).await
    }

    async fn told_balance(&self, ask: Value) -> Result<BaseUnits, ChainError> {
        let result = self.rpc.call(CALL, ask).await?;
        let text: &str = self.rpc.read(CALL, &result)?;
        quantity::balance(text).ok_or_else(|| self.malformed(CALL))
    }

    async fn has_code(&self, address: &[u8; 20]) -> Result<bool, ChainError> {
        let result = self.rpc.call(CODE, json!([spelt(address), "latest"])).await?;
        let code: &str = self.rpc.read(CODE, &result)?;
        Ok(code.len() > "0x".len())
    }

    /// Returns whether the token saw a nonce of a payer used or cancelled as of the last block.
    pub async fn is_used(
        &self,
        token: &[u8; 20],
        payer: &[u8; 20],
        nonce: &Word,
    ) -> Result<bool, ChainError> {
        let ask = self.ask(token, &call::state_data(payer, nonce));
        let result = self.rpc.call(CALL, ask).await?;
        let text: &str = self.rpc.read(CALL, &result)?;
        let state = quantity::balance(text).ok_or_else(|| self.malformed(CALL))?;
        Ok(!state.is_zero())
    }

    /// The transaction that used a nonce of a payer in the blocks from `first` up to `last`, the
    /// newest read first; `None` if the node knows no log of it. A log alone proves nothing: what
    /// that transaction moved is read from its receipt.
    pub async fn used_by(
        &self,
        (token, payer): (&[u8; 20], &[u8; 20]),
        nonce: &Word,
        (first, last): (u64, u64),
    ) -> Result<Option<String>, ChainError> {
        let topics = [
            USED_TOPIC.to_owned(),
            format!("0x{:0>64}", hex::encode(payer)),
            format!("0x{}", hex::encode(nonce.bytes())),
        ];
        let mut to = last;
        loop {
            let from = first.max(to.saturating_sub(LOG_BLOCKS - 1));
            let range = json!({
                "address": spelt(token),
                "topics": topics,
                "fromBlock": format!("{from:#x}"),
                "toBlock": format!("{to:#x}"),
            });
            let result = self.rpc.call(LOGS, json!([range])).await?;
            let logs: Vec<UsedLog> = self.rpc.read(LOGS, &result)?;
            let is_it = |log: &&UsedLog| {
                let names = |(topic, wanted): (&&str, &String)| topic.eq_ignore_ascii_case(wanted);
                !log.removed
                    && log.address.eq_ignore_ascii_case(&spelt(token))
                    && log.topics.len() == topics.len()
                    && log.topics.iter().zip(&topics).all(names)
            };
            if let Some(log) = logs.iter().find(is_it) {
                return Ok(Some(log.transaction_hash.to_ascii_lowercase()));
            }
            if from <= first {
                return Ok(None);
            }
            to = from - 1;
        }
    }

    /// Returns whether the contract at a payer's address takes `signature` for his, as the token
    /// asks it (EIP-1271). One that needs more gas than any wallet does has not answered.
    pub async fn contract_signed(
        &self,
        token: &[u8; 20],
        payer: &[u8; 20],
        (digest, signature): (&[u8; 32], &[u8]),
    ) -> Result<bool, ChainError> {
        let data = format!("0x{}", hex::encode(call::is_valid_signature(digest, signature)));
        let gas = format!("{GAS_MAX:#x}");
        let ask = json!({ "from": spelt(token), "to": spelt(payer), "data": data, "gas": gas });
        match self.rpc.call(CALL, json!([ask, "latest"])).await {
            Ok(result) => Ok(call::says_valid(&self.bytes(&result)?)),
            Err(ChainError::Refused { code, reason, .. }) if is_revert(code, &reason) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The present price of gas, and of the bytes of a transaction with so many bytes of data.
    pub async fn gas_price(&self, data_bytes: usize) -> Result<Fee, ChainError> {
        self.fee_with(data_bytes).await
    }

    /// Signs a call of a token. Pure: the same fields and key give the same bytes.
    pub fn sign_call(
        &self,
        key: &SigningKey,
        sender: &str,
        (nonce, gas_limit, fee): (u64, u64, Fee),
        (token, data): ([u8; 20], Vec<u8>),
    ) -> Result<SignedTx, SignError> {
        let transaction = Transaction {
            chain_id: self.chain_id,
            nonce,
            priority_fee: fee.tip.min(fee.rate),
            max_fee: fee.rate,
            gas_limit,
            to: token,
            value: 0,
            data,
        };
        signed(transaction, key, sender)
    }

    fn ask(&self, to: &[u8; 20], data: &[u8]) -> Value {
        json!([{ "to": spelt(to), "data": format!("0x{}", hex::encode(data)) }, "latest"])
    }

    fn bytes(&self, result: &serde_json::value::RawValue) -> Result<Vec<u8>, ChainError> {
        let text: &str = self.rpc.read(CALL, result)?;
        let digits = text.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
        digits.ok_or_else(|| self.malformed(CALL))
    }
}

fn spelt(address: &[u8; 20]) -> String {
    format!("0x{}", hex::encode(address))
}

#[cfg(test)]
mod tests {
    use sha3::{Digest, Keccak256};

    use super::USED_TOPIC;

    #[test]
    fn the_log_of_a_used_nonce_is_the_standard_s() {
        let topic = Keccak256::digest("AuthorizationUsed(address,bytes32)");
        assert_eq!(format!("0x{}", hex::encode(topic)), USED_TOPIC);
    }
}
