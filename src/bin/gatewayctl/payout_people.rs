//! `gatewayctl payouts release|refund-to|accept`: what a person answers for, and above a limit two
//! people.
//!
//! The person is the account that the operating system runs the command under. A name that is typed
//! proves nothing, and neither does a variable of the environment.

use clap::Args;
use gateway::{
    app::{Gateway, payout::Accepted},
    payout::hold::Hold,
};
use serde_json::json;

use crate::{operator, render::Answer};

#[derive(Args)]
pub struct Release {
    /// The order's id, mpo_… or empo_…
    #[arg(value_name = "ORDER_ID")]
    order_id: String,
    #[command(flatten)]
    person: operator::Person,
}

#[derive(Args)]
pub struct RefundTo {
    /// The order's id, mpo_… or empo_…
    #[arg(value_name = "ORDER_ID")]
    order_id: String,
    /// On the order's network, as its merchant tells it
    #[arg(value_name = "ADDRESS")]
    address: String,
    #[command(flatten)]
    person: operator::Person,
}

#[derive(Args)]
pub struct Accept {
    /// The order's id, mpo_… or empo_…
    #[arg(value_name = "ORDER_ID")]
    order_id: String,
    /// How you know that its rows are right, for the audit
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    person: operator::Person,
}

impl Release {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let by = self.person.name()?;
        let missing = gateway.release_order(&self.order_id, &by).await?;
        let json = json!({ "order_id": self.order_id, "releases_missing": missing });
        let text = if missing == 0 {
            format!("{} goes on.", self.order_id)
        } else {
            format!("{} needs one more release, under another account than {by}.", self.order_id)
        };
        Ok(Answer::new(json, text))
    }
}

impl RefundTo {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let by = self.person.name()?;
        let (order_id, wanted) = (&self.order_id, &self.address);
        let (address, missing) = gateway.refund_order_to(order_id, wanted, &by).await?;
        let json =
            json!({ "order_id": order_id, "refund_address": address, "people_missing": missing });
        let text = if missing == 0 {
            format!("The rest of {order_id} is refunded to {address}.")
        } else {
            format!(
                "{order_id}: {address} is recorded. It counts once it is repeated under another account than {by}."
            )
        };
        Ok(Answer::new(json, text))
    }
}

impl Accept {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let by = self.person.name()?;
        let accepted = gateway.accept_order(&self.order_id, (&by, &self.reason)).await?;
        let Accepted { held, people_missing } = accepted;
        let json = json!({
            "order_id": self.order_id, "held": held.as_ref().map(Hold::reason), "people_missing": people_missing,
        });
        if people_missing > 0 {
            let text = format!(
                "{}: its rows are noted as they are. They count once they are accepted under another account than {by}.",
                self.order_id
            );
            return Ok(Answer::new(json, text));
        }
        let text = format!("{} is paid as its rows say now.", self.order_id);
        let text = held.map_or_else(
            || text.clone(),
            |held| {
                let release = format!("gatewayctl payouts release {}", self.order_id);
                format!("{text}\nIt is still held ({held}). Release it: {release}")
            },
        );
        Ok(Answer::new(json, text))
    }
}
