//! `gatewayctl secrets …`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gateway::{
    app::{Gateway, operator::master_key::MasterKeyError},
    config::{Config, Part},
    merchant::secret::OpenedBy,
};
use secrecy::ExposeSecret;
use serde_json::json;
use uuid::Uuid;

use crate::{
    keys_files::read_sealed,
    open,
    payout_seed::Wallet,
    render::{self, Answer, Cell, Tone},
    words,
};

/// Names of merchants in one answer, and of orders.
const DAMAGED_SHOWN: usize = 1_000;
/// A walk that finds something to seal is followed by another. Only programs that still have the
/// old key alone make a third.
const WALKS_MAX: usize = 10;

#[derive(Subcommand)]
pub enum Secrets {
    /// Seal every secret anew under the new master key, while everything runs
    #[command(after_help = words::SECRETS_ROTATE)]
    Rotate,
    /// Seal a wallet's seed anew; prints it sealed. Needs no server
    #[command(after_help = words::SECRETS_RESEAL_SEED)]
    ResealSeed(ResealSeed),
}

#[derive(Args)]
pub struct ResealSeed {
    /// The seed as gatewayctl payouts seal-seed printed it
    #[arg(long, value_name = "FILE")]
    seed_file: PathBuf,
    #[command(flatten)]
    wallet: Wallet,
}

impl Secrets {
    pub async fn run(self, json: bool) -> anyhow::Result<Answer> {
        match self {
            Self::Rotate => rotate(&open().await?, json).await,
            Self::ResealSeed(reseal) => reseal.run(),
        }
    }
}

/// Sealed seeds that the master key seals too, which nothing but their owner can seal anew.
#[derive(Clone, Copy)]
struct Seeds {
    of_payouts: bool,
    of_x402: bool,
}

impl Seeds {
    fn of(config: &Config) -> Self {
        Self {
            of_payouts: !config.has_seed_key() && config.payouts.seed_file.is_some(),
            of_x402: !config.has_x402_seed_key() && config.x402.seed_file.is_some(),
        }
    }
}

#[derive(Default)]
struct Walked {
    seen: usize,
    resealed: u64,
    damaged: Vec<Uuid>,
    orders: Orders,
}

/// Payout orders of a walk.
#[derive(Default)]
struct Orders {
    seen: usize,
    rebound: u64,
    unbound: Vec<String>,
}

impl Walked {
    const fn found_nothing(&self) -> bool {
        self.resealed == 0 && self.orders.rebound == 0
    }
}

/// The numbers of secrets and of payout orders that a walk goes through.
#[derive(Clone, Copy)]
struct Totals {
    secrets: i64,
    orders: i64,
}

async fn rotate(gateway: &Gateway, json: bool) -> anyhow::Result<Answer> {
    let secrets = gateway.secrets_to_rotate().await?;
    let totals = Totals { secrets, orders: gateway.orders_to_rebind().await? };
    let (mut resealed, mut rebound, mut last) = (0, 0, Walked::default());
    for _ in 0..WALKS_MAX {
        last = walk(gateway, totals, json).await?;
        resealed += last.resealed;
        rebound += last.orders.rebound;
        if last.found_nothing() {
            break;
        }
    }
    anyhow::ensure!(
        last.found_nothing(),
        "secrets are still being sealed, or payout orders bound, under the old key: does every running program have both keys? Then run this again"
    );
    gateway.finish_rotation().await?;
    let Walked { seen, damaged, orders, .. } = &last;
    let seeds = Seeds::of(&gateway.config);
    let shown: Vec<_> = damaged.iter().take(DAMAGED_SHOWN).collect();
    let unbound: Vec<_> = orders.unbound.iter().take(DAMAGED_SHOWN).collect();
    let value = json!({
        "secrets": seen, "resealed": resealed, "unopened": damaged.len(), "unopened_merchants": shown,
        "orders": orders.seen, "orders_rebound": rebound, "orders_unbound": orders.unbound.len(), "unbound_orders": unbound,
        "seed_file_to_reseal": seeds.of_payouts, "x402_seed_file_to_reseal": seeds.of_x402,
    });
    let is_whole = damaged.is_empty() && orders.unbound.is_empty();
    let answer = Answer::new(value, told(&last, (resealed, rebound), seeds));
    Ok(if is_whole { answer } else { answer.bad() })
}

fn told(last: &Walked, (resealed, rebound): (u64, u64), seeds: Seeds) -> String {
    let orders = &last.orders;
    let mut rows: Vec<(&str, Cell)> = vec![
        ("secrets", last.seen.to_string().into()),
        ("sealed anew", resealed.to_string().into()),
        ("payout orders", orders.seen.to_string().into()),
        ("bound anew", rebound.to_string().into()),
        ("bound by neither key", orders.unbound.len().to_string().into()),
    ];
    for merchant in last.damaged.iter().take(DAMAGED_SHOWN) {
        let text =
            format!("{merchant}  opens under neither key: gatewayctl merchant rotate-secret");
        rows.push(("damaged", Cell::toned(text, Tone::Bad)));
    }
    for order in orders.unbound.iter().take(DAMAGED_SHOWN) {
        let text = format!("{order}  is bound by neither key: gatewayctl payouts explain");
        rows.push(("not bound", Cell::toned(text, Tone::Bad)));
    }
    if seeds.of_payouts {
        let text = "sealed under the master key too: gatewayctl secrets reseal-seed";
        rows.push(("seed file", Cell::toned(text, Tone::Doubtful)));
    }
    if seeds.of_x402 {
        let text = "sealed under the master key too: gatewayctl secrets reseal-seed --x402";
        rows.push(("seed file of x402", Cell::toned(text, Tone::Doubtful)));
    }
    let done = if orders.unbound.is_empty() {
        "Everything is under the new key."
    } else {
        "What can be is under the new key. An order that neither key bound was changed by another hand, or cannot be read: it is \
         held at its next signature."
    };
    format!(
        "{}\n{done} Now remove GATEWAY_MASTER_KEY_OLD from every program's settings.",
        render::facts(&rows)
    )
}

/// Once through all secrets and all payout orders. Cut off anywhere, it is begun again: what is
/// sealed anew is only looked at.
async fn walk(gateway: &Gateway, totals: Totals, json: bool) -> Result<Walked, MasterKeyError> {
    let (mut walked, mut after) = (Walked::default(), Uuid::nil());
    loop {
        let batch = gateway.rotate_batch(after).await?;
        walked.seen += batch.seen;
        walked.resealed += batch.resealed;
        walked.damaged.extend(batch.damaged);
        let Some(next) = batch.next else { break };
        after = next;
        if !json {
            let (seen, anew, total) = (walked.seen, walked.resealed, totals.secrets);
            render::to_stderr(&format!("{seen} of {total} looked at, {anew} sealed anew\n"));
        }
    }
    walked.orders = walk_orders(gateway, totals.orders, json).await?;
    Ok(walked)
}

async fn walk_orders(gateway: &Gateway, total: i64, json: bool) -> Result<Orders, MasterKeyError> {
    let (mut orders, mut after) = (Orders::default(), Uuid::nil());
    loop {
        let batch = gateway.rebind_batch(after).await?;
        orders.seen += batch.seen;
        orders.rebound += batch.rebound;
        orders.unbound.extend(batch.unbound);
        if !json && batch.seen > 0 {
            let (seen, anew) = (orders.seen, orders.rebound);
            render::to_stderr(&format!(
                "{seen} of {total} payout orders looked at, {anew} bound anew\n"
            ));
        }
        let Some(next) = batch.next else { return Ok(orders) };
        after = next;
    }
}

impl ResealSeed {
    fn run(self) -> anyhow::Result<Answer> {
        let config = Config::load_for(Part::Sealed)?;
        let of = self.wallet.seed_use();
        let keys = config.sealing_keys_for(of)?.unwrap_or(config.master_keys()?);
        let sealed = read_sealed(&self.seed_file)?;
        let (seed, by) = keys.open_seed(of, &sealed)?;
        let anew = match by {
            OpenedBy::Current => sealed,
            OpenedBy::Old => keys.current().seal_seed(of, seed.expose_secret()),
        };
        let anew = hex::encode(anew);
        let value = json!({ "sealed_seed": anew, "resealed": by == OpenedBy::Old });
        Ok(Answer::new(value, anew))
    }
}
