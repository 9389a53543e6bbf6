//! Questions of a plan to a node: whether outputs can be spent, the transactions that made
//! them, and the newest block.

use bitcoin::{OutPoint, consensus::encode};

use super::{Book, UtxoPayer, history, search};
use crate::{
    chain::ChainError,
    payout::{coins::Place, fee::Fee},
};

impl UtxoPayer {
    /// Follows collected deposits.
    #[must_use]
    pub const fn for_sweeps(mut self) -> Self {
        self.book = Book::Sweeps;
        self
    }

    /// The present fee rate.
    pub async fn sweep_fee(&self) -> Result<Fee, ChainError> {
        self.fee().await
    }

    /// The newest block, which cannot contain a transaction that is not signed yet.
    pub async fn tip(&self) -> Result<Place, ChainError> {
        self.check_chain().await?;
        search::tip(self).await
    }

    /// For each output whether it is in the chain, and spent neither there nor in the mempool.
    pub async fn are_spendable(&self, outpoints: &[String]) -> Result<Vec<bool>, ChainError> {
        Ok(self.unspent(outpoints).await?.iter().map(Option::is_some).collect())
    }

    /// The transaction that made an output in the block at `height`, without its witnesses. Its
    /// hash is verified; `None` if the node has no bytes that give it.
    pub async fn previous(
        &self,
        outpoint: &str,
        height: u64,
    ) -> Result<Option<Vec<u8>>, ChainError> {
        let place: Option<OutPoint> = outpoint.parse().ok();
        let place = place.ok_or_else(|| self.rpc.inconsistent("no outpoint of ours"))?;
        let made = history::provable(self, place.txid, height).await?;
        let Some(mut made) = made else { return Ok(None) };
        for input in &mut made.input {
            input.witness.clear();
        }
        Ok(Some(encode::serialize(&made)))
    }
}
