//! Programs pay over HTTP (x402): on anvil with a token of EIP-3009 at the address of USDC, signed
//! by keys of the test.

mod attack;
mod clients;
mod killed;
mod paywall;
mod race;
mod resource;
pub mod scene;
mod settle;
mod stuck;
