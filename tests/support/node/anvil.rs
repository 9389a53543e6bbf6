//! A private Ethereum node per test: real EVM, blocks only on request.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};

use crate::{
    node::json_rpc,
    server::listener::{Listener, found_by},
};

/// Enough for every test contract, and constant so that a transaction's hash is the same whenever
/// it is sent again.
const GAS: &str = "0xf4240";
/// Accounts that anvil signs for, each with coins.
const ACCOUNTS: usize = 10;

/// Not anvil's default, whose accounts are the sandbox's published test keys: deposit addresses
/// would have initial balances.
const MNEMONIC: &str =
    "legal winner thank year wave sausage worth useful legal winner thank yellow";

/// A running node. Dropping it stops it.
pub struct Anvil {
    accounts: Vec<String>,
    sent: usize,
    node: Listener,
}

/// A transaction before it is signed.
pub struct Call<'a> {
    pub to: Option<&'a str>,
    /// Hex, as the node expects it: amounts beyond 128 bits exist here.
    pub value: String,
    pub data: String,
}

impl Anvil {
    pub async fn start(chain_id: u64) -> Result<Self> {
        let node = tokio::task::spawn_blocking(move || spawn(chain_id)).await??;
        let mut anvil = Self { accounts: Vec::new(), sent: 0, node };
        let accounts = anvil.rpc("eth_accounts", json!([])).await?;
        anvil.accounts = serde_json::from_value(accounts)?;
        ensure!(anvil.accounts.len() == ACCOUNTS, "anvil has other accounts than expected");
        Ok(anvil)
    }

    pub fn url(&self) -> &str {
        self.node.url()
    }

    /// Owns the supply of deployed tokens.
    pub fn deployer(&self) -> &str {
        &self.accounts[0]
    }

    pub async fn rpc(&self, method: &str, params: Value) -> Result<Value> {
        json_rpc::call(self.url(), method, params).await
    }

    /// Broadcasts from `from`; the transaction stays pending until [`mine`](Self::mine). Returns
    /// its hash.
    pub async fn send(&self, from: &str, call: &Call<'_>) -> Result<String> {
        let transaction = json!({
            "from": from, "to": call.to, "value": call.value, "data": call.data, "gas": GAS,
        });
        let hash = self.rpc("eth_sendTransaction", json!([transaction])).await?;
        Ok(hash.as_str().context("transaction hash")?.to_owned())
    }

    /// Broadcasts a transaction with the sender and the nonce of a pending one and twice its price,
    /// so that it replaces it. Returns its hash.
    pub async fn replace(&self, tx_hash: &str, call: &Call<'_>) -> Result<String> {
        let waiting = self.rpc("eth_getTransactionByHash", json!([tx_hash])).await?;
        let price = read_word(&waiting["gasPrice"])? * 2;
        let transaction = json!({
            "from": waiting["from"], "nonce": waiting["nonce"], "gasPrice": format!("{price:#x}"),
            "to": call.to, "value": call.value, "data": call.data, "gas": GAS,
        });
        let hash = self.rpc("eth_sendTransaction", json!([transaction])).await?;
        Ok(hash.as_str().context("transaction hash")?.to_owned())
    }

    /// Returns an account with coins, another one each time: transactions of different accounts may
    /// change their order. Never the deployer, whose transactions would get in between.
    pub fn next_account(&mut self) -> String {
        self.sent += 1;
        self.accounts[1 + self.sent % (ACCOUNTS - 1)].clone()
    }

    pub async fn mine(&self) -> Result<()> {
        self.rpc("evm_mine", json!([])).await.map(drop)
    }

    /// Deploys a contract of `contracts/` in a block of its own and returns its address.
    pub async fn deploy(&self, name: &str) -> Result<String> {
        self.deploy_from("support/node/contracts", name).await
    }

    /// Deploys the contract that payouts use, and returns its address.
    pub async fn deploy_multisend(&self) -> Result<String> {
        self.deploy_from("../src/payout/contract", "Multisend").await
    }

    async fn deploy_from(&self, folder: &str, name: &str) -> Result<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let code = std::fs::read_to_string(path.join(format!("{name}.hex")))?;
        let data = format!("0x{}", code.trim());
        let call = Call { to: None, value: "0x0".to_owned(), data };
        let hash = self.send(self.deployer(), &call).await?;
        self.mine().await?;
        let receipt = self.receipt(&hash).await?;
        ensure!(receipt["status"] == "0x1", "{name} was not deployed");
        Ok(receipt["contractAddress"].as_str().context("contract address")?.to_owned())
    }

    /// Puts a deployed token of ours at the address the catalogue expects, with `supply` (hex) of
    /// it owned by the deployer.
    pub async fn place_token(&self, from: &str, to: &str, supply: &str) -> Result<()> {
        let code = self.rpc("eth_getCode", json!([from, "latest"])).await?;
        self.rpc("anvil_setCode", json!([to, code])).await?;
        let value = format!("0x{}", word(supply));
        let slot = token_slot(self.deployer());
        self.rpc("anvil_setStorageAt", json!([to, slot, value])).await.map(drop)
    }

    /// The same, behind a contract that refuses payments to addresses named in [`Self::blacklist`].
    pub async fn place_strict_token(&self, from: &str, to: &str, supply: &str) -> Result<()> {
        self.place_token(from, to, supply).await?;
        let strict = STRICT.replace("TOKEN", from.trim_start_matches("0x"));
        self.rpc("anvil_setCode", json!([to, strict])).await.map(drop)
    }

    pub async fn blacklist(&self, token: &str, address: &str) -> Result<()> {
        let slot = format!("0x{}", address_word(address));
        self.rpc("anvil_setStorageAt", json!([token, slot, format!("0x{}", word("1"))]))
            .await
            .map(drop)
    }

    pub async fn coins(&self, address: &str) -> Result<u128> {
        read_word(&self.rpc("eth_getBalance", json!([address, "latest"])).await?)
    }

    /// Reads the token's storage: a hostile contract could answer anything.
    pub async fn tokens(&self, token: &str, address: &str) -> Result<u128> {
        let params = json!([token, token_slot(address), "latest"]);
        read_word(&self.rpc("eth_getStorageAt", params).await?)
    }

    /// Asks the token itself: of one that we did not write the storage has another form.
    pub async fn balance_of(&self, token: &str, address: &str) -> Result<u128> {
        let data = call_data("balanceOf(address)", &[address_word(address)]);
        read_word(&self.rpc("eth_call", json!([{ "to": token, "data": data }, "latest"])).await?)
    }

    pub async fn nonce(&self, address: &str) -> Result<u64> {
        let count = self.rpc("eth_getTransactionCount", json!([address, "latest"])).await?;
        Ok(u64::try_from(read_word(&count)?)?)
    }

    pub async fn set_coins(&self, address: &str, units: u128) -> Result<()> {
        self.rpc("anvil_setBalance", json!([address, format!("{units:#x}")])).await.map(drop)
    }

    pub async fn receipt(&self, tx_hash: &str) -> Result<Value> {
        self.rpc("eth_getTransactionReceipt", json!([tx_hash])).await
    }

    pub async fn height(&self) -> Result<u64> {
        let height = self.rpc("eth_blockNumber", json!([])).await?;
        let digits = height.as_str().and_then(|text| text.strip_prefix("0x")).context("height")?;
        Ok(u64::from_str_radix(digits, 16)?)
    }

    /// Removes the newest `depth` blocks and returns the signed transactions of each, oldest block
    /// first.
    pub async fn roll_back(&self, depth: u64) -> Result<Vec<Vec<String>>> {
        let height = self.height().await?;
        let mut forgotten = Vec::new();
        for number in height - depth + 1..=height {
            let params = json!([format!("{number:#x}"), false]);
            let block = self.rpc("eth_getBlockByNumber", params).await?;
            let mut signed = Vec::new();
            for hash in block["transactions"].as_array().context("transactions")? {
                let raw = self.rpc("eth_getRawTransactionByHash", json!([hash])).await?;
                signed.push(raw.as_str().context("raw transaction")?.to_owned());
            }
            forgotten.push(signed);
        }
        self.rpc("anvil_rollback", json!([depth])).await?;
        Ok(forgotten)
    }

    pub async fn send_signed(&self, raw: &str) -> Result<()> {
        self.rpc("eth_sendRawTransaction", json!([raw])).await.map(drop)
    }
}

/// Solidity keeps an entry of the mapping in slot 0 at the hash of its key and the slot.
fn token_slot(owner: &str) -> String {
    let key = format!("{}{}", address_word(owner), word("0"));
    let key = hex::decode(key).expect("an address is hex");
    format!("0x{}", hex::encode(Keccak256::digest(key)))
}

fn read_word(value: &Value) -> Result<u128> {
    let digits = value.as_str().and_then(|text| text.strip_prefix("0x")).context("a number")?;
    let digits = digits.trim_start_matches('0');
    Ok(if digits.is_empty() { 0 } else { u128::from_str_radix(digits, 16)? })
}

/// `if storage[first argument] != 0 { revert }`, then the code at TOKEN runs with this contract's
/// storage.
const STRICT: &str = "0x60043554603d5736600060003760006000366000\
    73TOKEN5af43d600060003e6038573d6000fd5b3d6000f35b60006000fd";

/// A call of `signature` with static arguments, each a word of hex digits ([`word`],
/// [`address_word`]).
pub fn call_data(signature: &str, words: &[String]) -> String {
    let selector = hex::encode(&Keccak256::digest(signature)[..4]);
    format!("0x{selector}{}", words.concat())
}

/// Hex digits padded to a word.
pub fn word(digits: &str) -> String {
    format!("{digits:0>64}")
}

pub fn address_word(address: &str) -> String {
    word(address.trim_start_matches("0x"))
}

fn spawn(chain_id: u64) -> Result<Listener> {
    let mut command = Command::new(found_by("scripts/anvil.sh")?);
    command.args(["--port", "0", "--chain-id", &chain_id.to_string()]);
    command.args(["--mnemonic", MNEMONIC, "--no-mining", "--order", "fifo"]);
    command.args(["--gas-limit", "1000000000"]);
    Listener::start(&command)
}
