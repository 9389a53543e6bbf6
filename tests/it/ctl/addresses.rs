//! `gatewayctl addresses`: pools exported where the seed is, imported on machines that cannot sign.

use gateway::merchant::settings::Settings;
use gateway::{
    asset::{
        Network,
        address::pool::{self, PoolSigner},
    },
    merchant::secret::{MasterKey, SEED_BYTES, SeedUse},
};
use serde_json::{Value, json};
use support::{
    client::ctl::{Ctl, Ran},
    fault::fired::fired,
    server::{
        broker::eventually,
        database::TestDatabase,
        scratch::Scratch,
        stack::{MASTER_KEY, with_configured_stack},
    },
};

use super::with_database;

/// Seed of no real wallet.
const SEED: [u8; SEED_BYTES] = [0x42; SEED_BYTES];

fn signer() -> String {
    PoolSigner::of_seed(&SEED).unwrap().to_hex()
}

/// Files of this seed may be imported.
fn trusting(ctl: &Ctl) -> Ctl {
    ctl.clone().with("GATEWAY_ADDRESSES__POOL_SIGNER", &signer())
}

/// The text of a pool file, in a file.
fn file_of(scratch: &Scratch, network: Network, first: u32, count: u32) -> String {
    written(scratch, &pool::export(&SEED, network, first, count).unwrap())
}

fn written(scratch: &Scratch, text: &str) -> String {
    let path = scratch.fresh("pool");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

async fn import(ctl: &Ctl, file: &str) -> Ran {
    ctl.run(&["addresses", "import", file, "--by", "ada"]).await
}

async fn rows(database: &TestDatabase) -> i64 {
    sqlx::query_scalar("select count(*) from address_pool")
        .fetch_one(&mut database.connect().await)
        .await
        .unwrap()
}

async fn state(ctl: &Ctl, family: &str) -> Value {
    let all = ctl.json(&["addresses", "status"]).await;
    all.as_array().unwrap().iter().find(|state| state["family"] == family).unwrap().clone()
}

#[tokio::test]
async fn an_export_needs_no_server_and_its_file_fills_the_pool() {
    with_database(|ctl, database| async move {
        let scratch = Scratch::new();
        let offline = Ctl::default().with("GATEWAY_COLD_SEED_KEY", MASTER_KEY);
        let seal = ["payouts", "seal-seed", "--invoices"];
        let fed = offline.run_with_input(&seal, &hex::encode(SEED)).await.expect_ok();
        let sealed = written(&scratch, &fed.stdout);
        let out = scratch.fresh("near");
        let out = out.to_str().unwrap();
        let export = |from: &'static str, out| {
            ["addresses", "export", "--network", "near", "--seed-file", &sealed, "--from", from]
                .into_iter()
                .chain(["--count", "250", "--out", out])
                .map(ToOwned::to_owned)
                .collect::<Vec<_>>()
        };
        let arguments = export("0", out);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let made = offline.json(&arguments).await;
        assert_eq!((&made["signer"], &made["last"]), (&json!(signer()), &json!(249)));
        // No file is overwritten.
        offline.run(&arguments).await.expect_failure("cannot be written");

        let ctl = trusting(&ctl);
        let imported = ctl.json(&["addresses", "import", out, "--by", "ada"]).await;
        let wanted = json!({ "network": "near", "first": 0, "count": 250, "free": 250 });
        assert_eq!(imported, wanted);
        let near = state(&ctl, "near").await;
        assert_eq!((&near["free"], &near["next_index"]), (&json!(250), &json!(250)));
        assert_eq!(near["first_address"], made["first_address"]);
        assert_eq!((&near["state"], &near["usable"]), (&json!("ok"), &json!(true)));
        assert_eq!(state(&ctl, "solana").await["state"], "empty");
        assert_eq!(state(&ctl, "evm").await["free"], Value::Null);
        let act: (String, String, String) = sqlx::query_as(
            "select act, operator, change ->> 'detail' from audit_entry where act = 'import'",
        )
        .fetch_one(&mut database.connect().await)
        .await
        .unwrap();
        let wanted = ("import", "ada", "indices 0 to 249");
        assert_eq!((act.0.as_str(), act.1.as_str(), act.2.as_str()), wanted);
    })
    .await;
}

#[tokio::test]
async fn indices_only_grow_and_leave_no_gap() {
    with_database(|ctl, database| async move {
        let (scratch, ctl) = (Scratch::new(), trusting(&ctl));
        let file = |first, count| file_of(&scratch, Network::Solana, first, count);
        import(&ctl, &file(5, 5)).await.expect_ok();
        for (first, count) in [(5, 5), (0, 5), (9, 5), (0, 20)] {
            let refused = import(&ctl, &file(first, count)).await;
            refused.expect_failure(
                "overlap what the pool of solana had before; its next file begins at 10",
            );
        }
        let gap = import(&ctl, &file(11, 5)).await;
        gap.expect_failure("the pool of solana goes on at 10: export from 10 on");
        assert_eq!(rows(&database).await, 5);
        // Two at once: one is first, the other overlaps it.
        let next = file(10, 4);
        let both = tokio::join!(import(&ctl, &next), import(&ctl, &next));
        let mut codes = [both.0.code, both.1.code];
        codes.sort_unstable();
        assert_eq!(codes, [0, 1], "{both:?}");
        assert_eq!(rows(&database).await, 9);
        // A container sees no file of the machine.
        let text = std::fs::read_to_string(file(14, 2)).unwrap();
        let piped = ["addresses", "import", "-", "--by", "ada"];
        ctl.run_with_input(&piped, &text).await.expect_ok();
        assert_eq!(rows(&database).await, 11);
    })
    .await;
}

#[tokio::test]
async fn a_file_that_is_not_ours_or_was_changed_adds_nothing() {
    with_database(|ctl, database| async move {
        let scratch = Scratch::new();
        let good = pool::export(&SEED, Network::Near, 0, 3).unwrap();
        let theirs = pool::export(&[7; SEED_BYTES], Network::Near, 0, 3).unwrap();
        let thief = pool::address(&[7; SEED_BYTES], Network::Near.family(), 0).unwrap();
        let mine = pool::address(&SEED, Network::Near.family(), 2).unwrap();
        let cases = [
            (theirs.clone(), "the signature is not by the key that addresses.pool_signer names"),
            (good.replace(&mine, &thief), "the signature is not by the key"),
            (good.replace("first 0", "first 1"), "the signature is not by the key"),
            (good[..good.len() - 200].to_owned(), "the end is missing"),
            (String::new(), "line 1 should be"),
        ];
        let trusted = trusting(&ctl);
        for (text, words) in cases {
            import(&trusted, &written(&scratch, &text)).await.expect_failure(words);
        }
        // The sandbox trusts only its own published seed, production no seed until one is
        // configured.
        import(&ctl, &written(&scratch, &good)).await.expect_failure("the signature is not");
        import(&trusted, "/nowhere/pool").await.expect_failure("cannot be read");
        let nameless = trusted.run(&["addresses", "import", &written(&scratch, &good)]).await;
        nameless.expect_wrong_usage("give your name");
        assert_eq!(rows(&database).await, 0);
    })
    .await;
}

#[tokio::test]
async fn an_address_that_somebody_has_is_not_given_again() {
    with_database(|ctl, database| async move {
        let (scratch, ctl) = (Scratch::new(), trusting(&ctl));
        let lost = pool::address(&SEED, Network::Near.family(), 1).unwrap();
        sqlx::query(
            "insert into deposit_address (id, family, address, match_key, derivation_index, network)
             values (gen_random_uuid(), 'near', $1, $1, 1, 'near')",
        )
        .bind(&lost)
        .execute(&mut database.connect().await)
        .await
        .unwrap();
        let refused = import(&ctl, &file_of(&scratch, Network::Near, 0, 3)).await;
        refused.expect_failure(&format!("{lost} was given to a buyer before"));
        assert_eq!(rows(&database).await, 0);
    })
    .await;
}

#[tokio::test]
async fn an_unexpected_first_address_stops_every_program_but_the_doctor() {
    with_database(|ctl, _| async move {
        let scratch = Scratch::new();
        let wrong = ctl.clone().with(
            "GATEWAY_ADDRESSES__EXPECTED_FIRST_ADDRESS__EVM",
            "0x52908400098527886E0F7030069857D2E4169EE7",
        );
        let derived = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
        let said = wrong.run(&["merchant", "list"]).await.expect_failure(derived).stderr;
        assert!(said.contains("not 0x52908400098527886E0F7030069857D2E4169EE7"), "{said}");
        let report = wrong.run(&["--json", "doctor", "--network", "bsc"]).await.json();
        let checks = report["checks"].as_array().unwrap();
        let firsts = checks.iter().find(|check| check["check"] == "first addresses").unwrap();
        assert_eq!(firsts["state"], "broken", "{report}");
        assert!(firsts["detail"].as_str().unwrap().contains(derived), "{report}");
        // However it is spelt.
        let right = ctl
            .clone()
            .with("GATEWAY_ADDRESSES__EXPECTED_FIRST_ADDRESS__EVM", &derived.to_lowercase());
        right.run(&["merchant", "list"]).await.expect_ok();
        let unknown = ctl.clone().with("GATEWAY_ADDRESSES__EXPECTED_FIRST_ADDRESS__EMV", derived);
        unknown
            .run(&["merchant", "list"])
            .await
            .expect_failure("expected_first_address.emv: families are");

        // Of a pool: its lowest index.
        let second = pool::address(&SEED, Network::Near.family(), 1).unwrap();
        let near = trusting(&ctl).with("GATEWAY_ADDRESSES__EXPECTED_FIRST_ADDRESS__NEAR", &second);
        let refused = import(&near, &file_of(&scratch, Network::Near, 0, 3)).await;
        refused.expect_failure(&format!("not {second} as addresses.expected_first_address.near"));
        import(&near, &file_of(&scratch, Network::Near, 1, 3)).await.expect_ok();
        assert_eq!(state(&near, "near").await["usable"], true);
        // A pool filled before an expected address was configured is not used.
        let first = pool::address(&SEED, Network::Near.family(), 0).unwrap();
        let late = trusting(&ctl).with("GATEWAY_ADDRESSES__EXPECTED_FIRST_ADDRESS__NEAR", &first);
        let near = state(&late, "near").await;
        assert_eq!((&near["usable"], &near["state"]), (&json!(false), &json!("wrong")));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_address_pool_disables_only_its_own_currencies() {
    let toml = format!("addresses.pool_signer = \"{}\"\n", signer());
    with_configured_stack(&toml, |stack| async move {
        let (ctl, scratch) = (trusting(&Ctl::of(&stack)), Scratch::new());
        let shop = stack.merchant().await.client;
        let order = |code: &str| json!({ "price_amount": 700, "price_currency": "usd", "pay_currency": code });
        let listed = async |code: &str| {
            let all = stack.anybody().get("/v1/currencies").await.json();
            all["currencies"].as_array().unwrap().iter().any(|known| known == code)
        };
        stack.sql("delete from address_pool").await;
        eventually("both are gone", async || {
            (!listed("near").await && !listed("sol").await).then_some(())
        })
        .await;
        import(&ctl, &file_of(&scratch, Network::Near, 0, 2)).await.expect_ok();
        eventually("near is back", async || listed("near").await.then_some(())).await;
        let draft = shop.post("/v1/payment", &order("all")).await.json();
        assert!(!listed("sol").await && !listed("usdcsol").await);
        let mut given = Vec::new();
        for _ in 0..2 {
            let created = shop.post("/v1/payment", &order("near")).await;
            assert_eq!(created.status, 201, "{}", created.body);
            given.push(created.json()["pay_address"].as_str().unwrap().to_owned());
        }
        let derived = [0, 1].map(|n| pool::address(&SEED, Network::Near.family(), n).unwrap());
        assert_eq!(given, derived);
        // Immediately, or once the market has noticed: our fault, which may pass, and not the
        // merchant's mistake.
        shop.post("/v1/payment", &order("near")).await.expect_error(500, "INTERNAL_ERROR");
        eventually("near is gone", async || (!listed("near").await).then_some(())).await;
        shop.post("/v1/payment", &order("near")).await.expect_error(500, "INTERNAL_ERROR");
        let select = format!("/api/pay/{}/select", draft["payment_id"].as_str().unwrap());
        let chosen = stack.buyer().post(&select, &json!({ "token_id": "near@near" })).await;
        chosen.expect_error(500, "INTERNAL_ERROR");
        let accepted = Some(vec!["near".to_owned()]);
        let near_alone = stack.merchant_with(Settings { accepted, ..Settings::default() }).await;
        near_alone.client.post("/v1/payment", &order("all")).await.expect_error(500, "INTERNAL_ERROR");
        assert_eq!(shop.post("/v1/payment", &order("usdtmatic")).await.status, 201);
        let near = state(&ctl, "near").await;
        assert_eq!((&near["state"], &near["given"]), (&json!("empty"), &json!(2)));
        assert_eq!(near["given_last_day"], 2);
    })
    .await;
}

#[tokio::test]
async fn after_a_lost_database_a_pool_continues_far_above_the_assigned_indices() {
    with_database(|ctl, database| async move {
        let (scratch, ctl) = (Scratch::new(), trusting(&ctl));
        // The first connection records the identity of the database; then as `storage/identity.rs`
        // leaves it.
        ctl.json(&["addresses", "status"]).await;
        let lost = sqlx::query("update database_identity set returns = 1")
            .execute(&mut database.connect().await)
            .await
            .unwrap();
        let refused = import(&ctl, &file_of(&scratch, Network::Near, 0, 3)).await;
        refused.expect_failure("its next file begins at 10000000");
        fired(lost.rows_affected());
        import(&ctl, &file_of(&scratch, Network::Near, 10_000_000, 3)).await.expect_ok();
        assert_eq!(state(&ctl, "near").await["next_index"], 10_000_003);
        // The sandbox's own pool continues after it.
        let filled = ctl.json(&["addresses", "fill", "--network", "near", "--count", "2"]).await;
        assert_eq!((&filled["added"], &filled["free"]), (&json!(2), &json!(5)));
    })
    .await;
}

#[test]
fn a_sealed_seed_opens_under_its_own_key_alone() {
    let key = MasterKey::parse(MASTER_KEY).unwrap();
    let of = SeedUse::Invoices;
    let sealed = key.seal_seed(of, &SEED);
    assert!(key.open_seed(of, &sealed).is_ok());
    assert!(MasterKey::parse(&"11".repeat(32)).unwrap().open_seed(of, &sealed).is_err());
}
