//! The guarded client against receivers that misbehave.

mod answers;
mod cuts;
mod limits;
mod wall;

use std::{net::IpAddr, sync::Arc, time::Duration};

use gateway::egress::{
    Answer, Call, Egress, EgressError, Policy, PublicPolicy, Resolve, Resolving,
};
use support::fault::hostile::{Act, Hostile};
use url::Url;

const LONG: Duration = Duration::from_secs(20);

/// A client that may call this machine.
fn local() -> Egress {
    Egress::new(Policy::Public(PublicPolicy { allow_private: true, denied_ports: vec![] }))
}

fn url(text: &str) -> Url {
    text.parse().expect("a url of this test")
}

async fn get(egress: &Egress, text: &str) -> Result<Answer, EgressError> {
    egress.send(Call::get(url(text), LONG)).await
}

async fn post(egress: &Egress, text: &str) -> Result<Answer, EgressError> {
    egress.send(Call::post(url(text), r#"{"a":1}"#, LONG)).await
}

/// A resolver made from a function.
struct Names<F>(F);

impl<F> Resolve for Names<F>
where
    F: Fn(&str) -> std::io::Result<Vec<IpAddr>> + Send + Sync + 'static,
{
    fn resolve(&self, host: &str) -> Resolving {
        let found = (self.0)(host);
        Box::pin(async move { found })
    }
}

fn with_names(
    policy: PublicPolicy,
    names: impl Fn(&str) -> std::io::Result<Vec<IpAddr>> + Send + Sync + 'static,
) -> Egress {
    Egress::with_resolver(Policy::Public(policy), Arc::new(Names(names)))
}
