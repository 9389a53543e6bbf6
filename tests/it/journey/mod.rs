//! The specification as end-to-end scenarios.

mod cancelled;
mod draft;
mod expired;
mod foreign;
mod late;
mod paid;
mod terminal;
mod totals;
mod underpaid;
mod wrong_network;
