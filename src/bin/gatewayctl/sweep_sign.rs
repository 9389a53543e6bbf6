//! `gatewayctl sweep sign`: on the machine with the seed, before anything leaves it.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use anyhow::bail;
use clap::Args;
use gateway::{
    asset::{Family, Realm, address::Account, keys::Seed},
    config::{Config, Part},
    merchant::secret::SeedUse,
    sweep::{plan::Plan, sign::sign},
};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::{
    failure::wrong_usage,
    keys::typed_words,
    keys_files::open_sealed,
    render::{self, Answer},
    sweep_files, sweep_shown,
};

#[derive(Args)]
pub struct Sign {
    /// The file that gatewayctl sweep plan wrote
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// The sealed seed of the invoices; without it, the words are read from stdin
    #[arg(long, value_name = "FILE")]
    seed_file: Option<PathBuf>,
    /// The file to write; it must not exist yet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Sign without the question whether the sums are right
    #[arg(long)]
    yes: bool,
}

/// The answer that signs; a bare return is none.
const YES: &str = "yes";

impl Sign {
    pub fn run(self) -> anyhow::Result<Answer> {
        sweep_files::refuse_existing(&self.out)?;
        let config = Config::load_for(Part::Nothing)?;
        let plan = Plan::read(&sweep_files::read(&self.plan)?)?;
        let pinned = |network| config.pinned(network).ok();
        // Before the words are asked for: a plan that is refused needs none.
        gateway::sweep::check::check(&plan, pinned)?;
        let totals = sweep_shown::totals(&plan);
        if !self.yes {
            ask(&totals)?;
        }
        let seed = seed(self.seed_file.as_deref(), &config)?;
        let signed = sign(&plan, pinned, seed.expose_secret())?;
        sweep_files::write(&self.out, &signed.write()?)?;
        let hashes: Vec<_> = signed.transactions.iter().map(|one| &one.hash).collect();
        let json = json!({
            "plan_id": plan.id, "file": self.out, "hashes": hashes,
            "transactions": sweep_shown::transactions(&plan),
        });
        let text = format!(
            "{totals}\nSigned: {} transactions, to these addresses alone. Carry {} back: gatewayctl sweep send.",
            plan.transactions.len(),
            self.out.display()
        );
        Ok(Answer::new(json, text))
    }
}

/// Shows the sums, and asks whether they are right. The words may come through a pipe: then there
/// is nobody to ask.
fn ask(totals: &str) -> anyhow::Result<()> {
    let stdin = io::stdin();
    render::to_stderr(&format!("{totals}\n"));
    if !stdin.is_terminal() {
        let why = "nothing is signed: there is no terminal to ask at. Compare the sums above with what you \
                   expect, and repeat the command with --yes";
        return Err(wrong_usage(why));
    }
    render::to_stderr(&format!("Sign these transfers? Type {YES}: "));
    let mut answer = String::new();
    stdin.read_line(&mut answer)?;
    if is_agreed(&answer) { Ok(()) } else { bail!("nothing is signed: the answer was not {YES}") }
}

fn is_agreed(answer: &str) -> bool {
    answer.trim().eq_ignore_ascii_case(YES)
}

/// The seed of the invoices: sealed, or from the words on stdin.
fn seed(file: Option<&Path>, config: &Config) -> anyhow::Result<Seed> {
    match file {
        Some(file) => open_sealed(config, SeedUse::Invoices, file),
        None => Ok(typed_words()?.seed()),
    }
}

#[derive(Args)]
pub struct GasPayer {
    /// The sealed seed of the invoices; without it, the words are read from stdin
    #[arg(long, value_name = "FILE")]
    seed_file: Option<PathBuf>,
}

impl GasPayer {
    pub fn run(self) -> anyhow::Result<Answer> {
        let config = Config::load_for(Part::Nothing)?;
        let seed = seed(self.seed_file.as_deref(), &config)?;
        let address = Account::Sweeps.first_address(seed.expose_secret(), Family::Evm, Realm::Main);
        let address = address.ok_or_else(|| anyhow::anyhow!("this seed gives no key"))?;
        let text = format!("[treasury]\ngas_payer = {address:?}");
        Ok(Answer::new(json!({ "gas_payer": address }), text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_signs() {
        assert!(is_agreed("yes\n") && is_agreed(" YES\r\n"));
        for answer in ["", "\n", "y\n", "no\n", "yes please\n"] {
            assert!(!is_agreed(answer), "{answer:?}");
        }
    }
}
