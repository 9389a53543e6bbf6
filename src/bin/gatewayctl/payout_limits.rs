//! `gatewayctl payouts limits`

use clap::Args;
use gateway::{app::Gateway, payout::limit};
use serde_json::json;
use uuid::Uuid;

use crate::{
    payout_words,
    render::{self, Answer},
};

pub const HELP: &str = payout_words::PAYOUTS_LIMITS;

#[derive(Args)]
pub struct Limits {
    /// The merchant's id
    #[arg(value_name = "MERCHANT_ID")]
    merchant_id: Uuid,
    /// The most that may be signed for this merchant in an hour, in whole USD
    #[arg(long, value_name = "USD", value_parser = clap::value_parser!(u64).range(1..))]
    hour_usd: Option<u64>,
    /// The most that may be signed for this merchant in 24 hours, in whole USD
    #[arg(long, value_name = "USD", value_parser = clap::value_parser!(u64).range(1..))]
    day_usd: Option<u64>,
}

impl Limits {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let wanted = (self.hour_usd, self.day_usd);
        let limits = gateway.set_payout_limits(self.merchant_id, wanted).await?;
        let json = json!({
            "merchant_id": self.merchant_id,
            "transaction_usd": limits.transaction,
            "hour_usd": limits.hour,
            "day_usd": limits.day,
            "merchant_hour_usd": limits.merchant_hour,
            "merchant_day_usd": limits.merchant_day,
        });
        let line = |(limit, most): (limit::Limit, u64)| {
            vec![limit.to_string().into(), most.to_string().into()]
        };
        let lines: Vec<_> = limits.all().into_iter().map(line).collect();
        Ok(Answer::new(json, render::table(&["at most in", "usd"], &lines)))
    }
}
