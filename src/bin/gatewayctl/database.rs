//! `gatewayctl database …`

use clap::Subcommand;
use gateway::{
    app::Gateway,
    config::{Config, Part},
    storage::handover::HandOver,
};
use serde_json::json;

use crate::{failure::no_connection, operator, render::Answer, words};

#[derive(Subcommand)]
pub enum Database {
    /// Close this database for a planned failover, so that its standby can take over without losses
    #[command(after_help = words::DATABASE_HAND_OVER)]
    HandOver,
    /// Open a database again that was closed, if no standby was promoted
    #[command(after_help = words::DATABASE_TAKE_BACK)]
    TakeBack,
    /// Say that this database was restored from a snapshot, so that nothing lost is done twice
    #[command(after_help = words::DATABASE_RESTORED)]
    Restored,
}

impl Database {
    pub async fn run(self) -> anyhow::Result<Answer> {
        let mut gateway = Gateway::new(Config::load_for(Part::Rows)?)?;
        gateway.db = gateway.db.on_behalf_of(&operator::account());
        let at_database = |error| no_connection(error, &gateway.db);
        match self {
            Self::HandOver => told(gateway.db.hand_over().await.map_err(at_database)?),
            Self::TakeBack => {
                let opened = gateway.db.take_back().await.map_err(at_database)?;
                let text =
                    if opened { "Programs can connect again." } else { "It was not closed." };
                Ok(Answer::new(json!({ "opened": opened }), text))
            }
            Self::Restored => {
                if !gateway.db.note_restored().await.map_err(at_database)? {
                    return Err(never_used());
                }
                let text = "Addresses jump, the address pools are empty, and nothing is signed until: gatewayctl payouts resume\n\
                     Before that, compare each payout wallet with the books and fill the pools (docs/backup.md).";
                Ok(Answer::new(json!({ "made_safe": true }), text))
            }
        }
    }
}

fn told(outcome: HandOver) -> anyhow::Result<Answer> {
    match outcome {
        HandOver::Closed { log_position } => {
            let text = format!(
                "Closed: the last commit is in the log at {log_position}, and no program is let in any more.\n\
                 Promote a standby whose pg_last_wal_replay_lsn() is there or beyond, within an hour, and lead DATABASE_URL to it."
            );
            Ok(Answer::new(json!({ "closed": true, "log_position": log_position }), text))
        }
        HandOver::Occupied { sessions } => Err(anyhow::anyhow!(
            "{sessions} sessions of this database could not be ended, so that something could still be committed; end them and \
             try again. Programs are let in as before."
        )),
        HandOver::Unused => Err(never_used()),
    }
}

fn never_used() -> anyhow::Error {
    anyhow::anyhow!("no program has ever used this database")
}
