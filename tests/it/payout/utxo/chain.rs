//! Payments as the chain itself shows them: an oracle independent of our code.

use std::collections::BTreeMap;

use gateway::{
    asset::{Network, Realm, address},
    money::BaseUnits,
};
use serde_json::{Value, json};
use support::node::json_rpc;

/// An output script in hex.
pub type Script = String;

/// The script of one of many recipients, of each kind that the network's wallets use.
pub fn script(network: Network, number: u32) -> Script {
    let hash = |bytes: usize| format!("{number:0width$x}", width = bytes * 2);
    let kinds = if network == Network::Dogecoin { 2 } else { 5 };
    match number % kinds {
        0 => format!("76a914{}88ac", hash(20)),
        1 => format!("a914{}87", hash(20)),
        2 => format!("0014{}", hash(20)),
        3 => format!("0020{}", hash(32)),
        // Of a key that is on the curve: the generator's, for all of them.
        _ => format!("5120{}", hash(32)),
    }
}

/// Address of the script.
pub fn address(network: Network, script: &str) -> String {
    let script = hex::decode(script).unwrap();
    address::of_script(network, Realm::Regtest, &script).unwrap()
}

pub fn script_of(network: Network, address: &str) -> Script {
    hex::encode(address::script_of(network, Realm::Regtest, address).unwrap())
}

async fn rpc(url: &str, method: &str, params: Value) -> Value {
    json_rpc::call(url, method, params).await.unwrap()
}

/// Number and sum of the payments to each script, in blocks above `height` and in the mempool.
pub async fn paid_since(url: &str, height: u64) -> BTreeMap<Script, (u32, u128)> {
    let mut transactions = Vec::new();
    let tip = rpc(url, "getblockcount", json!([])).await.as_u64().unwrap();
    for height in height + 1..=tip {
        let hash = rpc(url, "getblockhash", json!([height])).await;
        let block = rpc(url, "getblock", json!([hash, 2])).await;
        transactions.extend(block["tx"].as_array().unwrap().iter().cloned());
    }
    for waiting in rpc(url, "getrawmempool", json!([])).await.as_array().unwrap() {
        // It may be mined meanwhile: then the next look finds it in its block.
        if let Ok(transaction) = json_rpc::call(url, "getrawtransaction", json!([waiting, 1])).await
        {
            transactions.push(transaction);
        }
    }
    let mut seen = std::collections::HashSet::new();
    transactions.retain(|transaction| seen.insert(transaction["txid"].to_string()));
    let mut paid = BTreeMap::new();
    for output in transactions.iter().flat_map(|tx| tx["vout"].as_array().unwrap()) {
        let Some(script) = output["scriptPubKey"]["hex"].as_str() else { continue };
        let entry = paid.entry(script.to_owned()).or_insert((0, 0));
        entry.0 += 1;
        entry.1 += units(&output["value"]);
    }
    paid
}

/// Unspent amount at an address.
pub async fn unspent(url: &str, address: &str) -> u128 {
    let found = rpc(url, "scantxoutset", json!(["start", [format!("addr({address})")]])).await;
    units(&found["total_amount"])
}

fn units(amount: &Value) -> u128 {
    BaseUnits::parse(&amount.to_string(), 8).unwrap().get()
}
