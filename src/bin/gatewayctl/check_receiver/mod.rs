//! `gatewayctl check-receiver`: plays the gateway and its enemies against a merchant's receiver of
//! webhooks, and grades it.
//!
//! It sees only what the receiver answers. Whether an event that came twice was acted on once is
//! for the merchant to look up, and the text says so.

mod case;
mod post;
mod sample;

use std::time::Duration;

use anyhow::bail;
use gateway::webhook::{ipn, payout};
use serde_json::{Value, json};

use self::{
    case::{Case, Expected},
    post::{Answered, Client},
    sample::Sender,
};
use crate::{
    failure::wrong_usage,
    render::{self, Answer, Cell, Tone},
};

#[derive(clap::Args)]
pub struct Args {
    /// The address to which the gateway sends the webhooks
    url: String,
    /// The merchant's webhook secret, as the receiver has it
    #[arg(long, env = "WEBHOOK_SECRET", hide_env_values = true)]
    secret: String,
    /// The webhooks that the receiver takes
    #[arg(long, value_enum, default_value_t = Channel::Ipn)]
    channel: Channel,
    /// The `order_id` of the samples, for a receiver that refuses orders it does not know
    #[arg(long, default_value = "check-receiver")]
    order_id: String,
}

/// The two channels sign in different ways, so a receiver takes one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Channel {
    /// Payment IPNs: `x-gateway-sig`, HMAC-SHA-512
    Ipn,
    /// Webhooks of mass payouts: `X-Gateway-Signature`, HMAC-SHA-256
    Payout,
}

impl Channel {
    /// Time within which the gateway wants an answer.
    const fn patience(self) -> Duration {
        match self {
            Self::Ipn => gateway::webhook::retry::IPN.timeout,
            Self::Payout => gateway::webhook::retry::PAYOUT.timeout,
        }
    }

    const fn signature_header(self) -> &'static str {
        match self {
            Self::Ipn => ipn::SIGNATURE_HEADER,
            Self::Payout => payout::SIGNATURE_HEADER,
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Ipn => Self::Payout,
            Self::Payout => Self::Ipn,
        }
    }
}

struct Graded {
    name: &'static str,
    expected: Expected,
    hint: &'static str,
    answers: Vec<Answered>,
    /// What is wrong; `None` for a pass.
    fault: Option<String>,
}

/// Sends every case and grades the answers. A receiver with a fault makes the exit code 1.
pub async fn run(args: Args) -> anyhow::Result<Answer> {
    let client = Client::to(&args.url, args.channel.patience())
        .map_err(|reason| wrong_usage(format!("{}: {reason}", args.url)))?;
    let sender = Sender::new(args.channel, args.secret.into(), args.order_id)?;
    let mut graded = Vec::new();
    for case in case::all(&sender) {
        let answers = client.post_all(&case.posts).await;
        if let (true, Some(Answered { status: Err(reason), .. })) =
            (graded.is_empty(), answers.first())
        {
            bail!("{} does not answer: {reason}. Start the receiver, then try again", args.url);
        }
        graded.push(grade(&case, answers));
    }
    let passed = graded.iter().filter(|one| one.fault.is_none()).count();
    let is_whole = passed == graded.len();
    let answer = Answer::new(as_json(&graded), as_text(&graded, passed));
    Ok(if is_whole { answer } else { answer.bad() })
}

fn grade(case: &Case, answers: Vec<Answered>) -> Graded {
    let Case { name, expected, hint, .. } = *case;
    let fault = answers.iter().find_map(|answer| case::fault(expected, &answer.status));
    Graded { name, expected, hint, answers, fault }
}

impl Graded {
    /// The answer that decided, or the slowest of good ones.
    fn shown(&self) -> Option<&Answered> {
        let is_bad = |answer: &&Answered| case::fault(self.expected, &answer.status).is_some();
        let slowest = self.answers.iter().max_by_key(|answer| answer.took);
        self.answers.iter().find(is_bad).or(slowest)
    }
}

fn as_json(graded: &[Graded]) -> Value {
    let case = |one: &Graded| {
        let shown = one.shown();
        json!({
            "case": one.name,
            "expected": one.expected.words(),
            "status": shown.and_then(|answer| answer.status.as_ref().ok()).map(|s| s.as_u16()),
            "milliseconds": shown.map(|answer| u64::try_from(answer.took.as_millis()).ok()),
            "passed": one.fault.is_none(),
            "fault": one.fault,
        })
    };
    json!({
        "passed": graded.iter().all(|one| one.fault.is_none()),
        "cases": graded.iter().map(case).collect::<Vec<_>>(),
    })
}

fn as_text(graded: &[Graded], passed: usize) -> String {
    let row = |one: &Graded| -> Vec<Cell> {
        let shown = one.shown();
        let status = shown.map_or_else(String::new, |answer| match &answer.status {
            Ok(status) => status.as_u16().to_string(),
            Err(reason) => reason.clone(),
        });
        let took = shown.map_or(0, |answer| answer.took.as_millis());
        let result = match one.fault {
            None => Cell::toned("pass", Tone::Good),
            Some(_) => Cell::toned("FAIL", Tone::Bad),
        };
        vec![
            result,
            one.name.into(),
            one.expected.words().into(),
            status.into(),
            Cell::quiet(format!("{took} ms")),
        ]
    };
    let rows: Vec<_> = graded.iter().map(row).collect();
    let mut text = render::table(&["result", "case", "expected", "answer", "time"], &rows);
    for one in graded {
        if let Some(fault) = &one.fault {
            text.push_str(&format!("\n{}: {fault}\n  {}\n", one.name, one.hint));
        }
    }
    let all = graded.len();
    text.push_str(&format!("\n{passed} of {all} passed"));
    if passed == all {
        text.push_str(
            ". What a status cannot show: look whether the receiver acted once on the payment that came several times",
        );
    }
    text
}
