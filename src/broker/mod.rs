//! The broker, RabbitMQ: every queue name, every argument and every rule about talking to it.
//!
//! Messages are hints (a kind and an id) and time; rows in PostgreSQL decide everything. So a lost, doubled or late
//! message may cost latency and nothing else, and nothing here may ever be the only place that knows a fact.
//!
//! - [`topology`]: the one table of exchanges, queues, bindings, policies and rights. [`route`]: everything we publish.
//! - [`definitions`]: the same table as the broker's import file. [`management`]: applies and checks it over HTTP.
//! - [`envelope`]: message bodies. [`publisher`], [`consumer`], [`hint`]: the three ways we use a connection.
//!
//! No part of this module reconnects: an error means that the connection is spent, and the supervisor that owns it
//! builds a new one.

pub mod consumer;
pub mod definitions;
pub mod envelope;
mod error;
pub mod hint;
mod link;
pub mod management;
pub mod publisher;
pub mod route;
pub mod topology;

pub use error::BrokerError;
