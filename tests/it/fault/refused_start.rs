//! Production refuses to start with settings meant for a sandbox, and names the reason.

use std::{path::Path, process::Command, time::Duration};

use gateway::asset::{
    Family,
    address::{Realm, sandbox},
};
use support::{
    client::exchange::Exchange,
    server::{
        database::TestDatabase,
        processes::{Launch, Process, free_port, program, within},
        scratch::Scratch,
    },
};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const ZERO: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const PROGRAMS: [(&str, &[&str]); 2] = [("gateway-api", &[]), ("gateway-worker", &["all"])];

/// Settings of a production that starts; its servers may come later.
const SOUND: [(&str, &str); 8] = [
    ("GATEWAY_PROFILE", "production"),
    ("DATABASE_URL", "postgres://app:e6a1f0c2@127.0.0.1:1/gateway"),
    ("AMQP_URL", "amqp://gw-application:b7d2a9c4@127.0.0.1:1/gateway"),
    ("GATEWAY_MASTER_KEY", KEY),
    ("GATEWAY_RATES__PROVIDERS", "kraken,coinbase"),
    ("GATEWAY_BASE_URL", "https://api.shop.example"),
    ("GATEWAY_CHECKOUT_URL", "https://pay.shop.example"),
    ("GATEWAY_LOG", "text"),
];

/// Independent of this machine's certificates.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../src/egress/fixture/root.pem");

/// Exit code of `timeout` if the program did not end.
const TIME_IS_OVER: i32 = 124;

/// Runs a program that is expected to end by itself; returns its output and exit code.
fn run(program: &Path, arguments: &[&str], changed: &[(&str, &str)]) -> (String, Option<i32>) {
    let output = Command::new("timeout")
        .arg("10")
        .arg(program)
        .args(arguments)
        .env_clear()
        .envs(SOUND)
        .envs(changed.iter().copied())
        .output()
        .unwrap();
    (String::from_utf8(output.stderr).unwrap(), output.status.code())
}

#[test]
fn production_refuses_each_thing_that_only_a_sandbox_may_have() {
    let public = sandbox::account_key(Realm::Main, Family::Evm).unwrap();
    let signer = sandbox::pool_signer().unwrap().to_hex();
    let default_password = "production refuses the default or missing password in";
    let database = format!("{default_password} DATABASE_URL");
    let broker = format!("{default_password} AMQP_URL");
    let digits = "1234567890".repeat(7)[..64].to_owned();
    let cases: &[(&str, &str, &str)] = &[
        ("DATABASE_URL", "", "DATABASE_URL is not set"),
        ("DATABASE_URL", "postgres://app@127.0.0.1:1/gateway", &database),
        ("DATABASE_URL", "postgres://postgres:postgres@127.0.0.1:1/gateway", &database),
        ("AMQP_URL", "", "AMQP_URL is not set"),
        ("AMQP_URL", "127.0.0.1:5672", "AMQP_URL must be an amqp or amqps address"),
        ("AMQP_URL", "http://a:b7d2a9c4@127.0.0.1:1", "AMQP_URL must be an amqp or amqps address"),
        ("AMQP_URL", "amqp://127.0.0.1:1", &broker),
        ("AMQP_URL", "amqp://guest:guest@127.0.0.1:1/gateway", &broker),
        ("GATEWAY_MASTER_KEY", "", "GATEWAY_MASTER_KEY"),
        ("GATEWAY_MASTER_KEY", &KEY[..62], "GATEWAY_MASTER_KEY"),
        ("GATEWAY_MASTER_KEY", ZERO, "production refuses the all-zero GATEWAY_MASTER_KEY"),
        ("GATEWAY_RATES__PROVIDERS", "", "production refuses fixed rates"),
        ("GATEWAY_RATES__PROVIDERS", "kraken,fixed", "production refuses fixed rates"),
        (
            "GATEWAY_CHAINS__POLYGON__SOURCE",
            "simulated",
            "production refuses the simulated chain for polygon",
        ),
        (
            "GATEWAY_EGRESS__ALLOW_PRIVATE",
            "true",
            "production refuses GATEWAY_EGRESS__ALLOW_PRIVATE=true",
        ),
        (
            "GATEWAY_BROKER__IPN_WAIT_MS",
            "29999",
            "production refuses GATEWAY_BROKER__IPN_WAIT_MS=29999",
        ),
        (
            "GATEWAY_BROKER__PAYOUT_WEBHOOK_WAIT_MS",
            "60001",
            "production refuses GATEWAY_BROKER__PAYOUT_WEBHOOK_WAIT_MS=60001",
        ),
        ("GATEWAY_ADDRESSES__EVM", public, "production refuses the published test keys"),
        ("GATEWAY_ADDRESSES__POOL_SIGNER", &signer, "production refuses the published test keys"),
        ("GATEWAY_ADDRESSES__POOL_SIGNER", "ab", "addresses.pool_signer is not an ed25519 public"),
        ("GATEWAY_CHAINS__POLYGN__SOURCE", "off", "section chains.polygn names no network"),
        (
            "GATEWAY_RATES_PROVIDERS",
            "b7d2a9c4",
            "GATEWAY_RATES_PROVIDERS (in the environment) is no setting; the nearest one is GATEWAY_RATES__PROVIDERS.",
        ),
    ];
    for (name, arguments) in PROGRAMS {
        let program = program(name);
        for (setting, value, reason) in cases {
            let (said, code) = run(&program, arguments, &[(setting, value)]);
            assert_eq!(code, Some(1), "{name} with {setting}={value}: {said}");
            assert!(said.contains(reason), "{name} with {setting}={value}: {said}");
            let secret = ["e6a1f0c2", "b7d2a9c4", KEY].into_iter().find(|s| said.contains(*s));
            assert_eq!(secret, None, "{name} with {setting}={value} tells a secret");
        }
        let all = [("GATEWAY_MASTER_KEY", ZERO), ("GATEWAY_EGRESS__ALLOW_PRIVATE", "true")];
        let (said, _) = run(&program, arguments, &all);
        let both = said.contains("all-zero") && said.contains("ALLOW_PRIVATE");
        assert!(both, "faults are told together: {said}");
    }
    // A key that looks like a number is still a key.
    let (said, _) =
        run(&program("gateway-api"), &[], &[("GATEWAY_MASTER_KEY", &digits), ("AMQP_URL", "")]);
    assert!(!said.contains("GATEWAY_MASTER_KEY"), "{said}");
}

/// In every profile, and of the dashboard too, which has a start of its own.
#[test]
fn no_program_starts_with_a_name_that_is_no_setting() {
    let folder = Scratch::new();
    let file = folder.fresh("settings");
    std::fs::write(&file, "[chains.polygon]\nrpc_ulr = \"https://node/b7d2a9c4\"\n").unwrap();
    let file = file.to_str().unwrap();
    let told = format!(
        "chains.polygon.rpc_ulr (in {file}) is no setting; the nearest one is chains.polygon.rpc_url."
    );
    for (name, arguments) in PROGRAMS.into_iter().chain([("gateway-dashboard", &[][..])]) {
        for profile in ["sandbox", "production"] {
            let settings = [
                ("GATEWAY_PROFILE", profile),
                ("GATEWAY_DASHBOARD_URL", "https://dashboard.shop.example"),
                ("GATEWAY_CONFIG", file),
            ];
            let (said, code) = run(&program(name), arguments, &settings);
            assert_eq!(code, Some(1), "{name} in {profile}: {said}");
            assert!(said.contains(&told) && !said.contains("b7d2a9c4"), "{name}: {said}");
        }
    }
}

/// A key of another wallet derives addresses like any other, but their funds cannot be spent.
#[test]
fn a_key_that_gives_another_first_address_than_expected_is_not_started_with() {
    let key = "a4b2856bfec510abab89753fac1ac0e1112364e7d250545963f135f2a33188ed";
    let expected = "UQBDanbCeUqIV4Eo_NlOHkDQZdpFmXsRR_WNXqEw4mJJY9v1";
    let settings = [
        ("GATEWAY_ADDRESSES__TON", key),
        ("GATEWAY_ADDRESSES__EXPECTED_FIRST_ADDRESS__TON", expected),
    ];
    for (name, arguments) in PROGRAMS {
        let (said, code) = run(&program(name), arguments, &settings);
        assert_eq!(code, Some(1), "{name}: {said}");
        let both = said.contains("the first ton address is UQ") && said.contains(expected);
        assert!(both, "{name}: {said}");
    }
}

/// The same for a pool, whose first address is in the database. A pool that was never filled has
/// nothing to compare.
#[tokio::test]
async fn a_pool_of_another_wallet_than_expected_is_not_started_with() {
    let database = TestDatabase::create().await;
    let (found, expected) = (hex::encode([7; 32]), hex::encode([9; 32]));
    let pool =
        "insert into address_pool (family, derivation_index, address) values ('near', 0, $1)";
    let filled = sqlx::query(pool).bind(&found).execute(&mut database.connect().await).await;
    filled.unwrap();
    let settings = [
        ("GATEWAY_PROFILE", "sandbox"),
        ("DATABASE_URL", database.url.as_str()),
        (
            "GATEWAY_ADDRESSES__EXPECTED_FIRST_ADDRESS__SOLANA",
            "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
        ),
        ("GATEWAY_ADDRESSES__EXPECTED_FIRST_ADDRESS__NEAR", &expected),
    ];
    for (name, arguments) in PROGRAMS {
        let (said, code) = run(&program(name), arguments, &settings);
        assert_eq!(code, Some(1), "{name}: {said}");
        let both = format!(
            "the first near address is {found}, not {expected} as addresses.expected_first_address.near says"
        );
        assert!(said.contains(&both), "{name}: {said}");
    }
    // With the right one it goes on until its time is over.
    let right =
        [&settings[..3], &[("GATEWAY_ADDRESSES__EXPECTED_FIRST_ADDRESS__NEAR", found.as_str())]];
    let listening = ["API__LISTEN", "CHECKOUT__LISTEN", "API__METRICS_LISTEN"]
        .map(|setting| (format!("GATEWAY_{setting}"), format!("127.0.0.1:{}", free_port())));
    let listening = listening.iter().map(|(setting, at)| (setting.as_str(), at.as_str()));
    let right: Vec<_> = right.concat().into_iter().chain(listening).collect();
    let (said, code) = run(&program("gateway-api"), &[], &right);
    assert_eq!(code, Some(TIME_IS_OVER), "{said}");
    database.remove().await;
}

/// It would take messages from workers that can make outgoing calls.
#[test]
fn a_worker_without_root_certificates_does_not_deliver() {
    let worker = program("gateway-worker");
    for role in ["ipn-delivery", "payout-webhook-delivery", "all"] {
        let (said, code) = run(&worker, &[role], &[("SSL_CERT_FILE", "/dev/null")]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("no root certificates could be read"), "{said}");
    }
}

#[tokio::test]
async fn a_valid_production_configuration_starts_without_its_servers_and_is_not_ready() {
    for (name, arguments) in PROGRAMS {
        let ports = [(); 3].map(|()| format!("127.0.0.1:{}", free_port()));
        let mut environment: Vec<_> =
            SOUND.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        for (setting, address) in [
            ("GATEWAY_API__LISTEN", &ports[0]),
            ("GATEWAY_CHECKOUT__LISTEN", &ports[1]),
            ("GATEWAY_API__METRICS_LISTEN", &ports[2]),
            ("GATEWAY_WORKER__METRICS_LISTEN", &ports[2]),
            ("SSL_CERT_FILE", &ROOT.to_owned()),
        ] {
            environment.push((setting.to_owned(), address.clone()));
        }
        let process = Process::start(&Launch {
            name: name.to_owned(),
            program: program(name),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            environment,
            owner: None,
        });
        let metrics = ports[2].parse().unwrap();
        within(Duration::from_secs(60), "it serves its health", async || {
            let answer = Exchange::get(metrics, "/healthz").await;
            answer.map(drop).map_err(|lost| format!("{lost:?}\n{}", process.said()))
        })
        .await;
        assert_eq!(Exchange::get(metrics, "/readyz").await.unwrap().status, 503);
    }
}
