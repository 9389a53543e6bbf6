//! `deploy/backup.sh`: what it writes can be restored, what was damaged is refused, and the gateway
//! notices every restore.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use support::{
    client::ctl::Ctl,
    server::{
        private_postgres::{PrivatePostgres, fresh_postgres},
        processes::within,
    },
};

const LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

async fn ask<T>(url: &str, query: &str) -> T
where
    T: Send + Unpin + sqlx::Type<sqlx::Postgres> + for<'r> sqlx::Decode<'r, sqlx::Postgres>,
{
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::query_scalar(AssertSqlSafe(query.to_owned())).fetch_one(&mut connection).await.unwrap()
}

/// The answer of a command that may be the first to see a restored database, which it says on
/// stderr.
async fn told(url: &str, arguments: &[&str]) -> Value {
    let ran = Ctl::over(url).run(&[&["--json"], arguments].concat()).await;
    let is_noticed = ran.stderr.contains("the database was replaced; payouts are stopped");
    assert!(ran.code == 0 && (ran.stderr.is_empty() || is_noticed), "{ran:?}");
    ran.json()
}

async fn merchants(url: &str) -> usize {
    told(url, &["merchant", "list"]).await.as_array().unwrap().len()
}

async fn add_merchant(url: &str) {
    Ctl::over(url).json(&["merchant", "create", "--name", "Shop"]).await;
}

/// How often the gateway made this database safe.
async fn returns(url: &str) -> i32 {
    ask(url, "select returns from database_identity").await
}

/// Everything in a folder of backups but the lock, which stays.
fn names(folder: &str) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != ".backup.lock").collect();
    names.sort();
    names
}

/// A program of this text in `folder`, which has to come first in `PATH` to be found.
fn fake(folder: &str, program: &str, text: &str) -> PathBuf {
    let path = Path::new(folder).join(program);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A backup of this kind, and the words of the script.
fn made(server: &PrivatePostgres, kind: &str, url: &str, more: &[&str], folder: &str) -> String {
    let arguments = [&[kind, "--to", folder][..], more].concat();
    let home = server.folder().join("gnupg").display().to_string();
    let ran = server.backup(&arguments, &[("DATABASE_URL", url), ("GNUPGHOME", &home)]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let names = names(folder);
    let [file, sum] = &names[..] else { panic!("{names:?}") };
    assert_eq!(sum, &format!("{file}.sha256"));
    assert!(ran.stderr.contains("not in it: master key, seeds"), "{ran:?}");
    format!("{folder}/{file}")
}

fn refused(server: &PrivatePostgres, arguments: &[&str], url: &str, words: &str) {
    let ran = server.backup(arguments, &[("DATABASE_URL", url)]);
    assert!(ran.code != 0 && ran.stderr.contains(words), "{arguments:?}: {ran:?}");
}

/// A key pair in the server's folder, as an operator keeps it elsewhere.
fn make_key(server: &PrivatePostgres) {
    let home = server.make_folder("gnupg");
    let arguments = ["--batch", "--passphrase", "", "--quick-generate-key", "backup@example.com"];
    let ran = server.run_as_its_user("gpg", &arguments, &[("GNUPGHOME", &home)]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_dump_is_restored_with_roles_and_grants_and_is_noticed() {
    let server = fresh_postgres().await;
    let url = server.create_database().await;
    add_merchant(&url).await;
    make_key(&server);
    let folder = server.make_folder("dumps");
    let encrypted = ["--encrypt-to", "backup@example.com"];
    let dump = made(&server, "dump", &url, &encrypted, &folder);
    assert!(dump.ends_with(".pgdump.gpg"), "{dump}");
    assert!(!fs::read(&dump).unwrap().windows(8).any(|part| part == b"merchant"), "it is readable");
    let home = server.folder().join("gnupg").display().to_string();
    let gpg = [("GNUPGHOME", home.as_str())];
    let checked = server.backup(&["check", &dump], &gpg);
    assert!(checked.code == 0 && checked.stderr.contains("can be restored"), "{checked:?}");

    let other = fresh_postgres().await;
    let restored = other.create_empty_database().await;
    let ran = server.backup(&["restore", &dump, "--database", &restored], &gpg);
    assert_eq!(ran.code, 0, "{ran:?}");
    told(&restored, &["migrate"]).await;
    let may = "select has_table_privilege('gateway_api', 'invoice', 'insert')
                  and not has_table_privilege('gateway_api', 'payout_payment', 'insert')";
    assert!(ask::<bool>(&restored, may).await);
    assert_eq!((merchants(&restored).await, returns(&restored).await), (1, 1));

    refused(&server, &["restore", &dump, "--database", &url], &url, "Nothing was changed");
    // Its key is not here, as on the machine that writes the backups.
    let ran = server.backup(&["check", &dump], &[]);
    assert_ne!(ran.code, 0, "{ran:?}");
    server.run_as_its_user("gpgconf", &["--kill", "gpg-agent"], &gpg);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_backup_with_its_log_restores_the_last_commit_and_is_noticed() {
    let mut server = fresh_postgres().await;
    let url = server.create_database().await;
    add_merchant(&url).await;
    let (folder, wal) = (server.make_folder("base"), server.make_folder("wal"));
    let receiver = server.receive_wal(&url, &wal);
    let streams =
        "select exists (select from pg_stat_replication where application_name = 'pg_receivewal')";
    within(LIMIT, "the log is received", async || {
        if ask::<bool>(&url, streams).await { Ok(()) } else { Err(receiver.output()) }
    })
    .await;
    assert!(receiver.output().contains("max_slot_wal_keep_size"), "{}", receiver.said());
    let backup = made(&server, "base", &url, &["--unencrypted"], &folder);
    let moment: String = ask(&url, "select clock_timestamp()::text").await;
    let is_over = format!("select clock_timestamp() > '{moment}'");
    within(LIMIT, "the moment is over", async || {
        if ask::<bool>(&url, &is_over).await { Ok(()) } else { Err(moment.clone()) }
    })
    .await;
    add_merchant(&url).await;
    let position: String = ask(&url, "select pg_current_wal_flush_lsn()::text").await;
    let has_it = format!(
        "select coalesce(bool_and(flush_lsn >= '{position}'), false) from pg_stat_replication"
    );
    within(LIMIT, "the last commit is received", async || {
        if ask::<bool>(&url, &has_it).await { Ok(()) } else { Err(receiver.output()) }
    })
    .await;
    server.kill().await;
    drop(receiver);

    // Each ends on a new timeline, also the one that has no log but what is in the backup.
    let before = ["--wal", &wal, "--until", &moment];
    for (log, expected) in [(&before[..2], 2), (&before[..], 1), (&[], 1)] {
        let mut successor = PrivatePostgres::without_data();
        let data = successor.data();
        let arguments = [&["restore", &backup, "--into", &data][..], log].concat();
        let ran = server.backup(&arguments, &[]);
        assert_eq!(ran.code, 0, "{ran:?}");
        successor.start().await;
        let restored = successor.url(url.rsplit('/').next().unwrap());
        within(LIMIT, "recovery ends", async || {
            let over: bool = ask(&restored, "select not pg_is_in_recovery()").await;
            if over { Ok(()) } else { Err("not yet".to_owned()) }
        })
        .await;
        assert_eq!(
            (merchants(&restored).await, returns(&restored).await),
            (expected, 1),
            "{log:?}"
        );
        refused(&server, &arguments, &url, "is not empty");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_leaves_the_server_its_marks_is_noticed_or_told() {
    let server = fresh_postgres().await;
    let url = server.create_database().await;
    add_merchant(&url).await;
    let dump = server.folder().join("by-hand").display().to_string();
    let run = |program: &str, arguments: &[&str]| {
        let ran = server.run_as_its_user(program, arguments, &[]);
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    run("pg_dump", &["-Fc", "-d", &url, "-f", &dump]);
    add_merchant(&url).await;
    run("pg_restore", &["--clean", "--if-exists", "-d", &url, &dump]);
    assert_eq!((merchants(&url).await, returns(&url).await), (1, 1), "into the same database");

    // A snapshot of the disk shows nothing.
    assert_eq!((merchants(&url).await, returns(&url).await), (1, 1));
    assert_eq!(told(&url, &["database", "restored"]).await["made_safe"], true);
    assert_eq!(returns(&url).await, 2);
    let stops = "select count(*) from payout_stop where network = '*'";
    assert_eq!(ask::<i64>(&url, stops).await, 1);
    let empty = Ctl::over(&server.create_database().await);
    empty.run(&["database", "restored"]).await.expect_failure("no program has ever used");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_overwritten_and_what_is_damaged_or_unclear_is_refused() {
    let server = fresh_postgres().await;
    let url = server.create_database().await;
    let folder = server.make_folder("dumps");
    refused(&server, &["dump", "--to", &folder], &url, "--encrypt-to RECIPIENT, or --unencrypted");
    refused(&server, &["dump", "--to", "/nowhere", "--unencrypted"], &url, "is no folder");
    refused(&server, &["dump", "--to", &folder, "--encrypt-to", "nobody"], &url, "no public key");
    refused(&server, &["dump", "--to", &folder, "--unencrypted"], "", "which database?");
    refused(&server, &["back", "--to", &folder], &url, "backup.sh restore FILE");
    refused(&server, &["restore", "notes.txt"], &url, "cannot be read");
    assert_eq!(names(&folder), [""; 0], "something is left of what was refused");

    let dump = made(&server, "dump", &url, &["--unencrypted"], &folder);
    let mut bytes = fs::read(&dump).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&dump, &bytes).unwrap();
    let empty = server.create_empty_database().await;
    let restore = ["restore", &dump, "--database", &empty];
    refused(&server, &restore, &url, "is not what was written");
    fs::remove_file(format!("{dump}.sha256")).unwrap();
    fs::write(&dump, &bytes[..middle]).unwrap();
    refused(&server, &restore, &url, "error");
    let tables = "select count(*) from pg_tables where schemaname = 'public'";
    assert_eq!(ask::<i64>(&empty, tables).await, 0, "half of it was restored");

    let folder = server.make_folder("base");
    let backup = made(&server, "base", &url, &["--unencrypted"], &folder);
    let until = ["restore", &backup, "--into", "data2", "--until", "yesterdayish"];
    refused(&server, &until, &url, "is no time");
    assert!(!Path::new(server.folder()).join("data2").exists());
}

/// A disk that fills up, a program that is killed: whatever breaks off leaves nothing that could be
/// taken for a backup.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_breaks_off_leaves_nothing_behind() {
    let server = fresh_postgres().await;
    let url = server.create_database().await;
    add_merchant(&url).await;
    let (programs, folder) = (server.make_folder("programs"), server.make_folder("kept"));
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    for (kind, program) in [("base", "tar"), ("base", "gzip"), ("dump", "cat")] {
        let broken = fake(&programs, program, "head -c 5000 /dev/urandom\nexit 1");
        let arguments = [kind, "--to", &folder, "--unencrypted"];
        let ran = server.backup(&arguments, &[("DATABASE_URL", &url), ("PATH", &path)]);
        assert!(ran.code != 0 && ran.stderr.contains("nothing was kept"), "{program}: {ran:?}");
        assert_eq!(names(&folder), [""; 0], "{program} left something");
        fs::remove_file(&broken).unwrap();
    }
}

/// `kill -9` lets a script clean nothing up, and what it leaves may not be encrypted yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_backup_is_removed_by_the_next_one_and_by_none_while_its_programs_run() {
    let server = fresh_postgres().await;
    let url = server.create_database().await;
    let (programs, folder) = (server.make_folder("programs"), server.make_folder("kept"));
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let pid = server.make_folder("pid") + "/cat";
    let kills = format!("echo $$ >{pid}\nkill -9 $PPID\nexec sleep 60 >/dev/null 2>&1");
    let broken = fake(&programs, "cat", &kills);
    let arguments = ["dump", "--to", &folder, "--unencrypted"];
    let ran = server.backup(&arguments, &[("DATABASE_URL", &url), ("PATH", &path)]);
    assert_eq!(ran.code, 128 + 9, "{ran:?}");
    let found = names(&folder);
    let [left] = &found[..] else { panic!("{found:?}") };
    assert!(Path::new(&folder).join(left).join("dump").exists(), "{left}");
    fs::remove_file(broken).unwrap();

    refused(&server, &arguments, &url, "another backup is being written");
    assert_eq!(names(&folder), std::slice::from_ref(left));
    let pid = fs::read_to_string(pid).unwrap();
    server.run_as_its_user("kill", &["-9", pid.trim()], &[]);
    // One that a run of an earlier release may still be writing, and one that it left days ago.
    for (name, age) in [(".unfinished.aaaaaa", "now"), (".unfinished.bbbbbb", "2 days ago")] {
        let path = format!("{folder}/{name}");
        server.run_as_its_user("mkdir", &[&path], &[]);
        server.run_as_its_user("touch", &["-d", age, &path], &[]);
    }
    let (ran, _) = within(LIMIT, "the killed run's programs are gone", async || {
        let ran = server.backup(&arguments, &[("DATABASE_URL", &url)]);
        if ran.code == 0 { Ok(ran) } else { Err(format!("{ran:?}")) }
    })
    .await;
    assert!(ran.stderr.contains(&format!("removed {folder}/{left}")), "{ran:?}");
    let names = names(&folder);
    assert_eq!((names.len(), names[0].as_str()), (3, ".unfinished.aaaaaa"), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_never_stands_beside_a_foreign_checksum() {
    let server = fresh_postgres().await;
    let url = server.create_database().await;
    let (programs, folder) = (server.make_folder("programs"), server.make_folder("kept"));
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    fake(&programs, "date", "echo 20260101T000000Z");
    let file = "gateway-dump-20260101T000000Z.pgdump";
    let sum = format!("{file}.sha256");
    let arguments = ["dump", "--to", &folder, "--unencrypted"];
    // There from the beginning, and while the backup is made.
    for name in [file, &sum] {
        let foreign = Path::new(&folder).join(name);
        fs::write(&foreign, "foreign").unwrap();
        let early = server.backup(&arguments, &[("DATABASE_URL", &url), ("PATH", &path)]);
        fs::remove_file(&foreign).unwrap();
        let appears = format!("echo foreign >{}\nexec /bin/sync \"$@\"", foreign.display());
        let late = fake(&programs, "sync", &appears);
        let ran = server.backup(&arguments, &[("DATABASE_URL", &url), ("PATH", &path)]);
        for ran in [early, ran] {
            let words = format!("{name} is there already");
            assert!(ran.code != 0 && ran.stderr.contains(&words), "{ran:?}");
        }
        assert_eq!(names(&folder), [name]);
        assert_eq!(fs::read_to_string(&foreign).unwrap(), "foreign\n");
        fs::remove_file(foreign).unwrap();
        fs::remove_file(late).unwrap();
    }
}

/// Success is said only of what outlives a power cut: the files, and then the folder's names.
#[tokio::test(flavor = "multi_thread")]
async fn files_and_folder_are_on_the_disk_before_success_is_told() {
    let server = fresh_postgres().await;
    let url = server.create_database().await;
    let (programs, folder) = (server.make_folder("programs"), server.make_folder("kept"));
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let arguments = ["dump", "--to", &folder, "--unencrypted"];
    let environment = [("DATABASE_URL", url.as_str()), ("PATH", path.as_str())];
    fake(&programs, "sync", "exit 1");
    let ran = server.backup(&arguments, &environment);
    assert!(ran.code != 0 && ran.stderr.contains("nothing was kept"), "{ran:?}");
    assert_eq!(names(&folder), [""; 0]);

    let log = server.make_folder("log") + "/synced";
    fake(&programs, "sync", &format!("echo \"$(ls {folder} | wc -l) $*\" >>{log}"));
    let ran = server.backup(&arguments, &environment);
    assert_eq!(ran.code, 0, "{ran:?}");
    let synced = fs::read_to_string(log).unwrap();
    let lines: Vec<_> = synced.lines().collect();
    let [files, names] = &lines[..] else { panic!("{synced}") };
    assert!(files.starts_with("0 ") && files.contains(".pgdump ") && files.ends_with("/sum"));
    assert_eq!(*names, format!("2 -- {folder}"));
}
