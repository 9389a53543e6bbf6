//! `gatewayctl keys`: words, and all that follows from them, on a machine without any server.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt, path::Path, process::Stdio};

use gateway::{
    asset::keys::WORDS,
    merchant::secret::{MasterKey, SealError, SeedUse},
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use support::{
    client::ctl::Ctl,
    server::{processes::program, scratch::Scratch, stack::MASTER_KEY},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::Command,
};

use super::with_database;

/// A published phrase: its keys are in the vectors of `src/asset`.
const ABANDON: &str = "abandon abandon abandon abandon abandon abandon abandon abandon abandon \
                       abandon abandon about";
const FIRST_BITCOIN: &str = "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu";
/// By BIP-85 and BIP-39, of two other implementations.
const SEED_OF_PAYOUTS: &str = "6e5f8a82bd81abedc4d1912d830e7195a2791f234fb1a62921f22e44c841715f\
                               54da0f0e92e49509bc3b23a796a668c9ccf645f58abbb05338f5f7e0c7aef088";
const SEED_OF_X402: &str = "39e4b7f820437af8dafb10a206c074f3fe6498b77233d2d16e7e9414e333f99f\
                            384539aef80377cbf6b9402f87478051de2bd2cae9782ef0a0e7bd84063f61b5";

/// Seals the seed of the invoices; no running program has it.
const COLD_KEY: &str = "33333333333333333333333333333333c0ffee5eedc0ffee5eedc0ffee5eed00";
/// Keys of a cold machine, which knows of no master key.
const PAYOUTS_KEY: &str = "2222222222222222222222222222222222222222222222222222222222222222";
/// The seed of `ABANDON` as an earlier release sealed it under `PAYOUTS_KEY`, by another
/// implementation of the cipher.
const EARLIER_INVOICES: &str = "01ddd877d4f608dde56ef3f610decf2db3b64d2b5be1e365d9016871a2a60969ddf8953ac542ab40bd2a433a469420f8\
                                002de63ef57c47a6e2568484dd049baf119feabd3cda611e51e635fd26a71f2e661f890c18fc5f4ac4cb2fa289ef6071\
                                713097239927dfb2a3";

fn sealing() -> Ctl {
    Ctl::default().with("GATEWAY_MASTER_KEY", MASTER_KEY).with("GATEWAY_COLD_SEED_KEY", COLD_KEY)
}

fn fresh(scratch: &Scratch) -> String {
    scratch.fresh("keys").to_str().unwrap().to_owned()
}

async fn restore(ctl: &Ctl, words: &str, dir: &str) -> support::client::ctl::Ran {
    ctl.run_with_input(&["keys", "restore", "--pool", "5", "--dir", dir], words).await
}

/// Contents of the directory's files, each of which its owner alone may read.
fn files(dir: &str) -> BTreeMap<String, String> {
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(Path::new(dir)), 0o700);
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            assert_eq!(mode(&path), 0o600, "{path:?}");
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// Runs a command with a terminal as its stdout, and returns what the terminal shows.
async fn on_terminal(arguments: &str) -> String {
    let line = format!("{} {arguments}", program("gatewayctl").display());
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env_clear();
    script.env("PATH", std::env::var("PATH").unwrap()).env("GATEWAY_MASTER_KEY", MASTER_KEY);
    script.env("GATEWAY_COLD_SEED_KEY", COLD_KEY);
    script.stdin(Stdio::null()).kill_on_drop(true);
    let output = script.output().await.unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}");
    shown
}

/// The numbered words that a terminal shows.
fn shown_words(terminal: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut tokens = terminal.split_whitespace();
    while words.len() < WORDS {
        let number = (words.len() + 1).to_string();
        assert!(tokens.any(|token| token == number), "no word {number} in {terminal}");
        words.push(tokens.next().unwrap().to_owned());
    }
    words
}

#[tokio::test]
async fn the_words_are_shown_once_and_give_the_same_bytes_again() {
    let scratch = Scratch::new();
    let rolls = scratch.fresh("rolls");
    std::fs::write(&rolls, "31415".repeat(10) + &"26245".repeat(10)).unwrap();
    let [dir, diced, diced_again] = [(); 3].map(|()| fresh(&scratch));
    let made = on_terminal(&format!("keys new --pool 5 --dir {dir}")).await;
    let words = shown_words(&made);
    let sentence = words.join(" ");
    let wanted = [
        "gateway.toml",
        "invoices.seed",
        "near-0.pool",
        "payouts.seed",
        "solana-0.pool",
        "x402.seed",
    ];
    let first = files(&dir);
    assert_eq!(first.keys().collect::<Vec<_>>(), wanted);
    for (name, text) in &first {
        assert!(!text.contains(&words[..3].join(" ")), "{name}");
    }

    let again = fresh(&scratch);
    let restored = restore(&sealing(), &sentence, &again).await.expect_ok();
    assert_eq!(files(&again), first);
    assert!(!restored.stdout.contains(&words[..3].join(" ")), "{restored:?}");

    for dir in [&diced, &diced_again] {
        let arguments = format!("keys new --dice --pool 5 --dir {dir} < {}", rolls.display());
        assert_ne!(shown_words(&on_terminal(&arguments).await), words);
    }
    assert_eq!(files(&diced), files(&diced_again));
    assert_ne!(files(&diced), first);
}

#[tokio::test]
async fn the_files_of_published_words_start_a_gateway_with_the_published_addresses() {
    with_database(|ctl, _| async move {
        let (scratch, offline) = (Scratch::new(), sealing());
        let dir = fresh(&scratch);
        restore(&offline, ABANDON, &dir).await.expect_ok();
        let ctl = ctl.with("GATEWAY_CONFIG", &format!("{dir}/gateway.toml"));
        for network in ["solana", "near"] {
            let file = format!("{dir}/{network}-0.pool");
            let imported = ctl.json(&["addresses", "import", &file, "--by", "ada"]).await;
            assert_eq!((&imported["first"], &imported["count"]), (&json!(0), &json!(5)));
        }
        let status = ctl.json(&["addresses", "status"]).await;
        let families = status.as_array().unwrap();
        assert_eq!(families.len(), 9);
        let toml = files(&dir)["gateway.toml"].clone();
        for family in families {
            assert!(family["usable"] == true && family["fault"].is_null(), "{family}");
            let expected =
                format!("{} = {}", family["family"].as_str().unwrap(), family["first_address"]);
            assert!(toml.contains(&expected), "no {expected} in {toml}");
        }
        assert!(toml.contains(&format!("bitcoin = \"{FIRST_BITCOIN}\"")), "{toml}");
    })
    .await;
}

#[tokio::test]
async fn each_seed_opens_under_its_own_key_for_its_own_use() {
    let scratch = Scratch::new();
    let dir = fresh(&scratch);
    let ctl = sealing().with("GATEWAY_PAYOUTS__SEED_KEY", PAYOUTS_KEY);
    restore(&ctl, ABANDON, &dir).await.expect_ok();
    let files = files(&dir);
    let open = |key: &str, of: SeedUse, name: &str| {
        let sealed = hex::decode(files[name].trim()).unwrap();
        let seed = MasterKey::parse(key).unwrap().open_seed(of, &sealed);
        seed.map(|seed| hex::encode(seed.expose_secret()))
    };
    let (payouts, invoices, x402) = (SeedUse::Payouts, SeedUse::Invoices, SeedUse::X402);
    assert_eq!(open(PAYOUTS_KEY, payouts, "payouts.seed").as_deref(), Ok(SEED_OF_PAYOUTS));
    assert_eq!(open(MASTER_KEY, x402, "x402.seed").as_deref(), Ok(SEED_OF_X402));
    assert_ne!(open(COLD_KEY, invoices, "invoices.seed").unwrap(), SEED_OF_PAYOUTS);
    for (key, of, name) in [
        (MASTER_KEY, payouts, "payouts.seed"),
        // What a running program holds does not open the seed of the invoices.
        (PAYOUTS_KEY, invoices, "invoices.seed"),
        (MASTER_KEY, invoices, "invoices.seed"),
        // A file in the place of another does not open there.
        (MASTER_KEY, payouts, "x402.seed"),
        (PAYOUTS_KEY, x402, "payouts.seed"),
        (COLD_KEY, payouts, "invoices.seed"),
    ] {
        assert_eq!(open(key, of, name), Err(SealError::DoesNotOpen), "{name} {of:?}");
    }
    // The accounts in the settings are of the sealed seed, and the programs' own command says so.
    let accounts = ctl.run_with_input(&["payouts", "accounts"], SEED_OF_PAYOUTS).await.expect_ok();
    for line in accounts.stdout.lines().filter(|line| line.contains(" = ")) {
        assert!(files["gateway.toml"].contains(line), "{line}");
    }
    let x402 = ["payouts", "accounts", "--x402"];
    let x402 = ctl.run_with_input(&x402, SEED_OF_X402).await.expect_ok();
    let account = x402.stdout.lines().find(|line| line.contains(" = ")).unwrap();
    assert!(files["gateway.toml"].contains(account), "{account}");
}

#[tokio::test]
async fn a_seed_without_a_key_is_not_written_and_the_answer_says_which() {
    let (scratch, key) = (Scratch::new(), "22".repeat(32));
    let seeds = ["payouts.seed", "x402.seed", "invoices.seed"];
    for (setting, sealed) in [
        ("GATEWAY_PAYOUTS__SEED_KEY", &["payouts.seed"][..]),
        ("GATEWAY_X402__SEED_KEY", &["x402.seed"]),
        ("GATEWAY_COLD_SEED_KEY", &["invoices.seed"]),
        // The master key is in every running program.
        ("GATEWAY_MASTER_KEY", &["payouts.seed", "x402.seed"]),
    ] {
        let dir = fresh(&scratch);
        let made = restore(&Ctl::default().with(setting, &key), ABANDON, &dir).await.expect_ok();
        let files = files(&dir);
        for seed in seeds {
            let is_sealed = sealed.contains(&seed);
            assert_eq!(files.contains_key(seed), is_sealed, "{setting} {seed}");
            let is_told = made.stdout.contains(&format!("{seed} was not written"));
            assert_eq!(is_told, !is_sealed, "{setting} {seed}: {made:?}");
        }
    }
}

#[tokio::test]
async fn a_key_that_protects_nothing_seals_nothing() {
    let scratch = Scratch::new();
    let (zero, other) = ("00".repeat(32), "44".repeat(32));
    for (settings, fault) in [
        (&[("GATEWAY_MASTER_KEY", zero.as_str())][..], "GATEWAY_MASTER_KEY is all zeros"),
        (&[("GATEWAY_PAYOUTS__SEED_KEY", &zero)], "GATEWAY_PAYOUTS__SEED_KEY is all zeros"),
        (&[("GATEWAY_X402__SEED_KEY", &zero)], "GATEWAY_X402__SEED_KEY is all zeros"),
        (&[("GATEWAY_COLD_SEED_KEY", &zero)], "GATEWAY_COLD_SEED_KEY is all zeros"),
        (&[("GATEWAY_COLD_SEED_KEY", "hunter2")], "GATEWAY_COLD_SEED_KEY is not 64 hex characters"),
        (
            &[("GATEWAY_MASTER_KEY", &other), ("GATEWAY_X402__SEED_KEY", &other)],
            "GATEWAY_X402__SEED_KEY must not be GATEWAY_MASTER_KEY",
        ),
        (
            &[("GATEWAY_MASTER_KEY", &other), ("GATEWAY_COLD_SEED_KEY", &other)],
            "GATEWAY_COLD_SEED_KEY must not be GATEWAY_MASTER_KEY",
        ),
        (
            &[("GATEWAY_PAYOUTS__SEED_KEY", &other), ("GATEWAY_COLD_SEED_KEY", &other)],
            "GATEWAY_COLD_SEED_KEY must not be GATEWAY_PAYOUTS__SEED_KEY",
        ),
        (
            &[("GATEWAY_X402__SEED_KEY", &other), ("GATEWAY_COLD_SEED_KEY", &other)],
            "GATEWAY_COLD_SEED_KEY must not be GATEWAY_X402__SEED_KEY",
        ),
    ] {
        let ctl = settings.iter().fold(Ctl::default(), |ctl, (name, key)| ctl.with(name, key));
        let dir = fresh(&scratch);
        let refused = restore(&ctl, ABANDON, &dir).await.expect_failure(fault);
        assert!(!refused.stderr.contains("hunter2"), "{refused:?}");
    }
}

/// No machine that keeps these files knows the master key of the running programs.
#[tokio::test]
async fn an_export_writes_the_public_files_again_and_no_seed_without_a_master_key() {
    let scratch = Scratch::new();
    let ctl = Ctl::default()
        .with("GATEWAY_PAYOUTS__SEED_KEY", PAYOUTS_KEY)
        .with("GATEWAY_COLD_SEED_KEY", COLD_KEY);
    let both = ctl.clone().with("GATEWAY_X402__SEED_KEY", &"44".repeat(32));
    let [dir, public, without, other] = [(); 4].map(|()| fresh(&scratch));
    restore(&both, ABANDON, &dir).await.expect_ok();
    let export = |to: &str| {
        let arguments = ["keys", "export", "--pool", "5", "--seeds", &dir, "--dir", to];
        arguments.map(ToOwned::to_owned)
    };
    let run = async |ctl: &Ctl, to: &str| {
        let arguments = export(to);
        ctl.run(&arguments.each_ref().map(String::as_str)).await
    };
    run(&both, &public).await.expect_ok();
    let mut wanted = files(&dir);
    wanted.retain(|name, _| !name.ends_with(".seed"));
    assert_eq!(files(&public), wanted);

    run(&ctl, &other).await.expect_failure("set GATEWAY_X402__SEED_KEY, or GATEWAY_MASTER_KEY");
    run(&Ctl::default(), &other).await.expect_failure("set GATEWAY_COLD_SEED_KEY");
    let wrong = both.clone().with("GATEWAY_COLD_SEED_KEY", &"11".repeat(32));
    run(&wrong, &other).await.expect_failure("does not open: another key sealed it");
    assert!(!Path::new(&other).exists());

    // Without the seed of x402 its key is not asked for, and the answer says what is missing.
    std::fs::remove_file(format!("{dir}/x402.seed")).unwrap();
    let told = run(&ctl, &without).await.expect_ok().stdout;
    assert!(
        told.contains("gateway.toml has no section [x402], as there was no x402.seed"),
        "{told}"
    );
    assert!(!files(&without)["gateway.toml"].contains("[x402]"));
    let arguments = export(&other);
    let arguments = arguments.each_ref().map(String::as_str);
    let exported = ctl.json(&arguments).await;
    assert_eq!((&exported["sealed"], &exported["x402"]), (&json!(false), &json!(false)));
}

#[tokio::test]
async fn a_pool_is_exported_with_the_key_of_the_invoices_or_the_one_that_an_earlier_release_took() {
    let scratch = Scratch::new();
    let dir = fresh(&scratch);
    let cold = Ctl::default().with("GATEWAY_COLD_SEED_KEY", COLD_KEY);
    restore(&cold, ABANDON, &dir).await.expect_ok();
    let pool = files(&dir)["near-0.pool"].clone();
    let earlier = scratch.fresh("earlier");
    std::fs::write(&earlier, EARLIER_INVOICES).unwrap();
    let export = async |ctl: &Ctl, seed: &str| {
        let out = fresh(&scratch);
        let arguments = ["addresses", "export", "--network", "near", "--seed-file", seed];
        let arguments = [&arguments[..], &["--from", "0", "--count", "5", "--out", &out]].concat();
        (ctl.run(&arguments).await, out)
    };
    let own = format!("{dir}/invoices.seed");
    let of_payouts = Ctl::default().with("GATEWAY_PAYOUTS__SEED_KEY", PAYOUTS_KEY);
    let earlier = earlier.to_str().unwrap();
    for (ctl, seed) in [(&cold, own.as_str()), (&of_payouts, earlier)] {
        let (ran, out) = export(ctl, seed).await;
        ran.expect_ok();
        assert_eq!(std::fs::read_to_string(out).unwrap(), pool, "{seed}");
    }
    for (ctl, fault) in
        [(&of_payouts, "does not open"), (&Ctl::default(), "no key is set that opens")]
    {
        export(ctl, &own).await.0.expect_failure(fault);
    }
}

#[tokio::test]
async fn a_terminal_does_not_show_the_words_that_are_typed() {
    let scratch = Scratch::new();
    let dir = fresh(&scratch);
    let line = format!("{} keys restore --pool 5 --dir {dir}", program("gatewayctl").display());
    let mut script = Command::new("script");
    // Without a terminal of its own, script would turn the echo off itself.
    script.args(["-q", "-E", "always", "-ec", &line, "/dev/null"]).env_clear();
    script.env("PATH", std::env::var("PATH").unwrap());
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = script.spawn().unwrap();
    let (mut typing, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains("in one line") {
        assert_ne!(screen.read_buf(&mut shown).await.unwrap(), 0, "{shown:?}");
    }
    typing.write_all(format!("{ABANDON}\n").as_bytes()).await.unwrap();
    screen.read_to_end(&mut shown).await.unwrap();
    let (ended, shown) = (child.wait().await.unwrap(), String::from_utf8(shown).unwrap());
    assert!(ended.success(), "{shown}");
    assert!(!shown.contains("abandon"), "{shown}");
    assert!(files(&dir).contains_key("gateway.toml"));
}

#[tokio::test]
async fn keys_replace_nothing_and_wrong_words_are_named() {
    let (scratch, ctl) = (Scratch::new(), Ctl::default());
    let dir = fresh(&scratch);
    let cases = [
        (ABANDON.replacen("abandon", "abandom", 1), "word 1, \"abandom\", is not in the list"),
        (ABANDON.replace("about", "abandon"), "word 12, the last, does not fit the words before"),
        (ABANDON.replace(" about", ""), "these are 11 words; a phrase has 24"),
    ];
    for (words, fault) in cases {
        restore(&ctl, &words, &dir).await.expect_failure(fault);
    }
    assert!(files(&dir).is_empty());
    // Without a key that seals there is nothing but public files.
    let made = restore(&ctl, ABANDON, &dir).await.expect_ok();
    for seed in ["payouts.seed", "x402.seed", "invoices.seed"] {
        assert!(made.stdout.contains(&format!("{seed} was not written")), "{made:?}");
    }
    let before = files(&dir);
    assert!(!before.keys().any(|name| name.ends_with(".seed")), "{before:?}");
    let refused = restore(&ctl, ABANDON, &dir).await;
    refused.expect_failure("is not empty; keys go into a directory of their own");
    assert_eq!(files(&dir), before);
    let file = format!("{dir}/gateway.toml");
    restore(&ctl, ABANDON, &file).await.expect_failure("cannot be read");
    let nowhere = format!("{dir}/no/directory");
    restore(&ctl, ABANDON, &nowhere).await.expect_failure("cannot be made");
}

#[tokio::test]
async fn new_words_go_to_a_terminal_alone() {
    let (scratch, ctl) = (Scratch::new(), sealing());
    let dir = fresh(&scratch);
    let arguments = ["keys", "new", "--dir", &dir];
    ctl.run(&arguments).await.expect_wrong_usage("the words are shown once, on a terminal");
    let arguments = ["--json", "keys", "new", "--dir", &dir];
    ctl.run(&arguments).await.expect_wrong_usage("it has no JSON");
    assert!(!Path::new(&dir).exists());
}

#[tokio::test]
async fn an_answer_for_scripts_has_every_key_with_its_path() {
    let (scratch, ctl) = (Scratch::new(), Ctl::default());
    let dir = fresh(&scratch);
    let arguments = ["--json", "keys", "restore", "--regtest", "--pool", "1", "--dir", &dir];
    let made = ctl.run_with_input(&arguments, ABANDON).await.expect_ok().json();
    let row = |of: &str, family: &str| -> Value {
        let rows = made["keys"].as_array().unwrap();
        let found = rows.iter().find(|row| row["use"] == of && row["family"] == family);
        found.unwrap_or_else(|| panic!("no {of} {family} in {made}")).clone()
    };
    let bitcoin = row("invoices", "bitcoin");
    assert_eq!(bitcoin["path"], "m/84'/1'/0'");
    assert!(bitcoin["first_address"].as_str().unwrap().starts_with("bcrt1"), "{bitcoin}");
    assert_eq!(row("gas", "evm")["path"], "m/44'/60'/2'");
    assert_eq!(row("invoices", "solana")["key"], Value::Null);
    assert_eq!(made["keys"].as_array().unwrap().len(), 15);
}
