//! Deadlines that lie within the chain: a payment whose block is dated in time never ends as
//! expired.

use std::collections::HashMap;

use chrono::DateTime;
use gateway::{
    chain::TransferAsset,
    invoice::lifecycle::{Hold, Verdict},
};
use rand::RngExt;
use uuid::Uuid;

use super::story::{BLOCKS, Story, worth};

/// Amount due of each invoice.
const OWED: u128 = 20_000_000;

impl Story<'_> {
    pub async fn set_deadline(&mut self, invoice: Uuid) {
        let after = self.random.random_range(1..i64::try_from(BLOCKS).unwrap());
        let deadline = DateTime::from_timestamp(self.start + after, 0).unwrap();
        let query = "update invoice set deadline_at = $2 where id = $1";
        let query = sqlx::query(query).bind(invoice).bind(deadline);
        query.execute(&mut self.connection).await.unwrap();
        self.due.insert(invoice, deadline);
    }

    /// Decides some of the deadlines.
    pub async fn expire(&mut self) {
        let open: Vec<Uuid> =
            self.payees.iter().map(|payee| payee.invoice).filter(|id| self.is_due(id)).collect();
        for invoice in open {
            if self.random.random_ratio(1, 2) {
                continue;
            }
            let at = self.cursor().await;
            if self.random.random() {
                self.gateway.expire_quiet(&[invoice]).await.unwrap();
            }
            let verdict = self.gateway.expire_invoice(invoice).await.unwrap();
            self.tally.held += u64::from(verdict == Verdict::Held(Hold::WatcherBehind));
            let query = "select status from invoice where id = $1";
            let query = sqlx::query_scalar(query).bind(invoice);
            let status: String = query.fetch_one(&mut self.connection).await.unwrap();
            if status == "expired" {
                self.expired.insert(invoice);
                self.tally.expired += 1;
                // What a killed watcher has sent may be committed only now.
                if at == self.cursor().await {
                    self.judge_expired(invoice, &at);
                }
            }
        }
    }

    /// The block that the watcher stands on.
    async fn cursor(&mut self) -> String {
        let query = sqlx::query_scalar("select hash from chain_cursor where network = 'polygon'");
        query.fetch_one(&mut self.connection).await.unwrap()
    }

    fn is_due(&self, invoice: &Uuid) -> bool {
        self.due.contains_key(invoice) && !self.expired.contains(invoice)
    }

    /// No block of the chain that is dated in time holds what would have paid it, however late the
    /// watcher reads. Payments on a branch that no node showed yet, and final blocks that are
    /// replaced, cannot be known.
    fn judge_expired(&self, invoice: Uuid, at: &str) {
        let deadline = self.due[&invoice];
        let payee = self.payees.iter().find(|payee| payee.invoice == invoice).unwrap();
        let script = self.chain.script();
        let Some(at) = script.canonical.iter().find(|block| block.header.hash == *at) else {
            return;
        };
        assert!(at.header.mined_at > deadline, "only {:?} was read by {deadline}", at.header);
        if self.rules.is_deep {
            return;
        }
        let in_time = script.canonical.iter().filter(|block| block.header.mined_at <= deadline);
        let own = in_time.flat_map(|block| &block.transfers).filter(|transfer| {
            transfer.to == payee.address && transfer.asset != TransferAsset::Native
        });
        let paid: HashMap<&str, u128> =
            own.map(|transfer| (&*transfer.key, worth(transfer))).collect();
        let paid: u128 = paid.values().sum();
        assert!(paid < OWED, "{paid} were paid by {deadline}, and {} expired", payee.payment_id);
    }

    /// All blocks were read and nothing is under way: no deadline waits any longer.
    pub async fn decide_all(&mut self) {
        let query = "update deposit set updated_at = updated_at - interval '1 hour' where state = 'withdrawn'";
        sqlx::query(query).execute(&mut self.connection).await.unwrap();
        for (invoice, deadline) in &self.due {
            let verdict = self.gateway.expire_invoice(*invoice).await.unwrap();
            assert!(!matches!(verdict, Verdict::Held(_)), "{verdict:?} after {deadline}");
        }
    }
}
