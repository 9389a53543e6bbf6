//! x402: programs pay over HTTP. The facilitator's own answers have the names of its protocol
//! (`isValid`), merchants' resources those of this API.

pub mod caller;
pub mod catalogue;
pub mod facilitator;
pub mod pay;
pub mod request;
pub mod resource;
pub mod wire;
