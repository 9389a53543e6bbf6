//! `gatewayctl find`

use clap::Args;
use gateway::{
    app::{
        Gateway,
        operator::find::{Found, Hit, Kind},
    },
    invoice::payment::iso_8601,
    storage::find::FOUND_MAX,
};
use serde_json::{Value, json};

use crate::render::{self, Answer, Cell};

#[derive(Args)]
pub struct Find {
    /// An id, an order id, a transaction, an address or an e-mail address
    #[arg(value_name = "TEXT")]
    text: String,
}

impl Find {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let found = gateway.find(&self.text).await?;
        let json = to_json(&found);
        if found.hits.is_empty() {
            return Ok(Answer::new(json, "Nothing of ours has this id, hash or address.").bad());
        }
        Ok(Answer::new(json, text(&found)))
    }
}

/// The hits as a table, for people.
pub fn text(found: &Found) -> String {
    let lines: Vec<_> = found.hits.iter().map(line).collect();
    let heading = ["what", "id", "by its", "state", "merchant", "about", "more"];
    let more = if found.more {
        format!("\nThere are more: of each kind the newest {FOUND_MAX} are listed.")
    } else {
        String::new()
    };
    format!("{}{more}", render::table(&heading, &lines))
}

fn line(hit: &Hit) -> Vec<Cell> {
    let row = &hit.row;
    let about = [row.network.as_deref(), row.about.as_deref()];
    let about: Vec<_> = about.into_iter().flatten().collect();
    let merchant = match (&row.merchant, row.merchant_id) {
        (Some(name), Some(id)) => Some(format!("{name} ({id})")),
        _ => None,
    };
    vec![
        hit.kind.as_str().into(),
        Cell::from(&row.id),
        Cell::quiet(hit.named_by.as_str()),
        Cell::from(&row.state),
        render::or_dash(merchant),
        render::or_dash((!about.is_empty()).then(|| about.join(", "))),
        render::or_dash(command(hit)),
    ]
}

pub fn to_json(found: &Found) -> Value {
    let hits: Vec<_> = found
        .hits
        .iter()
        .map(|hit| {
            let row = &hit.row;
            json!({
                "what": hit.kind.as_str(),
                "id": row.id,
                "found_by": hit.named_by.as_str(),
                "state": row.state,
                "merchant_id": row.merchant_id,
                "merchant": row.merchant,
                "network": row.network,
                "about": row.about,
                "created_at": row.created_at.map(iso_8601),
                "command": command(hit),
            })
        })
        .collect();
    json!({ "found": hits, "more": found.more })
}

/// The command that tells more; `None` if none does.
fn command(hit: &Hit) -> Option<String> {
    let row = &hit.row;
    let id = &row.id;
    Some(match hit.kind {
        Kind::Payment => format!("gatewayctl invoice explain {id}"),
        Kind::PayoutOrder | Kind::NcPayout => format!("gatewayctl payouts explain {id}"),
        Kind::Webhook => format!("gatewayctl deliveries show {id}"),
        Kind::Subscription | Kind::Event | Kind::Settlement => subject(row.about.as_deref()?)?,
        Kind::Resource => {
            let (address, _) = row.about.as_deref()?.split_once(", ")?;
            format!("gatewayctl deposit explain --address {address}")
        }
        Kind::Deposit => {
            format!("gatewayctl deposit explain {id} --network {}", row.network.as_deref()?)
        }
        // One of a pool has no story yet.
        Kind::Address if row.created_at.is_none() => "gatewayctl addresses status".to_owned(),
        Kind::Address => format!("gatewayctl deposit explain --address {id}"),
        Kind::Merchant => format!("gatewayctl merchant show {id}"),
        Kind::Link => of_link(row.merchant_id?, id),
        Kind::Device => of_link(row.merchant_id?, row.about.as_deref()?),
        Kind::Account => format!("gatewayctl audit {id}"),
        Kind::Mail if row.state == "dead" => {
            "gatewayctl dead-letters list --queue mail-delivery".to_owned()
        }
        Kind::Mail | Kind::Mailbox => return None,
    })
}

fn of_link(merchant: uuid::Uuid, link: &str) -> String {
    format!("gatewayctl invoice list --merchant {merchant} --link {link}")
}

/// The command for a payment, a payout or a resource, by the beginning of its id; the subject of an
/// event may be none of them.
fn subject(id: &str) -> Option<String> {
    Some(match id.split_once('_')?.0 {
        "pzi" => format!("gatewayctl invoice explain {id}"),
        "mpo" | "empo" | "ncp" => format!("gatewayctl payouts explain {id}"),
        "pzx" => format!("gatewayctl find {id}"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use gateway::{app::operator::find::NamedBy, storage::find::FoundRow};

    use super::*;

    fn hit(kind: Kind, id: &str, about: Option<&str>) -> Hit {
        let row = FoundRow {
            id: id.to_owned(),
            merchant_id: Some(uuid::Uuid::nil()),
            merchant: Some("My shop".to_owned()),
            state: "paid".to_owned(),
            network: Some("polygon".to_owned()),
            about: about.map(ToOwned::to_owned),
            created_at: None,
        };
        Hit { kind, named_by: NamedBy::Id, row }
    }

    #[test]
    fn each_kind_names_the_command_that_tells_more() {
        let nil = uuid::Uuid::nil();
        for (kind, about, told) in [
            (Kind::Payment, None, Some("invoice explain X".to_owned())),
            (Kind::PayoutOrder, None, Some("payouts explain X".to_owned())),
            (Kind::NcPayout, None, Some("payouts explain X".to_owned())),
            (Kind::Webhook, None, Some("deliveries show X".to_owned())),
            (Kind::Event, Some("empo_1"), Some("payouts explain empo_1".to_owned())),
            (Kind::Event, Some("pzi_1"), Some("invoice explain pzi_1".to_owned())),
            (Kind::Event, Some("0192f0c12a3b"), None),
            (
                Kind::Resource,
                Some("0x1, https://a/b, c"),
                Some("deposit explain --address 0x1".to_owned()),
            ),
            (Kind::Settlement, Some("pzi_1"), Some("invoice explain pzi_1".to_owned())),
            (Kind::Settlement, Some("pzx_1"), Some("find pzx_1".to_owned())),
            (Kind::Subscription, Some("pzi_1"), Some("invoice explain pzi_1".to_owned())),
            (Kind::Subscription, None, None),
            (Kind::Deposit, None, Some("deposit explain X --network polygon".to_owned())),
            (Kind::Address, None, Some("addresses status".to_owned())),
            (Kind::Merchant, None, Some("merchant show X".to_owned())),
            (Kind::Link, None, Some(format!("invoice list --merchant {nil} --link X"))),
            (
                Kind::Device,
                Some("pzl_1"),
                Some(format!("invoice list --merchant {nil} --link pzl_1")),
            ),
            (Kind::Account, None, Some("audit X".to_owned())),
            (Kind::Mail, None, None),
            (Kind::Mailbox, None, None),
        ] {
            let told = told.map(|words| format!("gatewayctl {words}"));
            assert_eq!(command(&hit(kind, "X", about)), told, "{kind:?} {about:?}");
        }
    }
}
