//! `gatewayctl payouts seal-seed|accounts`: what is done where the seed is, without any server.

use clap::Args;
use gateway::{
    app::payout::accounts::{x402_xpub_of, xpubs_of},
    config::{Config, Part},
    merchant::secret::SEED_BYTES,
};
use serde_json::{Map, json};

use crate::{failure::wrong_usage, render::Answer};

// The wallet that a seed is for: that of payouts, unless another is named.
#[derive(Args)]
pub struct Wallet {
    /// For the wallet that pays the gas of programs' payments (x402)
    #[arg(long)]
    x402: bool,
}

impl Wallet {
    /// Needs the key that seals.
    pub fn seal(&self) -> anyhow::Result<Answer> {
        let config = Config::load_for(Part::Sealed)?;
        let keys = if self.x402 { config.x402_seed_keys()? } else { config.seed_keys()? };
        let mut seed = read_seed()?;
        let sealed = hex::encode(keys.current().seal_seed(&seed));
        seed.fill(0);
        Ok(Answer::new(json!({ "sealed_seed": sealed }), sealed))
    }

    /// Public keys, as sections `payouts.accounts` and `x402` take them.
    pub fn accounts(&self) -> anyhow::Result<Answer> {
        let config = Config::load_for(Part::Sealed)?;
        let mut seed = read_seed()?;
        let answer = if self.x402 { of_x402(&seed) } else { Ok(of_payouts(&config, &seed)) };
        seed.fill(0);
        answer
    }
}

fn of_payouts(config: &Config, seed: &[u8; SEED_BYTES]) -> Answer {
    let accounts = xpubs_of(config, seed);
    let lines: Vec<_> = accounts.iter().map(|(name, key)| format!("{name} = {key:?}")).collect();
    let text = format!("[payouts.accounts]\n{}", lines.join("\n"));
    let json: Map<_, _> =
        accounts.into_iter().map(|(name, key)| (name.to_owned(), key.into())).collect();
    Answer::new(json!({ "accounts": json }), text)
}

fn of_x402(seed: &[u8; SEED_BYTES]) -> anyhow::Result<Answer> {
    let account = x402_xpub_of(seed).ok_or_else(|| wrong_usage("the seed gives no key"))?;
    let text = format!("[x402]\naccount = {account:?}");
    Ok(Answer::new(json!({ "account": account }), text))
}

fn read_seed() -> anyhow::Result<[u8; SEED_BYTES]> {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::io::stdin().lock(), &mut text)?;
    let mut seed = [0_u8; SEED_BYTES];
    hex::decode_to_slice(text.trim(), &mut seed)
        .map_err(|_| wrong_usage("a seed is 64 bytes in hex: what BIP-39 makes of a phrase"))?;
    Ok(seed)
}
