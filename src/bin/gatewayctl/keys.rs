//! `gatewayctl keys …`: done on a machine without a network, before there is any server.

use std::{
    io::{self, IsTerminal as _, Read as _, Write as _},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use gateway::{
    asset::{
        address::{Account, Realm, pool},
        keys::{Phrase, PublicKeys, ROLLS_MIN, Seeds, WORDS},
    },
    config::{Config, Part},
    merchant::secret::SeedUse,
};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::zeroize::Zeroizing;
use serde_json::{Value, json};

use crate::{
    failure::wrong_usage,
    keys_files::{self, Contents, NewFile, Sealing},
    keys_words,
    render::{self, Answer, Cell},
};

/// Far above any phrase and any number of rolls.
const TYPED_BYTES_MAX: u64 = 64 * 1024;
const COLUMNS: usize = 4;
const WARNING: &str = "\
These words are the keys of this installation. They are shown this once, and no file holds them.
Whoever has them can spend everything; without them nothing can be spent. Write them down by hand, twice,
and keep them as you keep cash. Then clear this terminal.";

#[derive(Subcommand)]
pub enum Keys {
    /// Make the words of an installation, show them once, and write all that follows from them
    #[command(after_help = keys_words::NEW)]
    New(New),
    /// Write the same files again from the words on stdin
    #[command(after_help = keys_words::RESTORE)]
    Restore(Restore),
    /// Write the public files again from the sealed seeds, without the words
    #[command(after_help = keys_words::EXPORT)]
    Export(Export),
}

#[derive(Args)]
pub struct New {
    #[command(flatten)]
    target: Target,
    /// Make the words of rolls of a die, typed on stdin, and of nothing else
    #[arg(long)]
    dice: bool,
}

#[derive(Args)]
pub struct Restore {
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
pub struct Export {
    /// The directory with the sealed seeds that keys new or keys restore wrote
    #[arg(long, value_name = "DIR")]
    seeds: PathBuf,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
struct Target {
    /// The directory to write to: an empty one, or a new one
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Addresses in each pool file, from index 0 on
    #[arg(long, value_name = "N", default_value_t = 20_000,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(pool::COUNT_MAX)))]
    pool: u32,
    /// Keys of private test networks of bitcoin, litecoin and dogecoin
    #[arg(long)]
    regtest: bool,
}

impl Keys {
    pub fn run(self) -> anyhow::Result<Answer> {
        match self {
            Self::New(new) => new.run(),
            Self::Restore(restore) => restore.run(),
            Self::Export(export) => export.run(),
        }
    }
}

impl New {
    fn run(self) -> anyhow::Result<Answer> {
        if !io::stdout().is_terminal() {
            let text =
                "the words are shown once, on a terminal, and stdout is none; nothing was made";
            return Err(wrong_usage(text));
        }
        keys_files::make_empty(&self.target.dir)?;
        let sealing = Some(sealing_keys()?);
        let words = if self.dice {
            let ask =
                format!("{ROLLS_MIN} or more rolls of a die, digits from 1 to 6, in one line:");
            // The words, which follow from them, are shown as well, with a warning.
            Phrase::from_rolls(&typed(&ask, Echo::On)?)?
        } else {
            Phrase::generate()?
        };
        let made = Made::of(&seeds(&words)?, &self.target, sealing.as_ref())?;
        // Before any file: addresses whose words were never seen must not be used.
        show(&words)?;
        made.write(&self.target.dir)
    }
}

impl Restore {
    fn run(self) -> anyhow::Result<Answer> {
        keys_files::make_empty(&self.target.dir)?;
        let sealing = Some(sealing_keys()?);
        let words = typed_words()?;
        let made = Made::of(&seeds(&words)?, &self.target, sealing.as_ref())?;
        made.write(&self.target.dir)
    }
}

impl Export {
    fn run(self) -> anyhow::Result<Answer> {
        let config = Config::load_for(Part::Nothing)?;
        let open = |of, name| keys_files::open_sealed(&config, of, &self.seeds.join(name));
        let x402 = self.seeds.join(keys_files::X402_SEED);
        let has_x402 = x402.try_exists().map_err(|error| {
            anyhow::anyhow!("whether {} exists cannot be seen: {error}", x402.display())
        })?;
        let seeds = Seeds {
            invoices: open(SeedUse::Invoices, keys_files::INVOICES_SEED)?,
            payouts: open(SeedUse::Payouts, keys_files::PAYOUTS_SEED)?,
            x402: has_x402.then(|| open(SeedUse::X402, keys_files::X402_SEED)).transpose()?,
        };
        keys_files::make_empty(&self.target.dir)?;
        Made::of(&seeds, &self.target, None)?.write(&self.target.dir)
    }
}

fn sealing_keys() -> anyhow::Result<Sealing> {
    let config = Config::load_for(Part::Nothing)?;
    Ok(Sealing {
        payouts: config.sealing_keys_for(SeedUse::Payouts)?,
        invoices: config.sealing_keys_for(SeedUse::Invoices)?,
        x402: config.sealing_keys_for(SeedUse::X402)?,
    })
}

fn seeds(words: &Phrase) -> anyhow::Result<Seeds> {
    Seeds::of(words).ok_or_else(|| anyhow::anyhow!("these words give no key; make other ones"))
}

/// All that follows from the words, before anything of it is written.
struct Made {
    keys: PublicKeys,
    files: Vec<NewFile>,
    /// What to do about seeds that no key was there for; empty if all were sealed or none was
    /// asked for.
    unsealed: String,
    is_sealed: bool,
    /// The settings have the account of x402, whose seed was there.
    has_x402: bool,
}

impl Made {
    fn of(seeds: &Seeds, target: &Target, sealing: Option<&Sealing>) -> anyhow::Result<Self> {
        let realm = if target.regtest { Realm::Regtest } else { Realm::Main };
        let keys = PublicKeys::of(seeds, realm)
            .ok_or_else(|| anyhow::anyhow!("this seed gives no key; make other words"))?;
        let contents = Contents { seeds, keys: &keys, pool: target.pool };
        let mut files = contents.public()?;
        let sealed = sealing.map(|sealing| contents.sealed(sealing)).unwrap_or_default();
        let is_sealed = !sealed.is_empty();
        files.extend(sealed);
        let unsealed = keys_words::unsealed(sealing);
        Ok(Self { keys, files, unsealed, is_sealed, has_x402: seeds.x402.is_some() })
    }

    fn write(&self, dir: &Path) -> anyhow::Result<Answer> {
        keys_files::write(dir, &self.files)?;
        Ok(Answer::new(self.to_json(dir), self.to_text()))
    }

    fn to_json(&self, dir: &Path) -> Value {
        let row = |row: &gateway::asset::keys::PublicKey| {
            json!({
                "use": row.account.name(), "family": row.family.name(), "path": row.path,
                "key": row.key, "first_address": row.first_address,
            })
        };
        json!({
            "dir": dir,
            "keys": self.keys.keys.iter().map(row).collect::<Vec<_>>(),
            "pool_signer": self.keys.pool_signer,
            "files": self.files.iter().map(|file| &file.name).collect::<Vec<_>>(),
            "sealed": self.is_sealed,
            "x402": self.has_x402,
        })
    }

    fn to_text(&self) -> String {
        let keys = self.keys.keys.iter().map(|row| {
            let account = Cell::from(row.account.name());
            vec![account, row.family.name().into(), (&row.path).into(), (&row.first_address).into()]
        });
        let keys =
            render::table(&["use", "family", "path", "first address"], &keys.collect::<Vec<_>>());
        let files = self.files.iter().map(|file| vec![Cell::from(&file.name), file.place.into()]);
        let files = render::table(&["file", "where it goes"], &files.collect::<Vec<_>>());
        let gas = self.keys.of_account(Account::Gas).map(|row| row.first_address.as_str());
        let gas: String = gas.collect();
        let unsealed = &self.unsealed;
        let without = if self.has_x402 { "" } else { keys_words::WITHOUT_X402 };
        format!(
            "{keys}\n{files}\nGas that payouts of tokens need is paid from {gas}.\n\
             Compare the first addresses with a wallet that has the words, and gatewayctl keys restore with these files, before \
             the first payment.{without}{unsealed}"
        )
    }
}

/// Whether a terminal shows what is typed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Echo {
    On,
    Off,
}

/// A terminal that shows nothing of what is typed, until this is dropped. After a signal that ends
/// the program, the shell restores it.
struct Hidden(Termios);

impl Hidden {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // What was typed before the question, and shown, is not its answer.
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that is gone.
        let _: rustix::io::Result<()> = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Reads the words from stdin; a terminal does not show them.
pub fn typed_words() -> anyhow::Result<Phrase> {
    let ask = format!("the {WORDS} words, in one line, which is not shown:");
    Ok(Phrase::parse(&typed(&ask, Echo::Off)?)?)
}

/// Reads secret text from stdin: a line from a terminal, everything from elsewhere.
fn typed(ask: &str, echo: Echo) -> anyhow::Result<Zeroizing<String>> {
    let mut text = Zeroizing::new(String::new());
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let _hidden = (echo == Echo::Off).then(Hidden::begin).transpose()?;
        render::to_stderr(&format!("{ask}\n"));
        stdin.read_line(&mut text)?;
    } else {
        stdin.lock().take(TYPED_BYTES_MAX).read_to_string(&mut text)?;
    }
    Ok(text)
}

fn show(words: &Phrase) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{WARNING}\n")?;
    for (number, word) in (1_usize..).zip(words.words()) {
        let end = if number.is_multiple_of(COLUMNS) { "\n" } else { "" };
        write!(out, "{number:>4} {word:<10}{end}")?;
    }
    writeln!(out)?;
    out.flush()
}
