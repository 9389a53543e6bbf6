//! The SDKs as archives: a developer installs the one of his language from the gateway that he
//! talks to, in the version that fits it.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    sync::LazyLock,
};

use flate2::{Compression, write::GzEncoder};

/// One SDK with everything that its language's tools need to install it.
struct Sdk {
    /// The last part of its address, below `/docs/`.
    name: &'static str,
    /// The folder that the archive unpacks to.
    folder: &'static str,
    /// Paths inside the folder, with their texts.
    files: &'static [(&'static str, &'static str)],
}

macro_rules! sdk {
    ($language:literal, $ending:literal: $($path:literal)+) => {
        Sdk {
            name: concat!("gateway-sdk-", $language, $ending),
            folder: concat!("gateway-sdk-", $language),
            files: &[
                ("LICENSE-APACHE", include_str!("../../../LICENSE-APACHE")),
                ("LICENSE-MIT", include_str!("../../../LICENSE-MIT")),
                $(($path, include_str!(concat!("../../../sdk/", $language, "/", $path))),)+
            ],
        }
    };
}

const SDKS: [Sdk; 5] = [
    // npm runs no compiler for an archive, so what it made is in `dist`.
    sdk!("typescript", ".tgz":
        "README.md" "package.json"
        "dist/amounts.d.ts" "dist/amounts.js" "dist/contract.d.ts" "dist/contract.js" "dist/errors.d.ts" "dist/errors.js"
        "dist/index.d.ts" "dist/index.js" "dist/receive.d.ts" "dist/receive.js" "dist/transport.d.ts" "dist/transport.js"
        "dist/webhooks.d.ts" "dist/webhooks.js" "dist/x402.d.ts" "dist/x402.js"
    ),
    sdk!("python", ".tar.gz":
        "README.md" "pyproject.toml"
        "src/gateway_sdk/__init__.py" "src/gateway_sdk/client.py" "src/gateway_sdk/contract.py" "src/gateway_sdk/errors.py"
        "src/gateway_sdk/exact.py" "src/gateway_sdk/py.typed" "src/gateway_sdk/receive.py" "src/gateway_sdk/transport.py"
        "src/gateway_sdk/webhooks.py" "src/gateway_sdk/x402.py"
    ),
    sdk!("php", ".tar.gz":
        "README.md" "autoload.php" "composer.json"
        "src/Contract.php" "src/Exact.php" "src/Gateway.php" "src/Transport.php" "src/Webhooks.php" "src/errors.php"
        "src/receivers.php"
    ),
    sdk!("go", ".tar.gz":
        "README.md" "go.mod"
        "amount.go" "client.go" "contract.go" "errors.go" "events.go" "receive.go" "transport.go" "webhooks.go"
    ),
    sdk!("rust", ".tar.gz":
        "README.md" "Cargo.toml" "examples/conformance.rs"
        "src/amount.rs" "src/client.rs" "src/contract.rs" "src/contract/codes.rs" "src/contract/event.rs"
        "src/contract/link.rs" "src/contract/nc_payout.rs" "src/contract/payment.rs" "src/contract/payout.rs" "src/error.rs" "src/lib.rs"
        "src/lists.rs" "src/receive.rs" "src/transport.rs" "src/webhooks.rs" "src/x402.rs"
    ),
];

/// The archives by their names; none if one could not be written, which was logged.
static ARCHIVES: LazyLock<BTreeMap<&'static str, Vec<u8>>> = LazyLock::new(|| {
    let archives = SDKS.iter().map(|sdk| Ok((sdk.name, archive(sdk)?)));
    let archives: io::Result<_> = archives.collect();
    archives
        .inspect_err(|error| tracing::error!(%error, "the SDKs cannot be packed"))
        .unwrap_or_default()
});

/// The archive of this name.
pub fn download(name: &str) -> Option<&'static [u8]> {
    ARCHIVES.get(name).map(Vec::as_slice)
}

fn archive(sdk: &Sdk) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    for (path, text) in sdk.files {
        let header = header(&format!("{}/{path}", sdk.folder), text.len())?;
        gzip.write_all(&header)?;
        gzip.write_all(text.as_bytes())?;
        let rest = text.len().next_multiple_of(BLOCK) - text.len();
        gzip.write_all(&[0; BLOCK][..rest])?;
    }
    // Two empty blocks are the end.
    gzip.write_all(&[0; 2 * BLOCK])?;
    gzip.finish()
}

/// Size to which headers and files are filled up.
const BLOCK: usize = 512;
/// 2000-01-01 in octal epoch seconds. The same archive on every machine; before 1980, tools that
/// make a ZIP of the files refuse.
const MODIFIED: &[u8] = b"07033241600";

/// The header of a file in the POSIX format `ustar`.
fn header(path: &str, size: usize) -> io::Result<[u8; BLOCK]> {
    const SUM: std::ops::Range<usize> = 148..156;
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    if path.len() >= 100 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{path} is too long")));
    }
    put(0, path.as_bytes());
    put(100, b"0000644");
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{size:011o}").as_bytes());
    put(136, MODIFIED);
    // Its own place counts as spaces.
    put(SUM.start, &[b' '; 8]);
    put(156, b"0");
    put(257, b"ustar\x0000");
    put(329, b"0000000\x000000000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[SUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use sha2::{Digest, Sha256};

    use super::*;

    /// Files below `folder` with one of these endings, as paths inside it.
    fn sources(folder: &Path, below: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder.join(below)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{below}{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                sources(folder, &format!("{path}/"), found);
            } else if !path.ends_with(".pyc") {
                found.insert(path);
            }
        }
    }

    #[test]
    fn an_archive_has_every_source_of_its_sdk() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk");
        for sdk in &SDKS {
            let language = sdk.folder.strip_prefix("gateway-sdk-").unwrap();
            let folder = root.join(language);
            let below = match language {
                "typescript" => "dist/",
                "go" => "",
                _ => "src/",
            };
            let mut expected = BTreeSet::new();
            sources(&folder, below, &mut expected);
            expected
                .retain(|path| !path.starts_with("conformance/") && !path.contains(".egg-info/"));
            let packed: BTreeSet<_> =
                sdk.files.iter().map(|(path, _)| (*path).to_owned()).collect();
            let missing: Vec<_> = expected.difference(&packed).collect();
            assert!(!expected.is_empty() && missing.is_empty(), "{language}: {missing:?}");
        }
    }

    #[test]
    fn a_header_is_as_tar_writes_it() {
        // printf hello > a/b, then: tar --format=ustar --owner=0 --group=0 --numeric-owner
        // --mode=0644 --mtime=@946684800 -cf - a/b | head -c 512 | sha256sum
        let expected = "64f8ce3fc05cb8f4e5a51c3c7e571740ab14ddadfbc5d54404a43613507af99a";
        assert_eq!(hex::encode(Sha256::digest(header("a/b", 5).unwrap())), expected);
        assert!(header(&"x".repeat(100), 5).is_err());
    }
}
