//! `gatewayctl payouts seal-seed|accounts`: what is done where the seed is, without any server.

use clap::Args;
use gateway::{
    app::payout::accounts::{x402_xpub_of, xpubs_of},
    config::{Config, Part},
    merchant::secret::{SEED_BYTES, SeedUse},
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

#[derive(Args)]
pub struct Seal {
    #[command(flatten)]
    wallet: Wallet,
    /// For the seed of the invoices, from which pools of addresses are exported
    #[arg(long, conflicts_with = "x402")]
    invoices: bool,
}

impl Wallet {
    pub const fn seed_use(&self) -> SeedUse {
        if self.x402 { SeedUse::X402 } else { SeedUse::Payouts }
    }

    /// Public keys, as sections `payouts.accounts` and `x402` take them.
    pub fn accounts(&self) -> anyhow::Result<Answer> {
        let config = Config::load_for(Part::Nothing)?;
        let mut seed = read_seed()?;
        let answer = if self.x402 { of_x402(&seed) } else { Ok(of_payouts(&config, &seed)) };
        seed.fill(0);
        answer
    }
}

impl Seal {
    /// Needs the key that seals.
    pub fn run(&self) -> anyhow::Result<Answer> {
        let config = Config::load_for(Part::Nothing)?;
        let of = if self.invoices { SeedUse::Invoices } else { self.wallet.seed_use() };
        let keys = config.sealing_keys_for(of)?.ok_or_else(|| {
            anyhow::anyhow!("no key is set that seals this seed: set {}", sealing_key(of))
        })?;
        let mut seed = read_seed()?;
        let sealed = hex::encode(keys.current().seal_seed(of, &seed));
        seed.fill(0);
        Ok(Answer::new(json!({ "sealed_seed": sealed }), sealed))
    }
}

const fn sealing_key(of: SeedUse) -> &'static str {
    match of {
        SeedUse::Payouts => "GATEWAY_PAYOUTS__SEED_KEY, or GATEWAY_MASTER_KEY",
        SeedUse::X402 => "GATEWAY_X402__SEED_KEY, or GATEWAY_MASTER_KEY",
        SeedUse::Invoices => "GATEWAY_COLD_SEED_KEY",
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
