//! NEAR over a stub of a neardata server.

use std::time::Duration;

use gateway::chain::{TransferAsset, near::NearSource};
use secrecy::SecretString;
use serde_json::json;
use support::node::{
    near_data::{NearData, NearReceipt, ft_transfer, random_hash, transfer},
    stub_chain::StubChain,
};

use super::{
    driver::{Flavour, digits},
    left_out::{self, Ways},
};
use crate::chain::conformance::{Coin, Feature, LeftOut, Output};

const TOKEN: &str = "usdt.tether-token.near";
const LOOK_ALIKE: &str = "usdt.tether-token.evil.near";

#[derive(Default)]
pub struct Near;

fn payment(coin: Coin, outputs: &[Output]) -> (Vec<NearReceipt>, String) {
    let tx_hash = random_hash();
    let contract = match coin {
        Coin::Native => {
            // One receiver's payments are actions of one receipt, others are receipts of their own.
            let mut receipts: Vec<NearReceipt> = Vec::new();
            for output in outputs {
                let action = transfer(&digits(&output.amount));
                match receipts.iter_mut().find(|receipt| receipt.receiver == output.to) {
                    Some(receipt) => receipt.actions.push(action),
                    None => receipts.push(NearReceipt::new(&tx_hash, &output.to, vec![action])),
                }
            }
            return (receipts, tx_hash);
        }
        Coin::Token => TOKEN,
        Coin::LookAlike => LOOK_ALIKE,
    };
    let movements: Vec<_> =
        outputs.iter().map(|output| (output.to.clone(), digits(&output.amount))).collect();
    (vec![NearReceipt::token(&tx_hash, contract, &movements)], tx_hash)
}

impl Flavour for Near {
    type Tx = NearReceipt;
    type Node = NearData;
    type Source = NearSource;

    const NAME: &'static str = "near";
    const FIRST_HEIGHT: u64 = 9_820_210;

    fn source(url: &SecretString, deadline: Duration) -> NearSource {
        let source = NearSource::new(url).and_then(|source| source.with_state(url));
        source.expect("an http url").with_deadline(deadline)
    }

    fn chain(node: &mut NearData) -> &mut StubChain<NearReceipt> {
        &mut node.chain
    }

    fn lacks(feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::HiddenNative => Some("its blocks show everything"),
            Feature::Replacement => {
                Some("its nodes know no higher fee: the first with a nonce is executed")
            }
            Feature::Mempool => Some("what waits is final a moment later"),
            Feature::Beyond128Bits(Coin::Native) => Some("its native amounts have 128 bits"),
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
            | Feature::Evidence(_) => None,
        }
    }

    fn asset(&self, coin: Coin) -> TransferAsset {
        match coin {
            Coin::Native => TransferAsset::Native,
            Coin::Token => TransferAsset::Contract(TOKEN.to_owned()),
            Coin::LookAlike => TransferAsset::Contract(LOOK_ALIKE.to_owned()),
        }
    }

    fn fresh_address() -> String {
        hex::encode(rand::random::<[u8; 32]>())
    }

    fn pay(&self, coin: Coin, outputs: &[Output]) -> (Vec<NearReceipt>, String) {
        payment(coin, outputs)
    }

    fn fail(&self, coin: Coin) -> (Vec<NearReceipt>, String) {
        let (mut receipts, hash) = payment(coin, &[Output::new(&Self::fresh_address(), 7)]);
        let kind = json!({ "FunctionCallError": { "ExecutionError": "Smart contract panicked" } });
        receipts[0].status = json!({ "Failure": { "ActionError": { "index": 0, "kind": kind } } });
        (receipts, hash)
    }

    fn noise(&self, address: &str) -> Vec<NearReceipt> {
        let mut receipts = Vec::new();
        let mut receipt = |change: &dyn Fn(&mut NearReceipt)| {
            let mut receipt = NearReceipt::new(&random_hash(), address, vec![transfer("5")]);
            change(&mut receipt);
            receipts.push(receipt);
        };
        // Gas that comes back.
        receipt(&|r| r.predecessor = "system".to_owned());
        receipt(&|r| r.status = json!("Unknown"));
        receipt(&|r| r.actions = vec![json!("CreateAccount"), transfer("0")]);
        receipt(&|r| r.actions = vec![json!({ "Stake": { "stake": "5", "public_key": "x" } })]);
        receipt(&|r| r.actions = vec![json!({ "Transfer": { "deposit": "-5" } })]);
        receipt(&|r| r.actions = vec![json!({ "Transfer": { "deposit": 5 } })]);
        let of_contract = |logs: Vec<String>| {
            move |r: &mut NearReceipt| {
                TOKEN.clone_into(&mut r.receiver);
                r.actions.clear();
                r.logs.clone_from(&logs);
            }
        };
        let line = ft_transfer(address, "5");
        receipt(&of_contract(vec![
            line.replace("nep141", "nep171"),
            line.replace("ft_transfer", "ft_burn"),
            line.replace("EVENT_JSON:", ""),
            line.replace("\"5\"", "\"five\""),
            line.replace('}', ""),
            format!("Transfer 5 from buyer.near to {address}"),
        ]));
        receipts.extend(NearReceipt::token_and_back(TOKEN, address, "5"));
        receipts
    }

    fn left_out(what: LeftOut) -> Ways {
        left_out::of_near(what)
    }
}
