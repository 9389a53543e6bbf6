//! Circle's own code of USDC: `FiatTokenV2_2` behind `FiatTokenProxy`, with the library that asks
//! contracts about their signatures, as `scripts/usdc.sh` fetches it compiled.
//!
//! Its bytecode is set and not deployed, because the address is that of the network's own token;
//! then the token's owner does what Circle does after a deployment.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};

use super::anvil::{Anvil, Call, address_word, call_data, word};
use crate::server::listener::found_by;

/// Addresses of the code behind the proxy, of the library, and of those who may do nothing here.
const CODE: &str = "0x00000000000000000000000000000000f1a70202";
const LIBRARY: &str = "0x00000000000000000000000000000000f1a7001b";
const NOBODY: &str = "0x00000000000000000000000000000000f1a7dead";
/// Where the proxy keeps its two addresses: hashes of these names.
const IMPLEMENTATION: &str = "org.zeppelinos.proxy.implementation";
const ADMIN: &str = "org.zeppelinos.proxy.admin";

/// Puts USDC at `at`, with `supply` (hex) owned by the deployer, who may also pause it and keep its
/// list of refused addresses.
pub async fn place_usdc(anvil: &Anvil, at: &str, supply: &str) -> Result<()> {
    let folder = tokio::task::spawn_blocking(|| found_by("scripts/usdc.sh")).await??;
    for (file, address) in [
        ("util/SignatureChecker.sol/SignatureChecker", LIBRARY),
        ("v2/FiatTokenV2_2.sol/FiatTokenV2_2", CODE),
        ("v1/FiatTokenProxy.sol/FiatTokenProxy", at),
    ] {
        anvil.rpc("anvil_setCode", json!([address, code(&folder, file)?])).await?;
    }
    for (name, address) in [(IMPLEMENTATION, CODE), (ADMIN, NOBODY)] {
        let slot = format!("0x{}", hex::encode(Keccak256::digest(name)));
        let value = format!("0x{}", address_word(address));
        anvil.rpc("anvil_setStorageAt", json!([at, slot, value])).await?;
    }
    let owner = address_word(anvil.deployer());
    let mut initialize: Vec<_> = ["100", "140", "180", "6"].map(word).into();
    // Master of the minters, pauser, keeper of the list, owner.
    initialize.extend(vec![owner.clone(); 4]);
    initialize.extend(["USD Coin", "USDC", "USD"].into_iter().flat_map(text));
    let first = "initialize(string,string,string,uint8,address,address,address,address)";
    let most = word(supply);
    let calls = [
        call_data(first, &initialize),
        call_data("initializeV2(string)", &[vec![word("20")], text("USD Coin")].concat()),
        call_data("initializeV2_1(address)", &[address_word(NOBODY)]),
        call_data(
            "initializeV2_2(address[],string)",
            &[vec![word("40"), word("60"), word("0")], text("USDC")].concat(),
        ),
        call_data("configureMinter(address,uint256)", &[owner.clone(), most.clone()]),
        call_data("mint(address,uint256)", &[owner, most]),
    ];
    let mut hashes = Vec::new();
    for data in calls {
        let call = Call { to: Some(at), value: "0x0".into(), data };
        hashes.push(anvil.send(anvil.deployer(), &call).await?);
    }
    anvil.mine().await?;
    for (hash, step) in hashes.iter().zip(1..) {
        let receipt = anvil.receipt(hash).await?;
        ensure!(receipt["status"] == "0x1", "step {step} of USDC was refused");
    }
    Ok(())
}

/// The code of a contract, with the address of the library in its gaps.
fn code(folder: &Path, file: &str) -> Result<String> {
    let path: PathBuf = folder.join(format!("{file}.json"));
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let artifact: Value = serde_json::from_str(&text)?;
    let code = artifact["deployedBytecode"].as_str().context("bytecode")?;
    let gaps = artifact["deployedLinkReferences"].as_object().context("references")?;
    let mut code = code.to_owned();
    for at in gaps.values().flat_map(|of| of.as_object().into_iter().flatten()) {
        for gap in at.1.as_array().into_iter().flatten() {
            let from = 2 + 2 * usize::try_from(gap["start"].as_u64().context("start")?)?;
            code.replace_range(from..from + 40, &LIBRARY[2..]);
        }
    }
    Ok(code)
}

/// The words of a text of at most 32 bytes: its length, and itself.
fn text(text: &str) -> Vec<String> {
    vec![word(&format!("{:x}", text.len())), format!("{:0<64}", hex::encode(text))]
}
