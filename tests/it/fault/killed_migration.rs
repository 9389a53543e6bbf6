//! A migration is killed halfway, or waits for a table that a long query reads (F56).

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::storage::Db;
use sqlx::{Connection, Executor, PgConnection, migrate::Migrator};
use support::{
    fault::fired::fired,
    server::{
        database::TestDatabase,
        private_postgres::fresh_postgres,
        processes::{Launch, Process, Signal, program, within},
        scratch::Scratch,
    },
};
use tokio::runtime::Handle;

const STEP_LIMIT: Duration = Duration::from_secs(60);
/// DDL statements from one kill to the next within a step.
const STRIDE: i64 = 12;
/// Halts the session that reaches a chosen DDL statement of its run, or the first one of its next
/// step. The steps that end by granting all roles anew hold thousands of grants, which are alike:
/// one in a hundred counts.
const HALT: &str = "
    create schema fault;
    create sequence fault.seen;
    create sequence fault.granted;
    create table fault.plan (at bigint not null, made bigint not null);
    insert into fault.plan values (0, 0);
    create function fault.halt() returns event_trigger language plpgsql as $$
    declare made bigint := 0;
    begin
        if to_regclass('public._sqlx_migrations') is null then return; end if;
        execute 'select count(*) from public._sqlx_migrations' into made;
        if made = (select plan.made from fault.plan) then
            if tg_tag in ('GRANT', 'REVOKE') and nextval('fault.granted') % 100 <> 0 then return; end if;
            if nextval('fault.seen') <> (select at from fault.plan) then return; end if;
        end if;
        perform pg_advisory_xact_lock(4711);
    end $$;
    create event trigger fault_halt on ddl_command_end execute function fault.halt();";
/// The whole schema as one text, without the migrations' own list.
const SHAPE: &str = "
    select string_agg(line, E'\\n' order by line) from (
        select format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) as line
        from information_schema.columns where table_schema = 'public' and table_name <> '_sqlx_migrations'
        union all select indexdef from pg_indexes where schemaname = 'public' and tablename <> '_sqlx_migrations'
        union all select format('%s %s', conname, pg_get_constraintdef(oid)) from pg_constraint
            where connamespace = 'public'::regnamespace and conrelid::regclass::text <> '_sqlx_migrations'
        union all select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
        union all select format('sequence %s', sequencename) from pg_sequences where schemaname = 'public'
    ) as lines";

fn migrating(url: &str) -> Process {
    Process::start(&Launch {
        name: "gatewayctl".to_owned(),
        program: program("gatewayctl"),
        arguments: vec!["migrate".to_owned()],
        environment: vec![("DATABASE_URL".to_owned(), url.to_owned())],
        owner: None,
    })
}

/// Number of committed steps.
async fn made(connection: &mut PgConnection) -> i64 {
    let exists = "select to_regclass('public._sqlx_migrations') is not null";
    if !sqlx::query_scalar::<_, bool>(exists).fetch_one(&mut *connection).await.unwrap() {
        return 0;
    }
    let count = "select count(*) from public._sqlx_migrations";
    sqlx::query_scalar(count).fetch_one(connection).await.unwrap()
}

async fn shape(connection: &mut PgConnection) -> String {
    let shape: Option<String> = sqlx::query_scalar(SHAPE).fetch_one(connection).await.unwrap();
    shape.unwrap_or_default()
}

/// Number of sessions of this database but ours, in total or waiting for a lock of this kind.
async fn others(connection: &mut PgConnection, waiting_for: Option<&str>) -> i64 {
    let query = "select count(*) from pg_stat_activity
                 where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
                   and ($1::text is null or wait_event_type = 'Lock' and wait_event = $1)";
    sqlx::query_scalar(query).bind(waiting_for).fetch_one(connection).await.unwrap()
}

/// Kills one run at the `at`th statement. `None` if it ended before.
async fn killed_at(url: &str, hand: &mut PgConnection, at: i64) -> Option<i64> {
    let before = made(hand).await;
    hand.execute("select setval('fault.seen', 1, false)").await.unwrap();
    let plan = sqlx::query("update fault.plan set at = $1, made = $2").bind(at).bind(before);
    plan.execute(&mut *hand).await.unwrap();
    hand.execute("select pg_advisory_lock(4711)").await.unwrap();
    let run = migrating(url);
    let (halted, _) = within(STEP_LIMIT, "the migration halts or ends", async || {
        if others(hand, Some("advisory")).await > 0 {
            return Ok(true);
        }
        if run.is_alive() { Err("it runs".to_owned()) } else { Ok(false) }
    })
    .await;
    if !halted {
        assert!(run.output().is_empty() || !run.output().contains("error"), "{}", run.said());
        hand.execute("select pg_advisory_unlock(4711)").await.unwrap();
        return None;
    }
    let committed = made(hand).await;
    let shape_before = shape(hand).await;
    run.signal(Signal::Kill);
    run.ended(STEP_LIMIT).await;
    hand.execute("select pg_advisory_unlock(4711)").await.unwrap();
    within(STEP_LIMIT, "the server gives up the dead program's step", async || {
        match others(hand, None).await {
            0 => Ok(()),
            sessions => Err(format!("{sessions} sessions")),
        }
    })
    .await;
    assert_eq!(made(hand).await, committed, "a step counts as made that was killed halfway");
    assert_eq!(shape(hand).await, shape_before, "half a step is left");
    Some(committed)
}

/// For each step, in order: true if it defines anything. A step that only writes rows cannot be
/// halted by a trigger on definitions.
fn steps() -> Vec<bool> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../migrations");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort_unstable();
    let defines = |line: &str| {
        ["create ", "alter ", "drop "].iter().any(|word| line.starts_with(word))
            || line.contains("grant_roles()")
    };
    files.iter().map(|file| std::fs::read_to_string(file).unwrap().lines().any(defines)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_killed_in_the_middle_of_any_step_is_finished_by_the_next_run() {
    let server = fresh_postgres().await;
    let url = server.create_empty_database().await;
    let mut hand = PgConnection::connect(&url).await.unwrap();
    hand.execute(sqlx::AssertSqlSafe(HALT)).await.unwrap();
    let (mut at, mut kills) = (1, BTreeMap::<i64, usize>::new());
    while let Some(step) = killed_at(&url, &mut hand, at).await {
        let again = kills.entry(step).or_default();
        *again += 1;
        at = if *again == 1 { 1 } else { at } + STRIDE;
    }
    println!("killed in step: {kills:?}");
    fired(kills.values().sum::<usize>());
    let steps = steps();
    let missed: Vec<_> =
        (0..).zip(&steps).filter(|(n, defines)| **defines && !kills.contains_key(n)).collect();
    assert!(missed.is_empty(), "steps were never killed: {missed:?} of {kills:?}");
    let steps = steps.len();

    hand.execute("drop event trigger fault_halt").await.unwrap();
    let last = migrating(&url);
    last.ended(STEP_LIMIT).await;
    assert_eq!(made(&mut hand).await, i64::try_from(steps).unwrap(), "{}", last.said());
    let mut clean = PgConnection::connect(&server.create_database().await).await.unwrap();
    assert_eq!(shape(&mut hand).await, shape(&mut clean).await);
}

/// Up to the step before the one that changes tables in use.
const BEFORE_PAYOUTS: i64 = 20_261_121_000_200;
/// The lock timeout of the API's statements.
const APPLICATION_PATIENCE: &str = "set lock_timeout = 8000";
const TURNS: usize = 2;

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_waits_for_a_table_lets_its_users_go_on() {
    let database = TestDatabase::empty().await;
    let mut hand = database.connect().await;
    sqlx::migrate!("../migrations").run_to(BEFORE_PAYOUTS, &mut hand).await.unwrap();
    // A long report of another session.
    let mut reporter = database.connect().await;
    let mut report = reporter.begin().await.unwrap();
    report.execute("select count(*) from deposit_address").await.unwrap();
    let mut user = database.connect().await;
    user.execute(APPLICATION_PATIENCE).await.unwrap();

    let run = migrating(&database.url);
    let (mut turns, mut waits, mut used, mut slowest) = (0, false, 0, Duration::ZERO);
    let started = Instant::now();
    while turns < TURNS {
        assert!(started.elapsed() < STEP_LIMIT, "it gave way {turns} times\n{}", run.said());
        let waited = waits;
        waits = others(&mut hand, Some("relation")).await > 0;
        turns += usize::from(waited && !waits);
        let asked = Instant::now();
        user.execute("select id from deposit_address limit 1").await.unwrap();
        slowest = slowest.max(asked.elapsed());
        used += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(run.is_alive(), "{}", run.said());
    fired(turns);
    println!("gave way {turns} times to {used} statements, the slowest of which took {slowest:?}");
    report.rollback().await.unwrap();
    run.ended(STEP_LIMIT).await;
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../migrations"));
    let steps = i64::try_from(files.unwrap().count()).unwrap();
    assert_eq!(made(&mut hand).await, steps, "{}", run.said());
    database.remove().await;
}

const TABLE: &str = "create table entry (note text); insert into entry select 'a' || n from generate_series(1, 100) n;";
const INDEX: &str = "-- no-transaction\ncreate index concurrently entry_by_note on entry (note);";
const UNFINISHED: &str = "select exists (select from pg_index where not indisvalid)";

/// Waits until the index is begun and waits for the table's users.
async fn until_begun(hand: &mut PgConnection) {
    within(STEP_LIMIT, "the index is begun", async || {
        let begun = sqlx::query_scalar(UNFINISHED).fetch_one(&mut *hand).await.unwrap();
        if begun && others(hand, Some("virtualxid")).await == 1 {
            Ok(())
        } else {
            Err("not yet".to_owned())
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_built_beside_the_users_of_its_table_and_anew_after_it_was_killed() {
    let database = TestDatabase::empty().await;
    let scratch = Scratch::new();
    let folder = scratch.fresh("steps");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("1_table.sql"), TABLE).unwrap();
    std::fs::write(folder.join("2_index.sql"), INDEX).unwrap();
    let steps = Arc::new(Migrator::new(folder.as_path()).await.unwrap());
    let mut hand = database.connect().await;
    steps.run_to(1, &mut hand).await.unwrap();
    let mut writer = database.connect().await;
    let mut writing = writer.begin().await.unwrap();
    writing.execute("insert into entry values ('b')").await.unwrap();

    let migrating = || {
        let (url, steps) = (database.url.clone().into(), steps.clone());
        // On a thread of its own: the migrator's futures stay on the thread that polls them.
        tokio::task::spawn_blocking(move || {
            Handle::current().block_on(async {
                let db = Db::connect_lazy(&url, 2).unwrap();
                let made = db.migrate_by(&steps).await.map(|made| made.len());
                db.close().await;
                made
            })
        })
    };
    let first = migrating();
    until_begun(&mut hand).await;
    // The next one must not be among those for whom the index waits.
    let second = migrating();
    hand.execute("set lock_timeout = 1000; insert into entry values ('c')").await.unwrap();
    let kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                where datname = current_database() and wait_event = 'virtualxid'";
    assert_eq!(sqlx::query_scalar::<_, i64>(kill).fetch_one(&mut hand).await.unwrap(), 1);
    first.await.unwrap().unwrap_err();
    fired(1);
    assert!(sqlx::query_scalar::<_, bool>(UNFINISHED).fetch_one(&mut hand).await.unwrap());
    writing.commit().await.unwrap();
    assert_eq!(second.await.unwrap().unwrap(), 1, "the second made the step");
    assert!(!sqlx::query_scalar::<_, bool>(UNFINISHED).fetch_one(&mut hand).await.unwrap());
    // Killed between the index and the note of it.
    hand.execute("delete from _sqlx_migrations where version = 2").await.unwrap();
    assert_eq!(migrating().await.unwrap().unwrap(), 1);
    let indices = "select count(*) from pg_indexes where indexname = 'entry_by_note'";
    assert_eq!(sqlx::query_scalar::<_, i64>(indices).fetch_one(&mut hand).await.unwrap(), 1);
    drop((writer, hand));
    database.remove().await;
}
