//! Puts exchanges, queues, policies and users into the broker, and reports where they are missing.
//!
//! Needs no database: a fresh broker is set up before anything else runs.

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

/// Result for an object that only an administrator of the broker may create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Ensured,
    /// No password is configured, so the user cannot be created.
    NoPassword,
    /// The credential is not an administrator's. Existing objects keep working.
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
    /// `None` for the default virtual host, which always exists.
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

/// Creates missing objects, sets the policies, and grants permissions to the users whose passwords
/// are configured.
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

/// The broker answers 401, not 403, to a known user without administrator rights.
fn if_allowed(result: Result<(), ManagementError>) -> Result<Outcome, ManagementError> {
    match result {
        Ok(()) => Ok(Outcome::Ensured),
        Err(ManagementError::Refused { status: 401 | 403, .. }) => Ok(Outcome::NotAllowed),
        Err(other) => Err(other),
    }
}

/// Differences between the broker and the table; empty if the topology is complete.
pub async fn check_topology(broker: &config::Broker) -> Result<Vec<Difference>, TopologyError> {
    let topology = Topology::new(&broker.prefix, broker.timing())?;
    Ok(management(broker)?.check(&topology).await?)
}
