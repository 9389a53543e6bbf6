//! Payment links: `/v1/links` for their merchant, `{checkout_url}/l/<link_id>` for visitors. Types
//! of requests and answers are frozen: a type may gain a field, never lose one.

pub mod button;
pub mod form;
pub mod page;
pub mod request;
pub mod route;
pub mod wire;
