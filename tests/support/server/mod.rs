//! Servers and programs of a test: started, stopped, killed and read.

pub mod authority;
pub mod balancer;
pub mod broker;
pub mod database;
pub mod disk;
pub mod forgetful_disk;
pub mod installation;
pub mod listener;
pub mod metrics;
pub mod namespace;
pub mod pgbouncer;
pub mod private_postgres;
pub mod private_rabbitmq;
pub mod processes;
pub mod scratch;
pub mod smtp;
pub mod stack;
