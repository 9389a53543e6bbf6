//! `gatewayctl reports …`

use clap::{Args, Subcommand};
use gateway::{
    app::{
        Gateway,
        accounting::report::{self, Built},
    },
    invoice::payment::iso_8601,
    storage::reports::ReportRow,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    render::{self, Answer},
    words::database,
};

#[derive(Subcommand)]
pub enum Reports {
    /// Make the report of a month that is over; one that exists stays as it is
    #[command(after_help = BUILD)]
    Build(Build),
    /// List the reports, the newest month first
    #[command(after_help = LIST)]
    List(List),
    /// Show the balances and movements of one report
    #[command(after_help = SHOW)]
    Show(Show),
}

const BUILD: &str = concat!(
    "\
The role reporter makes every report by itself; this is for one that it could not make.
A month is over ten minutes after its end.

Examples:
  gatewayctl reports build --month 2026-01
  gatewayctl --json reports build --month 2026-01 --merchant 0192f0c1-2a3b-7c4d-8e5f-0123456789ab",
    database!()
);

const LIST: &str = concat!(
    "\
Examples:
  gatewayctl reports list
  gatewayctl --json reports list --merchant 0192f0c1-2a3b-7c4d-8e5f-0123456789ab",
    database!()
);

const SHOW: &str = concat!(
    "\
Example:
  gatewayctl reports show --merchant 0192f0c1-2a3b-7c4d-8e5f-0123456789ab --month 2026-01",
    database!()
);

#[derive(Args)]
pub struct Build {
    /// The month, such as 2026-01
    #[arg(long, value_name = "YYYY-MM")]
    month: String,
    /// Only for this merchant; all without it
    #[arg(long, value_name = "ID")]
    merchant: Option<Uuid>,
}

#[derive(Args)]
pub struct List {
    /// Only those of this merchant
    #[arg(long, value_name = "ID")]
    merchant: Option<Uuid>,
}

#[derive(Args)]
pub struct Show {
    /// The merchant's id
    #[arg(long, value_name = "ID")]
    merchant: Uuid,
    /// The month, such as 2026-01
    #[arg(long, value_name = "YYYY-MM")]
    month: String,
}

impl Reports {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::Build(build) => build.run(gateway).await,
            Self::List(List { merchant }) => Ok(list(&gateway.reports(merchant).await?)),
            Self::Show(Show { merchant, month }) => {
                let found = gateway.report(merchant, &month).await?;
                let none = || anyhow::anyhow!("merchant {merchant} has no report of {month}");
                show(&found.ok_or_else(none)?)
            }
        }
    }
}

impl Build {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let month = &self.month;
        let made = match self.merchant {
            Some(merchant) => {
                usize::from(gateway.build_report(merchant, month).await? == Built::Made)
            }
            None => gateway.build_reports(month).await?,
        };
        let text = match made {
            0 => format!("All reports of {month} exist already."),
            1 => format!("One report of {month} was made."),
            many => format!("{many} reports of {month} were made."),
        };
        Ok(Answer::new(json!({ "month": month, "made": made }), text))
    }
}

fn list(reports: &[ReportRow]) -> Answer {
    let json = reports.iter().map(|report| {
        json!({
            "merchant_id": report.merchant_id,
            "month": report.month,
            "generated_at": iso_8601(report.generated_at),
            "rows": report.row_count,
            "bytes": report.byte_count,
            "sha256": report.sha256,
        })
    });
    let lines = reports.iter().map(|report| {
        vec![
            report.month.clone().into(),
            report.merchant_id.to_string().into(),
            iso_8601(report.generated_at).into(),
            report.row_count.to_string().into(),
            report.sha256.clone().into(),
        ]
    });
    let json = json.collect();
    if reports.is_empty() {
        return Answer::new(json, "There are no reports.");
    }
    let heading = ["month", "merchant", "made", "rows", "sha-256"];
    Answer::new(json, render::table(&heading, &lines.collect::<Vec<_>>()))
}

fn show(row: &ReportRow) -> anyhow::Result<Answer> {
    let json = report::to_json(row)?;
    let mut text = render::facts(&[
        ("month", row.month.clone().into()),
        ("made", iso_8601(row.generated_at).into()),
        ("rows", row.row_count.to_string().into()),
        ("sha-256", row.sha256.clone().into()),
    ]);
    let word = |value: &Value, name: &str| {
        value[name].as_str().map_or_else(|| value[name].to_string(), ToOwned::to_owned)
    };
    let (mut balances, mut movements) = (Vec::new(), Vec::new());
    for currency in list_of(&json["totals"]) {
        let code = word(currency, "currency");
        for account in list_of(&currency["accounts"]) {
            let cells = ["account", "opening", "closing"].map(|name| word(account, name).into());
            balances.push([vec![code.clone().into()], cells.into()].concat());
        }
        for movement in list_of(&currency["movements"]) {
            let fiat = list_of(&movement["fiat"]).iter();
            let fiat = fiat.map(|sum| format!("{} {}", word(sum, "value"), word(sum, "currency")));
            let cells = ["kind", "count", "amount"].map(|name| word(movement, name).into());
            let fiat = fiat.collect::<Vec<_>>().join(", ").into();
            movements.push([vec![code.clone().into()], cells.into(), vec![fiat]].concat());
        }
    }
    if balances.is_empty() {
        text.push_str("\nNothing was booked before the end of this month.\n");
    } else {
        text.push('\n');
        text.push_str(&render::table(&["currency", "account", "opening", "closing"], &balances));
    }
    if !movements.is_empty() {
        text.push('\n');
        let heading = ["currency", "movement", "count", "amount", "value then"];
        text.push_str(&render::table(&heading, &movements));
    }
    Ok(Answer::new(json, text))
}

fn list_of(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
