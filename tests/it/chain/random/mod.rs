//! A random chain, a watcher that dies and comes back, messages that get lost or come twice: in the end the books hold what
//! the chain holds, and nothing was ever booked that was not final.

mod fate;
mod oracle;
mod seeds;
mod story;
