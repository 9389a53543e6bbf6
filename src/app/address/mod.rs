//! Addresses: each payment gets its own, derived from public keys or taken from an imported pool.

pub mod fill_pools;
pub mod first_address;
pub mod give;
pub mod import;
