//! Examinations that somebody asked for in the dashboard: the doctor works on while the request is
//! answered, and its findings are kept for whoever looks.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::doctor::Finding;
use crate::app::Gateway;
use crate::asset::Network;
use crate::storage::{
    StorageError,
    operator::examinations::{self, Examination},
};

/// The doctor bounds each of its looks; this bounds all of them together.
const LIMIT: Duration = Duration::from_secs(60);
/// An examination without a result is taken for lost after this time.
const LOST_SECONDS: i32 = 75;
/// The subject that stands for the whole installation.
const ALL: &str = "*";

/// A finding as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeptFinding {
    pub check: String,
    pub health: String,
    pub detail: String,
    pub advice: Option<String>,
    /// The height and the hash of the newest block that a node reports.
    pub head: Option<(u64, String)>,
}

/// The last examination with its findings; none while the first one works.
pub struct Examined {
    pub examination: Examination,
    pub findings: Vec<KeptFinding>,
}

fn subject(network: Option<Network>) -> &'static str {
    network.map_or(ALL, Network::name)
}

impl From<Finding> for KeptFinding {
    fn from(finding: Finding) -> Self {
        let height = finding.facts.get("height").and_then(serde_json::Value::as_u64);
        let hash = finding.facts.get("hash").and_then(|hash| hash.as_str());
        Self {
            head: height.zip(hash.map(ToOwned::to_owned)),
            check: finding.check,
            health: finding.health.as_str().to_owned(),
            detail: finding.detail,
            advice: finding.advice,
        }
    }
}

impl Gateway {
    /// Begins an examination of one network or of everything, in the background. `false` if one is
    /// at work already.
    pub async fn examine(
        self: &Arc<Self>,
        network: Option<Network>,
        by: &str,
    ) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        let subject = subject(network);
        let begun = examinations::begin(&mut connection, subject, by, LOST_SECONDS).await?;
        drop(connection);
        let Some(asked_at) = begun else { return Ok(false) };
        let gateway = self.clone();
        // A thread of its own: the compiler cannot prove that the doctor's futures may change it.
        let runtime = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            runtime.block_on(gateway.examine_now(network, asked_at));
        });
        Ok(true)
    }

    async fn examine_now(&self, network: Option<Network>, asked_at: DateTime<Utc>) {
        let findings: Vec<KeptFinding> =
            match tokio::time::timeout(LIMIT, self.doctor(network)).await {
                Ok(findings) => findings.into_iter().map(Into::into).collect(),
                Err(_) => vec![KeptFinding {
                    check: "doctor".to_owned(),
                    health: "broken".to_owned(),
                    detail: format!("did not finish within {} s", LIMIT.as_secs()),
                    advice: Some("gatewayctl doctor waits longer".to_owned()),
                    head: None,
                }],
            };
        let subject = subject(network);
        if let Err(error) = self.keep_findings(subject, asked_at, &findings).await {
            tracing::warn!(subject, %error, "the findings of the doctor were not kept");
        }
    }

    async fn keep_findings(
        &self,
        subject: &str,
        asked_at: DateTime<Utc>,
        findings: &[KeptFinding],
    ) -> Result<(), StorageError> {
        let text = serde_json::to_string(findings)
            .map_err(|error| StorageError::damaged("examination", error))?;
        let mut connection = self.db.connection().await?;
        examinations::finish(&mut connection, subject, asked_at, &text).await
    }

    /// The last examination of one network or of everything.
    pub async fn examined(
        &self,
        network: Option<Network>,
    ) -> Result<Option<Examined>, StorageError> {
        let mut connection = self.db.connection().await?;
        let found = examinations::last(&mut connection, subject(network), LOST_SECONDS).await?;
        let Some(examination) = found else { return Ok(None) };
        let findings = match &examination.findings {
            Some(text) => serde_json::from_str(text)
                .map_err(|error| StorageError::damaged("examination", error))?,
            None => Vec::new(),
        };
        Ok(Some(Examined { examination, findings }))
    }
}
