//! The database ends transactions as serialization failures and deadlocks, at a statement and at
//! the commit itself (F35).

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use support::{
    fault::fired::fired,
    seed::seed,
    server::{
        broker::with_broker, database::TestDatabase, installation::Installation, processes::within,
    },
    shop::trade::{Order, Shop, forget_unanswered},
};

const LIMIT: Duration = Duration::from_secs(120);
const ORDERS: usize = 30;
/// Time during which every booking fails.
const STORM: Duration = Duration::from_secs(8);
/// Each deposit's message is retried after 200 ms at the earliest, with increasing delays.
const TRIES_MAX: usize = ORDERS * 5 * 8;

/// A sequence keeps its count when its transaction fails. The draws follow from the seed and their
/// number, so that no run has worse luck than another.
const REFUSALS: &str = "
    create sequence refused;
    create sequence drawn;
    create table refusing (name text primary key, chance float8 not null);
    create function refuse() returns trigger language plpgsql as $$
    begin
        if (hashint8(nextval('drawn') # SEED) & 1023) / 1024.0 < (select chance from refusing where name = tg_table_name) then
            if nextval('refused') % 2 = 0 then
                raise exception 'could not serialize access' using errcode = '40001';
            end if;
            raise exception 'deadlock detected' using errcode = '40P01';
        end if;
        return new;
    end $$;
    create trigger refuse before insert or update on invoice for each row execute function refuse();
    create trigger refuse before insert on deposit for each row execute function refuse();
    create trigger refuse before insert on ledger_entry for each row execute function refuse();
    create trigger refuse before update on chain_cursor for each row execute function refuse();
    create trigger refuse before insert on delivery for each row execute function refuse();
    create constraint trigger refuse_commit after insert on timer
        deferrable initially deferred for each row execute function refuse();
    create constraint trigger refuse_commit after insert on outbox
        deferrable initially deferred for each row execute function refuse();
    insert into refusing (name, chance)
    select distinct event_object_table, 0.2 from information_schema.triggers where trigger_name like 'refuse%';";

struct Refusals(PgConnection);

impl Refusals {
    async fn begin(installation: &Installation) -> Self {
        let mut connection = PgConnection::connect(&installation.database_url).await.unwrap();
        let refusals = REFUSALS.replace("SEED", &(seed() >> 1).to_string());
        sqlx::raw_sql(sqlx::AssertSqlSafe(refusals)).execute(&mut connection).await.unwrap();
        Self(connection)
    }

    /// From now on only transactions that write to `table` fail.
    async fn only(&mut self, table: &str) {
        let query = "update refusing set chance = case when name = $1 then 1 else 0 end";
        sqlx::query(query).bind(table).execute(&mut self.0).await.unwrap();
    }

    async fn count(&mut self) -> usize {
        let query = "select case when is_called then last_value else 0 end from refused";
        let count: i64 = sqlx::query_scalar(query).fetch_one(&mut self.0).await.unwrap();
        usize::try_from(count).unwrap()
    }
}

/// Creates orders until `count` succeeded. Also returns the number of failed requests, each of
/// which was reported as a server error.
async fn taken(shop: &Shop, installation: &Installation, count: usize) -> (Vec<Order>, usize) {
    let (mut orders, mut failed) = (Vec::new(), 0);
    while orders.len() < count {
        match shop.try_create(installation).await {
            Ok((order, _)) => orders.push(order),
            Err(reason) => {
                assert!(reason.contains("INTERNAL_ERROR"), "{reason}");
                failed += 1;
                assert!(failed < 10 * count, "nothing is taken any more: {reason}");
            }
        }
    }
    (orders, failed)
}

#[tokio::test(flavor = "multi_thread")]
async fn aborted_database_transactions_are_retried_with_a_bound_and_done_once() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let (api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 10 * ORDERS).await;

        let mut refusals = Refusals::begin(&installation).await;
        let (mut orders, failed) = taken(&shop, &installation, ORDERS).await;
        shop.pay(&installation, &orders).await;
        within(LIMIT, "some are told although one in five is refused", async || {
            let told = shop.receiver.received().len();
            if told > ORDERS / 2 { Ok(()) } else { Err(format!("{told} told")) }
        })
        .await;

        refusals.only("ledger_entry").await;
        let more = shop.create(&installation, ORDERS).await;
        shop.pay(&installation, &more).await;
        orders.extend(more);
        let before = refusals.count().await;
        tokio::time::sleep(STORM).await;
        let tries = refusals.count().await - before;
        assert!(api.process.is_alive() && workers.process.is_alive());
        refusals.only("nothing").await;

        let kept = orders.iter().map(|order| order.order_id.clone()).collect();
        forget_unanswered(&database.url, &kept).await;
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        let count = refusals.count().await;
        assert!(failed > 0 && tries > ORDERS, "{failed} requests failed, {tries} tries");
        assert!(tries < TRIES_MAX, "{tries} tries in {STORM:?}");
        println!(
            "{count} transactions were refused, {tries} of them in {STORM:?} of nothing else, and {failed} requests; \
             afterwards {outcome:?}"
        );
        fired(count);
        database.remove().await;
    })
    .await;
}
