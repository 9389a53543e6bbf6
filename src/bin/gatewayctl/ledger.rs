//! `gatewayctl ledger …`

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use gateway::{
    app::{Gateway, accounting::explain::Amount},
    invoice::payment::iso_8601,
};
use serde_json::{Value, json};

use crate::{
    instant::instant,
    render::{self, Answer, Cell, Tone},
    words::database,
};

#[derive(Subcommand)]
pub enum Ledger {
    /// Show every entry of an account, an invoice, a payout order or a transaction, and why it is
    /// there
    #[command(after_help = EXPLAIN)]
    Explain(Explain),
    /// Show what an account holds, now or at an earlier moment
    #[command(after_help = BALANCE)]
    Balance(Balance),
    /// Prove that no entry was changed, and that the books agree with invoices, deposits and
    /// payouts
    #[command(after_help = VERIFY)]
    Verify(Verify),
}

const EXPLAIN: &str = concat!(
    "\
The first thousand entries, the oldest first.

Examples:
  gatewayctl ledger explain pzi_0192f0c12a3b7c4d8e5f0123456789ab
  gatewayctl ledger explain merchant:0192f0c1-2a3b-7c4d-8e5f-0123456789ab --as-of 2026-02-01T00:00:00Z
  gatewayctl --json ledger explain 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060",
    database!()
);

const BALANCE: &str = concat!(
    "\
Accounts: merchant:ID, late:ID, foreign:ID, payout:ID, treasury, custody:NETWORK, treasury_custody:NETWORK,
gas:NETWORK, x402_gas:NETWORK, sweep_gas:NETWORK.

Examples:
  gatewayctl ledger balance merchant:0192f0c1-2a3b-7c4d-8e5f-0123456789ab
  gatewayctl --json ledger balance treasury --as-of 2026-02-01T00:00:00Z",
    database!()
);

const VERIFY: &str = concat!(
    "\
Entries are sealed by a chain of hashes, for each account, some minutes after they were booked.
With --as-of only the entries that were sealed by then are read again. Exit code 1 if anything is wrong.

Examples:
  gatewayctl ledger verify
  gatewayctl --json ledger verify --as-of 2026-02-01T00:00:00Z",
    database!()
);

#[derive(Args)]
pub struct Explain {
    /// An account, a payment_id, a payout order's id or a transaction's hash
    #[arg(value_name = "REFERENCE")]
    reference: String,
    /// Only entries from before this moment, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "T", value_parser = instant)]
    as_of: Option<DateTime<Utc>>,
}

#[derive(Args)]
pub struct Balance {
    /// The account's name
    #[arg(value_name = "ACCOUNT")]
    account: String,
    /// As it was at this moment, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "T", value_parser = instant)]
    as_of: Option<DateTime<Utc>>,
}

#[derive(Args)]
pub struct Verify {
    /// Only what was sealed by this moment, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "T", value_parser = instant)]
    as_of: Option<DateTime<Utc>>,
}

impl Ledger {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::Explain(command) => command.run(gateway).await,
            Self::Balance(command) => command.run(gateway).await,
            Self::Verify(command) => command.run(gateway).await,
        }
    }
}

impl Explain {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let entries = gateway.explain_ledger(&self.reference, self.as_of).await?;
        let json: Value = entries
            .iter()
            .map(|(entry, amount)| {
                json!({
                    "entry_id": entry.id,
                    "at": iso_8601(entry.at),
                    "kind": entry.kind.as_str(),
                    "why": entry.kind.reason(),
                    "amount": amount.coins,
                    "currency": amount.currency,
                    "debit": entry.debit,
                    "credit": entry.credit,
                    "payment_id": entry.payment_id,
                    "order_id": entry.order_id,
                    "payout_order_id": entry.payout_order_id,
                    "tx_hash": entry.tx_hash,
                })
            })
            .collect();
        if entries.is_empty() {
            let text = format!("No ledger entry refers to {}.", self.reference);
            return Ok(Answer::new(json, text));
        }
        let mut text = String::new();
        for (entry, amount) in &entries {
            let subject = entry.payment_id.as_ref().or(entry.payout_order_id.as_ref());
            text.push_str(&render::facts(&[
                ("entry", format!("{} at {}", entry.id, iso_8601(entry.at)).into()),
                ("moved", format!("{} {}", amount.coins, amount.currency).into()),
                ("from", Cell::from(&entry.debit)),
                ("to", Cell::from(&entry.credit)),
                ("why", format!("{}: {}", entry.kind, entry.kind.reason()).into()),
                ("of", render::or_dash(subject)),
                ("transaction", render::or_dash(entry.tx_hash.as_ref())),
            ]));
            text.push('\n');
        }
        Ok(Answer::new(json, text))
    }
}

impl Balance {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let balances = gateway.ledger_balances(&self.account, self.as_of).await?;
        let json = balances.iter().map(|(Amount { coins, currency }, entries)| {
            json!({
                "account": self.account, "currency": currency, "balance": coins, "entries": entries,
            })
        });
        let json = json.collect();
        if balances.is_empty() {
            return Ok(Answer::new(json, format!("{} has no entries.", self.account)));
        }
        let lines = balances.into_iter().map(|(amount, entries)| {
            vec![amount.currency.into(), amount.coins.into(), entries.to_string().into()]
        });
        let lines: Vec<Vec<Cell>> = lines.collect();
        Ok(Answer::new(json, render::table(&["currency", "balance", "entries"], &lines)))
    }
}

impl Verify {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let verdict = gateway.verify_ledger(self.as_of).await?;
        let json = json!({
            "ok": verdict.faults == 0,
            "entries": verdict.entries,
            "sealed": verdict.sealed,
            "batches": verdict.batches,
            "compared": verdict.compared,
            "faults": verdict.faults,
            "told": verdict.told,
        });
        let outcome = if verdict.faults == 0 {
            Cell::toned("no faults", Tone::Good)
        } else {
            Cell::toned(format!("{} faults", verdict.faults), Tone::Bad)
        };
        let compared = if verdict.compared { "yes" } else { "no: --as-of covers entries only" };
        let mut text = render::facts(&[
            ("outcome", outcome),
            ("entries", verdict.entries.to_string().into()),
            ("sealed", format!("{} in {} batches", verdict.sealed, verdict.batches).into()),
            ("rows compared", compared.into()),
        ]);
        for fault in &verdict.told {
            text.push_str(&render::clean(fault, render::Lines::Join));
            text.push('\n');
        }
        let answer = Answer::new(json, text);
        Ok(if verdict.faults == 0 { answer } else { answer.bad() })
    }
}
