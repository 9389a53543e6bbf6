//! Payments around deadlines, many at a time: sixteen blocks confirm one as well as a hundred.

use futures_util::{StreamExt, stream};
use gateway::asset::Network;
use rand::{RngExt, rngs::StdRng};
use sqlx::AssertSqlSafe;
use support::{
    server::broker::eventually,
    shop::{Shop, unconfirmed},
};
use uuid::Uuid;

use super::{TOGETHER, outcome::Rule};

/// A recorded deposit and its invoice's row.
#[derive(Debug, Clone, Copy)]
pub struct Payment {
    pub row: Uuid,
    pub deposit: Uuid,
}

/// Position of the deadlines relative to a block that the watcher has not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dating {
    /// They are the block's own instant, and the watcher has not looked beyond it.
    OnTime,
    /// The same, a microsecond earlier.
    Late,
    /// The watcher has looked beyond them, so that they may be decided before it reads the block.
    LookedBeyond,
    /// The same, and the block is dated before them: in time if it is read before they are decided.
    DatedBack,
    /// They come while the watcher reads, and the block is dated far ahead: the time of reading
    /// counts.
    WhileReading,
}

impl Dating {
    pub const ALL: [Self; 5] =
        [Self::OnTime, Self::Late, Self::LookedBeyond, Self::DatedBack, Self::WhileReading];

    pub fn random(random: &mut StdRng) -> Self {
        Self::ALL[random.random_range(0..Self::ALL.len())]
    }

    pub const fn rule(self) -> Rule {
        match self {
            Self::DatedBack => Rule::WhoeverIsFirst,
            Self::OnTime | Self::Late | Self::LookedBeyond | Self::WhileReading => Rule::TheRow,
        }
    }

    /// SQL expressions of the block's date and the deadlines.
    const fn sql(self) -> (&'static str, &'static str) {
        match self {
            Self::OnTime => ("mined_at", "mined_at"),
            Self::Late => ("mined_at", "mined_at - interval '1 microsecond'"),
            Self::LookedBeyond => ("mined_at", "watched_through - interval '1 microsecond'"),
            Self::DatedBack => (
                "watched_through - interval '1 microsecond'",
                "watched_through - interval '1 microsecond'",
            ),
            Self::WhileReading => (
                "mined_at + interval '1 hour'",
                "clock_timestamp() + random() * interval '400 milliseconds'",
            ),
        }
    }

    pub async fn apply(self, shop: &Shop, height: i64, rows: &[Uuid]) {
        let (mined_at, deadline_at) = self.sql();
        let statement = format!(
            "with dated as (
                 update sim_block set mined_at = {mined_at} from chain_cursor
                 where sim_block.network = 'polygon' and chain_cursor.network = 'polygon' and sim_block.height = $1
                 returning mined_at, watched_through)
             update invoice set deadline_at = {deadline_at} from dated where id = any ($2)"
        );
        let mut connection = shop.stack.gateway.db.connection().await.unwrap();
        let update = sqlx::query(AssertSqlSafe(statement)).bind(height).bind(rows);
        let done = update.execute(&mut *connection).await.unwrap();
        assert_eq!(done.rows_affected(), rows.len() as u64);
    }
}

/// Creates invoices and returns their ids and rows. No timer fires for them and no message is left.
pub async fn invoices(shop: &Shop, count: usize) -> Vec<(String, Uuid)> {
    let create = |_| async move {
        let id = shop.invoice().await;
        let row = shop.row_id(&id).await;
        (id, row)
    };
    stream::iter(0..count).map(create).buffer_unordered(TOGETHER).collect().await
}

/// Pays the amount due of each; the transactions are pending.
pub async fn send(shop: &Shop, invoices: &[(String, Uuid)]) {
    for (id, _) in invoices {
        shop.send(&unconfirmed(id, "100")).await;
    }
}

pub fn confirmations(shop: &Shop) -> u32 {
    let settings = shop.stack.gateway.config.chain(Network::Polygon);
    u32::try_from(settings.confirmations).unwrap()
}

/// Mines blocks, the first with all pending transactions. Returns the height of the last one.
pub async fn mine(shop: &Shop, blocks: u32) -> i64 {
    let head = shop.stack.gateway.simulate_mine(Network::Polygon, blocks).await.unwrap();
    i64::try_from(head).unwrap()
}

/// Dates the newest block a minute ago, beyond which no look has gone. Returns its height.
pub async fn show_a_minute_ago(shop: &Shop) -> u64 {
    let known = "update chain_cursor set watched_through = now() - interval '2 minutes' where network = 'polygon'";
    assert_eq!(shop.run(known).await, 1);
    let head = "update sim_block set mined_at = now() - interval '60 seconds'
                from chain_cursor where sim_block.network = 'polygon' and chain_cursor.network = 'polygon'
                  and sim_block.height = chain_cursor.height";
    assert_eq!(shop.run(head).await, 1);
    let height = "select height from chain_cursor where network = 'polygon'";
    u64::try_from(shop.number(height).await).unwrap()
}

/// Dates a block between that one and now, with the deadlines at its very instant or a microsecond
/// before it.
pub async fn date_back(shop: &Shop, height: i64, rows: &[Uuid], is_late: bool) {
    let statement = "with dated as (
             update sim_block set mined_at = now() - interval '40 seconds'
             where network = 'polygon' and height = $1 returning mined_at)
         update invoice set deadline_at = mined_at - $3::int * interval '1 microsecond' from dated where id = any ($2)";
    let mut connection = shop.stack.gateway.db.connection().await.unwrap();
    let update = sqlx::query(statement).bind(height).bind(rows).bind(i32::from(is_late));
    let done = update.execute(&mut *connection).await.unwrap();
    assert_eq!(done.rows_affected(), rows.len() as u64);
}

/// Deposits that were first seen and mined so many microseconds before the deadlines.
pub async fn move_deadlines(shop: &Shop, rows: &[Uuid], early_us: &[i64]) {
    let mut connection = shop.stack.gateway.db.connection().await.unwrap();
    let move_all = "with seen as (
            update deposit set mined_at = first_seen_at where invoice_id = any ($1) returning invoice_id, first_seen_at)
        update invoice set deadline_at = first_seen_at + early_us * interval '1 microsecond'
        from seen join unnest($1, $2) as t (id, early_us) on seen.invoice_id = t.id where invoice.id = t.id";
    let update = sqlx::query(move_all).bind(rows).bind(early_us);
    let done = update.execute(&mut *connection).await.unwrap();
    assert_eq!(done.rows_affected(), rows.len() as u64);
}

/// Looks until every deadline can be decided.
pub async fn look_beyond(shop: &Shop, rows: &[Uuid]) {
    eventually("the watcher has looked beyond all deadlines", async || {
        shop.look(Network::Polygon).await;
        let mut connection = shop.stack.gateway.db.connection().await.unwrap();
        let query = sqlx::query_scalar(
            "select watched_through > (select max(deadline_at) from invoice where id = any ($1))
             from chain_cursor where network = 'polygon'",
        );
        let is_beyond: bool = query.bind(rows).fetch_one(&mut *connection).await.unwrap();
        is_beyond.then_some(())
    })
    .await;
}

pub async fn recorded(shop: &Shop, rows: &[Uuid]) -> Vec<Payment> {
    let mut connection = shop.stack.gateway.db.connection().await.unwrap();
    let query = sqlx::query_as(
        "select invoice_id, id from deposit where invoice_id = any ($1) and state in ('final', 'settled')",
    );
    let found: Vec<(Uuid, Uuid)> = query.bind(rows).fetch_all(&mut *connection).await.unwrap();
    assert_eq!(found.len(), rows.len());
    found.into_iter().map(|(row, deposit)| Payment { row, deposit }).collect()
}
