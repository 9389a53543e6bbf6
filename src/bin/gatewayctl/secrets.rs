//! `gatewayctl secrets …`

use std::{fs, path::PathBuf};

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
    open,
    render::{self, Answer, Cell, Tone},
    words,
};

/// Names of merchants in one answer.
const DAMAGED_SHOWN: usize = 1_000;
/// A walk that finds something to seal is followed by another. Only programs that still have the
/// old key alone make a third.
const WALKS_MAX: usize = 10;

#[derive(Subcommand)]
pub enum Secrets {
    /// Seal every secret anew under the new master key, while everything runs
    #[command(after_help = words::SECRETS_ROTATE)]
    Rotate,
    /// Seal the payout wallet's seed anew; prints it sealed. Needs no server
    #[command(after_help = words::SECRETS_RESEAL_SEED)]
    ResealSeed(ResealSeed),
}

#[derive(Args)]
pub struct ResealSeed {
    /// The seed as gatewayctl payouts seal-seed printed it
    #[arg(long, value_name = "FILE")]
    seed_file: PathBuf,
}

impl Secrets {
    pub async fn run(self, json: bool) -> anyhow::Result<Answer> {
        match self {
            Self::Rotate => rotate(&open().await?, json).await,
            Self::ResealSeed(reseal) => reseal.run(),
        }
    }
}

#[derive(Default)]
struct Walked {
    seen: usize,
    resealed: u64,
    /// Payout orders bound anew.
    rebound: u64,
    damaged: Vec<Uuid>,
}

impl Walked {
    const fn found_nothing(&self) -> bool {
        self.resealed == 0 && self.rebound == 0
    }
}

async fn rotate(gateway: &Gateway, json: bool) -> anyhow::Result<Answer> {
    let total = gateway.secrets_to_rotate().await?;
    let (mut resealed, mut rebound, mut last) = (0, 0, Walked::default());
    for _ in 0..WALKS_MAX {
        last = walk(gateway, total, json).await?;
        resealed += last.resealed;
        rebound += last.rebound;
        if last.found_nothing() {
            break;
        }
    }
    anyhow::ensure!(
        last.found_nothing(),
        "secrets are still still being sealed, or payout orders bound, under the old key: does every running program have both keys? Then run this again"
    );
    gateway.finish_rotation().await?;
    let Walked { seen, damaged, .. } = last;
    let seed = !gateway.config.has_seed_key() && gateway.config.payouts.seed_file.is_some();
    let shown: Vec<_> = damaged.iter().take(DAMAGED_SHOWN).collect();
    let value = json!({
        "secrets": seen, "resealed": resealed, "orders_rebound": rebound, "unopened": damaged.len(), "unopened_merchants": shown,
        "seed_file_to_reseal": seed,
    });
    let answer = Answer::new(value, told((seen, resealed, rebound), &damaged, seed));
    Ok(if damaged.is_empty() { answer } else { answer.bad() })
}

fn told((seen, resealed, rebound): (usize, u64, u64), damaged: &[Uuid], seed: bool) -> String {
    let mut rows: Vec<(&str, Cell)> = vec![
        ("secrets", seen.to_string().into()),
        ("sealed anew", resealed.to_string().into()),
        ("payout orders bound anew", rebound.to_string().into()),
    ];
    for merchant in damaged.iter().take(DAMAGED_SHOWN) {
        let text =
            format!("{merchant}  opens under neither key: gatewayctl merchant rotate-secret");
        rows.push(("damaged", Cell::toned(text, Tone::Bad)));
    }
    if seed {
        let text = "sealed under the master key too: gatewayctl secrets reseal-seed";
        rows.push(("seed file", Cell::toned(text, Tone::Doubtful)));
    }
    format!(
        "{}\nEverything is under the new key. Now remove GATEWAY_MASTER_KEY_OLD from every program's settings.",
        render::facts(&rows)
    )
}

/// Once through all secrets and all payout orders. Cut off anywhere, it is begun again: what is
/// sealed anew is only looked at.
async fn walk(gateway: &Gateway, total: i64, json: bool) -> Result<Walked, MasterKeyError> {
    let (mut walked, mut after) = (Walked::default(), Uuid::nil());
    loop {
        let bite = gateway.rotate_bite(after).await?;
        walked.seen += bite.seen;
        walked.resealed += bite.resealed;
        walked.damaged.extend(bite.damaged);
        let Some(next) = bite.next else { break };
        after = next;
        if !json {
            let (seen, anew) = (walked.seen, walked.resealed);
            render::to_stderr(&format!("{seen} of {total} looked at, {anew} sealed anew\n"));
        }
    }
    let mut after = Uuid::nil();
    loop {
        let bite = gateway.rebind_bite(after).await?;
        walked.rebound += bite.rebound;
        let Some(next) = bite.next else { return Ok(walked) };
        after = next;
    }
}

impl ResealSeed {
    fn run(self) -> anyhow::Result<Answer> {
        let config = Config::load_for(Part::Sealed)?;
        let keys = config.seed_keys()?;
        let path = self.seed_file.display();
        let text = fs::read_to_string(&self.seed_file)
            .map_err(|error| anyhow::anyhow!("the seed file {path} cannot be read: {error}"))?;
        let sealed = hex::decode(text.trim())
            .map_err(|_| anyhow::anyhow!("the seed file {path} is not hex; is it sealed?"))?;
        let (seed, by) = keys.open_seed(&sealed)?;
        let anew = match by {
            OpenedBy::Current => sealed,
            OpenedBy::Old => keys.current().seal_seed(seed.expose_secret()),
        };
        let anew = hex::encode(anew);
        let value = json!({ "sealed_seed": anew, "resealed": by == OpenedBy::Old });
        Ok(Answer::new(value, anew))
    }
}
