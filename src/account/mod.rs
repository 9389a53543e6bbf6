//! Accounts of the dashboard: roles, actions, passwords, one-time codes, passkeys, sessions. Pure.

pub mod action;
pub mod bearer;
pub mod contact;
pub mod email;
pub mod factor;
pub mod passkey;
pub mod password;
pub mod role;
pub mod session;
pub mod totp;

pub use action::Action;
pub use role::Role;
