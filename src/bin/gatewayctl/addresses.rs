//! `gatewayctl addresses …`

use std::{
    fs,
    io::{Read, Write as _},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use gateway::{
    app::{
        Gateway,
        address::import::{AddressState, Origin},
    },
    asset::{
        Network,
        address::pool::{self, PoolSigner},
    },
    config::{Config, Part},
    merchant::secret::SeedUse,
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::{
    failure::wrong_usage,
    keys_files::open_sealed,
    network, open,
    operator::Operator,
    render::{self, Answer, Cell, Tone},
    words,
};

/// Far above the largest file that an export writes.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

#[derive(Subcommand)]
pub enum Addresses {
    /// Say where each family's addresses come from and how many are left
    #[command(after_help = words::ADDRESSES_STATUS)]
    Status,
    /// Make a signed file of addresses from a sealed seed; needs no server and no network
    #[command(after_help = words::ADDRESSES_EXPORT)]
    Export(Export),
    /// Add the addresses of a signed file to their pool
    #[command(after_help = words::ADDRESSES_IMPORT)]
    Import(Import),
    /// Add addresses of a published test phrase to a pool (sandbox only)
    #[command(after_help = words::ADDRESSES_FILL)]
    Fill(Fill),
}

#[derive(Args)]
pub struct Export {
    /// Whose addresses: solana or near
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Network,
    /// The sealed seed of the invoices: invoices.seed of gatewayctl keys
    #[arg(long, value_name = "FILE")]
    seed_file: PathBuf,
    /// The first index; gatewayctl addresses status says which comes next
    #[arg(long, value_name = "N")]
    from: u32,
    /// Number of addresses
    #[arg(long, value_name = "N")]
    count: u32,
    /// The file to write; it must not exist yet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Args)]
pub struct Import {
    /// File that an export wrote; - reads it from standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    by: Operator,
}

#[derive(Args)]
pub struct Fill {
    /// Whose pool
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Network,
    /// Number of addresses to add
    #[arg(long, value_name = "N")]
    count: u32,
}

impl Addresses {
    pub async fn run(self) -> anyhow::Result<Answer> {
        match self {
            Self::Status => status(&open().await?).await,
            Self::Export(export) => export.run(),
            Self::Import(import) => import.run().await,
            Self::Fill(fill) => fill.run(&open().await?).await,
        }
    }
}

impl Fill {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let filled = gateway.fill_addresses(self.network, self.count).await?;
        let network = self.network;
        let text = format!("{} added; {} are free on {network}.", filled.added, filled.free);
        let json = json!({ "network": network.name(), "added": filled.added, "free": filled.free });
        Ok(Answer::new(json, text))
    }
}

impl Export {
    fn run(self) -> anyhow::Result<Answer> {
        let config = Config::load_for(Part::Nothing)?;
        let seed = open_sealed(&config, SeedUse::Invoices, &self.seed_file)?;
        let seed = seed.expose_secret().as_slice();
        let file = pool::export(seed, self.network, self.from, self.count)
            .map_err(|error| wrong_usage(error.to_string()))?;
        let signer = PoolSigner::of_seed(seed).map(|signer| signer.to_hex());
        self.write(&file)?;
        let first = file.lines().nth(4).unwrap_or_default();
        let last = self.from + self.count - 1;
        let json = json!({
            "network": self.network.name(), "first": self.from, "last": last, "count": self.count,
            "first_address": first, "signer": signer, "file": self.out,
        });
        let text = render::facts(&[
            ("network", self.network.name().into()),
            ("indices", format!("{} to {last}", self.from).into()),
            ("first address", first.into()),
            ("signed by", render::or_dash(signer.as_ref())),
            ("file", self.out.display().to_string().into()),
        ]);
        let next = "The gateway must name the signer in addresses.pool_signer. There: gatewayctl addresses import FILE";
        Ok(Answer::new(json, format!("{text}\n{next}")))
    }

    /// A half-written file would be refused, but could still be mistaken for a good one.
    fn write(&self, text: &str) -> anyhow::Result<()> {
        let path = self.out.display();
        let failed = |error: std::io::Error| anyhow::anyhow!("{path} cannot be written: {error}");
        let mut file = fs::File::create_new(&self.out).map_err(failed)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|error| {
            // The error is reported even if the file cannot be removed.
            let _: std::io::Result<()> = fs::remove_file(&self.out);
            failed(error)
        })
    }
}

impl Import {
    async fn run(self) -> anyhow::Result<Answer> {
        let by = self.by.name()?;
        let text = pool_text(&self.file)?;
        let imported = open().await?.import_addresses(&text, &by).await?;
        let text = format!(
            "{} added from index {}; {} are free on {}.",
            imported.count, imported.first, imported.free, imported.network
        );
        Ok(Answer::new(serde_json::to_value(imported)?, text))
    }
}

/// Standard input is for a file that lies outside of the container.
fn pool_text(file: &Path) -> anyhow::Result<String> {
    let path = file.display();
    let unreadable = |error: std::io::Error| anyhow::anyhow!("{path} cannot be read: {error}");
    let source: Box<dyn Read> = if file.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(fs::File::open(file).map_err(unreadable)?)
    };
    let mut text = String::new();
    source.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
    if u64::try_from(text.len()).is_ok_and(|length| length <= FILE_BYTES_MAX) {
        Ok(text)
    } else {
        Err(anyhow::anyhow!("{path} is larger than any pool file"))
    }
}

async fn status(gateway: &Gateway) -> anyhow::Result<Answer> {
    let low = i64::from(gateway.config.addresses.pool_low);
    let states = gateway.address_states().await?;
    let json: Value = states.iter().map(|state| to_json(state, low)).collect();
    let rows: Vec<_> = states.iter().map(|state| line(state, low)).collect();
    let heading =
        ["family", "state", "from", "free", "given", "last day", "next index", "first address"];
    let mut text = render::table(&heading, &rows);
    for wrong in states.iter().filter_map(|state| state.wrong_first.as_ref()) {
        text = format!("{text}\n{wrong}");
    }
    Ok(Answer::new(json, text))
}

/// State of a pool in one word, and its severity.
fn standing(state: &AddressState, low: i64) -> (&'static str, Tone) {
    match state.origin {
        _ if state.networks.is_empty() => ("off", Tone::Quiet),
        _ if state.wrong_first.is_some() => ("wrong", Tone::Bad),
        Origin::Nothing => ("no key", Tone::Bad),
        Origin::Pool { free: 0 } => ("empty", Tone::Bad),
        Origin::Pool { free } if free < low => ("low", Tone::Doubtful),
        Origin::Key | Origin::Pool { .. } => ("ok", Tone::Good),
    }
}

fn line(state: &AddressState, low: i64) -> Vec<Cell> {
    let (word, tone) = standing(state, low);
    let (from, free) = match state.origin {
        Origin::Key => ("key", None),
        Origin::Nothing => ("nothing", None),
        Origin::Pool { free } => ("pool", Some(free.to_string())),
    };
    vec![
        Cell::from(state.family.name()),
        Cell::toned(word, tone),
        Cell::from(from),
        render::or_dash(free),
        state.given.to_string().into(),
        state.given_last_day.to_string().into(),
        state.next.to_string().into(),
        render::or_dash(state.first.as_ref()),
    ]
}

fn to_json(state: &AddressState, low: i64) -> Value {
    let free = match state.origin {
        Origin::Pool { free } => Some(free),
        Origin::Key | Origin::Nothing => None,
    };
    json!({
        "family": state.family.name(),
        "state": standing(state, low).0,
        "networks": state.networks.iter().map(|network| network.name()).collect::<Vec<_>>(),
        "usable": state.is_usable(),
        "pool": state.family.has_pool(),
        "free": free,
        "given": state.given,
        "given_last_day": state.given_last_day,
        "next_index": state.next,
        "first_address": state.first,
        "fault": state.wrong_first.as_ref().map(ToString::to_string),
    })
}
