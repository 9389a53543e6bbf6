//! A private node of bitcoin or litecoin per test: blocks only on request, no wallet unless a test
//! makes one.
//!
//! Payments are spends of the one key below, assembled here byte by byte and signed by the node.

use std::{
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::node::json_rpc;

const START_DEADLINE: Duration = Duration::from_secs(60);
/// A port may be taken between its choice and the node's start.
const STARTS_MAX: usize = 5;
/// The private key 1, as regtest spells it.
const KEY: &str = "cMahea7zqjxrtgAbB7LSGbcQUr1uX1ojuat9jZodMN87JcbXMTcA";
/// Output script of that key.
const KEY_SCRIPT: &str = "0014751e76e8199196d454941c45d1b3a323f1433bd6";
const COINBASE_MATURITY: u64 = 100;
/// Fee of a payment.
pub const FEE: u64 = 20_000;
/// Value of each prepared coin.
const COIN: u64 = 10_000_000;
const COINS: usize = 400;
/// Blocks whose whole reward stays one coin, for large payments.
const REWARDS: u64 = 3;
const REWARD: u64 = 5_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bitcoin,
    Litecoin,
}

/// A running node. Dropping it stops it and removes its data.
pub struct Regtest {
    kind: Kind,
    url: String,
    /// Confirmed coins of the key, each spent by one payment. The large ones come first.
    coins: Mutex<Vec<Coin>>,
    child: Child,
}

/// An unspent output of [`KEY`].
#[derive(Debug, Clone)]
pub struct Coin {
    txid: String,
    n: u32,
    units: u64,
}

impl Regtest {
    /// Starts a node with some hundred spendable coins.
    pub async fn start(kind: Kind) -> Result<Self> {
        Self::start_with(kind, &[]).await
    }

    /// The same, with `arguments` on the node's command line.
    pub async fn start_with(kind: Kind, arguments: &'static [&'static str]) -> Result<Self> {
        for _ in 0..STARTS_MAX {
            let (mut child, ended, url) =
                tokio::task::spawn_blocking(move || spawn(kind, arguments)).await??;
            if answers(&ended, &url).await {
                let node = Self { kind, url, coins: Mutex::default(), child };
                node.prepare_coins().await?;
                return Ok(node);
            }
            end(&mut child);
        }
        bail!("no node started")
    }

    /// With its user name and password.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub async fn rpc(&self, method: &str, params: Value) -> Result<Value> {
        json_rpc::call(&self.url, method, params).await
    }

    /// The same, as one of the node's wallets.
    pub async fn wallet_rpc(&self, wallet: &str, method: &str, params: Value) -> Result<Value> {
        let url = format!("{}/wallet/{wallet}", self.url.trim_end_matches('/'));
        json_rpc::call(&url, method, params).await
    }

    pub async fn genesis(&self) -> Result<String> {
        Ok(text(&self.rpc("getblockhash", json!([0])).await?)?.to_owned())
    }

    pub async fn height(&self) -> Result<u64> {
        self.rpc("getblockcount", json!([])).await?.as_u64().context("height")
    }

    pub async fn hash_at(&self, height: u64) -> Result<String> {
        Ok(text(&self.rpc("getblockhash", json!([height])).await?)?.to_owned())
    }

    /// Mines blocks with all pending transactions. Each reward goes to another address, so that no
    /// two blocks are the same.
    pub async fn mine(&self, blocks: u64) -> Result<()> {
        for _ in 0..blocks {
            let to = self.fresh_address().await?;
            self.rpc("generatetoaddress", json!([1, to])).await?;
        }
        Ok(())
    }

    /// Mines one block with exactly these transactions, in this order.
    pub async fn mine_exactly(&self, transactions: &[String]) -> Result<()> {
        let to = self.fresh_address().await?;
        self.rpc("generateblock", json!([to, transactions])).await.map(drop)
    }

    /// An address without an owner.
    pub async fn fresh_address(&self) -> Result<String> {
        let script = format!("0014{}", hex::encode(rand::random::<[u8; 20]>()));
        self.address_of(&script).await
    }

    async fn address_of(&self, script: &str) -> Result<String> {
        let decoded = self.rpc("decodescript", json!([script])).await?;
        // Nodes of different ages name it differently.
        let named = [&decoded["address"], &decoded["addresses"][0]];
        named.into_iter().find_map(Value::as_str).map(str::to_owned).context("address")
    }

    /// The script that pays `address`, in the node's own words.
    pub async fn script_of(&self, address: &str) -> Result<Vec<u8>> {
        let answer = self.rpc("validateaddress", json!([address])).await?;
        let script = answer["scriptPubKey"].as_str();
        Ok(hex::decode(script.with_context(|| format!("{address} is no address"))?)?)
    }

    async fn prepare_coins(&self) -> Result<()> {
        let script = hex::decode(KEY_SCRIPT)?;
        let to = self.address_of(KEY_SCRIPT).await?;
        let rewards = self.rpc("generatetoaddress", json!([1 + REWARDS, to])).await?;
        let elsewhere = self.fresh_address().await?;
        self.rpc("generatetoaddress", json!([COINBASE_MATURITY, elsewhere])).await?;
        let mut coins = Vec::with_capacity(COINS);
        for hash in rewards.as_array().context("block hashes")? {
            let block = self.rpc("getblock", json!([hash, 1])).await?;
            let txid = text(&block["tx"][0])?.to_owned();
            coins.push(Coin { txid, n: 0, units: REWARD });
        }
        let reward = coins.pop().context("a reward")?;
        let outputs = vec![(script, COIN); COINS];
        let raw = self.signed(&[reward], &outputs, Sequence::Final).await?;
        let txid = self.send_signed(&raw).await?;
        self.mine(1).await?;
        let coin = |n| Coin { txid: txid.clone(), n, units: COIN };
        coins.extend((0..u32::try_from(COINS)?).map(coin));
        *self.coins() = coins;
        Ok(())
    }

    fn coins(&self) -> std::sync::MutexGuard<'_, Vec<Coin>> {
        self.coins.lock().expect("no test panics while it holds this")
    }

    fn take_coin(&self, units: u64) -> Result<Coin> {
        let mut coins = self.coins();
        let place = coins.iter().rposition(|coin| coin.units >= units);
        Ok(coins.remove(place.context("no coin is left")?))
    }

    /// Broadcasts a payment of `outputs` (address, base units), which stays pending. Returns its id
    /// and the coin it spends.
    pub async fn pay(&self, outputs: &[(String, u64)]) -> Result<(String, Coin)> {
        let paid: u64 = outputs.iter().map(|(_, units)| units).sum();
        let coin = self.take_coin(paid + FEE)?;
        let txid = self.spend(&coin, outputs, FEE).await?;
        Ok((txid, coin))
    }

    /// Broadcasts a payment of `coin`, which replaces another one with a lower `fee`.
    pub async fn spend(&self, coin: &Coin, outputs: &[(String, u64)], fee: u64) -> Result<String> {
        let raw = self.signed_payment(coin, outputs, fee).await?;
        self.send_signed(&raw).await
    }

    /// The bytes of a payment that is not broadcast; the change returns to the key.
    pub async fn signed_payment(
        &self,
        coin: &Coin,
        outputs: &[(String, u64)],
        fee: u64,
    ) -> Result<String> {
        let mut scripts = Vec::with_capacity(outputs.len());
        for (address, units) in outputs {
            scripts.push((self.script_of(address).await?, *units));
        }
        self.signed_spend(coin, scripts, fee).await
    }

    async fn signed_spend(
        &self,
        coin: &Coin,
        mut outputs: Vec<(Vec<u8>, u64)>,
        fee: u64,
    ) -> Result<String> {
        let paid: u64 = outputs.iter().map(|(_, units)| units).sum();
        let rest = coin.units.checked_sub(paid + fee).context("a payment above its coin")?;
        outputs.push((hex::decode(KEY_SCRIPT)?, rest));
        self.signed(std::slice::from_ref(coin), &outputs, Sequence::Replaceable).await
    }

    /// Broadcasts a payment to scripts of any kind.
    pub async fn pay_scripts(&self, outputs: &[(Vec<u8>, u64)]) -> Result<String> {
        let paid: u64 = outputs.iter().map(|(_, units)| units).sum();
        let coin = self.take_coin(paid + FEE)?;
        let raw = self.signed_spend(&coin, outputs.to_vec(), FEE).await?;
        self.send_signed(&raw).await
    }

    async fn signed(
        &self,
        coins: &[Coin],
        outputs: &[(Vec<u8>, u64)],
        sequence: Sequence,
    ) -> Result<String> {
        let raw = unsigned(coins, outputs, sequence)?;
        let signed = self.rpc("signrawtransactionwithkey", json!([raw, [KEY]])).await?;
        ensure!(signed["complete"] == true, "not signed: {signed}");
        Ok(text(&signed["hex"])?.to_owned())
    }

    pub async fn send_signed(&self, raw: &str) -> Result<String> {
        // No limit on the fee rate, and a high one on the amount made unspendable, where there is
        // such a limit.
        let params = match self.kind {
            Kind::Bitcoin => json!([raw, 0, 1]),
            Kind::Litecoin => json!([raw, 0]),
        };
        Ok(text(&self.rpc("sendrawtransaction", params).await?)?.to_owned())
    }

    /// Declares the newest `depth` blocks invalid and returns the transactions of each but the
    /// rewards, oldest block first. They become pending again.
    pub async fn roll_back(&self, depth: u64) -> Result<Vec<Vec<String>>> {
        let height = self.height().await?;
        let mut forgotten = Vec::new();
        for number in height - depth + 1..=height {
            let hash = self.hash_at(number).await?;
            let block = self.rpc("getblock", json!([hash, 1])).await?;
            let all = block["tx"].as_array().context("transactions")?;
            let txids = all[1..].iter().map(|txid| Ok(text(txid)?.to_owned()));
            forgotten.push(txids.collect::<Result<_>>()?);
        }
        let first = self.hash_at(height - depth + 1).await?;
        self.rpc("invalidateblock", json!([first])).await?;
        Ok(forgotten)
    }
}

/// Signals if a transaction may be replaced by one with a higher fee (BIP-125).
#[derive(Clone, Copy)]
enum Sequence {
    Final,
    Replaceable,
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().with_context(|| format!("not a text: {value}"))
}

/// A transaction without signatures, in hex.
fn unsigned(coins: &[Coin], outputs: &[(Vec<u8>, u64)], sequence: Sequence) -> Result<String> {
    let mut raw = 2_u32.to_le_bytes().to_vec();
    raw.extend(length(coins.len())?);
    for coin in coins {
        let mut id = hex::decode(&coin.txid)?;
        id.reverse();
        raw.extend(id);
        raw.extend(coin.n.to_le_bytes());
        raw.push(0);
        raw.extend(match sequence {
            Sequence::Final => [0xff; 4],
            Sequence::Replaceable => [0xfd, 0xff, 0xff, 0xff],
        });
    }
    raw.extend(length(outputs.len())?);
    for (script, units) in outputs {
        raw.extend(units.to_le_bytes());
        raw.extend(length(script.len())?);
        raw.extend(script);
    }
    raw.extend([0; 4]);
    Ok(hex::encode(raw))
}

/// A length as transactions write it.
fn length(value: usize) -> Result<Vec<u8>> {
    Ok(match u8::try_from(value) {
        Ok(short) if short < 0xfd => vec![short],
        _ => [&[0xfd][..], &u16::try_from(value)?.to_le_bytes()].concat(),
    })
}

/// Runs the node under a shell that waits for this process: when it ends in any way, the shell's
/// input closes and it stops the node.
fn spawn(kind: Kind, arguments: &[&str]) -> Result<(Child, Arc<AtomicBool>, String)> {
    let folder = std::env::temp_dir().join(format!("gateway-node-{:016x}", rand::random::<u64>()));
    std::fs::create_dir(&folder)?;
    // Chosen by the system and given back; if another process takes it first, the start fails and
    // is repeated.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let password = hex::encode(rand::random::<[u8; 16]>());
    let script = r#"folder=$1; shift; "$@" </dev/null 2>&1 & node=$!; exec >/dev/null; read -r _
        kill -9 "$node"; wait; rm -rf "$folder""#;
    let mut child = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(&folder)
        .arg(binary(kind)?)
        .arg(format!("-datadir={}", folder.display()))
        .args([format!("-rpcport={port}"), format!("-rpcpassword={password}")])
        .args(["-regtest", "-server", "-rpcuser=test", "-listen=0", "-connect=0", "-dnsseed=0"])
        .args(["-dbcache=4", "-par=1", "-rpcthreads=4", "-fallbackfee=0.0002", "-dustrelayfee=0"])
        // The last of two contradicting arguments counts.
        .args(arguments)
        // Debian's start script for litecoin writes into the home folder.
        .env("HOME", &folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("the node does not start")?;
    let mut log = child.stdout.take().context("no output")?;
    let ended = Arc::new(AtomicBool::new(false));
    let told = ended.clone();
    // Reads to the end, which is the node's end.
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut log, &mut std::io::sink());
        told.store(true, Ordering::SeqCst);
    });
    Ok((child, ended, format!("http://test:{password}@127.0.0.1:{port}")))
}

/// Waits for the node's first response; `false` if another program has its port.
async fn answers(ended: &AtomicBool, url: &str) -> bool {
    let began = Instant::now();
    while began.elapsed() < START_DEADLINE {
        if json_rpc::call(url, "getblockcount", json!([])).await.is_ok() {
            return true;
        }
        if ended.load(Ordering::SeqCst) {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    false
}

/// Found or fetched by the kind's script, once per process.
fn binary(kind: Kind) -> Result<PathBuf> {
    static BINARIES: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    let (cell, name) = match kind {
        Kind::Bitcoin => (&BINARIES[0], "bitcoind"),
        Kind::Litecoin => (&BINARIES[1], "litecoind"),
    };
    if let Some(path) = cell.get() {
        return Ok(path.clone());
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../scripts/{name}.sh"));
    let output = Command::new(script).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "scripts/{name}.sh found no {name}");
    let path = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    Ok(cell.get_or_init(|| path).clone())
}

fn end(child: &mut Child) {
    drop(child.stdin.take());
    // The shell ends by itself now; there is nothing to do if it cannot be waited for.
    let _ = child.wait();
}

impl Drop for Regtest {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}
