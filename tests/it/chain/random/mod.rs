//! A random chain, a watcher that crashes and restarts, messages that are lost or duplicated: in
//! the end the books equal the chain, and nothing was ever booked that was not final.

mod deadlines;
mod fate;
mod oracle;
mod seeds;
mod story;
