//! The operator's command line as used by people and scripts: the built program over real servers.

#![allow(clippy::unwrap_used, reason = "what a test's helper cannot unwrap has failed the test")]

mod addresses;
mod audit;
mod balances;
mod chain;
mod check_receiver;
mod dead_letters;
mod deposit;
mod doctor;
mod documents;
mod find;
mod help;
mod invoice;
mod keys;
mod ledger;
mod listen;
mod merchant;
mod migrate;
pub mod payouts;
mod secrets;
mod settings;
mod setup;
mod simulate;
mod topology;
mod usage;
mod x402;

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use support::{client::ctl::Ctl, server::database::TestDatabase};

/// Runs `test` over a database of its own and removes it afterwards, even after a panic.
async fn with_database<F: Future<Output = ()>>(test: impl FnOnce(Ctl, Arc<TestDatabase>) -> F) {
    over(TestDatabase::create().await, test).await;
}

async fn over<F: Future<Output = ()>>(
    database: TestDatabase,
    test: impl FnOnce(Ctl, Arc<TestDatabase>) -> F,
) {
    let database = Arc::new(database);
    let outcome = AssertUnwindSafe(test(Ctl::over(&database.url), database.clone())).catch_unwind();
    let outcome = outcome.await;
    database.remove().await;
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}
