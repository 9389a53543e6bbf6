//! The till: devices that a merchant enrols on a link of type `pos`, and the charges that their
//! cashiers make.
//!
//! A device proves itself by its token, which is as long as a key. Strangers who know the address
//! of a till reach neither its PIN nor anything that it shows.

pub mod charge;
pub mod day;
pub mod device;
pub mod enrol;
mod pin;
pub mod unlock;
pub mod visit;

use crate::account::bearer::Bearer;

/// Keys of a browser: the token of its device, and the session while it is unlocked.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    pub token: Option<Bearer>,
    pub session: Option<Bearer>,
}
