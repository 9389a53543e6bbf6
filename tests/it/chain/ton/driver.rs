//! Controls a private TON.

use std::time::Duration;

use anyhow::Result;
use chrono::TimeDelta;
use gateway::{
    asset::Network,
    chain::{TransferAmount, TransferAsset, ton::TonSource},
};
use secrecy::SecretString;
use support::{fault::faulty_line::Edit, node::ton::TonNode};

use super::left_out;
use crate::chain::conformance::{Act, ChainUnderTest, Coin, Connect, Feature, LeftOut, Output};

const DOES_IT: &str = "the node does what the test says";

/// A private TON with two tokens of one name, and the source that reads it.
pub struct TonChain {
    pub node: TonNode,
    pub source: TonSource,
    token: String,
    look_alike: String,
}

pub fn source(url: &str) -> TonSource {
    TonSource::new(Network::Ton, &SecretString::from(url)).expect("TON and an http url")
}

/// Skips tokens of impostors at once: the suite reads each block in the moment it is made.
fn impatient(url: &str) -> TonSource {
    source(url).with_listing_wait(TimeDelta::zero())
}

pub fn random_address() -> String {
    format!("0:{}", hex::encode(rand::random::<[u8; 32]>()))
}

impl TonChain {
    pub async fn start() -> Result<Self> {
        let node = TonNode::start().await?;
        let source = impatient(node.url());
        let token = node.token("Tether USD", None).await?;
        // Another master contract of the same code and name; only its address differs.
        let look_alike = node.token("Tether USD", Some(&random_address())).await?;
        Ok(Self { node, source, token, look_alike })
    }

    fn master(&self, coin: Coin) -> &str {
        match coin {
            Coin::Token => &self.token,
            Coin::LookAlike => &self.look_alike,
            Coin::Native => panic!("the native coin has no master contract"),
        }
    }
}

fn units(amount: &TransferAmount) -> u128 {
    match amount {
        TransferAmount::Units(units) => units.get(),
        TransferAmount::Beyond128Bits(amount) => panic!("nobody can send {amount}"),
    }
}

impl ChainUnderTest for TonChain {
    type Source = TonSource;

    fn name(&self) -> String {
        "ton".to_owned()
    }

    fn source(&self) -> &TonSource {
        &self.source
    }

    fn url(&self) -> String {
        self.node.url().to_owned()
    }

    fn source_at(&self, url: &str, deadline: Duration) -> TonSource {
        impatient(url).with_deadline(deadline)
    }

    fn lacks(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::ManyNativeOutputs
            | Feature::ManyTokenOutputs
            | Feature::Evidence(LeftOut::Movement) => {
                Some("a transaction is one account's and takes in one message")
            }
            Feature::Beyond128Bits(_) | Feature::LargestAmount(_) => {
                Some("an amount has 120 bits at most")
            }
            Feature::HiddenNative => Some("its blocks show every message"),
            Feature::Replacement => {
                Some("a wallet takes the first message of a number, whatever others offer")
            }
            Feature::Mempool => Some("not read: the next block is seconds away"),
            Feature::Reorganisations => Some("its masterchain blocks are final"),
            Feature::Tokens
            | Feature::ZeroAmount(_)
            | Feature::Failures
            | Feature::Noise
            | Feature::Line
            | Feature::Evidence(LeftOut::All | LeftOut::Transaction) => None,
        }
    }

    fn asset(&self, coin: Coin) -> TransferAsset {
        match coin {
            Coin::Native => TransferAsset::Native,
            Coin::Token | Coin::LookAlike => TransferAsset::Contract(self.master(coin).to_owned()),
        }
    }

    async fn fresh_address(&mut self) -> String {
        random_address()
    }

    async fn send(&mut self, act: &Act) -> String {
        match act {
            Act::Pay(coin, outputs) => {
                let [Output { to, amount }] = outputs.as_slice() else {
                    panic!("{:?}", self.lacks(Feature::ManyNativeOutputs));
                };
                if *coin == Coin::Native {
                    return self.node.pay(to, units(amount), false).await.expect(DOES_IT).0;
                }
                let master = self.master(*coin);
                self.node.pay_token(master, to, units(amount)).await.expect(DOES_IT)
            }
            // The account does not exist, so the payment bounces.
            Act::Fail(Coin::Native) => {
                let paid = self.node.pay(&random_address(), 1_000_000_000, true).await;
                paid.expect(DOES_IT).0
            }
            Act::Fail(coin) => self.node.forge_token(self.master(*coin)).await.expect(DOES_IT),
            Act::PayHidden(_) => panic!("{:?}", self.lacks(Feature::HiddenNative)),
        }
    }

    fn left_out(&self, what: LeftOut) -> &'static [(&'static str, Edit)] {
        left_out::of(what)
    }

    async fn make_noise(&mut self, address: &str) {
        self.node.make_noise(&self.token, address).await.expect(DOES_IT);
    }

    async fn mine(&mut self) {
        self.node.mine().await.expect(DOES_IT);
    }

    async fn reorg(&mut self, _depth: u64, _connect: Connect) {
        panic!("{:?}", self.lacks(Feature::Reorganisations));
    }

    async fn forget(&mut self, blocks: u64) {
        self.node.forget(blocks).await.expect(DOES_IT);
    }
}
