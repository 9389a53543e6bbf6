//! What a merchant is: a key, a secret and a few settings. Pure.

pub mod api_key;
pub mod secret;
pub mod settings;

pub use api_key::ApiKey;
pub use secret::WebhookSecret;
