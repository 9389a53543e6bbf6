//! `gatewayctl payouts seal-seed|accounts`: what is done where the seed is, without any server.

use gateway::{
    app::payout::accounts::xpubs_of,
    config::{Config, Part},
    merchant::secret::SEED_BYTES,
};
use serde_json::{Map, json};

use crate::{failure::wrong_usage, render::Answer};

/// Needs the key that seals.
pub fn seal() -> anyhow::Result<Answer> {
    let keys = Config::load_for(Part::Sealed)?.seed_keys()?;
    let mut seed = read_seed()?;
    let sealed = hex::encode(keys.current().seal_seed(&seed));
    seed.fill(0);
    Ok(Answer::new(json!({ "sealed_seed": sealed }), sealed))
}

/// Public keys, as section `payouts.accounts` takes them.
pub fn accounts() -> anyhow::Result<Answer> {
    let config = Config::load_for(Part::Sealed)?;
    let mut seed = read_seed()?;
    let accounts = xpubs_of(&config, &seed);
    seed.fill(0);
    let lines: Vec<_> = accounts.iter().map(|(name, key)| format!("{name} = {key:?}")).collect();
    let text = format!("[payouts.accounts]\n{}", lines.join("\n"));
    let json: Map<_, _> =
        accounts.into_iter().map(|(name, key)| (name.to_owned(), key.into())).collect();
    Ok(Answer::new(json!({ "accounts": json }), text))
}

fn read_seed() -> anyhow::Result<[u8; SEED_BYTES]> {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut std::io::stdin().lock(), &mut text)?;
    let mut seed = [0_u8; SEED_BYTES];
    hex::decode_to_slice(text.trim(), &mut seed)
        .map_err(|_| wrong_usage("a seed is 64 bytes in hex: what BIP-39 makes of a phrase"))?;
    Ok(seed)
}
