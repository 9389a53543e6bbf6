//! Clocks that are wrong by ten minutes and jump (F50): only the database's decides.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use gateway::merchant::settings::Settings;
use serde_json::json;
use sqlx::{Connection, PgConnection};
use support::{
    fault::fired::fired,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::{Installation, Program},
        processes::{Signal, within},
    },
    shop::{receiver::Receiver, trade::Shop},
};

const LIMIT: Duration = Duration::from_secs(90);
const WINDOW_S: u32 = 3;
const ORDERS: usize = 6;
const EARLY: &str = "-600s";
const LATE: &str = "+600s";
/// Offset from which a clock counts as moved.
const OFF: TimeDelta = TimeDelta::minutes(9);

/// The clock of one process, to be moved while it runs.
struct Clock {
    library: String,
    file: PathBuf,
}

impl Clock {
    fn at(offset: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/faketime.sh");
        let output = Command::new(script).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let library = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        let file =
            std::env::temp_dir().join(format!("gateway-clock-{:016x}", rand::random::<u64>()));
        let clock = Self { library, file };
        clock.step(offset);
        clock
    }

    /// A whole new file each time: a half-written offset would be another one.
    fn step(&self, offset: &str) {
        let fresh = self.file.with_extension("new");
        fs::write(&fresh, format!("{offset}\n")).unwrap();
        fs::rename(fresh, &self.file).unwrap();
    }

    fn start(&self, installation: &Installation, name: &str, roles: &[&str]) -> Program {
        let settings = [
            ("LD_PRELOAD", self.library.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.to_str().unwrap()),
            ("FAKETIME_NO_CACHE", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("FAKETIME_DISABLE_SHM", "1"),
        ];
        installation.launch(name, roles, &settings)
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

async fn database_now(url: &str) -> DateTime<Utc> {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let query = sqlx::query_scalar("select clock_timestamp()");
    query.fetch_one(&mut connection).await.unwrap()
}

/// Times shown by the program's clock in its first and its last log line.
fn showed(program: &Program) -> (DateTime<Utc>, DateTime<Utc>) {
    let output = program.process.output();
    let times: Vec<DateTime<Utc>> =
        output.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
    (*times.first().unwrap(), *times.last().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_whose_clocks_are_wrong_and_jump_keep_to_the_databases_time() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let (api_clock, workers_clock) = (Clock::at(LATE), Clock::at(EARLY));
        let began = database_now(&database.url).await;
        let api = api_clock.start(&installation, "gateway-api", &[]);
        let workers = workers_clock.start(&installation, "gateway-worker", &["all"]);
        api.ready().await;
        workers.ready().await;
        let shop = Shop::open(&installation, 4 * ORDERS).await;
        let mut orders = shop.create(&installation, ORDERS).await;
        shop.pay(&installation, &orders).await;
        api_clock.step(EARLY);
        workers_clock.step(LATE);
        let more = shop.create(&installation, ORDERS).await;
        shop.pay(&installation, &more).await;
        orders.extend(more);
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        println!("clocks moved by twenty minutes, everything done: {outcome:?}");
        expire(&installation, [&api_clock, &workers_clock]).await;

        for (program, first, last) in [(&api, LATE, EARLY), (&workers, EARLY, LATE)] {
            program.process.signal(Signal::Terminate);
            program.process.ended(LIMIT).await;
            let now = database_now(&database.url).await;
            let (began_at, ended_at) = showed(program);
            for (offset, showed, truth) in [(first, began_at, began), (last, ended_at, now)] {
                let off = if offset == LATE { showed - truth } else { truth - showed };
                assert!(
                    off > OFF,
                    "its clock was not moved by {offset}: {showed} instead of {truth}"
                );
                fired(1);
            }
        }
        database.remove().await;
    })
    .await;
}

/// Invoices end by the database's clock, however the other clocks jump. Leaves the clocks swapped
/// as they were.
async fn expire(installation: &Installation, clocks: [&Clock; 2]) {
    let settings = Settings { payment_window_seconds: WINDOW_S, ..Settings::default() };
    let merchant = installation.gateway.create_merchant("Hasty", settings).await.unwrap();
    let receiver = Receiver::answering(200).await;
    let client = installation.client(merchant.api_key.reveal());
    let body = json!({
        "price_amount": 9, "price_currency": "usd", "pay_currency": "usdtmatic", "ipn_callback_url": receiver.url,
    });
    let window = TimeDelta::seconds(i64::from(WINDOW_S));
    let mut deadlines = Vec::new();
    for round in 0..ORDERS {
        let before = database_now(&installation.database_url).await;
        let answer = client.post("/v1/payment", &body).await;
        let after = database_now(&installation.database_url).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        let text = answer.json()["expiration_estimate_date"].as_str().unwrap().to_owned();
        let deadline: DateTime<Utc> = text.parse().unwrap();
        // The answer shows milliseconds.
        let (first, last) = (before + window - TimeDelta::milliseconds(1), after + window);
        assert!(
            first <= deadline && deadline <= last,
            "{deadline} is not between {first} and {last}"
        );
        deadlines.push(deadline);
        let (one, other) = if round % 2 == 0 { (LATE, EARLY) } else { (EARLY, LATE) };
        clocks[0].step(one);
        clocks[1].step(other);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    within(LIMIT, "every invoice is told as expired", async || {
        let told = receiver.received().len();
        if told >= ORDERS { Ok(()) } else { Err(format!("{told} IPNs")) }
    })
    .await;
    let now = database_now(&installation.database_url).await;
    let first = deadlines.iter().min().unwrap().timestamp();
    for post in receiver.received() {
        let told_at = post.json()["event_at"].as_i64().unwrap();
        assert_eq!(post.json()["payment_status"], "expired");
        assert!(
            (first..=now.timestamp()).contains(&told_at),
            "signed at {told_at}, not {first}..{now}"
        );
    }
    let early: i64 = {
        let mut connection = PgConnection::connect(&installation.database_url).await.unwrap();
        let query =
            "select count(*) from invoice where status = 'expired' and updated_at < deadline_at";
        sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
    };
    assert_eq!(early, 0, "an invoice ended before its deadline");
}
