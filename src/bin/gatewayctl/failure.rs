//! Error reports with a hint for the operator. They hold no secret: addresses are printed without
//! user and password.

use std::{fmt, process::ExitCode};

use anyhow::Error;
use clap::{CommandFactory, error::ErrorKind};
use gateway::{
    app::messaging::apply_topology::TopologyError,
    broker::management::ManagementError,
    config::ConfigError,
    storage::{Db, StorageError, Trouble},
};

use secrecy::{ExposeSecret, SecretString};

use crate::{Cli, render};

/// Wrong arguments that clap cannot detect. Ends with exit code 2, like clap's own errors.
#[derive(Debug)]
pub struct WrongUsage(pub String);

impl fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

pub fn wrong_usage(text: impl Into<String>) -> Error {
    Error::new(WrongUsage(text.into()))
}

/// Names the database that could not be reached.
pub fn no_connection(error: StorageError, db: &Db) -> Error {
    Error::new(error).context(format!("no connection to the database at {}", db.address()))
}

/// Names the broker of an error.
pub fn at_broker(error: TopologyError, management_url: Option<&SecretString>) -> Error {
    let url = management_url.and_then(|url| url::Url::parse(url.expose_secret()).ok());
    let host = url.as_ref().and_then(|url| url.host_str());
    let port = url.as_ref().and_then(url::Url::port_or_known_default);
    match (host, port) {
        (Some(host), Some(port)) => {
            Error::new(error).context(format!("the broker at {host}:{port} could not be asked"))
        }
        _ => Error::new(error),
    }
}

/// Prints the error with its sources and a hint.
pub fn report(error: &Error) -> ExitCode {
    if let Some(WrongUsage(text)) = error.downcast_ref() {
        let error = Cli::command().error(ErrorKind::ValueValidation, text);
        render::to_stderr(&error.render().to_string());
        return ExitCode::from(2);
    }
    let mut text = format!("error: {}", chain(error));
    if let Some(hint) = hint(error) {
        text = format!("{}\nhint: {hint}", text.trim_end());
    }
    render::to_stderr(&format!("{}\n", text.trim_end()));
    ExitCode::FAILURE
}

/// The sources in one line; those that an outer sentence already contains are left out.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let words = cause.to_string();
        // Adds nothing to the driver's own sentence.
        let empty = matches!(cause.downcast_ref(), Some(StorageError::Database(_)));
        if !empty && !text.contains(words.trim_end()) {
            text = format!("{text}: {words}");
        }
    }
    render::clean(&text, render::Lines::Keep)
}

fn hint(error: &Error) -> Option<&'static str> {
    error.chain().find_map(|cause| {
        if let Some(trouble) = Trouble::of(cause) {
            return Some(database_hint(trouble));
        }
        if let Some(TopologyError::Management(error)) = cause.downcast_ref() {
            return broker_hint(error);
        }
        let settings = cause.downcast_ref::<ConfigError>();
        settings.map(|_| "a stack that `make up` started has its settings in .run/stack.env: set -a; . .run/stack.env")
    })
}

const fn database_hint(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::NoAnswer => "is PostgreSQL running there? the address is in DATABASE_URL",
        Trouble::NotReady => "it is starting, stopping or full; try again",
        Trouble::Credentials => "check the user and the password in DATABASE_URL",
        Trouble::NoSuchDatabase => {
            "create the database first (createdb NAME), or correct DATABASE_URL"
        }
        Trouble::OldSchema => {
            "the schema is missing or older than this program: gatewayctl migrate"
        }
        Trouble::Replica => "set DATABASE_URL to the primary, or promote this server",
        Trouble::HandedOver => {
            "point DATABASE_URL to the server that was promoted, or open this one again: gatewayctl database take-back"
        }
        Trouble::DirectAddress => {
            "GATEWAY_DATABASE_DIRECT_URL is PostgreSQL itself, the database behind the pooler of DATABASE_URL"
        }
        Trouble::Pooler => "the pooler of DATABASE_URL needs max_prepared_statements above 0",
        Trouble::NotAllowed => "the user in DATABASE_URL lacks a right",
    }
}

fn broker_hint(error: &ManagementError) -> Option<&'static str> {
    match error {
        ManagementError::Unreachable { .. } => Some(
            "is RabbitMQ running there with its management plugin? the address is in GATEWAY_BROKER__MANAGEMENT_URL",
        ),
        ManagementError::Refused { status: 401 | 403, .. } => Some(
            "the user in GATEWAY_BROKER__MANAGEMENT_URL needs the tag policymaker and all rights on our names in GATEWAY_BROKER__VHOST",
        ),
        ManagementError::Refused { status: 404, .. } => Some(
            "does the virtual host GATEWAY_BROKER__VHOST exist? An administrator's `gatewayctl topology apply` creates it",
        ),
        ManagementError::Refused { .. }
        | ManagementError::Address { .. }
        | ManagementError::Malformed { .. } => None,
    }
}
