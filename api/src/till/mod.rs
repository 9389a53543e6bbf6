//! Tills: `/v1/links/:id/devices` for their merchant, `{checkout_url}/pos/<link_id>` for the
//! devices that he enrols.

mod action;
mod charge;
pub mod cookie;
mod frame;
pub mod page;
pub mod route;
pub mod wire;
