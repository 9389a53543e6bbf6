//! The files of `gatewayctl keys …`, each for its owner alone.

use std::{
    fs,
    io::{self, ErrorKind, Write as _},
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
    config::Config,
    merchant::secret::{KeyRing, SeedUse},
};
use secrecy::ExposeSecret;

pub const PAYOUTS_SEED: &str = "payouts.seed";
pub const INVOICES_SEED: &str = "invoices.seed";
pub const X402_SEED: &str = "x402.seed";
const OF_PAYOUTS: &str = "the role payout-batch alone: payouts.seed_file names it";
const OF_INVOICES: &str =
    "stays here, for gatewayctl addresses export; no running program may have it";
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
    pub payouts: Option<KeyRing>,
    pub invoices: Option<KeyRing>,
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
        let of = |of, keys: &Option<KeyRing>, seed: Option<&Seed>, name: &str, place| {
            let sealed = keys.as_ref()?.current().seal_seed(of, seed?.expose_secret());
            Some(NewFile { name: name.to_owned(), place, text: hex::encode(sealed) + "\n" })
        };
        [
            of(SeedUse::Payouts, &sealing.payouts, Some(payouts), PAYOUTS_SEED, OF_PAYOUTS),
            of(SeedUse::Invoices, &sealing.invoices, Some(invoices), INVOICES_SEED, OF_INVOICES),
            of(SeedUse::X402, &sealing.x402, x402.as_ref(), X402_SEED, OF_X402),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
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
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let made = fs::DirBuilder::new().mode(DIRECTORY_MODE).create(dir);
            let made = made.and_then(|()| {
                // Its name, too, outlives a loss of power.
                sync(parent(dir)).inspect_err(|_| {
                    // The fault that led here is reported.
                    let _: io::Result<()> = fs::remove_dir(dir);
                })
            });
            made.map_err(|error| anyhow!("the directory {shown} cannot be made: {error}"))
        }
        Err(error) => Err(anyhow!("the directory {shown} cannot be read: {error}")),
    }
}

/// The directory that a path is in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync(dir: &Path) -> io::Result<()> {
    fs::File::open(dir)?.sync_all()
}

/// Writes all files or none of them.
pub fn write(dir: &Path, files: &[NewFile]) -> anyhow::Result<()> {
    for (index, file) in files.iter().enumerate() {
        if let Err(error) = write_one(&dir.join(&file.name), &file.text) {
            return Err(undone(dir, &files[..index], &dir.join(&file.name), &error));
        }
    }
    // The names, too, outlive a loss of power.
    sync(dir).map_err(|error| undone(dir, files, dir, &error))
}

/// Removes what was written, and says so; or which files are left.
fn undone(dir: &Path, files: &[NewFile], failed: &Path, error: &io::Error) -> anyhow::Error {
    let is_left = |file: &&NewFile| match fs::remove_file(dir.join(&file.name)) {
        Ok(()) => false,
        Err(error) => error.kind() != ErrorKind::NotFound,
    };
    let left: Vec<_> = files.iter().filter(is_left).map(|file| file.name.as_str()).collect();
    let rest = if left.is_empty() {
        "nothing was kept".to_owned()
    } else {
        format!("these could not be removed, remove them: {}", left.join(", "))
    };
    anyhow!("{} cannot be written: {error}; {rest}", failed.display())
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

/// Reads a file that `keys new`, `keys restore` or `payouts seal-seed` wrote.
pub fn read_sealed(path: &Path) -> anyhow::Result<Vec<u8>> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| anyhow!("the seed file {shown} cannot be read: {error}"))?;
    hex::decode(text.trim()).map_err(|_| anyhow!("the seed file {shown} is not hex; is it sealed?"))
}

/// Opens a seed with the keys of the settings, which may have none of them.
pub fn open_sealed(config: &Config, of: SeedUse, path: &Path) -> anyhow::Result<Seed> {
    let (rings, named) = match of {
        SeedUse::Invoices => (
            config.keys_of_invoices_seeds()?,
            "GATEWAY_COLD_SEED_KEY, or for a file of an earlier release GATEWAY_PAYOUTS__SEED_KEY or GATEWAY_MASTER_KEY",
        ),
        SeedUse::Payouts => (
            config.seed_keys_for(of)?.into_iter().collect(),
            "GATEWAY_PAYOUTS__SEED_KEY, or GATEWAY_MASTER_KEY where that one sealed it",
        ),
        SeedUse::X402 => (
            config.seed_keys_for(of)?.into_iter().collect(),
            "GATEWAY_X402__SEED_KEY, or GATEWAY_MASTER_KEY where that one sealed it",
        ),
    };
    let shown = path.display();
    if rings.is_empty() {
        bail!("no key is set that opens {shown}: set {named}");
    }
    let sealed = read_sealed(path)?;
    let opened = rings.iter().find_map(|keys| keys.open_seed(of, &sealed).ok());
    let (seed, _) = opened.ok_or_else(|| {
        anyhow!("{shown} does not open: another key sealed it, or it is for another use; its key is {named}")
    })?;
    Ok(seed)
}
