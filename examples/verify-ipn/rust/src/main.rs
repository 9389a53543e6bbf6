//! Prints the result of `verify_ipn` for each recorded delivery: `cargo run -- recorded.json`

mod verify_ipn;

use std::{collections::HashSet, error::Error};

use serde_json::Value;
use verify_ipn::{Verdict, verify_ipn};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: verify-ipn recorded.json")?;
    let recorded: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut seen = HashSet::new();
    for delivery in recorded["deliveries"].as_array().ok_or("no deliveries")? {
        let verdict = verify_ipn(
            text(&delivery["body"]).as_bytes(),
            &text(&delivery["signature"]),
            &text(&recorded["secret"]),
            delivery["received_at"].as_u64().ok_or("no time")?,
            |key| seen.insert(key.to_owned()),
        );
        let verdict = match verdict {
            Verdict::Payment(event) => format!("accepted {}", text(&event["payment_status"])),
            Verdict::Notice(event) => {
                let kind = text(&event["_gateway"]["notice"]["type"]);
                format!("notice {kind} {}", text(&event["payment_status"]))
            }
            Verdict::Renewal(event) => {
                let day = &event["_gateway"]["renewal"]["day_offset"];
                format!("renewal {day} {}", text(&event["payment_status"]))
            }
            Verdict::Duplicate => "duplicate".to_owned(),
            Verdict::Forged => "forged".to_owned(),
            Verdict::Stale => "stale".to_owned(),
        };
        println!("{}: {verdict}", text(&delivery["name"]));
    }
    Ok(())
}
