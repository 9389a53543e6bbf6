//! The transaction that created an output, as a node without a transaction index can serve it: from
//! its block.

use bitcoin::{
    Amount, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, Witness,
    absolute::LockTime, consensus::encode, transaction::Version,
};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    UtxoPayer, narrow,
    search::{self, BLOCK},
};
use crate::{chain::ChainError, money::BaseUnits};

const RAW: &str = "getrawtransaction";
/// Decimals of all three coins.
const DECIMALS: u32 = 8;

#[derive(Deserialize)]
struct WireBlock {
    #[serde(rename = "tx")]
    transactions: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct WireId {
    txid: String,
}

#[derive(Deserialize)]
struct WireTransaction {
    version: i64,
    locktime: u32,
    #[serde(rename = "vin")]
    inputs: Vec<WireInput>,
    #[serde(rename = "vout")]
    outputs: Vec<WireOutput>,
}

#[derive(Deserialize)]
struct WireInput {
    #[serde(default)]
    txid: Option<String>,
    #[serde(default)]
    vout: u32,
    /// Present in the coinbase transaction, which has no real inputs.
    #[serde(default)]
    coinbase: Option<String>,
    #[serde(default, rename = "scriptSig")]
    script: Option<WireScript>,
    sequence: u32,
}

#[derive(Deserialize)]
struct WireOutput {
    value: Box<RawValue>,
    #[serde(rename = "scriptPubKey")]
    script: WireScript,
}

#[derive(Deserialize)]
struct WireScript {
    hex: String,
}

/// The transaction `txid` in the block at `height`. Its bytes are verified against its id, so the
/// node is not trusted.
pub(super) async fn transaction(
    payer: &UtxoPayer,
    txid: Txid,
    height: u64,
) -> Result<Transaction, ChainError> {
    let found = provable(payer, txid, height).await?;
    found.ok_or_else(|| payer.rpc.inconsistent(format!("does not report transaction {txid}")))
}

/// The same; `None` if the node has no bytes of it that its id proves. Those of a peg-out (MWEB)
/// have a form of their own.
pub(super) async fn provable(
    payer: &UtxoPayer,
    txid: Txid,
    height: u64,
) -> Result<Option<Transaction>, ChainError> {
    let gone = || payer.rpc.inconsistent(format!("has no block {height} any more"));
    let block = search::hash_at(payer, height).await?.ok_or_else(gone)?;
    let found = match search::read::<String>(payer, RAW, json!([txid.to_string(), 0, block])).await
    {
        Ok(text) => plain(&text),
        // Old nodes do not support the lookup in a given block; their block lists the parts of all
        // its transactions.
        Err(ChainError::Refused { .. }) => of_parts(payer, txid, &block).await?,
        Err(error) => return Err(error),
    };
    Ok(found.filter(|found| found.compute_txid() == txid))
}

/// Reads the bytes of a transaction; `None` for those with the flag of MWEB.
fn plain(digits: &str) -> Option<Transaction> {
    encode::deserialize(&hex::decode(digits).ok()?).ok()
}

async fn of_parts(
    payer: &UtxoPayer,
    txid: Txid,
    block: &str,
) -> Result<Option<Transaction>, ChainError> {
    let block: WireBlock = search::read(payer, BLOCK, json!([block, 2])).await?;
    let name = txid.to_string();
    let mut texts = block.transactions.iter().map(|raw| raw.get());
    let is_it =
        |text: &&str| serde_json::from_str::<WireId>(text).is_ok_and(|told| told.txid == name);
    Ok(texts.find(is_it).and_then(assembled))
}

/// Reassembles a transaction from its parts, without the witnesses, which are not part of its id.
fn assembled(json: &str) -> Option<Transaction> {
    let wire: WireTransaction = serde_json::from_str(json).ok()?;
    Some(Transaction {
        // Depending on their age, nodes print the same four bytes as a signed or an unsigned
        // number.
        version: Version(i32::try_from(wire.version).ok().or_else(|| {
            let unsigned = u32::try_from(wire.version).ok()?;
            Some(i32::from_le_bytes(unsigned.to_le_bytes()))
        })?),
        lock_time: LockTime::from_consensus(wire.locktime),
        input: wire.inputs.into_iter().map(input).collect::<Option<_>>()?,
        output: wire.outputs.iter().map(output).collect::<Option<_>>()?,
    })
}

fn input(wire: WireInput) -> Option<TxIn> {
    let (previous_output, script) = match (wire.coinbase, wire.txid) {
        (Some(coinbase), _) => (OutPoint::null(), coinbase),
        (None, Some(txid)) => {
            let place = OutPoint { txid: txid.parse().ok()?, vout: wire.vout };
            (place, wire.script.map(|script| script.hex).unwrap_or_default())
        }
        (None, None) => return None,
    };
    Some(TxIn {
        previous_output,
        script_sig: ScriptBuf::from_bytes(hex::decode(script).ok()?),
        sequence: Sequence(wire.sequence),
        witness: Witness::new(),
    })
}

fn output(wire: &WireOutput) -> Option<TxOut> {
    let amount = narrow(BaseUnits::parse(wire.value.get(), DECIMALS).ok()?)?;
    let script_pubkey = ScriptBuf::from_bytes(hex::decode(&wire.script.hex).ok()?);
    Some(TxOut { value: Amount::from_sat(amount), script_pubkey })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first payment in bitcoin's history, and the coinbase that it spends, as a node lists
    /// them.
    const REWARD: &str = r#"{
        "txid": "0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9", "version": 1, "locktime": 0,
        "vin": [{ "coinbase": "04ffff001d0134", "sequence": 4294967295 }],
        "vout": [{ "value": 50.00000000, "n": 0, "scriptPubKey": { "hex":
            "410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3ac" } }]
    }"#;
    const PAYMENT: &str = r#"{
        "txid": "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16", "version": 1, "locktime": 0,
        "vin": [{ "txid": "0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9", "vout": 0,
            "scriptSig": { "hex": "47304402204e45e16932b8af514961a1d3a1a25fdf3f4f7732e9d624c6c61548ab5fb8cd410220181522ec8eca07de4860a4acdd12909d831cc56cbbac4622082221a8768d1d0901" },
            "sequence": 4294967295 }],
        "vout": [
            { "value": 10.00000000, "n": 0, "scriptPubKey": { "hex":
                "4104ae1a62fe09c5f51b13905f07f06b99a2f7159b2225f374cd378d71302fa28414e7aab37397f554a7df5f142c21c1b7303b8a0626f1baded5c72a704f7e6cd84cac" } },
            { "value": 40.00000000, "n": 1, "scriptPubKey": { "hex":
                "410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3ac" } }
        ]
    }"#;

    #[test]
    fn a_transaction_is_put_together_from_its_parts() {
        for json in [REWARD, PAYMENT] {
            let told: WireId = serde_json::from_str(json).unwrap();
            assert_eq!(assembled(json).unwrap().compute_txid().to_string(), told.txid);
        }
        for broken in
            ["{}", &PAYMENT.replace("vout\": [", "vouts\": ["), &PAYMENT.replace("10.0", "-1.0")]
        {
            assert_eq!(assembled(broken), None);
        }
    }

    /// The flag stands where the number of inputs does in plain transactions, and is zero, and then
    /// names what follows: 1 for witnesses, 8 for MWEB.
    #[test]
    fn a_transaction_of_an_extension_block_is_none_that_is_read() {
        let input = format!("01{}00000000{}ffffffff", "11".repeat(32), "00");
        let rest = format!("{input}01e80300000000000016{}{}", "0014", "22".repeat(20));
        assert!(plain(&format!("02000000{rest}00000000")).is_some());
        assert!(plain(&format!("020000000008{rest}0000000000")).is_none());
    }

    #[test]
    fn a_version_is_four_bytes_with_or_without_a_sign() {
        let version = |text: &str| {
            let json = REWARD.replace("\"version\": 1", &format!("\"version\": {text}"));
            assembled(&json).map(|transaction| transaction.version.0)
        };
        assert_eq!((version("-1"), version("4294967295")), (Some(-1), Some(-1)));
        assert_eq!(version("4294967296"), None);
    }
}
