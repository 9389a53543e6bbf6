//! Controls a substitute for Solana.

use std::time::Duration;

use anyhow::Result;
use gateway::{
    asset::Network,
    chain::{TransferAmount, TransferAsset, solana::SolanaSource},
};
use secrecy::SecretString;
use serde_json::json;
use support::{fault::faulty_line::Edit, node::solana::SolanaNode};

use crate::chain::conformance::{Act, ChainUnderTest, Coin, Connect, Feature, LeftOut, Output};

const DOES_IT: &str = "the node does what the test says";

/// A substitute with two tokens, and the source that reads it.
pub struct SolanaChain {
    pub node: SolanaNode,
    pub source: SolanaSource,
    token: String,
    look_alike: String,
}

pub fn source(url: &str) -> SolanaSource {
    SolanaSource::new(Network::Solana, &SecretString::from(url)).expect("Solana and an http url")
}

pub fn random_address() -> String {
    bs58::encode(rand::random::<[u8; 32]>()).into_string()
}

impl SolanaChain {
    pub async fn start() -> Result<Self> {
        let node = SolanaNode::start().await?;
        let source = source(node.url());
        let (token, look_alike) = (node.mint(None).await?, node.mint(None).await?);
        Ok(Self { node, source, token, look_alike })
    }

    fn mint(&self, coin: Coin) -> Option<&str> {
        match coin {
            Coin::Native => None,
            Coin::Token => Some(&self.token),
            Coin::LookAlike => Some(&self.look_alike),
        }
    }
}

fn payments(outputs: &[Output]) -> Vec<(String, u128)> {
    let units = |amount: &TransferAmount| match amount {
        TransferAmount::Units(units) => units.get(),
        TransferAmount::Beyond128Bits(amount) => panic!("nobody can send {amount}"),
    };
    outputs.iter().map(|output| (output.to.clone(), units(&output.amount))).collect()
}

impl ChainUnderTest for SolanaChain {
    type Source = SolanaSource;

    fn name(&self) -> String {
        "solana".to_owned()
    }

    fn source(&self) -> &SolanaSource {
        &self.source
    }

    fn url(&self) -> String {
        self.node.url().to_owned()
    }

    fn source_at(&self, url: &str, deadline: Duration) -> SolanaSource {
        source(url).with_deadline(deadline)
    }

    fn lacks(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::ManyNativeOutputs | Feature::ManyTokenOutputs => {
                Some("what one transaction pays one owner is one sum")
            }
            Feature::Beyond128Bits(_) | Feature::LargestAmount(_) => Some("an amount has 64 bits"),
            Feature::HiddenNative => Some("its blocks show every balance that changes"),
            Feature::Replacement => {
                Some("nothing waits long enough to be replaced, and a fee replaces nothing")
            }
            Feature::Evidence(LeftOut::Transaction | LeftOut::Movement) => {
                Some("its nodes tell no root over what is in a block")
            }
            Feature::Mempool => Some("its transactions do not wait in public"),
            Feature::Reorganisations => Some("it is read when its blocks are final"),
            Feature::Tokens
            | Feature::ZeroAmount(_)
            | Feature::Failures
            | Feature::Noise
            | Feature::Line
            | Feature::Evidence(LeftOut::All) => None,
        }
    }

    fn asset(&self, coin: Coin) -> TransferAsset {
        self.mint(coin)
            .map_or(TransferAsset::Native, |mint| TransferAsset::Contract(mint.to_owned()))
    }

    async fn fresh_address(&mut self) -> String {
        random_address()
    }

    async fn send(&mut self, act: &Act) -> String {
        let signature = match act {
            Act::Pay(coin, outputs) => match self.mint(*coin) {
                None => self.node.pay(&payments(outputs)).await,
                Some(mint) => self.node.pay_token(mint, &payments(outputs)).await,
            },
            Act::Fail(coin) => self.node.fail(self.mint(*coin)).await,
            Act::PayHidden(_) => panic!("{:?}", self.lacks(Feature::HiddenNative)),
        };
        signature.expect(DOES_IT)
    }

    /// Consecutive blocks without transactions are rare: only a node that has lost all transactions
    /// is noticed.
    fn left_out(&self, _what: LeftOut) -> &'static [(&'static str, Edit)] {
        &[("the transactions of all blocks", |_, result| {
            if let Some(transactions) = result.get_mut("transactions") {
                *transactions = json!([]);
            }
        })]
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
