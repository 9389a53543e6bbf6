//! Sealing the ledger, and proving it: the chain of hashes, the sums, and the rows that it was
//! booked for.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    accounting::{
        balance::{self, Balances, NoAmount},
        seal::{self, Entry, Hash, START},
    },
    storage::{
        PgConnection, StorageError,
        ledger_check::{self, Difference},
        seals::{self, Batch, Subtotal},
    },
};

/// Entries of one batch.
const BATCH: i64 = 5_000;
/// Faults that are told one by one.
const TOLD_MAX: usize = 100;

/// The outcome of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Entries that were read.
    pub entries: u64,
    /// Of them, those in the chain; the newest are not yet.
    pub sealed: u64,
    pub batches: u64,
    /// Deposits, invoices, payout orders, settlements of x402 and sweeps were compared.
    pub compared: bool,
    pub faults: u64,
    /// The first of them.
    pub told: Vec<String>,
}

impl Verdict {
    fn fault(&mut self, text: String) {
        self.faults += 1;
        if self.told.len() < TOLD_MAX {
            self.told.push(text);
        }
    }

    fn add(&mut self, differences: Vec<Difference>) {
        for Difference { subject, detail } in differences {
            self.fault(format!("{detail} ({subject})"));
        }
    }
}

impl Gateway {
    /// Seals one batch of entries; returns how many it had.
    pub async fn seal_ledger(&self) -> Result<usize, StorageError> {
        let mut tx = self.db.begin().await?;
        seals::lock(&mut tx).await?;
        let after = seals::sealed_through(&mut tx).await?;
        let entries = seals::settled_after(&mut tx, after, BATCH).await?;
        let Some(last) = entries.last() else { return Ok(0) };
        let mut hashes = HashMap::<String, Hash>::new();
        let mut accounts: Vec<_> =
            entries.iter().flat_map(|entry| [&entry.debit, &entry.credit]).cloned().collect();
        accounts.sort_unstable();
        accounts.dedup();
        for head in seals::heads(&mut tx, &accounts).await? {
            let hash = Hash::try_from(head.hash.as_slice());
            let hash = hash.map_err(|_| StorageError::damaged("ledger_seal", "it is no hash"))?;
            hashes.insert(head.account, hash);
        }
        for entry in &entries {
            link(&mut hashes, entry);
        }
        let batch = Batch {
            through_id: last.id,
            entries: i32::try_from(entries.len()).unwrap_or(i32::MAX),
        };
        let of_accounts: Vec<_> =
            accounts.iter().map(|account| hashes[account.as_str()].to_vec()).collect();
        seals::insert(&mut tx, batch, &accounts, &of_accounts).await?;
        tx.commit().await?;
        Ok(entries.len())
    }

    /// Reads the whole ledger: the hashes of what is sealed (by `as_of`, if given) and, of the
    /// present, the rows that it was booked for. Notes the result for the metrics.
    pub async fn verify_ledger(
        &self,
        as_of: Option<DateTime<Utc>>,
    ) -> Result<Verdict, StorageError> {
        let mut verdict = Verdict::default();
        let sealed_through = self.verify_chain(as_of, &mut verdict).await?;
        if as_of.is_some() {
            return Ok(verdict);
        }
        self.verify_entries(sealed_through, &mut verdict).await?;
        self.verify_rows(&mut verdict).await?;
        verdict.compared = true;
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let mut connection = self.db.connection().await?;
        let counts = (count(verdict.entries), count(verdict.faults));
        seals::note_check(&mut connection, counts, &verdict.told.join("\n")).await?;
        Ok(verdict)
    }

    /// Whole hours since the present was verified; `None` if it never was.
    pub async fn hours_since_verification(&self) -> Result<Option<i64>, StorageError> {
        let mut connection = self.db.connection().await?;
        Ok(seals::last_check(&mut connection).await?.map(|(_, hours)| hours))
    }

    /// Returns the last sealed entry.
    async fn verify_chain(
        &self,
        as_of: Option<DateTime<Utc>>,
        verdict: &mut Verdict,
    ) -> Result<i64, StorageError> {
        let (mut chain, mut after) = (Chain::default(), 0);
        loop {
            let mut connection = self.db.connection().await?;
            let batches = seals::batches(&mut connection, after, as_of, 100).await?;
            if batches.is_empty() && as_of.is_some() {
                return Ok(after);
            }
            if batches.is_empty()
                && let Some(kept) = seals::subtotals_at(&mut connection, after).await?
            {
                compare_subtotals(&chain.sums, kept, verdict);
                return Ok(after);
            }
            for batch in batches {
                verify_batch(&mut connection, (after, batch), &mut chain, verdict).await?;
                after = batch.through_id;
            }
        }
    }

    /// The entries behind the chain, which no hash covers yet.
    async fn verify_entries(
        &self,
        sealed_through: i64,
        verdict: &mut Verdict,
    ) -> Result<(), StorageError> {
        let mut after = sealed_through;
        loop {
            let mut connection = self.db.connection().await?;
            let entries = seals::entries(&mut connection, (after, i64::MAX), BATCH).await?;
            let Some(last) = entries.last() else { break };
            verdict.entries += u64::try_from(entries.len()).unwrap_or(0);
            after = last.id;
        }
        let mut from = 0;
        while from < after {
            let to = after.min(from + ledger_check::STEP);
            let mut connection = self.db.connection().await?;
            verdict.add(ledger_check::entries_of_nothing(&mut connection, (from, to)).await?);
            verdict.add(ledger_check::sweeps_of_nothing(&mut connection, (from, to)).await?);
            from = to;
        }
        Ok(())
    }

    async fn verify_rows(&self, verdict: &mut Verdict) -> Result<(), StorageError> {
        let mut after = Uuid::nil();
        loop {
            let mut connection = self.db.connection().await?;
            let Some(through) = ledger_check::deposits_through(&mut connection, after).await?
            else {
                break;
            };
            verdict.add(ledger_check::deposits(&mut connection, (after, through)).await?);
            after = through;
        }
        after = Uuid::nil();
        loop {
            let mut connection = self.db.connection().await?;
            let Some(through) = ledger_check::invoices_through(&mut connection, after).await?
            else {
                break;
            };
            verdict.add(ledger_check::invoices(&mut connection, (after, through)).await?);
            after = through;
        }
        after = Uuid::nil();
        loop {
            let mut connection = self.db.connection().await?;
            let Some(through) = ledger_check::payouts_through(&mut connection, after).await? else {
                break;
            };
            verdict.add(ledger_check::payouts(&mut connection, (after, through)).await?);
            after = through;
        }
        after = Uuid::nil();
        loop {
            let mut connection = self.db.connection().await?;
            let Some(through) = ledger_check::settlements_through(&mut connection, after).await?
            else {
                break;
            };
            verdict.add(ledger_check::settlements(&mut connection, (after, through)).await?);
            after = through;
        }
        after = Uuid::nil();
        loop {
            let mut connection = self.db.connection().await?;
            let Some(through) = ledger_check::sweeps_through(&mut connection, after).await? else {
                break;
            };
            verdict.add(ledger_check::sweeps(&mut connection, (after, through)).await?);
            after = through;
        }
        Ok(())
    }
}

/// What was read of the chain so far: the hash of each account, and its sums.
#[derive(Default)]
struct Chain {
    hashes: HashMap<String, Hash>,
    sums: Balances,
}

/// Adds an entry to the sums of both its accounts.
fn add(sums: &mut Balances, entry: &Entry) -> Result<(), StorageError> {
    let damaged = |error: NoAmount| StorageError::damaged("ledger_entry", error);
    let units = balance::units(&entry.amount).map_err(damaged)?;
    sums.add(&entry.credit, &entry.asset, &units);
    sums.add(&entry.debit, &entry.asset, &-units);
    Ok(())
}

fn subtotals(sums: &Balances) -> BTreeSet<Subtotal> {
    let of_account = |(account, asset, units): (&str, &str, String)| Subtotal {
        account: account.to_owned(),
        asset: asset.to_owned(),
        units,
    };
    sums.of_accounts().map(of_account).collect()
}

/// Balances are read from the sums of what is sealed, so these are proven as the entries are.
fn compare_subtotals(read: &Balances, kept: Vec<Subtotal>, verdict: &mut Verdict) {
    let (expected, kept) = (subtotals(read), BTreeSet::from_iter(kept));
    let mut wrong: Vec<_> =
        expected.symmetric_difference(&kept).map(|one| (&one.account, &one.asset)).collect();
    wrong.dedup();
    for (account, asset) in wrong {
        verdict.fault(format!(
            "the subtotal of {account} in {asset} is not the sum of its sealed entries"
        ));
    }
}

/// Continues the chains of both accounts of an entry.
fn link(hashes: &mut HashMap<String, Hash>, entry: &Entry) {
    for account in [&entry.debit, &entry.credit] {
        let before = hashes.get(account).copied().unwrap_or(START);
        hashes.insert(account.clone(), seal::next(&before, entry));
    }
}

/// Recomputes a batch and compares it with its seals. After a fault it continues with what was
/// sealed, so that one changed entry is one fault per account and not one for all that follow.
async fn verify_batch(
    connection: &mut PgConnection,
    (after, batch): (i64, Batch),
    chain: &mut Chain,
    verdict: &mut Verdict,
) -> Result<(), StorageError> {
    let hashes = &mut chain.hashes;
    let through = batch.through_id;
    let entries = seals::entries(connection, (after, through), BATCH + 1).await?;
    let count = u64::try_from(entries.len()).unwrap_or(0);
    verdict.batches += 1;
    verdict.entries += count;
    verdict.sealed += count;
    if i32::try_from(entries.len()).ok() != Some(batch.entries) {
        let text = format!(
            "{} entries were sealed behind {after} up to {through}, and {count} are there",
            batch.entries
        );
        verdict.fault(text);
    }
    let mut unsealed = BTreeSet::<&str>::new();
    for entry in &entries {
        link(hashes, entry);
        add(&mut chain.sums, entry)?;
        unsealed.extend([entry.debit.as_str(), entry.credit.as_str()]);
    }
    for sealed in seals::of_batch(connection, through).await? {
        unsealed.remove(sealed.account.as_str());
        let found = hashes.get(&sealed.account).copied().unwrap_or(START);
        if found.as_slice() != sealed.hash {
            let account = &sealed.account;
            verdict.fault(format!(
                "an entry of {account} behind {after} up to {through} is not the one that was sealed"
            ));
            if let Ok(hash) = Hash::try_from(sealed.hash.as_slice()) {
                hashes.insert(sealed.account, hash);
            }
        }
    }
    for account in unsealed {
        verdict.fault(format!("{account} has entries behind {after} up to {through}, and no seal"));
    }
    Ok(())
}
