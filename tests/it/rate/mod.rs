//! Prices from servers that are honest, lie, or do not respond.

mod providers;
mod stack;

use std::time::Duration;

use gateway::{
    asset::Fiat,
    egress::{Egress, Policy},
    rate::{Pair, Web},
};
use support::fault::hostile::{Act, Hostile};

fn pair(text: &str) -> Pair {
    let (symbol, fiat) = text.split_once('/').expect("SYMBOL/fiat");
    Pair::new(symbol, fiat.parse::<Fiat>().expect("a fiat currency"))
}

fn pairs(text: &str) -> Vec<Pair> {
    text.split_whitespace().map(pair).collect()
}

/// HTTP access to a provider's server at `receiver`, as the operator configures it.
fn web(receiver: &Hostile) -> Web {
    let base = receiver.url("").parse().expect("a url");
    Web::new(Egress::new(Policy::Operator), base, Duration::from_secs(20))
}

fn ok(body: &str) -> Act {
    Act::answer("200 OK", body)
}
