//! Integration tests over real servers. One binary, one folder per area.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod api;
mod attack;
mod broker;
mod browser;
mod chain;
mod compose;
mod ctl;
mod dashboard;
mod deploy;
mod docs;
mod egress;
mod examples;
mod fault;
mod journey;
mod legacy;
mod link;
mod mail;
mod nc_payout;
mod payout;
mod rate;
mod sdk;
mod sight;
mod subscription;
mod sweep;
mod tidy;
mod till;
mod worker;
mod x402;
