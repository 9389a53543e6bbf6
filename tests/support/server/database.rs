//! A database per test, cloned from one that is migrated once per run of the suite.

use std::env;

use sqlx::{Connection, Executor, PgConnection};
use tokio::sync::OnceCell;
use url::Url;

use crate::server::broker::eventually;

/// `too_many_connections`.
const TOO_MANY: &str = "53300";

static TEMPLATE: OnceCell<String> = OnceCell::const_new();

/// A database of one test's own. Dropped at the end by [`TestDatabase::remove`].
pub struct TestDatabase {
    pub url: String,
    name: String,
}

impl TestDatabase {
    /// Clones the template.
    pub async fn create() -> Self {
        let template = TEMPLATE.get_or_init(make_template).await;
        let name = named(&format!("{:016x}", rand::random::<u64>()));
        let mut server = server().await;
        // Several tests clone at once; the server refuses a source that is in use, so they queue
        // up.
        lock(&mut server).await;
        run(&mut server, &format!("create database {name} template {template}")).await;
        Self { url: url_of(&name), name }
    }

    /// A database without a schema.
    pub async fn empty() -> Self {
        let name = named(&format!("{:016x}", rand::random::<u64>()));
        run(&mut server().await, &format!("create database {name}")).await;
        Self { url: url_of(&name), name }
    }

    pub async fn connect(&self) -> PgConnection {
        connect(&self.url).await
    }

    /// The same database under a role, as a user has it that was granted this role alone.
    pub fn url_under(&self, role: &str) -> String {
        format!("{}?options=-c%20role%3D{role}", self.url)
    }

    /// From the next connection on no commit waits for the disk. For tests in which no server dies.
    pub async fn write_lazily(&self) {
        let statement = format!("alter database {} set synchronous_commit = off", self.name);
        run(&mut server().await, &statement).await;
    }

    pub async fn remove(&self) {
        let mut server = server().await;
        run(&mut server, &format!("drop database if exists {} with (force)", self.name)).await;
    }
}

async fn make_template() -> String {
    // Named after this process's executable, so that a rebuilt suite makes a new one.
    let modified = env::current_exe().and_then(std::fs::metadata).and_then(|m| m.modified());
    let age = modified.unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros();
    let name = named(&format!("template_{age}"));
    let mut server = server().await;
    lock(&mut server).await;
    let query = sqlx::query_scalar::<_, i64>("select count(*) from pg_database where datname = $1");
    let exists = query.bind(&name).fetch_one(&mut server).await.unwrap();
    if exists == 0 {
        run(&mut server, "select 1").await;
        let making = format!("{name}_new");
        run(&mut server, &format!("drop database if exists {making} with (force)")).await;
        run(&mut server, &format!("create database {making}")).await;
        let mut fresh = connect(&url_of(&making)).await;
        sqlx::migrate!("../migrations").run(&mut fresh).await.unwrap();
        fresh.close().await.unwrap();
        run(&mut server, &format!("alter database {making} rename to {name}")).await;
    }
    name
}

async fn lock(server: &mut PgConnection) {
    run(server, "select pg_advisory_lock(hashtextextended('gateway tests: template', 0))").await;
}

async fn run(server: &mut PgConnection, statement: &str) {
    server.execute(sqlx::AssertSqlSafe(statement.to_owned())).await.unwrap();
}

async fn server() -> PgConnection {
    connect(&maintenance_url()).await
}

/// Others may use the same server, whose connections are few: waits for a free one.
async fn connect(url: &str) -> PgConnection {
    eventually("a free connection to PostgreSQL", async || match PgConnection::connect(url).await {
        Ok(connection) => Some(connection),
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(TOO_MANY) => None,
        Err(error) => panic!("{error}"),
    })
    .await
}

fn maintenance_url() -> String {
    env::var("DATABASE_URL")
        .unwrap_or_else(|_| panic!("DATABASE_URL is not set; `make test` finds a server for it"))
}

/// Names begin with the maintenance database's own, by which `make test` and `make clean-services`
/// recognise them.
fn named(rest: &str) -> String {
    let url = Url::parse(&maintenance_url()).unwrap();
    format!("{}_{rest}", url.path().trim_start_matches('/'))
}

fn url_of(name: &str) -> String {
    let mut url = Url::parse(&maintenance_url()).unwrap();
    url.set_path(name);
    url.to_string()
}
