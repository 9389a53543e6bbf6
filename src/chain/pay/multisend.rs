//! The contract that pays many, and allowances to it, as a node tells them.

use serde_json::json;
use sha3::{Digest, Keccak256};

use super::{EvmPayer, Payer};
use crate::{
    chain::{ChainError, evm::quantity},
    money::BaseUnits,
    payout::multisend::CODE_HASH,
};

const CODE: &str = "eth_getCode";
const CALL: &str = "eth_call";
/// `allowance(address,address)` of ERC-20.
const ALLOWANCE: &str = "dd62ed3e";

impl Payer {
    /// Returns whether the code at `address` is that of the one contract to which allowances are
    /// given.
    pub async fn is_multisend(&self, address: &str) -> Result<bool, ChainError> {
        match self {
            Self::Simulated(_) | Self::Utxo(_) => Ok(false),
            Self::Evm(payer) => payer.is_multisend(address).await,
        }
    }

    /// The amount of `token` of `owner` that `spender` may move.
    pub async fn allowance(
        &self,
        token: &str,
        (owner, spender): (&str, &str),
    ) -> Result<BaseUnits, ChainError> {
        match self {
            Self::Simulated(_) | Self::Utxo(_) => Ok(BaseUnits::ZERO),
            Self::Evm(payer) => payer.allowance(token, (owner, spender)).await,
        }
    }
}

impl EvmPayer {
    async fn is_multisend(&self, address: &str) -> Result<bool, ChainError> {
        let result = self.rpc.call(CODE, json!([address, "latest"])).await?;
        let text: &str = self.rpc.read(CODE, &result)?;
        let code = text.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
        let code = code.ok_or_else(|| self.malformed(CODE))?;
        Ok(hex::encode(Keccak256::digest(code)) == CODE_HASH)
    }

    async fn allowance(
        &self,
        token: &str,
        (owner, spender): (&str, &str),
    ) -> Result<BaseUnits, ChainError> {
        let word = |address: &str| format!("{:0>64}", address.trim_start_matches("0x"));
        let data = format!("0x{ALLOWANCE}{}{}", word(owner), word(spender));
        let call = json!([{ "to": token, "data": data }, "latest"]);
        let result = self.rpc.call(CALL, call).await?;
        let text: &str = self.rpc.read(CALL, &result)?;
        quantity::balance(text).ok_or_else(|| self.malformed(CALL))
    }
}
