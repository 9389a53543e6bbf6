//! The machine that holds a lock is gone without a trace: no process exits, no connection is
//! closed. Only the server's own keepalive probes notice.

use std::fs;

use gateway::storage::locks::SessionLock;
use sqlx::Row;
use support::{
    fault::{fired::fired, weaker},
    server::{broker::eventually, stack::with_stack},
};

/// Unit of the kernel's table of connections, independent of its own clock.
const TICKS_PER_SECOND: u64 = 100;
const KEEPALIVE_TIMER: &str = "02";

/// The timer of the server's kernel for the client at `client_port`, and its remaining seconds;
/// `None` if that kernel is not this machine's.
fn timer(server_port: u16, client_port: u16) -> Option<(String, u64)> {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let (server, client) = (format!(":{server_port:04X}"), format!(":{client_port:04X}"));
    let line = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut found = line.filter(|at| at[1].ends_with(&server) && at[2].ends_with(&client));
    let (timer, ticks) = found.next()?[5].split_once(':')?;
    let ticks = u64::from_str_radix(ticks, 16).unwrap();
    Some((timer.to_owned(), ticks / TICKS_PER_SECOND))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_whose_holder_is_silent_is_probed_every_few_seconds() {
    with_stack(|stack| async move {
        let lock = SessionLock::try_take(&stack.gateway.db, "vanishes").await.unwrap().unwrap();
        assert!(SessionLock::try_take(&stack.gateway.db, "vanishes").await.unwrap().is_none());
        let mut connection = stack.database.connect().await;
        let holder = "select client_port, current_setting('port')::int as port
                      from pg_stat_activity join pg_locks using (pid)
                      where locktype = 'advisory' and granted and datname = current_database()";
        let holder = sqlx::query(holder).fetch_one(&mut connection).await.unwrap();
        let port = |name: &str| u16::try_from(holder.get::<i32, _>(name)).unwrap();
        // Until its last response is acknowledged, the timer is the one for retransmission.
        let seconds = eventually("the server's kernel is at rest", async || {
            match timer(port("port"), port("client_port")) {
                Some((timer, seconds)) => (timer == KEEPALIVE_TIMER).then_some(Some(seconds)),
                None => Some(None),
            }
        })
        .await;
        match seconds {
            Some(seconds) => {
                assert!(seconds <= 5, "probed in {seconds} s");
                fired(1);
            }
            None => weaker::accept("the server's kernel is another one, whose timers are not seen"),
        }
        lock.release().await;
        sqlx::Connection::close(connection).await.unwrap();
    })
    .await;
}
