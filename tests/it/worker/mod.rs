//! Each worker by itself, against the real database and broker.

mod accounting_facts;
mod balances;
mod chain_watcher;
mod consuming;
mod damaged;
mod deadline_races;
mod deferred;
mod deposit_matching;
mod expiry_timer;
mod flood;
mod ipn_delivery;
mod known_through;
mod lanes;
mod large_deposits;
mod mempool;
mod rate_refresher;
mod read_ahead;
mod relay;
mod requeue;
mod sweeper;
mod unsignable;
mod vanished;
mod watched;
