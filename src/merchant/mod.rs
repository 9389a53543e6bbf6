//! Merchants: API keys, webhook secrets, settings, and what buyers see of them. Pure.

pub mod api_key;
pub mod colour;
pub mod front;
pub mod logo;
pub mod secret;
pub mod settings;
pub mod takings;

pub use api_key::ApiKey;
pub use secret::WebhookSecret;
