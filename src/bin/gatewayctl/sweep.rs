//! `gatewayctl sweep …`

use std::{path::PathBuf, time::Duration};

use clap::{ArgGroup, Args, Subcommand};
use gateway::{
    app::{
        Gateway,
        sweep::{Planned, Progress, Skipped},
    },
    asset::Network,
    config::ChainSourceKind,
    sweep::is_plan_id,
};
use serde_json::{Value, json};

use crate::{
    failure::wrong_usage,
    network, open,
    render::{self, Answer, Cell},
    sweep_files,
    sweep_shown::{self, decimal},
    sweep_sign::{GasPayer, Sign},
    sweep_words,
};

/// Time between two looks at the nodes.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Looks that may fail one after another: a node that restarts is waited for.
const FAILURES_MAX: u32 = 30;

#[derive(Subcommand)]
pub enum Sweep {
    /// Plan everything that can be collected now, and write the plan to a file
    #[command(after_help = sweep_words::PLAN)]
    Plan(Plan),
    /// Sign a plan where the cold seed is; needs no server and no network
    #[command(after_help = sweep_words::SIGN)]
    Sign(Sign),
    /// Store the signed bytes, send them, and follow them until they are final
    #[command(after_help = sweep_words::SEND)]
    Send(Send),
    /// Show plans and where their transactions stand
    #[command(after_help = sweep_words::STATUS)]
    Status(Status),
    /// Print the wallet that pays the gas of tokens at addresses without coins
    #[command(after_help = sweep_words::GAS_PAYER)]
    GasPayer(GasPayer),
    /// Give up a plan that was not sent, so that another may have its coins
    #[command(after_help = sweep_words::DROP)]
    Drop(Id),
}

#[derive(Args)]
pub struct Plan {
    /// A network; repeat it for more. Without it, all with a node and an address of the treasury
    #[arg(long = "network", value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    networks: Vec<Network>,
    /// Most outputs, or accounts of each asset, to take on a network; the largest first
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..=5_000))]
    limit: u16,
    /// Write the file of this stored plan again, and plan nothing
    #[arg(long, value_name = "ID", conflicts_with_all = ["networks", "limit"])]
    again: Option<String>,
    /// The file to write; it must not exist yet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Args)]
#[command(group = ArgGroup::new("what").required(true).args(["file", "id"]))]
pub struct Send {
    /// The file that gatewayctl sweep sign wrote
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Go on with a plan whose signed file was stored before
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Look once and end, instead of waiting until everything is final
    #[arg(long)]
    once: bool,
}

#[derive(Args)]
pub struct Status {
    /// One plan, with its transactions
    #[arg(value_name = "ID")]
    id: Option<String>,
}

#[derive(Args)]
pub struct Id {
    /// The plan's id, swp_…
    #[arg(value_name = "ID")]
    id: String,
}

impl Sweep {
    pub async fn run(self) -> anyhow::Result<Answer> {
        match self {
            Self::Plan(plan) => plan.run(&open().await?).await,
            Self::Sign(sign) => sign.run(),
            Self::Send(send) => send.run(&open().await?).await,
            Self::Status(status) => status.run(&open().await?).await,
            Self::GasPayer(wallet) => wallet.run(),
            Self::Drop(id) => id.run(&open().await?).await,
        }
    }
}

fn checked(id: &str) -> anyhow::Result<&str> {
    if is_plan_id(id) { Ok(id) } else { Err(wrong_usage("a plan's id is swp_ and 26 letters")) }
}

impl Plan {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        sweep_files::refuse_existing(&self.out)?;
        if let Some(id) = &self.again {
            let status = gateway.sweep_status(checked(id)?).await?;
            sweep_files::write(&self.out, &status.sweep.plan)?;
            let json = json!({ "plan_id": id, "file": self.out });
            return Ok(Answer::new(json, format!("{id} is written to {}.", self.out.display())));
        }
        let networks = if self.networks.is_empty() { followed(gateway)? } else { self.networks };
        let (planned, skipped) = gateway.plan_sweep(&networks, self.limit.into()).await?;
        let Some(planned) = planned else {
            let json =
                json!({ "plan_id": null, "transactions": [], "skipped": skipped_json(&skipped) });
            let text = format!("There is nothing to collect.\n{}", skipped_text(&skipped));
            return Ok(Answer::new(json, text));
        };
        if let Err(error) = sweep_files::write(&self.out, &planned.text) {
            let id = &planned.plan.id;
            return Err(error.context(format!(
                "the plan {id} is stored; write its file with gatewayctl sweep plan --again {id}"
            )));
        }
        Ok(self_answer(&planned, &self.out))
    }
}

/// The networks that can be collected here.
fn followed(gateway: &Gateway) -> anyhow::Result<Vec<Network>> {
    let is_ready = |network: &Network| {
        let is_node = gateway.config.chain(*network).source == ChainSourceKind::Node;
        is_node && gateway.config.pinned(*network).is_ok()
    };
    let networks: Vec<_> = Network::ALL.into_iter().filter(is_ready).collect();
    if networks.is_empty() {
        let why = "no network has both a node and an address in section treasury; docs/collecting.md says how to set them";
        return Err(anyhow::anyhow!(why));
    }
    Ok(networks)
}

fn self_answer(planned: &Planned, out: &std::path::Path) -> Answer {
    let json = json!({
        "plan_id": planned.plan.id,
        "file": out,
        "transactions": sweep_shown::transactions(&planned.plan),
        "skipped": skipped_json(&planned.skipped),
    });
    let text = format!(
        "{}\n{}\nThe plan {} is in {}. Carry it to the machine with the seed: gatewayctl sweep sign.",
        sweep_shown::totals(&planned.plan),
        skipped_text(&planned.skipped),
        planned.plan.id,
        out.display()
    );
    Answer::new(json, text)
}

fn skipped_json(skipped: &[Skipped]) -> Value {
    let row = |one: &Skipped| {
        json!({
            "network": one.network.name(), "asset": one.asset, "places": one.places,
            "amount": decimal(&one.asset, one.amount), "reason": one.reason.text(),
            "named": one.named,
        })
    };
    skipped.iter().map(row).collect()
}

fn skipped_text(skipped: &[Skipped]) -> String {
    if skipped.is_empty() {
        return String::new();
    }
    let rows = skipped.iter().map(|one| {
        vec![
            Cell::from(&one.asset),
            decimal(&one.asset, one.amount).into(),
            if one.places == 0 { "-".into() } else { one.places.to_string().into() },
            one.reason.text().into(),
        ]
    });
    let mut text = String::from("\n");
    text += &render::table(&["stays", "amount", "places", "because it"], &rows.collect::<Vec<_>>());
    for one in skipped.iter().filter(|one| !one.named.is_empty()) {
        text += &format!("\nThis {} {}:\n", one.asset, one.reason.text());
        for name in &one.named {
            text += &format!("  {}\n", render::clean(name, render::Lines::Join));
        }
    }
    text
}

impl Send {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let id = match (&self.file, &self.id) {
            (Some(file), _) => gateway.accept_sweep(&sweep_files::read(file)?).await?,
            (None, Some(id)) => checked(id)?.to_owned(),
            (None, None) => return Err(wrong_usage("name the signed file, or --id")),
        };
        let progress = self.follow(gateway, &id).await?;
        let status = gateway.sweep_status(&id).await?;
        let json = sweep_shown::status_json(&status);
        let text = format!("{}\n{}", sweep_shown::status_text(&status), ended(&id, progress));
        let answer = Answer::new(json, text);
        Ok(if progress.failed > 0 { answer.bad() } else { answer })
    }

    async fn follow(&self, gateway: &Gateway, id: &str) -> anyhow::Result<Progress> {
        let mut failures = 0;
        loop {
            match gateway.advance_sweep(id).await {
                Ok(progress) if progress.open == 0 || self.once => return Ok(progress),
                Ok(_) => failures = 0,
                Err(error) if self.once || failures >= FAILURES_MAX => return Err(error.into()),
                Err(_) => failures += 1,
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

fn ended(id: &str, progress: Progress) -> String {
    match progress {
        Progress { open: 0, failed: 0, .. } => "All of it is final and booked.".to_owned(),
        Progress { open: 0, failed, .. } => {
            format!("{failed} failed and moved nothing; plan their coins again.")
        }
        Progress { open, .. } => {
            format!("{open} are not final yet: gatewayctl sweep send --id {id}")
        }
    }
}

impl Status {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        const LISTED_MAX: i64 = 100;
        if let Some(id) = &self.id {
            let status = gateway.sweep_status(checked(id)?).await?;
            let text = sweep_shown::status_text(&status);
            return Ok(Answer::new(sweep_shown::status_json(&status), text));
        }
        let all = gateway.sweeps(LISTED_MAX).await?;
        let json: Value = all.iter().map(sweep_shown::status_json).collect();
        Ok(Answer::new(json, sweep_shown::list_text(&all)))
    }
}

impl Id {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let is_new = gateway.drop_sweep(checked(&self.id)?).await?;
        let id = &self.id;
        let text = if is_new {
            format!(
                "{id} is given up; its coins can be planned again. Destroy its signed file, if there is one."
            )
        } else {
            format!("{id} was given up before.")
        };
        Ok(Answer::new(json!({ "plan_id": id, "dropped": true }), text))
    }
}
