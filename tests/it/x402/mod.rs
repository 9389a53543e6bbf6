//! Programs pay over HTTP (x402): on anvil with a token of EIP-3009 at the address of USDC, signed
//! by keys of the test.

mod attack;
mod books;
mod catalogue;
mod clients;
mod contract;
mod cost;
mod give_up;
mod killed;
mod limits;
mod page;
mod paywall;
mod race;
mod reorg;
mod resource;
pub mod scene;
mod seeds;
mod settle;
mod stuck;
mod verify;
