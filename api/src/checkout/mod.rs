//! The buyer's pages: what they show, in which language, and what they are made of.
//!
//! Everything is rendered here, so that the pages work without any script; the scripts only save the buyer reloading.
//! What is to be done now is decided below, in `gateway::invoice::buyer_phase`.

pub mod asset;
pub mod choices;
pub mod language;
pub mod markup;
pub mod pages;
pub mod qr;
pub mod shell;
