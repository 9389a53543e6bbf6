//! The broker module over a real RabbitMQ.

#![allow(clippy::unwrap_used, reason = "helpers of tests: one that cannot go on panics")]

mod blocked;
mod consuming;
mod hints;
mod operator;
mod publishing;
mod topology;
mod waiting;
