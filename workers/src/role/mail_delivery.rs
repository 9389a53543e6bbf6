//! Sends mails to buyers by the operator's relay. While mails are off it waits for its stop.

use std::{sync::Arc, time::Duration};

use gateway::{
    app::{Gateway, mail::deliver::DeliverError},
    broker::{
        envelope::{self, MailRef},
        route::WorkQueue,
    },
    egress::smtp::{CONNECTIONS_MAX, Relay},
    storage::StorageError,
};

use crate::{
    Agent,
    consume::{Answer, Handler, Work, consume},
    patience::{pause, with_causes},
};

const RING_EVERY: Duration = Duration::from_secs(1);
const RING_LIMIT: Duration = Duration::from_secs(20);
const PART: &str = "mail-delivery.ring";

struct Mailer {
    gateway: Arc<Gateway>,
    relay: Relay,
}

impl Handler for Mailer {
    async fn handle(&self, body: &[u8]) -> Result<Answer, StorageError> {
        let message: MailRef = match envelope::decode(body) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "a mail's message cannot be read");
                return Ok(Answer::Reject);
            }
        };
        match self.gateway.deliver_mail(&self.relay, &message).await {
            Ok(_) => Ok(Answer::Ack),
            Err(DeliverError::Storage(error)) => Err(error),
            Err(error @ DeliverError::UnknownMail) => {
                tracing::error!(%error, mail.id = %message.mail_id, "a mail cannot be sent");
                Ok(Answer::Reject)
            }
        }
    }
}

pub async fn run(agent: &Agent) {
    let Some(settings) = agent.gateway.config.mail.relay() else {
        tracing::info!("mails are off (mail.enabled); the role waits");
        return agent.stop.cancelled().await;
    };
    let relay = match Relay::new(&settings) {
        Ok(relay) => relay,
        Err(error) => {
            agent.readiness.set(PART, false);
            tracing::error!(error = with_causes(&error), "the mail relay cannot be used");
            return agent.stop.cancelled().await;
        }
    };
    let queue = agent.gateway.topology.work_queue(WorkQueue::Mail);
    let work = Work { queue, prefetch: CONNECTIONS_MAX };
    let handler = Arc::new(Mailer { gateway: agent.gateway.clone(), relay });
    tokio::join!(consume(agent, &work, handler), ring(agent));
}

/// Any number of copies may run: each due mail is queued by one.
async fn ring(agent: &Agent) {
    while !agent.stop.is_cancelled() {
        let rung = tokio::time::timeout(RING_LIMIT, agent.gateway.ring_mails()).await;
        match rung.unwrap_or(Err(StorageError::TimedOut)) {
            Ok(more) => {
                agent.readiness.set(PART, true);
                if more {
                    continue;
                }
            }
            Err(error) => {
                agent.readiness.set(PART, false);
                tracing::warn!(error = with_causes(&error), "due mails could not be queued");
            }
        }
        pause(&agent.stop, RING_EVERY).await;
    }
}
