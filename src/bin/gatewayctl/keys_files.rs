//! The files of `gatewayctl keys …`, each for its owner alone.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

use anyhow::{anyhow, bail};
use gateway::{
    asset::{
        Network,
        address::pool,
        keys::{PublicKeys, Seed, Seeds, settings},
    },
    merchant::secret::KeyRing,
};
use secrecy::ExposeSecret;

pub const PAYOUTS_SEED: &str = "payouts.seed";
pub const INVOICES_SEED: &str = "invoices.seed";
pub const X402_SEED: &str = "x402.seed";
const OF_PAYOUTS: &str = "the role payout-batch alone: payouts.seed_file names it";
const OF_INVOICES: &str =
    "stays here, for gatewayctl addresses export; no running program needs it";
const OF_X402: &str = "the role x402-settlement alone: x402.seed_file names it";
const SETTINGS: &str = "gateway.toml";
const POOLS: [Network; 2] = [Network::Solana, Network::Near];
/// For the owner alone.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A file that is not written yet. Its text is public, or sealed.
pub struct NewFile {
    pub name: String,
    /// For people: the machine or the command that it is for.
    pub place: &'static str,
    text: String,
}

/// The keys that seal, where the settings have them.
pub struct Sealing {
    /// For the seeds of payouts and of invoices.
    pub payouts: Option<KeyRing>,
    pub x402: Option<KeyRing>,
}

/// Everything that the texts of the files depend on.
pub struct Contents<'a> {
    pub seeds: &'a Seeds,
    pub keys: &'a PublicKeys,
    /// Addresses of each pool.
    pub pool: u32,
}

impl Contents<'_> {
    /// The settings and the pools.
    pub fn public(&self) -> Result<Vec<NewFile>, pool::ExportError> {
        let mut files = vec![NewFile {
            name: SETTINGS.to_owned(),
            place: "every program: GATEWAY_CONFIG names it, or its sections go into your own file",
            text: settings(self.keys),
        }];
        let seed = self.seeds.invoices.expose_secret();
        for network in POOLS {
            files.push(NewFile {
                name: format!("{network}-0.pool"),
                place: "beside the database: gatewayctl addresses import FILE",
                text: pool::export(seed, network, 0, self.pool)?,
            });
        }
        Ok(files)
    }

    /// The seeds that there are keys for.
    pub fn sealed(&self, sealing: &Sealing) -> Vec<NewFile> {
        let Seeds { invoices, payouts, x402 } = self.seeds;
        [
            sealed(sealing.payouts.as_ref(), Some(payouts), PAYOUTS_SEED, OF_PAYOUTS),
            sealed(sealing.payouts.as_ref(), Some(invoices), INVOICES_SEED, OF_INVOICES),
            sealed(sealing.x402.as_ref(), x402.as_ref(), X402_SEED, OF_X402),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn sealed(
    keys: Option<&KeyRing>,
    seed: Option<&Seed>,
    name: &str,
    place: &'static str,
) -> Option<NewFile> {
    let text = hex::encode(keys?.current().seal_seed(seed?.expose_secret())) + "\n";
    Some(NewFile { name: name.to_owned(), place, text })
}

/// Makes the directory, unless there is an empty one: keys never replace others.
pub fn make_empty(dir: &Path) -> anyhow::Result<()> {
    let shown = dir.display();
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => bail!(
                "{shown} is not empty; keys go into a directory of their own, and replace nothing"
            ),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = fs::DirBuilder::new().mode(DIRECTORY_MODE).create(dir);
            made.map_err(|error| anyhow!("the directory {shown} cannot be made: {error}"))
        }
        Err(error) => Err(anyhow!("the directory {shown} cannot be read: {error}")),
    }
}

/// Writes all files or none of them.
pub fn write(dir: &Path, files: &[NewFile]) -> anyhow::Result<()> {
    for (index, file) in files.iter().enumerate() {
        if let Err(error) = write_one(&dir.join(&file.name), &file.text) {
            for file in &files[..index] {
                discard(&dir.join(&file.name));
            }
            bail!(
                "{} cannot be written: {error}; nothing was kept",
                dir.join(&file.name).display()
            );
        }
    }
    // The names, too, outlive a loss of power.
    fs::File::open(dir)?.sync_all()?;
    Ok(())
}

fn write_one(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(FILE_MODE).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        discard(path);
    }
    written
}

fn discard(path: &Path) {
    // The fault that led here is reported; that the file cannot be removed either adds nothing.
    let _: io::Result<()> = fs::remove_file(path);
}

/// Opens a seed that `keys new`, `keys restore` or `payouts seal-seed` sealed.
pub fn open_sealed(path: &Path, keys: &KeyRing) -> anyhow::Result<Seed> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| anyhow!("the seed file {shown} cannot be read: {error}"))?;
    let sealed = hex::decode(text.trim())
        .map_err(|_| anyhow!("the seed file {shown} is not hex; is it sealed?"))?;
    Ok(keys.open_seed(&sealed)?.0)
}
