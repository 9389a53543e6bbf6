//! Paying on an EVM network: an EIP-1559 transfer of the network's coin or of a token to one
//! recipient, or a call that pays tokens to many.

use k256::ecdsa::SigningKey;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    Means, Output, Sent, SignError, SignedTx, Unsigned, Work, data_fee,
    fees::{History, offer, wide},
};
use crate::{
    asset::Network,
    chain::{
        ChainError,
        evm::{EvmSource, quantity},
        rpc::{EndpointError, Rpc},
    },
    money::BaseUnits,
    payout::{
        eip1559::Transaction,
        fee::Fee,
        multisend,
        transfer::{self, Asset, address_bytes},
    },
};

const SEND: &str = "eth_sendRawTransaction";
const ESTIMATE: &str = "eth_estimateGas";
pub(super) const BLOCK: &str = "eth_getBlockByNumber";
const TIP: &str = "eth_maxPriorityFeePerGas";
const HISTORY: &str = "eth_feeHistory";
const BALANCE: &str = "eth_getBalance";
const CHAIN_ID: &str = "eth_chainId";
pub(super) const CALL: &str = "eth_call";
/// The error code of a node when a call reverts.
const REVERTED: i64 = 3;
/// The code that nodes give for all that has none of its own.
const SERVER_ERROR: i64 = -32000;
const TIP_DEFAULT: u128 = 1_000_000_000;
/// Estimates are of the state of now.
const GAS_MARGIN_PERCENT: u128 = 20;
/// Blocks whose tips are looked at.
const HISTORY_BLOCKS: &str = "0xa";

pub struct EvmPayer {
    pub(super) rpc: Rpc,
    /// The same node, as deposits are read from it.
    pub(super) source: EvmSource,
    pub(super) chain_id: u64,
    charges_for_data: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Head<'a> {
    number: &'a str,
    pub hash: &'a str,
    #[serde(default)]
    base_fee_per_gas: Option<&'a str>,
}

impl EvmPayer {
    /// `chain_id` overrides the network's own, for test chains. It is part of the signed content.
    pub fn new(
        network: Network,
        url: &SecretString,
        chain_id: Option<u64>,
    ) -> Result<Self, EndpointError> {
        let own = network.evm_chain_id().ok_or(EndpointError::WrongFamily { network })?;
        let (rpc, chain_id) = (Rpc::new(network, url)?, chain_id.unwrap_or(own));
        let source = EvmSource::new(network, url)?.with_chain_id(chain_id);
        Ok(Self { rpc, source, chain_id, charges_for_data: network.charges_for_data() })
    }

    pub(super) fn malformed(&self, method: &'static str) -> ChainError {
        self.rpc.malformed(method, "a number cannot be read")
    }

    pub(super) async fn head(
        &self,
        which: &str,
    ) -> Result<(u64, String, Option<u128>), ChainError> {
        let result = self.rpc.call(BLOCK, json!([which, false])).await?;
        let head: Option<Head> = self.rpc.read(BLOCK, &result)?;
        let head = head.ok_or_else(|| self.rpc.inconsistent(format!("has no block {which}")))?;
        let number = quantity::number(head.number).ok_or_else(|| self.malformed(BLOCK))?;
        let base = head.base_fee_per_gas.and_then(wide);
        Ok((number, head.hash.to_owned(), base))
    }

    /// The network's present price for a token transfer.
    pub(super) async fn fee(&self) -> Result<Fee, ChainError> {
        self.fee_with(data_fee::TRANSFER).await
    }

    /// The network's present price, by the tips of its last blocks and the base fee of the next,
    /// for a transaction with so many bytes of data.
    pub(super) async fn fee_with(&self, data_bytes: usize) -> Result<Fee, ChainError> {
        let median = json!([HISTORY_BLOCKS, "latest", [50]]);
        let (base, tip) = match self.rpc.call(HISTORY, median).await {
            Ok(result) => {
                let history: History = self.rpc.read(HISTORY, &result)?;
                (history.base(), history.tip())
            }
            // A chain that never had base fees.
            Err(ChainError::Refused { .. }) => (None, None),
            Err(error) => return Err(error),
        };
        let base = match base {
            Some(base) => base,
            None => self.head("latest").await?.2.unwrap_or(0),
        };
        let tip = match tip {
            Some(tip) => tip,
            None => self.tip().await?,
        };
        let data = if self.charges_for_data { self.data_fee(data_bytes).await? } else { 0 };
        Ok(Fee { data, ..offer(base, tip) })
    }

    /// The fee that the network takes now for the bytes of a transaction with so much data.
    async fn data_fee(&self, data_bytes: usize) -> Result<u128, ChainError> {
        let question = data_fee::question(data_bytes);
        let call = json!([{ "to": data_fee::ORACLE, "data": question }, "latest"]);
        let result = self.rpc.call(CALL, call).await?;
        let text: &str = self.rpc.read(CALL, &result)?;
        data_fee::answer(text).ok_or_else(|| self.malformed(CALL))
    }

    /// The balance of `address` in the network's coin, in the last block.
    pub(super) async fn balance(&self, address: &str) -> Result<BaseUnits, ChainError> {
        let result = self.rpc.call(BALANCE, json!([address, "latest"])).await?;
        let text: &str = self.rpc.read(BALANCE, &result)?;
        wide(text).map(BaseUnits::new).ok_or_else(|| self.malformed(BALANCE))
    }

    pub(super) async fn tip(&self) -> Result<u128, ChainError> {
        match self.rpc.call(TIP, json!([])).await {
            Ok(result) => {
                let text: &str = self.rpc.read(TIP, &result)?;
                Ok(wide(text).unwrap_or(TIP_DEFAULT))
            }
            Err(ChainError::Refused { .. }) => Ok(TIP_DEFAULT),
            Err(error) => Err(error),
        }
    }

    /// Asks the node for the gas of payments, all in one request. A revert of a transfer, or more
    /// work than was quoted, is the recipient's doing only if the sender could pay anybody else. A
    /// node's objection to one transfer is reported for that one alone.
    pub(super) async fn works(
        &self,
        payments: &[Unsigned],
    ) -> Result<Vec<Result<Work, ChainError>>, ChainError> {
        let calls = payments.iter().map(|payment| self.call_for(payment));
        let calls = calls.collect::<Result<Vec<_>, _>>()?;
        let answers = self.rpc.batch_each(ESTIMATE, &calls).await?;
        let mut works = Vec::with_capacity(payments.len());
        for (payment, answer) in payments.iter().zip(answers) {
            works.push(match self.gas_told(payment, answer) {
                Ok(gas) if gas <= payment.work => Ok(Work::Units(gas)),
                Ok(gas) => self.if_others_are_paid(payment, Work::Units(gas)).await?,
                Err(ChainError::Refused { code, reason, .. }) if is_revert(code, &reason) => {
                    let why = format!("the recipient refuses the transfer: {reason}");
                    self.if_others_are_paid(payment, Work::Refused(why)).await?
                }
                Err(error) => Err(error),
            });
        }
        Ok(works)
    }

    /// The node's answer about a transfer, unless the sender could not even pay himself: then no
    /// row fails. So it is while a token is paused or has not reached the sender yet, and for coins
    /// where the price of a transaction's bytes is part of its gas (Arbitrum): while that is high,
    /// every transfer takes more than was quoted.
    async fn if_others_are_paid(
        &self,
        payment: &Unsigned,
        told: Work,
    ) -> Result<Result<Work, ChainError>, ChainError> {
        let (Means::Transfer, [output]) = (&payment.means, payment.outputs.as_slice()) else {
            return Ok(Ok(told));
        };
        let to_itself = Output { address: payment.sender.clone(), ..output.clone() };
        let call = self.call_for(&Unsigned { outputs: vec![to_itself], ..payment.clone() })?;
        match self.gas_told(payment, self.rpc.call(ESTIMATE, call).await) {
            Ok(gas) if gas <= payment.work => Ok(Ok(told)),
            Ok(gas) => Ok(Err(self.too_dear(gas, payment.work))),
            Err(error @ ChainError::Refused { .. }) => Ok(Err(error)),
            // A node that does not answer is not asked about every other transfer too.
            Err(error) => Err(error),
        }
    }

    fn too_dear(&self, gas: u128, most: u128) -> ChainError {
        let reason = format!("every payment takes {gas} gas now, and {most} were quoted for one");
        let network = self.rpc.network();
        ChainError::Refused { network, method: ESTIMATE, code: SERVER_ERROR, reason }
    }

    fn call_for(&self, payment: &Unsigned) -> Result<Value, ChainError> {
        let (to, value, data) = call_of(payment)
            .ok_or_else(|| self.rpc.malformed(ESTIMATE, "a payment of ours cannot be made"))?;
        Ok(json!([{
            "from": payment.sender,
            "to": format!("0x{}", hex::encode(to)),
            "value": format!("{value:#x}"),
            "data": format!("0x{}", hex::encode(data)),
            // Without a bound a recipient that never ends would keep the node busy.
            "gas": format!("{:#x}", payment.work),
        }]))
    }

    fn gas_told(
        &self,
        payment: &Unsigned,
        answer: Result<Box<RawValue>, ChainError>,
    ) -> Result<u128, ChainError> {
        let result = answer?;
        let text: &str = self.rpc.read(ESTIMATE, &result)?;
        let gas = wide(text).ok_or_else(|| self.malformed(ESTIMATE))?;
        let with_margin = gas.saturating_mul(100 + GAS_MARGIN_PERCENT) / 100;
        // The margin alone fails no row.
        Ok(if gas <= payment.work { with_margin.min(payment.work) } else { with_margin })
    }

    pub(super) fn sign(&self, key: &SigningKey, payment: &Unsigned) -> Result<SignedTx, SignError> {
        let (to, value, data) = call_of(payment).ok_or(SignError::Unsupported)?;
        let transaction = Transaction {
            chain_id: self.chain_id,
            nonce: payment.nonce,
            priority_fee: payment.fee.tip.min(payment.fee.rate),
            max_fee: payment.fee.rate,
            gas_limit: u64::try_from(payment.work).map_err(|_| SignError::Unsupported)?,
            to,
            value,
            data,
        };
        signed(transaction, key, &payment.sender)
    }

    pub(super) async fn send(&self, raw: &[u8], hash: &str) -> Result<Sent, ChainError> {
        // The id is in the signature too; asking first keeps a payment from being shown to a
        // stranger's node.
        let result = self.rpc.call(CHAIN_ID, json!([])).await?;
        let found: &str = self.rpc.read(CHAIN_ID, &result)?;
        if quantity::number(found) != Some(self.chain_id) {
            let (network, found) = (self.rpc.network(), found.chars().take(66).collect());
            let expected = format!("{:#x}", self.chain_id);
            return Err(ChainError::WrongChain { network, expected, found });
        }
        match self.rpc.call(SEND, json!([format!("0x{}", hex::encode(raw))])).await {
            Ok(result) => {
                let told: &str = self.rpc.read(SEND, &result)?;
                if told.eq_ignore_ascii_case(hash) {
                    Ok(Sent::Taken)
                } else {
                    Err(self.rpc.inconsistent(format!("took {hash} as {told}")))
                }
            }
            Err(ChainError::Refused { reason, .. }) if is_known(&reason) => Ok(Sent::Taken),
            Err(ChainError::Refused { reason, .. }) => Ok(Sent::Refused(reason)),
            Err(error) => Err(error),
        }
    }
}

/// `sender` must be the key's own address.
pub(super) fn signed(
    transaction: Transaction,
    key: &SigningKey,
    sender: &str,
) -> Result<SignedTx, SignError> {
    let signed = transaction.sign(key);
    if signed.sender.eq_ignore_ascii_case(sender) {
        Ok(SignedTx { raw: signed.raw, hash: signed.hash, spent: None })
    } else {
        Err(SignError::WrongKey)
    }
}

/// The address that a payment calls, with the amount of the coin and the data.
fn call_of(payment: &Unsigned) -> Option<([u8; 20], u128, Vec<u8>)> {
    let output = |output: &Output| {
        let to = address_bytes(&output.address)?;
        Some(transfer::Output { to, amount: output.amount })
    };
    let token = payment.contract.as_deref().map(address_bytes);
    match (&payment.means, payment.outputs.as_slice()) {
        (Means::Transfer, [one]) => {
            let asset = token.map_or(Some(Asset::Coin), |token| token.map(Asset::Token))?;
            Some(transfer::call(asset, output(one)?))
        }
        (Means::Multisend(contract), outputs @ [_, ..]) => {
            let outputs = outputs.iter().map(output).collect::<Option<Vec<_>>>()?;
            Some((address_bytes(contract)?, 0, multisend::call_data(token??, &outputs)))
        }
        (Means::Allowance { spender, amount }, []) => {
            Some((token??, 0, multisend::allowance_data(address_bytes(spender)?, *amount)))
        }
        (Means::Transfer | Means::Multisend(_) | Means::Allowance { .. }, _) => None,
    }
}

/// Returns whether a call ended in the code that was called. Nodes have many words for that, with
/// and without spaces.
pub(super) fn is_revert(code: i64, reason: &str) -> bool {
    let mut reason = reason.to_ascii_lowercase();
    reason.retain(|letter| !letter.is_whitespace());
    let said = [
        "revert",
        "outofgas",
        "exceedsallowance",
        "alwaysfailing",
        "invalidopcode",
        "opcodenotfound",
        "badinstruction",
        "invalidjump",
        "stackunderflow",
        "stackoverflow",
        "stacklimit",
        "writeprotection",
        "duringstaticcall",
        "returndataoutofbounds",
    ];
    code == REVERTED || said.iter().any(|word| reason.contains(word))
}

/// Returns whether a node's message says that it has the bytes already.
fn is_known(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    ["already known", "already imported", "alreadyknown", "known transaction"]
        .iter()
        .any(|known| reason.contains(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_already_known_answer_is_not_a_refusal() {
        for said in [
            "already known",
            "ALREADY_EXISTS: already known",
            "transaction already imported",
            "AlreadyKnown",
        ] {
            assert!(is_known(said), "{said}");
        }
        for said in ["nonce too low", "replacement transaction underpriced", "insufficient funds"] {
            assert!(!is_known(said), "{said}");
        }
        assert!(is_revert(3, "x") && is_revert(-32000, "execution reverted: no"));
        assert!(is_revert(-32000, "gas required exceeds allowance (40000)"));
        for said in
            ["invalid jump destination", "stack underflow (0 <=> 1)", "EVM error StackUnderflow"]
        {
            assert!(is_revert(-32000, said), "{said}");
        }
        assert!(!is_revert(-32000, "insufficient funds for gas * price + value"));
    }

    #[test]
    fn signing_is_repeatable_and_only_the_sender_s_key_signs() {
        // The first account of the phrase that every test suite uses.
        let digits = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
        let key = SigningKey::from_slice(&hex::decode(digits).unwrap()).unwrap();
        let sign = |nonce, sender: &str| {
            let transaction = Transaction {
                chain_id: 31_337,
                nonce,
                priority_fee: 1_000_000_000,
                max_fee: 2_000_000_000,
                gas_limit: 21_000,
                to: [0x70; 20],
                value: 1_000_000_000_000_000_000,
                data: vec![],
            };
            signed(transaction, &key, sender)
        };
        let own = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
        let first = sign(0, own).unwrap();
        assert_eq!(Ok(&first), sign(0, own).as_ref());
        assert_ne!(sign(1, own).unwrap().hash, first.hash);
        let stranger = "0x0000000000000000000000000000000000000001";
        assert_eq!(sign(0, stranger), Err(SignError::WrongKey));
    }
}
