//! An EVM sender whose key is not ours: its balances, its next nonce, and the gas of its
//! transactions.

use std::time::Duration;

use serde_json::{json, value::RawValue};

use super::{Account, Call, EvmPayer, Payer, SimulatedPayer, Work, evm::is_revert};
use crate::{
    chain::{ChainError, evm::quantity},
    money::BaseUnits,
};

const CHAIN_ID: &str = "eth_chainId";
const COUNT: &str = "eth_getTransactionCount";
const BALANCE: &str = "eth_getBalance";
const CALL: &str = "eth_call";
const ESTIMATE: &str = "eth_estimateGas";
/// `balanceOf(address)` of ERC-20.
const BALANCE_OF: &str = "0x70a08231";
/// Above the gas that any contract wallet needs for receiving, or for deciding about a signature.
/// Without a limit one with an endless loop would keep the node busy.
pub(super) const GAS_MAX: u64 = 500_000;
const GAS_MARGIN_PERCENT: u128 = 20;

impl Payer {
    /// Balances, nonces and fees of `sender`; `contract` is the token of the payment.
    pub async fn account(
        &self,
        sender: &str,
        contract: Option<[u8; 20]>,
    ) -> Result<Account, ChainError> {
        match self {
            Self::Simulated(payer) => payer.account(sender).await,
            Self::Evm(payer) => payer.account(sender, contract).await,
            Self::Utxo(payer) => Err(payer.has_no_accounts()),
        }
    }

    /// Gas of each call, in the order of `calls`, each estimated independently of the others.
    pub async fn gas(&self, sender: &str, calls: &[Call]) -> Result<Vec<Work>, ChainError> {
        match self {
            Self::Simulated(_) => Ok(vec![Work::Units(SimulatedPayer::GAS); calls.len()]),
            Self::Evm(payer) => payer.gas(sender, calls).await,
            Self::Utxo(payer) => Err(payer.has_no_accounts()),
        }
    }
}

impl EvmPayer {
    /// Time limit for each response of the node.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.rpc = self.rpc.with_deadline(deadline);
        self
    }

    async fn account(
        &self,
        sender: &str,
        contract: Option<[u8; 20]>,
    ) -> Result<Account, ChainError> {
        let ask = async |method, params| {
            let result = self.rpc.call(method, params).await?;
            let text: &str = self.rpc.read(method, &result)?;
            Ok::<_, ChainError>(text.to_owned())
        };
        let tokens = async {
            let Some(contract) = contract else { return Ok(BaseUnits::ZERO) };
            let data = word(sender).replacen("0x", BALANCE_OF, 1);
            let call = json!({ "to": address(&contract), "data": data });
            let text = ask(CALL, json!([call, "pending"])).await?;
            quantity::balance(&text).ok_or_else(|| self.malformed(CALL))
        };
        let (chain_id, used, next, coins, tokens, (_, _, base_fee), tip) = tokio::try_join!(
            ask(CHAIN_ID, json!([])),
            ask(COUNT, json!([sender, "latest"])),
            ask(COUNT, json!([sender, "pending"])),
            ask(BALANCE, json!([sender, "pending"])),
            tokens,
            self.head("latest"),
            self.tip(),
        )?;
        let number =
            |method, text: &str| quantity::number(text).ok_or_else(|| self.malformed(method));
        self.check_chain(&chain_id)?;
        let used_nonces = number(COUNT, &used)?;
        Ok(Account {
            chain_id: number(CHAIN_ID, &chain_id)?,
            used_nonces,
            // A node without a mempool returns the same number twice.
            next_nonce: number(COUNT, &next)?.max(used_nonces),
            coins: quantity::balance(&coins).ok_or_else(|| self.malformed(BALANCE))?,
            tokens,
            base_fee: base_fee.unwrap_or(0),
            tip,
        })
    }

    async fn gas(&self, sender: &str, calls: &[Call]) -> Result<Vec<Work>, ChainError> {
        let params: Vec<_> = calls
            .iter()
            .map(|call| {
                json!([{
                    "from": sender,
                    "to": address(&call.to),
                    "value": format!("{:#x}", call.value),
                    "data": format!("0x{}", hex::encode(&call.data)),
                    "gas": format!("{GAS_MAX:#x}"),
                }])
            })
            .collect();
        let answers = self.rpc.batch_each(ESTIMATE, &params).await?;
        answers.into_iter().map(|answer| self.estimated(answer)).collect()
    }

    /// The node's gas estimate for a call, with a margin, because an estimate holds for the present
    /// state only.
    fn estimated(&self, answer: Result<Box<RawValue>, ChainError>) -> Result<Work, ChainError> {
        match answer {
            Ok(result) => {
                let text: &str = self.rpc.read(ESTIMATE, &result)?;
                let gas = quantity::number(text).ok_or_else(|| self.malformed(ESTIMATE))?;
                Ok(Work::Units(u128::from(gas) * (100 + GAS_MARGIN_PERCENT) / 100))
            }
            Err(ChainError::Refused { code, reason, .. }) if is_revert(code, &reason) => {
                Ok(Work::Refused(reason))
            }
            Err(error) => Err(error),
        }
    }

    fn check_chain(&self, found: &str) -> Result<(), ChainError> {
        if quantity::number(found) == Some(self.chain_id) {
            return Ok(());
        }
        let (network, found) = (self.rpc.network(), found.chars().take(66).collect());
        let expected = format!("{:#x}", self.chain_id);
        Err(ChainError::WrongChain { network, expected, found })
    }
}

fn address(bytes: &[u8; 20]) -> String {
    format!("0x{}", hex::encode(bytes))
}

/// An address encoded as an argument of an event or a call.
fn word(address: &str) -> String {
    let digits = address.strip_prefix("0x").unwrap_or(address);
    format!("0x{digits:0>64}")
}
