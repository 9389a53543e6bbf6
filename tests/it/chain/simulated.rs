//! The sandbox's simulated chain passes the suite of the real ones.

use std::{collections::HashMap, time::Duration};

use gateway::{
    asset::Network,
    chain::{TransferAmount, TransferAsset, simulated::SimulatedSource},
    storage::{
        Db,
        simulation::{self, SimTransfer, Spend},
    },
};
use support::server::database::TestDatabase;

use super::conformance::{
    Act, ChainUnderTest, Coin, Connect, Feature, Outcome, Output, prove, table,
};

const NETWORK: Network = Network::Polygon;
const TOKEN: &str = "0xc2132d05d31c914a87c6611c10748aeb04b58e8f";
const LOOK_ALIKE: &str = "0x000000000000000000000000000000000000bad1";

struct SimulatedChain {
    db: Db,
    source: SimulatedSource,
    /// Sender of a replacement, by its hash. A transaction that replaces none has a sender of its
    /// own, named like itself.
    senders: HashMap<String, String>,
}

impl SimulatedChain {
    fn over(db: Db) -> Self {
        let source = SimulatedSource::new(NETWORK, db.clone());
        Self { source, db, senders: HashMap::new() }
    }

    async fn pay(&self, coin: Coin, outputs: &[Output]) -> String {
        let txid = format!("0x{:064x}", rand::random::<u128>());
        let mut tx = self.db.begin().await.unwrap();
        simulation::lock_chain(&mut tx, NETWORK).await.unwrap();
        for (output, Output { to, amount }) in (0..).zip(outputs) {
            let amount = match amount {
                TransferAmount::Units(units) => units.get().to_string(),
                TransferAmount::Beyond128Bits(text) => text.clone(),
            };
            let contract = match coin {
                Coin::Native => None,
                Coin::Token => Some(TOKEN.to_owned()),
                Coin::LookAlike => Some(LOOK_ALIKE.to_owned()),
            };
            let (address, txid) = (to.clone(), txid.clone());
            let transfer = SimTransfer { txid, output, address, contract, amount, height: None };
            assert!(simulation::add_transfer(&mut tx, NETWORK, &transfer).await.unwrap());
        }
        tx.commit().await.unwrap();
        txid
    }

    /// The transactions above `height`, oldest first.
    async fn above(&self, height: i64) -> Vec<String> {
        let query = "select txid from sim_transfer where network = $1 and height > $2
                     group by txid order by min(height), txid";
        let query = sqlx::query_scalar(query).bind(NETWORK.name()).bind(height);
        query.fetch_all(&mut *self.db.connection().await.unwrap()).await.unwrap()
    }
}

impl ChainUnderTest for SimulatedChain {
    type Source = SimulatedSource;

    fn name(&self) -> String {
        "simulated".to_owned()
    }

    fn source(&self) -> &SimulatedSource {
        &self.source
    }

    fn lacks(&self, feature: Feature) -> Option<&'static str> {
        match feature {
            Feature::Failures | Feature::Noise => Some("it holds payments and nothing else"),
            Feature::HiddenNative => Some("its blocks show everything"),
            Feature::Line | Feature::Evidence(_) => Some("it lies in the gateway's own database"),
            Feature::Tokens
            | Feature::ManyNativeOutputs
            | Feature::ManyTokenOutputs
            | Feature::Beyond128Bits(_)
            | Feature::LargestAmount(_)
            | Feature::ZeroAmount(_)
            | Feature::Mempool
            | Feature::Replacement
            | Feature::Reorganisations => None,
        }
    }

    fn source_at(&self, _url: &str, _deadline: Duration) -> SimulatedSource {
        panic!("{:?}", self.lacks(Feature::Line));
    }

    fn asset(&self, coin: Coin) -> TransferAsset {
        match coin {
            Coin::Native => TransferAsset::Native,
            Coin::Token => TransferAsset::Contract(TOKEN.to_owned()),
            Coin::LookAlike => TransferAsset::Contract(LOOK_ALIKE.to_owned()),
        }
    }

    async fn fresh_address(&mut self) -> String {
        format!("0x{}", hex::encode(rand::random::<[u8; 20]>()))
    }

    async fn send(&mut self, act: &Act) -> String {
        match act {
            Act::Pay(coin, outputs) => self.pay(*coin, outputs).await,
            Act::Fail(_) => panic!("{:?}", self.lacks(Feature::Failures)),
            Act::PayHidden(_) => panic!("{:?}", self.lacks(Feature::HiddenNative)),
        }
    }

    async fn replace(&mut self, tx_hash: &str, output: &Output) -> String {
        let sender = self.senders.remove(tx_hash).unwrap_or_else(|| tx_hash.to_owned());
        let txid = self.pay(Coin::Native, std::slice::from_ref(output)).await;
        let mut tx = self.db.begin().await.unwrap();
        simulation::lock_chain(&mut tx, NETWORK).await.unwrap();
        for spends in [tx_hash, &txid] {
            let spend = simulation::spend(&mut tx, NETWORK, &sender, 0, spends).await.unwrap();
            assert_ne!(spend, Spend::TooLow);
        }
        tx.commit().await.unwrap();
        self.senders.insert(txid.clone(), sender);
        txid
    }

    async fn make_noise(&mut self, _address: &str) {
        panic!("{:?}", self.lacks(Feature::Noise));
    }

    async fn mine(&mut self) {
        let mut tx = self.db.begin().await.unwrap();
        simulation::lock_chain(&mut tx, NETWORK).await.unwrap();
        let block = simulation::mine(&mut tx, NETWORK).await.unwrap();
        simulation::include(&mut tx, NETWORK, None, block.height).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn reorg(&mut self, depth: u64, connect: Connect) {
        let mut connection = self.db.connection().await.unwrap();
        let head = simulation::head(&mut connection, NETWORK).await.unwrap().unwrap().height;
        drop(connection);
        let fork = head - depth;
        let replaced = self.above(i64::try_from(fork).unwrap()).await;
        let first = match connect {
            Connect::Same => {
                let to = self.fresh_address().await;
                Some(self.pay(Coin::Native, &[Output::new(&to, 1)]).await)
            }
            Connect::Moved | Connect::Gone => None,
        };
        let mut tx = self.db.begin().await.unwrap();
        simulation::lock_chain(&mut tx, NETWORK).await.unwrap();
        if let Some(txid) = &first {
            simulation::include(&mut tx, NETWORK, Some(txid), fork + 1).await.unwrap();
        }
        simulation::fork_from(&mut tx, NETWORK, fork + 1).await.unwrap();
        let newest = simulation::mine(&mut tx, NETWORK).await.unwrap();
        for txid in &replaced {
            match connect {
                Connect::Same => {}
                Connect::Moved => {
                    let waits = "update sim_transfer set height = null where txid = $1";
                    sqlx::query(waits).bind(txid).execute(&mut *tx).await.unwrap();
                    let height = newest.height;
                    simulation::include(&mut tx, NETWORK, Some(txid), height).await.unwrap();
                }
                Connect::Gone => {
                    simulation::drop_transaction(&mut tx, NETWORK, txid).await.unwrap();
                }
            }
        }
        tx.commit().await.unwrap();
    }

    async fn forget(&mut self, _blocks: u64) {
        panic!("{:?}", self.lacks(Feature::Line));
    }
}

#[tokio::test]
async fn the_simulated_chain_passes_the_suite() {
    let database = TestDatabase::create().await;
    let db = Db::connect_lazy(&database.url.clone().into(), 4).unwrap();
    let report = prove(&mut SimulatedChain::over(db.clone())).await;
    println!("{}", table(std::slice::from_ref(&report)));
    let proven = report.outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Proven);
    assert_eq!(proven.count(), report.outcomes.len() - 13);
    db.close().await;
    database.remove().await;
}
