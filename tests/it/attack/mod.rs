//! Attacks that no other area tests by itself. `tests/attacks.md` lists every attack with the tests
//! that answer it.

mod delivery;
mod flood;
mod leaks;
mod messages;
mod program_logs;
mod slow_sockets;
mod table;
mod tenants;
mod written_payouts;
