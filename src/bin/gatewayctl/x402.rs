//! `gatewayctl x402 …`

use std::time::Duration;

use clap::{Args, Subcommand};
use gateway::{
    app::{
        Gateway,
        x402::{NetworkStanding, Standing},
    },
    asset::{Network, catalogue::Catalogue},
    money::BaseUnits,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    failure::wrong_usage,
    operator::Operator,
    render::{self, Answer, Cell, Tone},
    words::database,
};

/// Every token of x402 has as many.
const USDC_DECIMALS: u32 = 6;

const STATUS: &str = concat!(
    "\
The oldest payment that no block holds is shown by its age. The balance is asked of each network's node.

Examples:
  gatewayctl x402 status
  gatewayctl --json x402 status",
    database!()
);

const STOP: &str = concat!(
    "\
Payouts go on. Payments that are signed already continue; the others wait until their authorizations expire, which
takes minutes, and have paid nothing then. On one network: gatewayctl payouts stop --network, which stops both.

Example:
  gatewayctl x402 stop --reason 'a token is paused'",
    database!()
);

const RESUME: &str = concat!(
    "\
A stop of everything, or of one network, is ended by gatewayctl payouts resume.

Example:
  gatewayctl x402 resume",
    database!()
);

const GIVE_UP: &str = concat!(
    "\
For a payment that the alert x402_unexplained says stays open: its transaction is final and used the payer's nonce,
and no node shows the token's log of it. Look the transaction up elsewhere first. The network's nodes are asked
again: while any of them shows the payment, the balance of its address grew by it, or a deposit of it is known, it
stays open. Else it fails, its gas is booked, and the payer may sign another; if the log appears after all, the
deposit is booked as a payment without a settlement. The audit log keeps the name and the reason. Without --yes
it only prints the effect.

Examples:
  gatewayctl x402 give-up 0198c5e2-0000-7000-8000-000000000001
  gatewayctl x402 give-up 0198c5e2-0000-7000-8000-000000000001 --yes --reason 'no log on two explorers' --by ada",
    database!()
);

#[derive(Subcommand)]
pub enum X402 {
    /// Show payments that wait, stops, and the wallet that pays the gas
    #[command(after_help = STATUS)]
    Status,
    /// Sign no more payments of programs; payouts go on
    #[command(after_help = STOP)]
    Stop(Stop),
    /// Sign them again
    #[command(after_help = RESUME)]
    Resume,
    /// End a payment whose transaction shows neither that it paid nor that it failed
    #[command(after_help = GIVE_UP)]
    GiveUp(GiveUp),
}

#[derive(Args)]
pub struct Stop {
    /// Reason, shown to the operator that resumes
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Args)]
pub struct GiveUp {
    /// The settlement's id, which the alert names
    #[arg(value_name = "ID")]
    id: Uuid,
    /// How it is known that nothing was paid; needed with --yes
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// End it; without, only print the effect
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    by: Operator,
}

impl X402 {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::Status => {
                let standing = gateway.x402_standing().await?;
                Ok(Answer::new(to_json(&standing), to_text(&standing)))
            }
            Self::Stop(Stop { reason }) => {
                gateway.stop_x402(&reason).await?;
                let text = "No more payments of programs are signed. Those that are signed already continue.\n\
                            End it: gatewayctl x402 resume";
                Ok(Answer::new(json!({ "stopped": reason }), text))
            }
            Self::Resume => resume(gateway).await,
            Self::GiveUp(give_up) => give_up.run(gateway).await,
        }
    }
}

impl GiveUp {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let reason = self.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        let sure = match (self.yes, reason) {
            (true, Some(reason)) => Some((self.by.name()?, reason)),
            (true, None) => {
                let why = "say how it is known that nothing was paid: --reason TEXT";
                return Err(wrong_usage(why));
            }
            (false, _) => None,
        };
        let named = sure.as_ref().map(|(by, reason)| (by.as_str(), *reason));
        let found = gateway.give_up_x402(self.id, named).await?;
        let json = json!({
            "settlement": found.id, "network": found.network.name(), "payer": found.payer, "pay_to": found.pay_to,
            "amount_raw": found.amount.get().to_string(), "tx_hash": found.tx_hash, "height": found.height,
            "balance_compared": found.is_compared, "was_answered": found.was_answered, "given_up": sure.is_some(),
        });
        let balance = if found.is_compared {
            Cell::from("did not grow in that block")
        } else {
            let what = "not known any more: compare it by an explorer";
            Cell::toned(what, Tone::Doubtful)
        };
        let answered = if found.was_answered {
            Cell::toned("yes, so the seller may have delivered", Tone::Bad)
        } else {
            Cell::from("no")
        };
        let facts = render::facts(&[
            ("payer", Cell::from(&found.payer)),
            ("pays to", Cell::from(&found.pay_to)),
            ("amount", found.amount.to_decimal(USDC_DECIMALS).into()),
            ("transaction", format!("{} in block {}", found.tx_hash, found.height).into()),
            ("log of the token", Cell::from("none is shown")),
            ("balance of the address", balance),
            ("answered as settled", answered),
        ]);
        let end = if sure.is_some() {
            "It has failed, and its gas is booked. The payer may sign another."
        } else {
            "It would fail; nothing was changed. Do it with --yes --reason TEXT."
        };
        Ok(Answer::new(json, format!("{facts}\n{end}")))
    }
}

async fn resume(gateway: &Gateway) -> anyhow::Result<Answer> {
    let resumed = gateway.resume_x402().await?;
    let still = gateway.x402_stopped().await?;
    let json = json!({ "resumed": resumed, "stopped": still });
    let text = match (&still, resumed) {
        (Some(reason), _) => {
            format!(
                "Signing is still stopped everywhere ({reason}). End that: gatewayctl payouts resume"
            )
        }
        (None, true) => "Payments of programs are signed again.".to_owned(),
        (None, false) => "Payments of programs were not stopped.".to_owned(),
    };
    Ok(Answer::new(json, text))
}

fn to_json(standing: &Standing) -> Value {
    let network = |one: &NetworkStanding| {
        json!({
            "network": one.open.network,
            "offered": one.is_offered,
            "stopped": one.stopped,
            "verified": one.open.verified,
            "submitted": one.open.submitted,
            "in_block": one.open.in_block,
            "waits_seconds": one.open.waits_seconds,
            "gas_raw": one.gas_held.map(|held| held.get().to_string()),
        })
    };
    json!({
        "gas_wallet": standing.gas_wallet,
        "stopped": standing.stopped,
        "networks": standing.networks.iter().map(network).collect::<Value>(),
    })
}

fn to_text(standing: &Standing) -> String {
    let stopped = standing.stopped.as_ref().map_or_else(
        || Cell::from("no"),
        |reason| Cell::toned(format!("everywhere: {reason}"), Tone::Doubtful),
    );
    let facts = render::facts(&[
        ("gas wallet", render::or_dash(standing.gas_wallet.as_ref())),
        ("stopped", stopped),
    ]);
    if standing.networks.is_empty() {
        return format!("{facts}\nPrograms can pay on no network (x402.enabled, chains.*.source).");
    }
    let line = |one: &NetworkStanding| {
        let stopped = if one.is_offered {
            render::or_dash(one.stopped.as_ref())
        } else {
            Cell::toned("not offered any more", Tone::Bad)
        };
        let waits = one.open.waits_seconds;
        let waits = (waits > 0).then(|| format!("{:?}", Duration::from_secs(waits.unsigned_abs())));
        vec![
            Cell::from(&one.open.network),
            one.open.verified.to_string().into(),
            one.open.submitted.to_string().into(),
            one.open.in_block.to_string().into(),
            render::or_dash(waits),
            render::or_dash(one.gas_held.map(|held| coins(&one.open.network, held))),
            stopped,
        ]
    };
    let lines: Vec<_> = standing.networks.iter().map(line).collect();
    let heading =
        ["network", "verified", "signed", "in a block", "oldest", "gas wallet holds", "stopped"];
    format!("{facts}\n{}", render::table(&heading, &lines))
}

fn coins(network: &str, held: BaseUnits) -> String {
    let coin = network.parse::<Network>().ok().map(|network| Catalogue::get().native(network));
    coin.map_or_else(
        || held.get().to_string(),
        |coin| format!("{} {}", held.to_decimal(u32::from(coin.decimals)), coin.symbol),
    )
}
