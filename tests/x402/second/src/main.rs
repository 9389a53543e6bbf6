//! The verdicts of x402-rs, another facilitator, on requests to verify: a request in each line of
//! stdin, its verdict in each line of stdout.
//!
//! Arguments: the address of a node, and the id of its chain.

use std::{
    error::Error,
    io::{self, Write},
    sync::Arc,
};

use serde_json::{Value, json, value::RawValue};
use x402_chain_eip155::{
    V1Eip155Exact, V2Eip155Exact,
    chain::{Eip155ChainProvider, Eip155ChainReference, config::Eip155ChainConfig},
};
use x402_types::{chain::FromConfig, proto::VerifyRequest, scheme::X402SchemeFacilitatorBuilder};

/// It wants a key, and verifies without.
const KEY: &str = "0x0101010101010101010101010101010101010101010101010101010101010101";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("the address of a node is missing")?;
    let chain_id = arguments.next().ok_or("the id of its chain is missing")?.parse()?;
    let inner = serde_json::from_value(json!({ "signers": [KEY], "rpc": [{ "http": url }] }))?;
    let chain_reference = Eip155ChainReference::new(chain_id);
    let config = Eip155ChainConfig { chain_reference, inner };
    let provider = Arc::new(Eip155ChainProvider::from_config(&config).await?);
    let of_version_1 = V1Eip155Exact.build(provider.clone(), None)?;
    let of_version_2 = V2Eip155Exact.build(provider, None)?;
    for line in io::stdin().lines() {
        let line = line?;
        let asked: Value = serde_json::from_str(&line)?;
        let request = VerifyRequest::from(RawValue::from_string(line)?);
        let facilitator = if asked["x402Version"] == 1 { &of_version_1 } else { &of_version_2 };
        let verdict = match facilitator.verify(&request).await {
            Ok(verdict) => verdict.0,
            Err(error) => json!({ "isValid": false, "invalidMessage": error.to_string() }),
        };
        writeln!(io::stdout(), "{verdict}")?;
    }
    Ok(())
}
