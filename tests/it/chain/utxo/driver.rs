//! Controls bitcoind and litecoind.

use std::{collections::HashMap, time::Duration};

use anyhow::Result;
use gateway::{
    asset::{Network, Realm, address},
    chain::{TransferAmount, TransferAsset, utxo::UtxoSource},
};
use secrecy::SecretString;
use support::{
    fault::faulty_line::Edit,
    node::regtest::{Coin, FEE, Kind, Regtest},
};

use super::left_out;
use crate::chain::conformance::{
    Act, ChainUnderTest, Coin as Paid, Connect, Feature, LeftOut, Output,
};

/// Rise of a replacement's fee above the highest one before: enough for every node.
const FEE_STEP: u64 = 2 * FEE;
const DOES_IT: &str = "the node does what the test says";

/// A node and the source that reads it.
pub struct RegtestChain {
    pub node: Regtest,
    pub source: UtxoSource,
    network: Network,
    genesis: String,
    name: String,
    /// The coin that each payment spends, to spend it again on another branch.
    coins: HashMap<String, Coin>,
    /// The highest fee offered so far.
    fee: u64,
}

/// Reads a node that serves a test chain of `network`.
pub fn source(network: Network, url: &str, genesis: &str) -> UtxoSource {
    let source = UtxoSource::new(network, &SecretString::from(url));
    source.expect("a bitcoin-like network and an http url").with_test_chain(genesis)
}

/// A new random address, spelt like a deposit address of `network`.
pub fn random_address(network: Network) -> String {
    let hash = hex::encode(rand::random::<[u8; 20]>());
    let script = if network == Network::Dogecoin {
        // It has no witness addresses; its others are spelt on regtest as litecoin's are.
        format!("76a914{hash}88ac")
    } else {
        format!("0014{hash}")
    };
    let script = hex::decode(script).expect("hex");
    address::of_script(network, Realm::Regtest, &script).expect("a script of its family")
}

pub fn satoshis(amount: &TransferAmount) -> u64 {
    match amount {
        TransferAmount::Units(units) => units.get().try_into().expect("a small amount"),
        TransferAmount::Beyond128Bits(amount) => panic!("{amount} cannot be paid"),
    }
}

impl RegtestChain {
    pub async fn start(network: Network) -> Result<Self> {
        // Litecoin's nodes replace nothing by default, but miners that replace still mine the
        // replacement.
        let is_bitcoin = network == Network::Bitcoin;
        let kind = if is_bitcoin { Kind::Bitcoin } else { Kind::Litecoin };
        let arguments: &[_] = if is_bitcoin { &[] } else { &["-mempoolreplacement=1"] };
        let stands_in = if network == Network::Dogecoin { " (litecoind)" } else { "" };
        let name = format!("{network}{stands_in}");
        let node = Regtest::start_with(kind, arguments).await?;
        let genesis = node.genesis().await?;
        let source = source(network, node.url(), &genesis);
        Ok(Self { node, source, network, genesis, name, coins: HashMap::new(), fee: FEE })
    }

    async fn pay(&mut self, outputs: &[Output]) -> String {
        let outputs: Vec<_> =
            outputs.iter().map(|output| (output.to.clone(), satoshis(&output.amount))).collect();
        let (txid, coin) = self.node.pay(&outputs).await.expect(DOES_IT);
        self.coins.insert(txid.clone(), coin);
        txid
    }

    /// Bytes of a payment to a random address that spends the same coin as `txid` (double-spend).
    async fn conflict(&self, txid: &str) -> String {
        let to = [(random_address(self.network), 1_000)];
        self.node.signed_payment(&self.coins[txid], &to, 50_000).await.expect(DOES_IT)
    }
}

impl ChainUnderTest for RegtestChain {
    type Source = UtxoSource;

    fn name(&self) -> String {
        self.name.clone()
    }

    fn source(&self) -> &UtxoSource {
        &self.source
    }

    fn url(&self) -> String {
        self.node.url().to_owned()
    }

    fn source_at(&self, url: &str, deadline: Duration) -> UtxoSource {
        source(self.network, url, &self.genesis).with_deadline(deadline)
    }

    fn lacks(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::Tokens | Feature::ManyTokenOutputs => Some("the chain has no tokens"),
            Feature::Beyond128Bits(_) | Feature::LargestAmount(_) => {
                Some("a chain's rules bound its amounts to 64 bits")
            }
            Feature::ZeroAmount(Paid::Token | Paid::LookAlike) => Some("the chain has no tokens"),
            Feature::Failures => Some("a transaction that fails is in no block"),
            Feature::Evidence(LeftOut::Movement) => {
                Some("the root is over ids, and what is told of a transaction is not hashed again")
            }
            Feature::HiddenNative => Some("outputs show in their blocks"),
            Feature::ManyNativeOutputs
            | Feature::ZeroAmount(Paid::Native)
            | Feature::Noise
            | Feature::Mempool
            | Feature::Replacement
            | Feature::Reorganisations
            | Feature::Line
            | Feature::Evidence(LeftOut::All | LeftOut::Transaction) => None,
        }
    }

    fn asset(&self, _: Paid) -> TransferAsset {
        TransferAsset::Native
    }

    async fn fresh_address(&mut self) -> String {
        random_address(self.network)
    }

    async fn send(&mut self, act: &Act) -> String {
        let Act::Pay(Paid::Native, outputs) = act else {
            panic!("{act:?} is nothing that this chain does");
        };
        self.pay(outputs).await
    }

    async fn replace(&mut self, tx_hash: &str, output: &Output) -> String {
        self.fee += FEE_STEP;
        let coin = self.coins[tx_hash].clone();
        let outputs = [(output.to.clone(), satoshis(&output.amount))];
        let txid = self.node.spend(&coin, &outputs, self.fee).await.expect(DOES_IT);
        self.coins.insert(txid.clone(), coin);
        txid
    }

    fn left_out(&self, what: LeftOut) -> &'static [(&'static str, Edit)] {
        left_out::of(what)
    }

    /// The very bytes of the address, in scripts that pay no address or another one.
    async fn make_noise(&mut self, address: &str) {
        let script = self.node.script_of(address).await.expect(DOES_IT);
        // By key hash the script ends in two more bytes than a witness program does.
        let hash = if script.len() == 25 { &script[3..23] } else { &script[2..] };
        let push = |bytes: &[u8]| [&[u8::try_from(bytes.len()).expect("short")], bytes].concat();
        for script in [
            // OP_RETURN with the script inside.
            [&[0x6a][..], &push(&script)].concat(),
            // The hash as a script's instead of a key's.
            [&[0xa9][..], &push(hash), &[0x87]].concat(),
        ] {
            self.node.pay_scripts(&[(script, 7_000)]).await.expect(DOES_IT);
        }
    }

    async fn mine(&mut self) {
        self.node.mine(1).await.expect(DOES_IT);
    }

    async fn reorg(&mut self, depth: u64, connect: Connect) {
        let mut blocks = self.node.roll_back(depth).await.expect(DOES_IT);
        match connect {
            // Another transaction first, so that every position inside the block changes.
            Connect::Same => {
                let filler = Output::new(&random_address(self.network), 1_000);
                let filler = self.pay(&[filler]).await;
                blocks[0].insert(0, filler);
            }
            Connect::Moved => {
                let mut all: Vec<String> = blocks.concat();
                all.reverse();
                blocks.iter_mut().for_each(Vec::clear);
                blocks.push(all);
            }
            // Double-spend: their coins are spent otherwise in the first new block, so they can
            // never come back.
            Connect::Gone => {
                let all: Vec<String> = blocks.concat();
                blocks.iter_mut().for_each(Vec::clear);
                for txid in &all {
                    blocks[0].push(self.conflict(txid).await);
                }
            }
        }
        blocks.resize(usize::try_from(depth + 1).expect("a small depth"), Vec::new());
        for transactions in blocks {
            self.node.mine_exactly(&transactions).await.expect(DOES_IT);
        }
    }

    async fn forget(&mut self, blocks: u64) {
        self.node.roll_back(blocks).await.expect(DOES_IT);
    }
}
