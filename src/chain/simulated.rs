//! The sandbox's chain: blocks that `gatewayctl simulate` writes into tables, read through the same
//! trait as a real node.

use std::sync::Arc;

use crate::{
    asset::{Network, address},
    chain::{
        Block, BlockRef, ChainError, ChainSource, Held, Holdings, Located, Reading, Transfer,
        TransferAmount, TransferAsset, Waiting,
    },
    money::BaseUnits,
    storage::{
        Db, StorageError,
        simulation::{self, SimBlock, SimTransfer},
    },
};

/// One simulated network.
#[derive(Clone)]
pub struct SimulatedSource {
    network: Network,
    db: Db,
}

impl SimulatedSource {
    pub fn new(network: Network, db: Db) -> Self {
        Self { network, db }
    }

    fn unreachable(&self, error: &StorageError) -> ChainError {
        ChainError::Unreachable { network: self.network, reason: error.to_string() }
    }

    async fn read_block(
        &self,
        height: u64,
    ) -> Result<Option<(SimBlock, Vec<SimTransfer>)>, ChainError> {
        let read = async {
            let mut connection = self.db.connection().await?;
            simulation::block(&mut connection, self.network, height).await
        };
        read.await.map_err(|error| self.unreachable(&error))
    }

    /// Nothing moves in a transfer of zero, so none is reported.
    fn transfers(&self, sims: Vec<SimTransfer>) -> Vec<Transfer> {
        let zero = TransferAmount::Units(BaseUnits::ZERO);
        let all = sims.into_iter().map(|sim| self.transfer(sim));
        all.filter(|transfer| transfer.amount != zero).collect()
    }

    fn transfer(&self, sim: SimTransfer) -> Transfer {
        let amount = match sim.amount.parse::<u128>() {
            Ok(units) => TransferAmount::Units(BaseUnits::new(units)),
            Err(_) => TransferAmount::Beyond128Bits(sim.amount),
        };
        let asset = match sim.contract {
            Some(contract) => {
                TransferAsset::Contract(address::match_key(self.network.family(), &contract))
            }
            None => TransferAsset::Native,
        };
        Transfer {
            key: format!("{}:{}", sim.txid, sim.output),
            tx_hash: sim.txid,
            to: sim.address,
            from: None,
            asset,
            amount,
            maturity: 1,
            spends: Arc::default(),
        }
    }
}

impl SimulatedSource {
    async fn received(
        &self,
        at: &BlockRef,
        address: &str,
        assets: &[TransferAsset],
    ) -> Result<Holdings, StorageError> {
        let mut connection = self.db.connection().await?;
        let received =
            simulation::received(&mut connection, self.network, address, at.height).await?;
        let family = self.network.family();
        let of = |asset: &TransferAsset| {
            let same = |contract: &Option<String>| match (asset, contract) {
                (TransferAsset::Native, None) => true,
                (TransferAsset::Contract(wanted), Some(found)) => {
                    *wanted == address::match_key(family, found)
                }
                _ => false,
            };
            let sums = received.iter().filter(|(contract, _)| same(contract));
            sums.map(|(_, sum)| sum.parse::<u128>().ok())
                .try_fold(0_u128, |total, sum| total.checked_add(sum?))
                .map(BaseUnits::new)
        };
        Ok(assets.iter().map(of).collect())
    }
}

impl From<SimBlock> for BlockRef {
    fn from(block: SimBlock) -> Self {
        Self {
            height: block.height,
            hash: block.hash,
            parent_hash: block.parent_hash,
            mined_at: block.mined_at,
        }
    }
}

impl ChainSource for SimulatedSource {
    fn network(&self) -> Network {
        self.network
    }

    fn blocks_at_once(&self) -> u32 {
        1
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        let read = async {
            let mut connection = self.db.connection().await?;
            if let Some(head) = simulation::head(&mut connection, self.network).await? {
                return Ok(head);
            }
            // Given back before the next one is taken: many watchers that each hold one and want
            // two would starve.
            drop(connection);
            // Nothing was simulated here yet: the chain begins with its first reader.
            let mut tx = self.db.begin().await?;
            simulation::lock_chain(&mut tx, self.network).await?;
            let head = simulation::head(&mut tx, self.network).await?;
            tx.commit().await?;
            head.ok_or_else(|| StorageError::damaged("sim_block", "no first block"))
        };
        read.await.map(BlockRef::from).map_err(|error| self.unreachable(&error))
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        Ok(self.read_block(height).await?.map(|(block, _)| block.into()))
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        let Some((block, transfers)) = self.read_block(height).await? else { return Ok(None) };
        Ok(Some(Block { header: block.into(), transfers: self.transfers(transfers) }))
    }

    async fn mempool(&self) -> Result<Waiting, ChainError> {
        let read = async {
            let mut connection = self.db.connection().await?;
            simulation::mempool(&mut connection, self.network).await
        };
        let waiting = read.await.map_err(|error| self.unreachable(&error))?;
        let is_cut = waiting.len() >= usize::from(simulation::WAITING_MAX);
        let reading = if is_cut { Reading::Partial } else { Reading::Whole };
        Ok(Waiting { reading, ..self.transfers(waiting).into() })
    }

    async fn locate(&self, tx_hash: &str) -> Result<Located, ChainError> {
        let read = async {
            let mut connection = self.db.connection().await?;
            simulation::heights(&mut connection, self.network, &[tx_hash.to_owned()]).await
        };
        let found = read.await.map_err(|error| self.unreachable(&error))?;
        Ok(match found.first() {
            Some((_, Some(height))) => Located::Mined { height: *height, failed: false },
            Some((_, None)) => Located::Waiting,
            None => Located::Unknown,
        })
    }

    /// The sum of the deposits: addresses of invoices send nothing here.
    async fn holdings(
        &self,
        at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> Result<Option<Held>, ChainError> {
        let mut by_address = Vec::with_capacity(addresses.len());
        for address in addresses {
            let held = self.received(at, address, assets).await;
            by_address.push(held.map_err(|error| self.unreachable(&error))?);
        }
        Ok(Some(Held { up_to: at.height, by_address }))
    }
}
