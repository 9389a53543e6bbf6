//! TRON over a stub of java-tron's HTTP interface.

use std::time::Duration;

use gateway::{
    asset::address::tron::encode,
    chain::{TransferAmount, TransferAsset, tron::TronSource},
};
use secrecy::SecretString;
use serde_json::json;
use support::node::{
    java_tron::{JavaTron, TronTx, internal, node_hex, transfer_log},
    stub_chain::StubChain,
};

use super::{
    driver::{Flavour, digits},
    left_out::{self, Ways},
};
use crate::chain::conformance::{Coin, Feature, LeftOut, Output};

/// USDT, which is TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t.
pub const TOKEN: &str = "a614f803b6fd780986a42c78ec9c7f77e6ded13c";
const LOOK_ALIKE: &str = "a614f803b6fd780986a42c78ec9c7f77e6ded13d";
pub const SOME_CONTRACT: &str = "9ff8fc48fb114ccd5bbdc24a86f0c73082f08825";

#[derive(Default)]
pub struct Tron;

/// 64 hex digits.
fn word(amount: &TransferAmount) -> String {
    let digits = match amount {
        TransferAmount::Units(units) => format!("{:x}", units.get()),
        // 2^128, the amount that the suite sends.
        TransferAmount::Beyond128Bits(_) => format!("1{}", "0".repeat(32)),
    };
    format!("{digits:0>64}")
}

fn payment(coin: Coin, outputs: &[Output]) -> TronTx {
    let contract = match coin {
        Coin::Native => {
            let sun = |output: &Output| digits(&output.amount).parse().expect("63 bits");
            if let [output] = outputs {
                return TronTx::transfer(&output.to, sun(output));
            }
            let pays = |output: &Output| {
                internal(&output.to, &json!({ "callValue": sun(output) }), "call")
            };
            let internals = outputs.iter().map(pays).collect();
            return TronTx::call(SOME_CONTRACT, Vec::new(), internals);
        }
        Coin::Token => TOKEN,
        Coin::LookAlike => LOOK_ALIKE,
    };
    let log = |output: &Output| transfer_log(contract, &output.to, &word(&output.amount));
    TronTx::call(contract, outputs.iter().map(log).collect(), Vec::new())
}

impl Flavour for Tron {
    type Tx = TronTx;
    type Node = JavaTron;
    type Source = TronSource;

    const NAME: &'static str = "tron";
    const FIRST_HEIGHT: u64 = 0;

    fn source(url: &SecretString, deadline: Duration) -> TronSource {
        TronSource::new(url).expect("an http url").with_deadline(deadline)
    }

    fn chain(node: &mut JavaTron) -> &mut StubChain<TronTx> {
        &mut node.chain
    }

    fn lacks(feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::Evidence(LeftOut::Movement) => {
                Some("no header commits to the logs of a transaction")
            }
            Feature::HiddenNative => Some("its blocks show everything"),
            Feature::Replacement => {
                Some("its transactions have no number, so a second one pays once more")
            }
            Feature::Mempool => Some("what is in no block waits where nobody can read it"),
            Feature::Beyond128Bits(Coin::Native) | Feature::LargestAmount(Coin::Native) => {
                Some("its native amounts have 63 bits")
            }
            Feature::ZeroAmount(Coin::Native) => Some("it refuses native transfers of zero"),
            Feature::Tokens
            | Feature::ManyNativeOutputs
            | Feature::ManyTokenOutputs
            | Feature::Beyond128Bits(_)
            | Feature::LargestAmount(_)
            | Feature::ZeroAmount(_)
            | Feature::Failures
            | Feature::Noise
            | Feature::Reorganisations
            | Feature::Line
            | Feature::Evidence(LeftOut::All | LeftOut::Transaction) => None,
        }
    }

    fn asset(&self, coin: Coin) -> TransferAsset {
        let contract = match coin {
            Coin::Native => return TransferAsset::Native,
            Coin::Token => TOKEN,
            Coin::LookAlike => LOOK_ALIKE,
        };
        let bytes: [u8; 20] = hex::decode(contract).expect("hex").try_into().expect("20 bytes");
        TransferAsset::Contract(encode(&bytes))
    }

    fn fresh_address() -> String {
        encode(&rand::random())
    }

    fn pay(&self, coin: Coin, outputs: &[Output]) -> (Vec<TronTx>, String) {
        let tx = payment(coin, outputs);
        let id = tx.id();
        (vec![tx], id)
    }

    fn fail(&self, coin: Coin) -> (Vec<TronTx>, String) {
        let tx = payment(coin, &[Output::new(&Self::fresh_address(), 7)]).failing("REVERT");
        let id = tx.id();
        (vec![tx], id)
    }

    fn noise(&self, address: &str) -> Vec<TronTx> {
        let five = word(&Output::new(address, 5).amount);
        let log = || transfer_log(TOKEN, address, &five);
        let mut other_topic = log();
        other_topic["topics"][0] = json!("ab".repeat(32));
        let mut four_topics = log();
        four_topics["topics"].as_array_mut().expect("topics").push(json!(five));
        let mut wide = log();
        wide["topics"][2] = json!(format!("{}{}", "1".repeat(24), &node_hex(address)[2..]));
        let mut unreadable = log();
        unreadable["topics"] = json!([1, 2, 3]);
        let logs = vec![
            other_topic,
            four_topics,
            wide,
            unreadable,
            transfer_log(TOKEN, address, &five.repeat(2)),
            transfer_log(TOKEN, address, ""),
            json!({ "address": TOKEN }),
        ];
        let mut rejected = internal(address, &json!({ "callValue": 5 }), "call");
        rejected["rejected"] = json!(true);
        let internals = vec![
            rejected,
            internal(address, &json!({}), "call"),
            internal(address, &json!({ "callValue": 5, "tokenId": "1002000" }), "call"),
            internal(address, &json!({ "callValue": 5 }), "delegateResourceOfEnergy"),
            internal(address, &json!({ "callValue": 5 }), "freezeBalanceV2ForBandwidth"),
            json!({ "callValueInfo": 5, "transferTo_address": node_hex(address) }),
        ];
        let paid_inside = internal(address, &json!({ "callValue": 5 }), "call");
        vec![
            TronTx::call(TOKEN, logs, internals),
            TronTx::asset(address, 5),
            TronTx::transfer(address, 5).failing("OUT_OF_ENERGY"),
            TronTx::call(SOME_CONTRACT, vec![log()], vec![paid_inside]).failing("REVERT"),
        ]
    }

    fn left_out(what: LeftOut) -> Ways {
        left_out::of_tron(what)
    }
}
