//! Two calls: the hash of the block, and the block with the outputs of its transactions.

use gateway::asset::Network;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{
    HEIGHT, TRANSACTIONS,
    answers::{Answers, digest, digits, reply},
};

/// Payments with one input and change, in the shape of the network's node.
pub fn full(network: Network) -> Answers {
    let output = |n: usize, number: usize| {
        let hash = digits("hash", 2 * number + n)[..40].to_owned();
        let script = if network == Network::Dogecoin {
            json!({ "asm": format!("OP_DUP OP_HASH160 {hash} OP_EQUALVERIFY OP_CHECKSIG"),
                "hex": format!("76a914{hash}88ac"), "reqSigs": 1, "type": "pubkeyhash",
                "addresses": ["DHy2615XKevE23LVRVZVxGeqxadRGyiFW4"] })
        } else {
            json!({ "asm": format!("0 {hash}"), "desc": format!("addr(bc1q{hash})#00000000"),
                "hex": format!("0014{hash}"), "address": format!("bc1q{hash}"), "type": "witness_v0_keyhash" })
        };
        json!({ "value": 0.0125, "n": n, "scriptPubKey": script })
    };
    let transaction = |number: usize| {
        json!({
            "txid": digits("tx", number), "hash": digits("wtx", number), "version": 2, "size": 222, "vsize": 141,
            "weight": 561, "locktime": 0,
            "vin": [{ "txid": digits("spent", number), "vout": 1, "scriptSig": { "asm": "", "hex": "" },
                "txinwitness": [format!("30{}", digits("signature", number)), digits("key", number)],
                "sequence": 4_294_967_293_u32 }],
            "vout": [output(0, number), output(1, number)], "fee": 0.00001410,
            "hex": digits("raw", number).repeat(7),
        })
    };
    let transactions: Vec<_> = (0..TRANSACTIONS).map(transaction).collect();
    let hash = digits("block", 0);
    let block = json!({
        "hash": hash, "confirmations": 1, "height": HEIGHT, "version": 536_870_912, "merkleroot": merkle_root(),
        "time": 1_780_000_000, "previousblockhash": digits("block", 1), "nTx": TRANSACTIONS, "tx": transactions,
    });
    Answers::new([("getblockhash", reply(&json!(hash))), ("getblock", reply(&block))])
}

/// Merkle root of the transaction ids, whose texts are byte-reversed.
fn merkle_root() -> String {
    let id = |number| -> Vec<u8> { digest("tx", number).into_iter().rev().collect() };
    let mut level: Vec<Vec<u8>> = (0..TRANSACTIONS).map(id).collect();
    while level.len() > 1 {
        let join = |pair: &[Vec<u8>]| {
            let last = &pair[pair.len() - 1];
            Sha256::digest(Sha256::digest([pair[0].as_slice(), last].concat())).to_vec()
        };
        level = level.chunks(2).map(join).collect();
    }
    level[0].reverse();
    hex::encode(&level[0])
}
