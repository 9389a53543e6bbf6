//! Controls an anvil chain.

use std::time::Duration;

use anyhow::{Context, Result};
use gateway::{
    asset::Network,
    chain::{ChainSource, TransferAmount, TransferAsset, evm::EvmSource},
    money::BaseUnits,
};
use secrecy::SecretString;
use support::{
    fault::faulty_line::Edit,
    node::anvil::{Anvil, Call, address_word, call_data, word},
};

use super::left_out;
use crate::chain::conformance::{Act, ChainUnderTest, Coin, Connect, Feature, LeftOut, Output};

/// Features that Avalanche cannot show; see `settled.rs` for the remaining ones.
const FILTERS_OTHER_BLOCKS: &str =
    "since Helicon a header of Avalanche filters the logs of other blocks: a witness is needed";
const DOES_IT: &str = "anvil does what the test says";

/// An anvil with the test contracts, and the source that reads it.
pub struct AnvilChain {
    pub anvil: Anvil,
    pub source: EvmSource,
    pub hostile: String,
    name: String,
    /// The URL of the source.
    url: String,
    pub token: String,
    look_alike: String,
    forwarder: String,
    refuser: String,
    /// Pending transactions, and if each must succeed.
    waiting: Vec<(String, bool)>,
}

pub fn source(network: Network, url: &str) -> EvmSource {
    EvmSource::new(network, &SecretString::from(url)).expect("an EVM network and an http url")
}

pub fn random_address() -> String {
    format!("0x{}", hex::encode(rand::random::<[u8; 20]>()))
}

impl AnvilChain {
    pub async fn start(network: Network) -> Result<Self> {
        let anvil = Anvil::start(network.evm_chain_id().context("an EVM network")?).await?;
        let source = source(network, anvil.url());
        let (token, look_alike) = (anvil.deploy("Token").await?, anvil.deploy("Token").await?);
        let (forwarder, refuser) =
            (anvil.deploy("Forwarder").await?, anvil.deploy("Refuser").await?);
        let hostile = anvil.deploy("Hostile").await?;
        let (name, url) = (network.name().to_owned(), anvil.url().to_owned());
        Ok(Self {
            anvil,
            source,
            hostile,
            name,
            url,
            token,
            look_alike,
            forwarder,
            refuser,
            waiting: Vec::new(),
        })
    }

    /// Reads at `url` from now on, under `name` in the table.
    #[must_use]
    pub fn read_at(mut self, url: &str, name: &str) -> Self {
        self.source = source(self.source.network(), url);
        url.clone_into(&mut self.url);
        name.clone_into(&mut self.name);
        self
    }

    /// Broadcasts a transaction that must succeed, or must fail, once it is mined.
    async fn broadcast(&mut self, from: &str, call: &Call<'_>, succeeds: bool) -> String {
        let hash = self.anvil.send(from, call).await.expect(DOES_IT);
        self.waiting.push((hash.clone(), succeeds));
        hash
    }

    /// A call of a contract by an account that owns no tokens.
    pub async fn call(&mut self, contract: &str, signature: &str, words: &[String]) -> String {
        let from = self.anvil.next_account();
        self.broadcast(&from, &invocation(contract, signature, words), true).await
    }

    pub async fn pay_token(&mut self, contract: &str, outputs: &[Output]) -> String {
        let owner = self.anvil.deployer().to_owned();
        let words: Vec<String>;
        let signature = if let [Output { to, amount }] = outputs {
            words = vec![address_word(to), word(&hex_digits(amount))];
            "transfer(address,uint256)"
        } else {
            words = two_arrays(outputs);
            "payAll(address[],uint256[])"
        };
        self.broadcast(&owner, &invocation(contract, signature, &words), true).await
    }
}

fn invocation<'a>(contract: &'a str, signature: &str, words: &[String]) -> Call<'a> {
    Call { to: Some(contract), value: "0x0".to_owned(), data: call_data(signature, words) }
}

/// Receivers and amounts as two dynamic arrays: their offsets first, then each with its length.
fn two_arrays(outputs: &[Output]) -> Vec<String> {
    let count = format!("{:x}", outputs.len());
    let mut words = vec![word("40"), word(&format!("{:x}", 96 + 32 * outputs.len()))];
    words.push(word(&count));
    words.extend(outputs.iter().map(|output| address_word(&output.to)));
    words.push(word(&count));
    words.extend(outputs.iter().map(|output| word(&hex_digits(&output.amount))));
    words
}

fn hex_value(amount: &TransferAmount) -> String {
    format!("0x{}", hex_digits(amount))
}

fn hex_digits(amount: &TransferAmount) -> String {
    match amount {
        TransferAmount::Units(units) => format!("{:x}", units.get()),
        // The suite's only amount of that size is 2^128.
        TransferAmount::Beyond128Bits(_) => format!("1{}", "0".repeat(32)),
    }
}

impl ChainUnderTest for AnvilChain {
    type Source = EvmSource;

    fn name(&self) -> String {
        self.name.clone()
    }

    fn source(&self) -> &EvmSource {
        &self.source
    }

    fn url(&self) -> String {
        self.url.clone()
    }

    fn source_at(&self, url: &str, deadline: Duration) -> EvmSource {
        source(self.source.network(), url).with_deadline(deadline)
    }

    fn lacks(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::ManyNativeOutputs => Some("a transaction pays one receiver natively"),
            Feature::Beyond128Bits(Coin::Native) | Feature::LargestAmount(Coin::Native) => {
                Some("no chain has issued that much of its own coin")
            }
            Feature::Mempool => Some("not read: rollups have none, tokens do not show in it"),
            Feature::Evidence(LeftOut::All | LeftOut::Movement)
                if self.source.network() == Network::Avalanche =>
            {
                Some(FILTERS_OTHER_BLOCKS)
            }
            Feature::Tokens
            | Feature::ManyTokenOutputs
            | Feature::Beyond128Bits(_)
            | Feature::LargestAmount(_)
            | Feature::ZeroAmount(_)
            | Feature::Failures
            | Feature::Noise
            | Feature::HiddenNative
            | Feature::Replacement
            | Feature::Reorganisations
            | Feature::Line
            | Feature::Evidence(_) => None,
        }
    }

    fn asset(&self, coin: Coin) -> TransferAsset {
        match coin {
            Coin::Native => TransferAsset::Native,
            Coin::Token => TransferAsset::Contract(self.token.clone()),
            Coin::LookAlike => TransferAsset::Contract(self.look_alike.clone()),
        }
    }

    async fn fresh_address(&mut self) -> String {
        random_address()
    }

    async fn send(&mut self, act: &Act) -> String {
        let from = self.anvil.next_account();
        let native = |to, amount, data| Call { to: Some(to), value: hex_value(amount), data };
        let one = TransferAmount::Units(BaseUnits::new(1));
        match act {
            Act::Pay(Coin::Native, outputs) => {
                let [Output { to, amount }] = outputs.as_slice() else {
                    panic!("{:?}", self.lacks(Feature::ManyNativeOutputs));
                };
                self.broadcast(&from, &native(to, amount, "0x".to_owned()), true).await
            }
            Act::Pay(Coin::Token, outputs) => {
                let token = self.token.clone();
                self.pay_token(&token, outputs).await
            }
            Act::Pay(Coin::LookAlike, outputs) => {
                let look_alike = self.look_alike.clone();
                self.pay_token(&look_alike, outputs).await
            }
            Act::Fail(Coin::Native) => {
                let refuser = self.refuser.clone();
                self.broadcast(&from, &native(&refuser, &one, "0x".to_owned()), false).await
            }
            // More than the sender owns.
            Act::Fail(Coin::Token | Coin::LookAlike) => {
                let token = self.token.clone();
                let words = [address_word(&random_address()), word("1")];
                let call = invocation(&token, "transfer(address,uint256)", &words);
                self.broadcast(&from, &call, false).await
            }
            Act::PayHidden(Output { to, amount }) => {
                let forwarder = self.forwarder.clone();
                let data = call_data("forward(address)", &[address_word(to)]);
                self.broadcast(&from, &native(&forwarder, amount, data), true).await
            }
        }
    }

    async fn replace(&mut self, tx_hash: &str, output: &Output) -> String {
        let data = "0x".to_owned();
        let call = Call { to: Some(&output.to), value: hex_value(&output.amount), data };
        let hash = self.anvil.replace(tx_hash, &call).await.expect(DOES_IT);
        self.waiting.retain(|(waiting, _)| waiting != tx_hash);
        self.waiting.push((hash.clone(), true));
        hash
    }

    fn left_out(&self, what: LeftOut) -> &'static [(&'static str, Edit)] {
        left_out::of(what)
    }

    async fn make_noise(&mut self, address: &str) {
        let hostile = self.hostile.clone();
        let (to, some) = (address_word(address), word("64"));
        for (signature, words) in [
            ("refuse(address,uint256)", vec![to.clone(), some.clone()]),
            ("transferNft(address,uint256)", vec![to.clone(), some.clone()]),
            ("transferWithFourTopics(address,uint256)", vec![to.clone(), some.clone()]),
            ("transferUnindexed(address,uint256)", vec![to.clone(), some.clone()]),
            ("transferToWideWord(address,uint256)", vec![to.clone(), some.clone()]),
            (
                "transferWithData(address,uint256,uint256)",
                vec![to.clone(), some.clone(), word("1f")],
            ),
            (
                "transferWithData(address,uint256,uint256)",
                vec![to.clone(), some.clone(), word("40")],
            ),
            ("transferWithData(address,uint256,uint256)", vec![to, some, word("0")]),
        ] {
            self.call(&hostile, signature, &words).await;
        }
    }

    async fn mine(&mut self) {
        self.anvil.mine().await.expect(DOES_IT);
        for (hash, succeeds) in std::mem::take(&mut self.waiting) {
            let receipt = self.anvil.receipt(&hash).await.expect(DOES_IT);
            let status = if succeeds { "0x1" } else { "0x0" };
            assert_eq!(receipt["status"], status, "{hash} was mined otherwise than meant");
        }
    }

    async fn reorg(&mut self, depth: u64, connect: Connect) {
        let mut blocks = self.anvil.roll_back(depth).await.expect(DOES_IT);
        match connect {
            // Another transaction first, so that every position inside the block changes.
            Connect::Same => {
                self.send(&Act::Pay(Coin::Native, vec![Output::new(&random_address(), 1)])).await;
            }
            Connect::Moved => {
                let mut all: Vec<String> = blocks.concat();
                all.reverse();
                blocks.iter_mut().for_each(Vec::clear);
                blocks.push(all);
            }
            Connect::Gone => blocks.iter_mut().for_each(Vec::clear),
        }
        blocks.resize(usize::try_from(depth + 1).expect("a small depth"), Vec::new());
        for transactions in blocks {
            for raw in transactions {
                self.anvil.send_signed(&raw).await.expect(DOES_IT);
            }
            self.mine().await;
        }
    }

    async fn forget(&mut self, blocks: u64) {
        self.anvil.roll_back(blocks).await.expect(DOES_IT);
    }
}
