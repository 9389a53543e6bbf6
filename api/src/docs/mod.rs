//! The API's description, for machines and for people.

pub mod reference;
pub mod route;
