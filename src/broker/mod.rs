//! RabbitMQ: every queue name, every argument and every rule for talking to the broker.
//!
//! Messages are hints (a kind and an id) and timers; rows in PostgreSQL decide everything. A lost,
//! duplicate or late message may therefore cost latency and nothing else, and no fact may exist
//! only in the broker.
//!
//! - [`topology`]: the one table of exchanges, queues, bindings, policies and permissions.
//!   [`route`]: every message the gateway publishes.
//! - [`definitions`]: the same table as the broker's import file. [`management`]: applies and
//!   checks it over HTTP.
//! - [`envelope`]: message bodies. [`publisher`], [`consumer`], [`hint`]: the three uses of a
//!   connection.
//!
//! No part of this module reconnects: after an error the connection is unusable, and the supervisor
//! that owns it opens a new one.

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
mod wire;

pub use error::BrokerError;
