//! `gatewayctl secrets`: a new master key while everything runs, cut off anywhere and run again.

use gateway::{
    app::{Gateway, operator::master_key::BATCH},
    config::Config,
    merchant::{
        WebhookSecret,
        secret::{MasterKey, SEED_BYTES, SeedUse},
    },
};
use secrecy::ExposeSecret;
use sqlx::Row;
use support::{
    client::ctl::Ctl,
    server::{database::TestDatabase, scratch::Scratch, stack::MASTER_KEY},
};
use uuid::Uuid;

use super::with_database;

const NEW_KEY: &str = "7777777777777777777777777777777777777777777777777777777777777777";
/// Three batches.
const MERCHANTS: usize = 450;

/// Merchants sealed under the old key, with their secrets.
async fn merchants(ctl: &Ctl, database: &TestDatabase) -> Vec<(Uuid, WebhookSecret)> {
    ctl.json(&["merchant", "create", "--name", "Shop"]).await;
    let key = MasterKey::parse(MASTER_KEY).unwrap();
    let secrets: Vec<_> =
        (0..MERCHANTS).map(|_| (Uuid::now_v7(), WebhookSecret::generate())).collect();
    let ids: Vec<_> = secrets.iter().map(|(id, _)| *id).collect();
    let sealed: Vec<_> = secrets.iter().map(|(id, secret)| key.seal(*id, secret)).collect();
    let copies = "insert into merchant (id, name, api_key_sha256, api_key_preview, webhook_secret_sealed, overpay_bps, \
                  payment_window_seconds, selection_window_seconds, open_invoices_max) \
                  select t.id, 'Copy', sha256(t.sealed), 'copy', t.sealed, overpay_bps, payment_window_seconds, \
                  selection_window_seconds, open_invoices_max \
                  from merchant, unnest($1::uuid[], $2::bytea[]) as t (id, sealed)";
    let mut connection = database.connect().await;
    let made = sqlx::query(copies).bind(&ids).bind(&sealed).execute(&mut connection).await.unwrap();
    assert_eq!(made.rows_affected(), MERCHANTS as u64);
    secrets
}

fn with_both_keys(database: &TestDatabase) -> Ctl {
    Ctl::default()
        .with("DATABASE_URL", &database.url)
        .with("GATEWAY_MASTER_KEY", NEW_KEY)
        .with("GATEWAY_MASTER_KEY_OLD", MASTER_KEY)
}

async fn state_of_the_key(ctl: &Ctl) -> String {
    let report = ctl.run(&["--json", "doctor"]).await.json();
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == "master key").unwrap();
    format!("{}: {}", check["state"].as_str().unwrap(), check["detail"].as_str().unwrap())
}

#[tokio::test]
async fn a_rotation_that_was_cut_off_goes_on_and_leaves_every_secret_under_the_new_key() {
    with_database(|ctl, database| async move {
        let secrets = merchants(&ctl, &database).await;
        let both = with_both_keys(&database);
        let new_alone =
            Ctl::default().with("DATABASE_URL", &database.url).with("GATEWAY_MASTER_KEY", NEW_KEY);
        ctl.run(&["secrets", "rotate"]).await.expect_failure("a rotation needs both keys");
        let create = ["merchant", "create", "--name", "Shop"];
        let wrong = "GATEWAY_MASTER_KEY does not open";
        new_alone.run(&create).await.expect_failure(wrong);
        assert_eq!(state_of_the_key(&both).await, "doubtful: a rotation is not finished");

        // One batch, and then whoever did it died.
        let toml = format!(
            "database_url = {:?}\namqp_url = \"amqp://nobody.invalid\"\nmaster_key = {NEW_KEY:?}\nmaster_key_old = {MASTER_KEY:?}",
            database.url
        );
        let gateway = Gateway::new(Config::from_toml(&toml).unwrap()).unwrap();
        let batch = gateway.rotate_batch(Uuid::nil()).await.unwrap();
        assert_eq!((batch.seen, batch.resealed), (200, BATCH.unsigned_abs()));
        gateway.db.close().await;
        new_alone.run(&create).await.expect_failure(wrong);
        both.json(&create).await;

        let total = MERCHANTS + 2;
        let rotated = both.run(&["secrets", "rotate"]).await;
        assert_eq!(rotated.code, 0, "{rotated:?}");
        assert!(rotated.stderr.contains(&format!("200 of {total} looked at")), "{rotated:?}");
        let again = both.json(&["secrets", "rotate"]).await;
        assert_eq!((again["secrets"].as_u64(), again["resealed"].as_u64()), (Some(total as u64), Some(0)));
        assert_eq!(
            state_of_the_key(&both).await,
            "doubtful: the old key opens no secret any more"
        );
        assert_eq!(state_of_the_key(&new_alone).await, "ok: opens the sealed secrets");
        new_alone.json(&create).await;
        ctl.run(&create).await.expect_failure(wrong);

        let key = MasterKey::parse(NEW_KEY).unwrap();
        let mut connection = database.connect().await;
        for (id, secret) in &secrets {
            let row = sqlx::query("select webhook_secret_sealed from merchant where id = $1").bind(id);
            let sealed: Vec<u8> = row.fetch_one(&mut connection).await.unwrap().get(0);
            assert_eq!(key.open(*id, &sealed).unwrap().reveal(), secret.reveal());
        }
    })
    .await;
}

#[tokio::test]
async fn a_secret_that_neither_key_opens_is_named_and_does_not_stop_the_rotation() {
    with_database(|ctl, database| async move {
        let broken = ctl.json(&["merchant", "create", "--name", "Broken"]).await;
        let broken = broken["merchant_id"].as_str().unwrap();
        ctl.json(&["merchant", "create", "--name", "Sound"]).await;
        let mut connection = database.connect().await;
        let damage = "update merchant set webhook_secret_sealed = '\\x00' where id = $1";
        let id: Uuid = broken.parse().unwrap();
        sqlx::query(damage).bind(id).execute(&mut connection).await.unwrap();
        let rotated = with_both_keys(&database).run(&["--json", "secrets", "rotate"]).await;
        assert_eq!(rotated.code, 1, "{rotated:?}");
        let rotated = rotated.json();
        assert_eq!(
            (rotated["resealed"].as_u64(), rotated["unopened"].as_u64()),
            (Some(1), Some(1))
        );
        assert_eq!(rotated["unopened_merchants"][0], broken);
    })
    .await;
}

/// Whoever rotates the master key must seal the seeds that it seals, or their roles stop.
#[tokio::test]
async fn a_rotation_reminds_of_each_seed_that_the_master_key_seals() {
    with_database(|ctl, database| async move {
        ctl.json(&["merchant", "create", "--name", "Shop"]).await;
        let both = with_both_keys(&database);
        let (payouts, x402) = ("GATEWAY_PAYOUTS__SEED", "GATEWAY_X402__SEED");
        let key = "cd".repeat(32);
        for (given, reminders) in [
            (vec![], [false, false]),
            (vec![(payouts, "_FILE", "/seed")], [true, false]),
            (vec![(x402, "_FILE", "/x402-seed")], [false, true]),
            (vec![(payouts, "_FILE", "/seed"), (x402, "_FILE", "/x402-seed")], [true, true]),
            (vec![(x402, "_FILE", "/x402-seed"), (x402, "_KEY", key.as_str())], [false, false]),
        ] {
            let name = |(seed, what, value): &(&str, &str, &str)| {
                (format!("{seed}{what}"), (*value).to_owned())
            };
            let ctl = given
                .iter()
                .map(name)
                .fold(both.clone(), |ctl, (name, value)| ctl.with(&name, &value));
            let rotated = ctl.json(&["secrets", "rotate"]).await;
            let told =
                ["seed_file_to_reseal", "x402_seed_file_to_reseal"].map(|key| rotated[key] == true);
            assert_eq!(told, reminders, "{given:?}: {rotated}");
            let text = ctl.run(&["secrets", "rotate"]).await.expect_ok().stdout;
            assert_eq!(text.contains("reseal-seed --x402"), reminders[1], "{text}");
        }
    })
    .await;
}

#[tokio::test]
async fn resealing_a_seed_prints_nothing_secret() {
    let folder = Scratch::new();
    let file = folder.fresh("seed");
    let seed = [9; SEED_BYTES];
    let old = MasterKey::parse(MASTER_KEY).unwrap();
    std::fs::write(&file, hex::encode(old.seal_seed(SeedUse::Payouts, &seed))).unwrap();
    let ctl = Ctl::default()
        .with("GATEWAY_MASTER_KEY", NEW_KEY)
        .with("GATEWAY_MASTER_KEY_OLD", MASTER_KEY);
    let anew = ctl.json(&["secrets", "reseal-seed", "--seed-file", file.to_str().unwrap()]).await;
    let sealed = hex::decode(anew["sealed_seed"].as_str().unwrap()).unwrap();
    let new = MasterKey::parse(NEW_KEY).unwrap();
    assert_eq!(new.open_seed(SeedUse::Payouts, &sealed).unwrap().expose_secret(), &seed);
}
