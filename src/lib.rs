//! The gateway's library: pure rules at the bottom, io above them, the gateway's operations on top.
//!
//! Imports point only downward in this list; `tests/it/tidy` checks this.
//!
//! - [`money`]: exact amounts; `vocabulary`: closed sets of texts. [`asset`]: networks, currencies,
//!   addresses. [`locale`]: languages, and how each writes figures and dates.
//! - `account`: accounts of the dashboard. [`merchant`], [`ledger`], [`deposit`], [`invoice`],
//!   [`subscription`], [`link`], [`till`], [`payout`], [`nc_payout`], [`x402`], [`sweep`],
//!   [`legacy`], [`webhook`], [`accounting`], [`mail`]: the rules. They build with
//!   `--no-default-features`.
//! - behind feature `io`: `egress`, `retry`, `telemetry` (leaves), then `storage` (all SQL),
//!   `broker` (all queue names), `chain`, `rate`, above them `config`, which composes their
//!   settings, and at the top `app`, one file per operation of the gateway, in folders by subject.
//!   `serve` has the parts that every process runs beside its own work.

pub mod account;
pub mod accounting;
pub mod asset;
pub mod deposit;
pub mod invoice;
pub mod ledger;
pub mod legacy;
pub mod link;
pub mod locale;
pub mod mail;
pub mod merchant;
pub mod money;
pub mod nc_payout;
pub mod payout;
pub mod subscription;
pub mod sweep;
pub mod till;
pub mod vocabulary;
pub mod webhook;
pub mod x402;

#[cfg(feature = "io")]
pub mod app;
#[cfg(feature = "io")]
pub mod broker;
#[cfg(feature = "io")]
pub mod chain;
#[cfg(feature = "io")]
pub mod config;
#[cfg(feature = "io")]
pub mod egress;
#[cfg(feature = "io")]
mod fail_point;
#[cfg(feature = "io")]
pub mod rate;
#[cfg(feature = "io")]
pub mod retry;
#[cfg(feature = "io")]
pub mod serve;
#[cfg(feature = "io")]
pub mod storage;
#[cfg(feature = "io")]
pub mod telemetry;
