//! `gatewayctl doctor`: one table of all faults.

use clap::Args;
use gateway::{
    app::{
        Gateway,
        operator::doctor::{Finding, Health},
    },
    asset::Network,
    config::{Config, Part},
};
use serde_json::{Value, json};

use crate::{
    network,
    render::{self, Answer, Cell, Tone},
};

#[derive(Args)]
pub struct Doctor {
    /// Only checks of this network, with a grade of its nodes; it need not be enabled yet
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Option<Network>,
}

impl Doctor {
    pub async fn run(self) -> anyhow::Result<Answer> {
        let gateway = Gateway::unchecked(Config::load_for(Part::Rows)?)?;
        let findings = gateway.doctor(self.network).await;
        let broken = findings.iter().filter(|f| f.health == Health::Broken).count();
        let checks: Vec<_> = findings.iter().map(to_json).collect();
        let json = json!({ "ok": broken == 0, "checks": checks });
        let rows: Vec<_> = findings.iter().map(line).collect();
        let mut text = render::table(&["check", "state", "what was found"], &rows);
        for finding in &findings {
            if let Some(advice) = &finding.advice {
                text = format!("{text}\n{}: {advice}", finding.check);
            }
        }
        let answer = Answer::new(json, text);
        Ok(if broken == 0 { answer } else { answer.bad() })
    }
}

fn line(finding: &Finding) -> Vec<Cell> {
    let tone = match finding.health {
        Health::Ok => Tone::Good,
        Health::Doubtful => Tone::Doubtful,
        Health::Broken => Tone::Bad,
    };
    vec![
        Cell::from(&finding.check),
        Cell::toned(finding.health.as_str(), tone),
        Cell::from(&finding.detail),
    ]
}

fn to_json(finding: &Finding) -> Value {
    let mut json = finding.facts.clone();
    json.insert("check".into(), finding.check.as_str().into());
    json.insert("state".into(), finding.health.as_str().into());
    json.insert("detail".into(), finding.detail.as_str().into());
    json.insert("advice".into(), finding.advice.clone().into());
    Value::Object(json)
}
