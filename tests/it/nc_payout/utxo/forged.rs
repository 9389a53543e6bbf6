//! The signed transaction is exactly the built one, or nothing of it is kept.

use bitcoin::{Amount, OutPoint, Psbt, ScriptBuf, Sequence, TxIn, TxOut, psbt};
use gateway::asset::Network;
use serde_json::{Value, json};

use super::{super::refused, LEGACY, Scene, WALLET, WITNESS, changed, finished, sign, with_wallet};

type Change = fn(&mut Psbt);

/// Each signed by the merchant's own wallet, and named by the fields that differ.
const FORGERIES: [(&[&str], Change); 7] = [
    (&["outputs[0].script"], |psbt| {
        psbt.unsigned_tx.output[0].script_pubkey =
            ScriptBuf::from_bytes([&[0, 20][..], &[0x66; 20]].concat());
    }),
    (&["outputs[1].amount"], |psbt| psbt.unsigned_tx.output[1].value = Amount::from_sat(999_999)),
    (&["outputs[2].amount", "outputs[2].script"], |psbt| {
        psbt.unsigned_tx.output.pop();
        psbt.outputs.pop();
    }),
    (&["outputs[3].amount", "outputs[3].script"], |psbt| {
        let thief = ScriptBuf::from_bytes([&[0, 20][..], &[0x66; 20]].concat());
        psbt.unsigned_tx.output.push(TxOut { value: Amount::from_sat(600), script_pubkey: thief });
        psbt.outputs.push(psbt::Output::default());
    }),
    (&["inputs[1].outpoint", "inputs[1].sequence"], |psbt| {
        psbt.unsigned_tx.input.pop();
        psbt.inputs.pop();
    }),
    (&["inputs[0].sequence"], |psbt| psbt.unsigned_tx.input[0].sequence = Sequence::from_height(1)),
    (&["locktime"], |psbt| {
        psbt.unsigned_tx.lock_time = bitcoin::absolute::LockTime::from_height(1).unwrap();
    }),
];

async fn differs(scene: &Scene, payout: &Value, signed: &str, fields: &[&str]) {
    let details = refused(&scene.submit(payout, signed).await, 422, "SIGNATURE_MISMATCH");
    let told: Vec<_> = details.as_array().into_iter().flatten().map(|one| &one["field"]).collect();
    assert_eq!(told, fields, "{details}");
}

async fn is_told(scene: &Scene, payout: &Value, signed: &str, message: &str) {
    let answer = scene.submit(payout, signed).await;
    refused(&answer, 422, "SIGNATURE_MISMATCH");
    assert_eq!(answer.json()["error"]["message"], message);
}

/// The PSBT of a payout, signed by the merchant's wallet for a part of the transaction only.
async fn partly_signed(scene: &Scene, psbt: &str) -> String {
    let params = json!([psbt, true, "SINGLE|ANYONECANPAY"]);
    let signed = scene.node.wallet_rpc(WALLET, "walletprocesspsbt", params).await.unwrap();
    signed["psbt"].as_str().unwrap().to_owned()
}

async fn only_what_was_built_is_taken(kind: &str) {
    with_wallet(Network::Bitcoin, kind, |scene| async move {
        let payout = scene.create(&scene.body(&scene.coins(2).await, 1..3)).await;
        let psbt = payout["unsigned"]["payload"].as_str().unwrap();
        for (fields, change) in FORGERIES {
            let forged = sign(&scene.node, &changed(psbt, change)).await;
            differs(&scene, &payout, &forged, fields).await;
            differs(&scene, &payout, &finished(&scene.node, &forged).await, fields).await;
        }
        // A third coin of the merchant's, which the wallet signs as well.
        let third = scene.coins(1).await.remove(0);
        let txid = third["txid"].as_str().unwrap().parse().unwrap();
        let added = changed(psbt, |psbt| {
            let previous_output = OutPoint { txid, vout: 0 };
            psbt.unsigned_tx.input.push(TxIn { previous_output, ..TxIn::default() });
            psbt.inputs.push(psbt::Input::default());
        });
        let added = sign(&scene.node, &added).await;
        differs(&scene, &payout, &added, &["inputs[2].outpoint", "inputs[2].sequence"]).await;

        is_told(&scene, &payout, psbt, "input 0 is not signed").await;
        let partly = partly_signed(&scene, psbt).await;
        let part = "input 0 is signed for a part of the transaction only, and not with SIGHASH_ALL";
        is_told(&scene, &payout, &partly, part).await;
        let good = scene.sign(&payout).await;
        let raw = finished(&scene.node, &good).await;
        is_told(
            &scene,
            &payout,
            &wrong_signature(&raw),
            "input 0 has a signature that is not valid",
        )
        .await;
        let unreadable = "what came back is neither a PSBT of version 0 nor a transaction";
        is_told(&scene, &payout, &raw[..raw.len() - 2], unreadable).await;
        let both = scene.post(&payout, "submit", &json!({ "signed": [good, raw] })).await;
        refused(&both, 422, "SIGNATURE_MISMATCH");
        for body in [json!({}), json!({ "signed": 1 }), json!({ "signed": "not hex, not base64" })]
        {
            refused(&scene.post(&payout, "submit", &body).await, 400, "INVALID_REQUEST");
        }

        let read = scene.read(&payout).await;
        assert_eq!((&read["state"], &read["txHashes"]), (&json!("awaiting_signature"), &json!([])));
        assert_eq!(scene.submit(&payout, &good).await.status, 200);
        scene.becomes(&payout, "completed").await;
        scene.are_paid(1..3).await;
    })
    .await;
}

/// The first signature with one bit of its last byte but one flipped.
fn wrong_signature(raw: &str) -> String {
    let bytes = hex::decode(raw).unwrap();
    let mut transaction: bitcoin::Transaction =
        bitcoin::consensus::encode::deserialize(&bytes).unwrap();
    let input = &mut transaction.input[0];
    if input.witness.is_empty() {
        let mut script = input.script_sig.to_bytes();
        let last = usize::from(script[0]) - 1;
        script[last] ^= 1;
        input.script_sig = ScriptBuf::from_bytes(script);
    } else {
        let mut parts = input.witness.to_vec();
        let last = parts[0].len() - 2;
        parts[0][last] ^= 1;
        input.witness = bitcoin::Witness::from_slice(&parts);
    }
    hex::encode(bitcoin::consensus::encode::serialize(&transaction))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_psbt_with_segwit_inputs_is_accepted_only_as_it_was_built() {
    only_what_was_built_is_taken(WITNESS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_psbt_with_legacy_inputs_is_accepted_only_as_it_was_built() {
    only_what_was_built_is_taken(LEGACY).await;
}

/// Two payouts are built on one coin; only one of them can be submitted, also at the same moment.
#[tokio::test(flavor = "multi_thread")]
async fn two_payouts_never_spend_the_same_output() {
    with_wallet(Network::Bitcoin, WITNESS, |scene| async move {
        let inputs = scene.coins(1).await;
        let first = scene.create(&scene.body(&inputs, 1..2)).await;
        let second = scene.create(&scene.body(&inputs, 2..3)).await;
        let (one, other) = (scene.sign(&first).await, scene.sign(&second).await);
        let both =
            futures_util::future::join(scene.submit(&first, &one), scene.submit(&second, &other));
        let (one, other) = both.await;
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 422], "{} {}", one.body, other.body);
        let (kept, lost) = if one.status == 200 { (1, 2) } else { (2, 1) };
        let refused_one = if one.status == 200 { &other } else { &one };
        refused(refused_one, 422, "BROADCAST_REJECTED");
        scene.becomes(if kept == 1 { &first } else { &second }, "completed").await;
        scene.are_paid(kept..kept + 1).await;
        scene.is_unpaid(lost).await;
    })
    .await;
}
