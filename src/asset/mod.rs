//! Networks, currencies and addresses. Pure data and pure functions.
//!
//! Nothing here depends on an operator's settings or on prices: the catalogue holds what is true
//! for every installation.

pub mod address;
pub mod catalogue;
pub mod explorer;
pub mod fiat;
pub mod keys;
pub mod network;

pub use address::{AccountKey, AddressError, Realm};
pub use catalogue::{Catalogue, Currency, Standard};
pub use fiat::Fiat;
pub use network::{Family, Network};
