//! What can be paid with: networks, currencies, addresses. Pure data and pure functions.
//!
//! Nothing here knows whether an operator has switched a currency on, or what it costs: the catalogue holds what is
//! true for every installation.

pub mod address;
pub mod catalogue;
pub mod fiat;
pub mod network;

pub use address::{AccountKey, AddressError, Realm};
pub use catalogue::{Catalogue, Currency, Standard};
pub use fiat::Fiat;
pub use network::{Family, Network};
