//! Putting exchanges, queues, policies and users where the broker needs them, and saying where they are not.
//!
//! Works without a database: a fresh broker is set up before anything else runs.

use std::fmt;

use crate::{
    broker::{
        management::{Difference, Management, ManagementError},
        topology::{InvalidPrefix, Role, Topology},
    },
    config,
};

/// The virtual host that every broker has.
const DEFAULT_VHOST: &str = "/";

#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    #[error(
        "GATEWAY_BROKER__MANAGEMENT_URL is not set (http://user:password@host:15672, a user with the tag policymaker)"
    )]
    NoManagement,
    #[error(transparent)]
    Prefix(#[from] InvalidPrefix),
    #[error(transparent)]
    Management(#[from] ManagementError),
}

/// What became of something that only an administrator of the broker may create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Ensured,
    /// No password is configured, so there is nothing to give the user.
    NoPassword,
    /// The credential is no administrator's. What exists already keeps working.
    NotAllowed,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ensured => "ensured",
            Self::NoPassword => "no_password",
            Self::NotAllowed => "not_allowed",
        })
    }
}

#[derive(Debug)]
pub struct AppliedTopology {
    pub vhost: String,
    /// `None` for the default one, which is always there.
    pub vhost_outcome: Option<Outcome>,
    pub exchanges: usize,
    pub queues: usize,
    pub policies: usize,
    pub users: Vec<(String, Outcome)>,
}

fn management(broker: &config::Broker) -> Result<Management, TopologyError> {
    let url = broker.management_url.as_ref().ok_or(TopologyError::NoManagement)?;
    Ok(Management::new(url, &broker.vhost)?)
}

/// Creates what is missing, sets the policies, and gives the users whose passwords are configured their rights.
pub async fn apply_topology(broker: &config::Broker) -> Result<AppliedTopology, TopologyError> {
    let management = management(broker)?;
    let topology = Topology::new(&broker.prefix, broker.timing())?;
    let vhost_outcome = if broker.vhost == DEFAULT_VHOST {
        None
    } else {
        Some(if_allowed(management.ensure_vhost().await)?)
    };
    management.apply(&topology).await?;
    let passwords = [
        (Role::Application, &broker.application_password),
        (Role::Operator, &broker.operator_password),
        (Role::Topology, &broker.topology_password),
    ];
    let mut users = Vec::with_capacity(passwords.len());
    for (role, password) in passwords {
        let user = topology.user(role);
        let outcome = match password {
            Some(password) => if_allowed(management.ensure_user(&user, password).await)?,
            None => Outcome::NoPassword,
        };
        users.push((user.name, outcome));
    }
    Ok(AppliedTopology {
        vhost: broker.vhost.clone(),
        vhost_outcome,
        exchanges: topology.exchanges().len(),
        queues: topology.queues().len(),
        policies: topology.policies().len(),
        users,
    })
}

/// The broker says 401, not 403, to a user who is known but is no administrator.
fn if_allowed(result: Result<(), ManagementError>) -> Result<Outcome, ManagementError> {
    match result {
        Ok(()) => Ok(Outcome::Ensured),
        Err(ManagementError::Refused { status: 401 | 403, .. }) => Ok(Outcome::NotAllowed),
        Err(other) => Err(other),
    }
}

/// Where the broker differs from the table; empty if every message finds its way.
pub async fn check_topology(broker: &config::Broker) -> Result<Vec<Difference>, TopologyError> {
    let topology = Topology::new(&broker.prefix, broker.timing())?;
    Ok(management(broker)?.check(&topology).await?)
}
