//! The API's description, for machines and for people, and the guides beside it.

pub mod markdown;
pub mod page;
pub mod postman;
pub mod reference;
mod request;
pub mod route;
pub mod sdk;
mod site;
