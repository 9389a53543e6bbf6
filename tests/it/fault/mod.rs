//! The programs as processes, with servers and programs that are stopped, killed, frozen and wiped
//! under them.
//!
//! Each test has two halves. Safety: whatever the fault did, nothing happens twice and nothing
//! acknowledged is lost. Convergence: once the fault is over, all work in progress is finished
//! within a stated time. A test whose fault did not happen fails.

mod broker_alarm;
mod broker_cluster;
mod broker_gone;
mod broker_silent;
mod clock_steps;
mod customers;
mod cut_commit;
mod database_gone;
mod deadline_storm;
mod dropped_begin;
mod encrypted;
mod frozen_backend;
mod frozen_matcher;
mod full_disk;
mod grown_tables;
mod hanging_receivers;
mod killed_migration;
mod killed_worker;
mod lost_commits;
mod oracle;
mod overtaken;
mod panics;
mod partitions;
mod pool_exhausted;
mod pooler;
mod power_loss;
mod readers;
mod refused_start;
mod refused_transactions;
mod restored_backup;
mod scarce_resources;
mod shuffled_messages;
mod slow_handlers;
mod step_kill;
mod stopped_api;
mod table;
mod two_stacks;
mod two_versions;
mod vanished_holder;
mod wrong_key;
