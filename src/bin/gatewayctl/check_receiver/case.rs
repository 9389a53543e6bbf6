//! The deliveries that a receiver is tried with, and the answers that they deserve.

use chrono::TimeDelta;
use http::StatusCode;
use serde_json::json;

use super::{
    Channel,
    post::{Pace, Post},
    sample::{Sender, escaped, rearranged},
};

/// Far more than any webhook of the gateway; receivers bound what they read.
const HUGE: usize = 8 * 1024 * 1024;
/// Copies of one event that are sent at the same time.
const AT_ONCE: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// 2xx: the gateway is told that the event arrived.
    Taken,
    /// 4xx: not genuine.
    Refused,
    /// 4xx or 5xx. A 4xx drops a payout webhook for good, so a receiver may well answer 500 to what
    /// it cannot verify: a wrong secret of its own then loses nothing.
    NotTaken,
    /// 4xx or 5xx, or the connection ends.
    NotTakenOrCut,
}

impl Expected {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Taken => "2xx",
            Self::Refused => "4xx",
            Self::NotTaken => "4xx or 5xx",
            Self::NotTakenOrCut => "4xx, 5xx or cut",
        }
    }
}

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) expected: Expected,
    /// What to do if it fails.
    pub(super) hint: &'static str,
    /// Sent at the same time.
    pub(super) posts: Vec<Post>,
}

/// Returns what is wrong with an answer, if anything is.
pub(super) fn fault(expected: Expected, status: &Result<StatusCode, String>) -> Option<String> {
    let status = match status {
        Ok(status) => *status,
        Err(_) if expected == Expected::NotTakenOrCut => return None,
        Err(reason) => return Some(reason.clone()),
    };
    if status.is_redirection() {
        return Some(format!("answered {}, and the gateway follows no redirect", status.as_u16()));
    }
    let is_right = match expected {
        Expected::Taken => status.is_success(),
        Expected::Refused => status.is_client_error(),
        Expected::NotTaken | Expected::NotTakenOrCut => {
            status.is_client_error() || status.is_server_error()
        }
    };
    (!is_right).then(|| format!("answered {} instead of {}", status.as_u16(), expected.words()))
}

const TAKE: &str = "A genuine event needs a 2xx, else it is sent again and at last given up.";
const VERIFY: &str = "Compare the signature over the raw bytes in constant time before anything else, and answer 401 if it differs.";
const AGE: &str = "Refuse an event whose time of signing is more than ten minutes away: somebody may have recorded it.";
const RAW: &str =
    "Verify the bytes as they were received. Parsing and serialising again gives other bytes.";

/// All cases, in the order in which they are sent.
pub(super) fn all(sender: &Sender) -> Vec<Case> {
    [genuine(sender), forged(sender), rough(sender)].into_iter().flatten().collect()
}

fn taken(name: &'static str, hint: &'static str, posts: Vec<Post>) -> Case {
    Case { name, expected: Expected::Taken, hint, posts }
}

/// All of which the gateway may send.
fn genuine(sender: &Sender) -> Vec<Case> {
    let event = sender.event(1);
    let post = sender.deliver(&event);
    let mut grown = sender.event(3);
    grown["added_later"] = json!({ "deep": [1, "two", null] });
    let spoken = sender.event(5);
    let mut cases = vec![
        taken("a genuine event", TAKE, vec![post.clone()]),
        taken(
            "the same once more",
            "Answer 2xx to an event that you have, and do nothing: an answer can be lost on its way.",
            vec![post.clone()],
        ),
        taken(
            "the same five times at once",
            "Store the event under a unique key in the transaction that acts on it; a copy that loses the race is answered 2xx.",
            vec![sender.deliver(&sender.event(2)); AT_ONCE],
        ),
        taken(
            "an event of the same payment that comes late",
            "Notices and earlier states may come after the end. Answer 2xx, and let no older state replace a newer one.",
            vec![sender.deliver(&sender.side_event(1))],
        ),
        taken(
            "fields that were added later",
            "Ignore the fields that you do not know; more may be added.",
            vec![sender.deliver(&grown)],
        ),
        taken(
            "another order of the keys, and spaces",
            RAW,
            vec![sender.deliver_bytes(&sender.event(4), rearranged(&sender.event(4)))],
        ),
        taken("letters as escapes", RAW, vec![sender.deliver_bytes(&spoken, escaped(&spoken))]),
        taken(
            "a slow sender",
            "Read the body to its end, however slowly it comes, and verify it then.",
            vec![Post { pace: Pace::Slow, ..sender.deliver(&sender.event(6)) }],
        ),
    ];
    cases.extend(sender.reminder(1).map(|reminder| {
        taken(
            "a reminder of a renewal, which ships nothing",
            "Answer 2xx, mail renewal_url to the subscriber and ship nothing: the status is that of the payment before.",
            vec![sender.deliver(&reminder)],
        )
    }));
    cases
}

/// What a stranger may send. Each would be a genuine event but for one thing.
fn forged(sender: &Sender) -> Vec<Case> {
    let event = sender.event(7);
    let bytes = || event.to_string().into_bytes();
    let with = |signature| sender.deliver_with(&event, bytes(), signature);
    let own = sender.signature(sender.channel, &bytes());
    let mut dearer = bytes();
    dearer.push(b' ');
    let old = sender.at(event.clone(), "old", TimeDelta::hours(1));
    let early = sender.at(event.clone(), "early", TimeDelta::hours(-1));
    let expected = match sender.channel {
        Channel::Ipn => Expected::Refused,
        Channel::Payout => Expected::NotTaken,
    };
    let refused = |name, hint, post| Case { name, expected, hint, posts: vec![post] };
    vec![
        refused("no signature", VERIFY, with(None)),
        refused("an empty signature", VERIFY, with(Some(String::new()))),
        refused("half of the signature", VERIFY, with(Some(own[..own.len() / 2].to_owned()))),
        refused("the signature of another secret", VERIFY, with(Some(sender.stranger(&bytes())))),
        refused(
            "one byte more than was signed",
            VERIFY,
            sender.deliver_with(&event, dearer, Some(own.clone())),
        ),
        refused(
            "the other channel's algorithm",
            "Each channel has its own algorithm: HMAC-SHA-512 for payment IPNs, HMAC-SHA-256 for mass payouts.",
            with(Some(sender.signature(sender.channel.other(), &bytes()))),
        ),
        refused(
            "the other channel's header",
            "Take the signature from this channel's own header only, at an address of its own.",
            sender.by_the_other_channel(&event),
        ),
        refused("signed an hour ago", AGE, sender.deliver(&old)),
        refused("signed in an hour", AGE, sender.deliver(&early)),
    ]
}

/// What takes a receiver down, and whether it still answers.
fn rough(sender: &Sender) -> Vec<Case> {
    let event = sender.event(8);
    let huge = sender.deliver_with(&event, vec![b' '; HUGE], Some(sender.stranger(b"")));
    vec![
        Case {
            name: "eight megabytes of nothing",
            expected: Expected::NotTakenOrCut,
            hint: "Bound the body that you read, to 1 MB for instance, and answer 413 beyond it.",
            posts: vec![huge],
        },
        taken(
            "a genuine event after all that",
            "The receiver has to go on after an attack: a forged request must not end it.",
            vec![sender.deliver(&event)],
        ),
    ]
}
