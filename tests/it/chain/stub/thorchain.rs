//! THORChain over a stub of CometBFT's RPC.

use std::time::Duration;

use gateway::{
    asset::{
        Family,
        address::{AccountKey, Realm, sandbox},
    },
    chain::{TransferAsset, thorchain::ThorchainSource},
};
use secrecy::SecretString;
use serde_json::json;
use support::node::{
    stub_chain::StubChain,
    thornode::{ThorTx, Thornode, event, transfer},
};

use super::{
    driver::{Flavour, digits},
    left_out::{self, Ways},
};
use crate::chain::conformance::{Coin, Feature, LeftOut, Output};

#[derive(Default)]
pub struct Thorchain;

fn denom(coin: Coin) -> &'static str {
    match coin {
        Coin::Native => "rune",
        Coin::Token => "tcy",
        // Secured assets and others carry names that look like something else.
        Coin::LookAlike => "thor.rune",
    }
}

fn payment(code: u32, coin: Coin, outputs: &[Output]) -> (Vec<ThorTx>, String) {
    let coins =
        |output: &Output| (output.to.clone(), format!("{}{}", digits(&output.amount), denom(coin)));
    let tx = ThorTx::new(code, &outputs.iter().map(coins).collect::<Vec<_>>());
    let hash = tx.hash();
    (vec![tx], hash)
}

impl Flavour for Thorchain {
    type Tx = ThorTx;
    type Node = Thornode;
    type Source = ThorchainSource;

    const NAME: &'static str = "thorchain";
    const FIRST_HEIGHT: u64 = 1;

    fn source(url: &SecretString, deadline: Duration) -> ThorchainSource {
        ThorchainSource::new(url).expect("an http url").with_deadline(deadline)
    }

    fn chain(node: &mut Thornode) -> &mut StubChain<ThorTx> {
        &mut node.chain
    }

    fn lacks(feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::Evidence(LeftOut::Movement) => {
                Some("no header commits to the events of a transaction")
            }
            Feature::HiddenNative => Some("its blocks show everything"),
            Feature::Replacement => {
                Some("its nodes refuse a second transaction of a sequence number at any fee")
            }
            Feature::Mempool => Some("what waits is final a moment later"),
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
        match coin {
            Coin::Native => TransferAsset::Native,
            Coin::Token | Coin::LookAlike => TransferAsset::Contract(denom(coin).to_owned()),
        }
    }

    fn fresh_address() -> String {
        let key = sandbox::account_key(Realm::Main, Family::Thorchain).expect("a public key");
        let key = AccountKey::parse(Family::Thorchain, key).expect("a public key");
        key.address(rand::random::<u32>() >> 1).expect("an address")
    }

    fn pay(&self, coin: Coin, outputs: &[Output]) -> (Vec<ThorTx>, String) {
        payment(0, coin, outputs)
    }

    /// A real node leaves the transfer out of a failed transaction; an adapter must not depend on
    /// that.
    fn fail(&self, coin: Coin) -> (Vec<ThorTx>, String) {
        payment(5, coin, &[Output::new(&Self::fresh_address(), 7)])
    }

    fn noise(&self, address: &str) -> Vec<ThorTx> {
        let mut tx = ThorTx::new(0, &[]);
        let received = [("receiver", address), ("amount", "5rune")];
        tx.events.extend([
            event("coin_received", &received),
            event("outbound", &[("to", address), ("coin", "5 THOR.RUNE")]),
            event("transfer", &[("recipient", address), ("sender", "a")]),
            transfer(address, ""),
            transfer(address, "0rune"),
            transfer(address, "-5rune"),
            transfer(address, "5"),
            transfer(&address.replacen("thor1", "sthor1", 1), "5rune"),
            json!({ "type": "transfer", "attributes": [[address, "5rune"]] }),
            json!("transfer"),
        ]);
        vec![tx]
    }

    fn left_out(what: LeftOut) -> Ways {
        left_out::of_thorchain(what)
    }
}
