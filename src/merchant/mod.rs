//! Merchants: API keys, webhook secrets and settings. Pure.

pub mod api_key;
pub mod secret;
pub mod settings;
pub mod takings;

pub use api_key::ApiKey;
pub use secret::WebhookSecret;
