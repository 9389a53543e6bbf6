//! `/v1/payment`.

mod callback_url;
mod create;
mod default_urls;
mod deposits;
mod direct;
mod draft;
mod limits;
mod list;
mod quota;
mod read;
