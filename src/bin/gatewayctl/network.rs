//! `NET` on a command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use gateway::asset::Network;

/// Accepts the fifteen names, and lists them on any other value.
pub fn parser() -> impl TypedValueParser<Value = Network> {
    PossibleValuesParser::new(Network::ALL.map(Network::name))
        .try_map(|name| name.parse::<Network>())
}
