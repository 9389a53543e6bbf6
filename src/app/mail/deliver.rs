//! One attempt to send a mail: lease the row, send, record. No transaction is open while it is
//! sent.
//!
//! The lease lets one attempt run at a time over all processes, so that nothing is sent twice,
//! except where SMTP itself leaves doubt: if the relay's answer is lost, or the process dies
//! between that answer and its record, the mail is sent again, with the same `Message-ID`.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use secrecy::ExposeSecret;

use super::QUEUE;
use crate::{
    app::Gateway,
    broker::{
        envelope::{self, GivenUp, MailRef, Turn},
        route::Route,
    },
    egress::smtp::{Outgoing, Relay, SmtpError},
    fail_point::fail_point,
    mail::{
        MailKind, Token, budget,
        compose::{Announced, Contents, compose},
        recipient,
        schedule::{self, Reply},
        standing::{self, Refusal, Renewal, Standing},
    },
    merchant::secret::KeyRing,
    storage::{
        PgConnection, StorageError,
        mail::{self, Beginning, DueMail, MailRecord},
    },
    subscription::State,
    webhook::retry::{self, Admission, DeliveryState, Outcome, Ticket},
};

/// Longer than any attempt with its record takes.
const LEASE_SECONDS: i32 = 120;
/// Mails queued by one statement.
const RING_MAX: i64 = 200;
/// Tries to record an attempt: once sent, a mail whose record fails would be sent again.
const RECORDS_MAX: u32 = 6;
const RECORD_EVERY: Duration = Duration::from_secs(1);

/// The result of handling a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    Attempted(Outcome),
    /// It was not sent, and will not be.
    Dropped(Refusal),
    /// A copy of something done, or under way.
    Stale,
}

#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The message names no mail of ours. It can never be worked on.
    #[error("no such mail")]
    UnknownMail,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// An attempt that has its lease.
struct Attempt {
    mail: DueMail,
    turn: Turn,
    leased_until: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    /// The address that stops the reminders.
    unsubscribe: Option<String>,
}

enum Begun {
    Attempt(Box<Attempt>),
    Over(Handled),
}

impl Gateway {
    /// Queues mails whose next attempt is due. `true` if there may be more.
    pub async fn ring_mails(&self) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        let rung = mail::ring_due(&mut connection, QUEUE, RING_MAX).await?;
        if rung > 0 {
            self.relay_wake.notify_one();
        }
        Ok(i64::try_from(rung).is_ok_and(|rung| rung >= RING_MAX))
    }

    /// Handles one message.
    pub async fn deliver_mail(
        &self,
        relay: &Relay,
        message: &MailRef,
    ) -> Result<Handled, DeliverError> {
        let attempt = match self.begin_mail(message).await? {
            Begun::Attempt(attempt) => attempt,
            Begun::Over(handled) => {
                if let Handled::Dropped(reason) = handled {
                    metrics::counter!("mail_dropped_total", "reason" => reason.as_str())
                        .increment(1);
                    tracing::info!(mail.id = %message.mail_id, %reason, "a mail is not sent");
                }
                return Ok(handled);
            }
        };
        fail_point("mail.begun");
        let started = Instant::now();
        let sent = self.hand_over(relay, &attempt).await;
        let took = started.elapsed();
        fail_point("mail.sent");
        let (outcome, record) = recorded(&attempt, sent, took);
        let is_first = self.record_mail(&attempt, outcome, &record).await?;
        fail_point("mail.recorded");
        if !is_first {
            tracing::warn!(mail.id = %record.id, "a mail's lease ended before its attempt; it may arrive twice");
            return Ok(Handled::Stale);
        }
        count(outcome, took, &attempt, &record);
        if record.next.is_some() {
            self.relay_wake.notify_one();
        }
        Ok(Handled::Attempted(outcome))
    }

    async fn begin_mail(&self, message: &MailRef) -> Result<Begun, DeliverError> {
        let mut tx = self.db.begin().await?;
        let found = mail::lock(&mut tx, message.mail_id).await?;
        let mail = found.ok_or(DeliverError::UnknownMail)?;
        let ticket = Ticket { cycle: message.cycle, attempt: message.attempt };
        let turn = match retry::admit(mail.progress(), ticket) {
            Admission::Attempt { cycle, attempt } if !mail.is_leased => Turn { cycle, attempt },
            Admission::Attempt { .. } | Admission::Stale => return Ok(Begun::Over(Handled::Stale)),
        };
        let expires_at = expiry(&mail, turn);
        if let Some(reason) = self.refused(&mut tx, &mail, expires_at).await? {
            mail::drop_unsent(&mut tx, mail.id, reason).await?;
            tx.commit().await.map_err(StorageError::from)?;
            return Ok(Begun::Over(Handled::Dropped(reason)));
        }
        let unsubscribe = self.unsubscribe_url(&mut tx, &mail).await?;
        let (id, lease_seconds) = (mail.id, LEASE_SECONDS);
        let Turn { cycle, attempt } = turn;
        let beginning = Beginning { id, cycle, attempt, lease_seconds, expires_at };
        let leased_until = mail::begin(&mut tx, beginning).await?;
        tx.commit().await.map_err(StorageError::from)?;
        let attempt = Attempt { mail, turn, leased_until, expires_at, unsubscribe };
        Ok(Begun::Attempt(Box::new(attempt)))
    }

    /// The reason not to send a mail. One that was counted before is not counted again: its budgets
    /// are for mails, not for attempts.
    async fn refused(
        &self,
        tx: &mut PgConnection,
        mail: &DueMail,
        expires_at: DateTime<Utc>,
    ) -> Result<Option<Refusal>, StorageError> {
        let refusal = standing::refusal(&standing_of(mail, expires_at));
        if refusal.is_some() || mail.is_counted {
            return Ok(refusal);
        }
        let limits = self.config.mail.budget();
        // Always in this order, so that no two attempts wait for one another.
        if let Some(link) = mail.link.map(budget::of_link)
            && !mail::take_budget(tx, &link, limits.per_link.into()).await?
        {
            return Ok(Some(Refusal::LinkBudget));
        }
        let recipient: Result<[u8; 32], _> = mail.recipient.as_slice().try_into();
        let recipient = recipient.map_err(|_| StorageError::damaged("mail", "its recipient"))?;
        let address = budget::of_address(&recipient);
        let free = mail::take_budget(tx, &address, limits.per_address.into()).await?;
        Ok((!free).then_some(Refusal::AddressBudget))
    }

    /// Each attempt has a token of its own: one that was sent is known by its hash alone.
    async fn unsubscribe_url(
        &self,
        tx: &mut PgConnection,
        mail: &DueMail,
    ) -> Result<Option<String>, StorageError> {
        let Some(subscription) = mail.subscription.filter(|_| mail.kind == MailKind::Reminder)
        else {
            return Ok(None);
        };
        let token = Token::generate();
        mail::insert_token(tx, &token.sha256(), subscription).await?;
        let checkout = self.config.checkout_url.trim_end_matches('/');
        Ok(Some(format!("{checkout}/unsubscribe/{}", token.reveal())))
    }

    async fn hand_over(&self, relay: &Relay, attempt: &Attempt) -> Result<(), SmtpError> {
        let mail = &attempt.mail;
        let (Some(address), Some(contents)) = (&mail.address, contents(mail, &self.master_keys))
        else {
            return Err(SmtpError::Unwritable);
        };
        // Whoever can write this row must not be able to send a stranger an address of his own, nor
        // to count the mail to another recipient.
        let origin = match mail.kind {
            MailKind::Invitation => &self.config.dashboard_url,
            MailKind::Receipt | MailKind::Reminder | MailKind::Announcement => {
                &self.config.checkout_url
            }
        };
        let origin = format!("{}/", origin.trim_end_matches('/'));
        let is_ours = contents.url().is_none_or(|url| url.starts_with(&origin));
        if !is_ours || recipient(address).as_slice() != mail.recipient {
            return Err(SmtpError::Unwritable);
        }
        let unsubscribe = attempt.unsubscribe.as_deref();
        let letter = compose(&contents, mail.language, unsubscribe);
        let outgoing = Outgoing {
            id: &mail.id.simple().to_string(),
            to: address,
            date: mail.now,
            subject: &letter.subject,
            text: letter.text,
            html: letter.html,
            unsubscribe,
        };
        relay.send(outgoing).await
    }

    /// Records an attempt, with several tries. `false` if its lease has ended.
    async fn record_mail(
        &self,
        attempt: &Attempt,
        outcome: Outcome,
        record: &MailRecord,
    ) -> Result<bool, StorageError> {
        let mut tries = 1;
        loop {
            match self.record_mail_once(attempt, outcome, record).await {
                Err(error) if tries < RECORDS_MAX => {
                    tracing::debug!(%error, mail.id = %record.id, "the record is tried again");
                    tries += 1;
                    tokio::time::sleep(RECORD_EVERY).await;
                }
                recorded => return recorded,
            }
        }
    }

    async fn record_mail_once(
        &self,
        attempt: &Attempt,
        outcome: Outcome,
        record: &MailRecord,
    ) -> Result<bool, StorageError> {
        let mut tx = self.db.begin().await?;
        let is_first = mail::record(&mut tx, record).await?;
        match outcome {
            Outcome::Delivered => mail::forgive(&mut tx, &attempt.mail.recipient).await?,
            Outcome::Dropped => mail::bounce(&mut tx, &attempt.mail.recipient).await?,
            Outcome::RetryLater | Outcome::Dead => {}
        }
        if is_first {
            tx.commit().await.map_err(StorageError::from)?;
        }
        Ok(is_first)
    }
}

/// The end of a mail's time. An operator who requeues a dead mail wants it sent; a reminder of a
/// day that is over is no news, and an invitation ends with the address that it tells.
fn expiry(mail: &DueMail, turn: Turn) -> DateTime<Utc> {
    let ends_by_itself = matches!(mail.kind, MailKind::Reminder | MailKind::Invitation);
    if turn.cycle > mail.cycle && !ends_by_itself {
        mail.now + schedule::lifetime(mail.kind)
    } else {
        mail.expires_at
    }
}

fn standing_of(mail: &DueMail, expires_at: DateTime<Utc>) -> Standing {
    let renewal = mail.renewal_cycle.map(|cycle| Renewal {
        cycle: cycle.unsigned_abs(),
        covered: mail.covered.unwrap_or_default().unsigned_abs(),
        is_over: mail
            .subscription_state
            .is_none_or(|state| matches!(state, State::Cancelled | State::Ended)),
        is_unsubscribed: mail.is_unsubscribed.unwrap_or_default(),
    });
    Standing {
        kind: mail.kind,
        is_expired: mail.now >= expires_at,
        bounces: mail.bounces,
        is_suspended: mail.is_suspended,
        renewal,
        is_withdrawn: mail.is_withdrawn,
    }
}

/// The facts of a mail: those that were stored with it, or the announcement itself, of which
/// nothing is stored with the mail. `None` if the row does not fit its kind, or its seal is not
/// ours.
fn contents(mail: &DueMail, keys: &KeyRing) -> Option<Contents> {
    if mail.kind == MailKind::Announcement {
        let title = mail.title.clone()?;
        let body = mail.body.clone().unwrap_or_default();
        return Some(Contents::Announcement(Announced { title, body }));
    }
    let mut contents: Contents = serde_json::from_str(mail.contents.as_deref()?).ok()?;
    if let Contents::Invitation(invitation) = &mut contents {
        let sealed = hex::decode(&invitation.sealed_url).ok()?;
        let url = keys.open_invitation(mail.subject, &sealed)?;
        url.expose_secret().clone_into(&mut invitation.url);
    }
    (contents.kind() == mail.kind).then_some(contents)
}

/// The outcome of an attempt and its record, with the dead letter that follows from it.
fn recorded(
    attempt: &Attempt,
    sent: Result<(), SmtpError>,
    took: Duration,
) -> (Outcome, MailRecord) {
    let (mail, turn) = (&attempt.mail, attempt.turn);
    let left = (attempt.expires_at - mail.now).to_std().unwrap_or_default();
    let outcome = match sent {
        Ok(()) => Outcome::Delivered,
        // Another attempt would write the same.
        Err(SmtpError::Unwritable) => Outcome::Dead,
        Err(SmtpError::Refused(code)) => {
            schedule::outcome(Reply::Refused(code), turn.attempt, left)
        }
        Err(SmtpError::NoMailbox(_)) => schedule::outcome(Reply::NoMailbox, turn.attempt, left),
        Err(SmtpError::TimedOut | SmtpError::NoAnswer) => {
            schedule::outcome(Reply::None, turn.attempt, left)
        }
    };
    let code = match sent {
        Err(SmtpError::Refused(code) | SmtpError::NoMailbox(code)) => i16::try_from(code).ok(),
        Ok(()) | Err(SmtpError::Unwritable | SmtpError::TimedOut | SmtpError::NoAnswer) => None,
    };
    let error = sent.err().map(|error| error.to_string());
    let (new_state, next) = match outcome {
        Outcome::Delivered => (DeliveryState::Delivered, None),
        Outcome::Dropped => (DeliveryState::Dropped, None),
        Outcome::RetryLater => (DeliveryState::RetryWait, None),
        Outcome::Dead => {
            // The parked message starts the next cycle, by whatever way it comes back.
            let next = MailRef::new(mail.id, Turn { cycle: turn.cycle + 1, attempt: 1 });
            let given_up = GivenUp::new(error.as_deref().unwrap_or("unknown"), code);
            let letter = envelope::encode_dead(&next, given_up);
            (DeliveryState::Dead, Some((Route::MailDead.as_str().to_owned(), letter)))
        }
    };
    let pause = schedule::pause_after(turn.attempt).as_secs();
    let record = MailRecord {
        id: mail.id,
        leased_until: attempt.leased_until,
        cycle: turn.cycle,
        attempt: turn.attempt,
        new_state,
        retry_in_seconds: i32::try_from(pause).unwrap_or(i32::MAX),
        started_at: mail.now,
        duration_ms: i32::try_from(took.as_millis()).unwrap_or(i32::MAX),
        code,
        error,
        next,
    };
    (outcome, record)
}

pub(crate) const OUTCOMES: [&str; 4] = ["delivered", "retry_later", "dropped", "dead"];

const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Delivered => OUTCOMES[0],
        Outcome::RetryLater => OUTCOMES[1],
        Outcome::Dropped => OUTCOMES[2],
        Outcome::Dead => OUTCOMES[3],
    }
}

fn count(outcome: Outcome, took: Duration, attempt: &Attempt, record: &MailRecord) {
    let result = outcome_name(outcome);
    metrics::counter!("mail_attempts_total", "outcome" => result).increment(1);
    metrics::histogram!("mail_attempt_seconds").record(took);
    tracing::info!(
        mail.id = %record.id, kind = %attempt.mail.kind, attempt = record.attempt, cycle = record.cycle,
        code = record.code, error = record.error, duration_ms = record.duration_ms, "mail attempt: {result}"
    );
}
