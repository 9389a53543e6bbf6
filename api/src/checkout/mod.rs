//! The buyer's pages: their content, languages and assets.
//!
//! All pages are rendered here, so that they work without scripts; the scripts only save reloading.
//! `gateway::invoice::buyer_phase` decides on the buyer's next step.

pub mod action;
pub mod asset;
pub mod brand;
pub mod choices;
pub mod language;
pub mod markup;
pub mod pages;
pub mod plural;
pub mod qr;
pub mod receipt;
pub mod route;
pub mod shell;
