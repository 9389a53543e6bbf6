//! `NET` on a command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use gateway::asset::Network;

/// Takes the fifteen names, and lists them when it gets another.
pub fn parser() -> impl TypedValueParser<Value = Network> {
    PossibleValuesParser::new(Network::ALL.map(Network::name))
        .try_map(|name| name.parse::<Network>())
}
