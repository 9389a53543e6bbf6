//! `gatewayctl merchant …`

use clap::{Args, Subcommand};
use gateway::{
    app::Gateway,
    invoice::payment::iso_8601,
    legacy::keys::merchant_id,
    merchant::settings::{self, Settings},
    money::Bps,
    storage::merchants::MerchantRow,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    currency,
    merchant_set::Set,
    render::{self, Answer, Cell, Tone},
    words,
};

#[derive(Subcommand)]
pub enum Merchant {
    /// Create a merchant; its key and its secret are shown this once
    #[command(after_help = words::MERCHANT_CREATE)]
    Create(Create),
    /// Change a merchant's settings; what is not named stays as it is
    #[command(after_help = words::MERCHANT_SET, override_usage = "gatewayctl merchant set [OPTIONS] <ID>")]
    Set(Set),
    /// Give a merchant a new API key; the old one stops working at once
    #[command(after_help = words::MERCHANT_ROTATE_KEY)]
    RotateKey(Id),
    /// Give a merchant a new webhook secret; it signs from the next attempt on
    #[command(after_help = words::MERCHANT_ROTATE_SECRET)]
    RotateSecret(Id),
    /// Give a merchant new keys for /legacy, the API of old CoinPayments clients
    #[command(after_help = words::MERCHANT_LEGACY_KEYS)]
    LegacyKeys(LegacyKeys),
    /// Refuse new invoices; open ones still take payments and send webhooks
    #[command(after_help = words::MERCHANT_SUSPEND)]
    Suspend(Id),
    /// Let a suspended merchant create invoices again
    #[command(after_help = words::MERCHANT_RESUME)]
    Resume(Id),
    /// Show a merchant's settings
    #[command(after_help = words::MERCHANT_SHOW)]
    Show(Id),
    /// List all merchants, oldest first
    #[command(after_help = words::MERCHANT_LIST)]
    List,
}

#[derive(Args)]
pub struct Id {
    /// The merchant's id, a UUID
    #[arg(value_name = "ID")]
    id: Uuid,
}

#[derive(Args)]
pub struct LegacyKeys {
    /// The merchant's id, a UUID
    #[arg(value_name = "ID")]
    id: Uuid,
    /// Only take the keys away; open invoices go on, and so do their webhooks
    #[arg(long)]
    revoke: bool,
    /// Keys that may order withdrawals; others only take payments
    #[arg(long, conflicts_with = "revoke")]
    withdrawals: bool,
}

#[derive(Args)]
pub struct Create {
    /// For people; need not be unique
    #[arg(long)]
    name: String,
    /// Overpayment tolerance, in basis points
    #[arg(long, value_name = "BPS", default_value_t = settings::OVERPAY_BPS_DEFAULT)]
    overpay_bps: u32,
    /// Time that a buyer has to pay
    #[arg(long, value_name = "SECONDS", default_value_t = settings::PAYMENT_WINDOW_SECONDS_DEFAULT)]
    payment_window: u32,
    /// Time that a buyer has to choose the currency of an invoice in `all`
    #[arg(long, value_name = "SECONDS", default_value_t = settings::SELECTION_WINDOW_SECONDS_DEFAULT)]
    selection_window: u32,
    /// Maximum number of open invoices
    #[arg(long, value_name = "N", default_value_t = settings::OPEN_INVOICES_MAX_DEFAULT)]
    max_open_invoices: u32,
    /// Currencies a buyer may choose, separated by commas; all enabled ones if left out
    #[arg(long, value_name = "CODE[@NETWORK],…", value_delimiter = ',')]
    accept: Option<Vec<String>>,
    /// Where webhooks about mass payouts go
    #[arg(long, value_name = "URL", value_parser = web_address)]
    payout_webhook_url: Option<String>,
}

fn web_address(text: &str) -> Result<String, String> {
    let url = url::Url::parse(text).map_err(|error| error.to_string())?;
    if matches!(url.scheme(), "http" | "https") {
        Ok(text.to_owned())
    } else {
        Err("must begin with http:// or https://".to_owned())
    }
}

impl Merchant {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::Create(create) => create.run(gateway).await,
            Self::Set(set) => Ok(described(&set.run(gateway).await?)),
            Self::RotateKey(Id { id }) => {
                let key = gateway.rotate_key(id).await?;
                let json = json!({ "merchant_id": id, "api_key": key.reveal() });
                let text = format!("api key  {}\n\n{SHOWN_ONCE}", key.reveal());
                Ok(Answer::new(json, text))
            }
            Self::RotateSecret(Id { id }) => {
                let secret = gateway.rotate_secret(id).await?;
                let json = json!({ "merchant_id": id, "webhook_secret": secret.reveal() });
                let text = format!("webhook secret  {}\n\n{SHOWN_ONCE}", secret.reveal());
                Ok(Answer::new(json, text))
            }
            Self::LegacyKeys(keys) => keys.run(gateway).await,
            Self::Suspend(Id { id }) => {
                gateway.set_suspended(id, true).await?;
                show(gateway, id).await
            }
            Self::Resume(Id { id }) => {
                gateway.set_suspended(id, false).await?;
                show(gateway, id).await
            }
            Self::Show(Id { id }) => show(gateway, id).await,
            Self::List => list(gateway).await,
        }
    }
}

const SHOWN_ONCE: &str = "Save it now: it is not shown again.";

impl LegacyKeys {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        if self.revoke {
            let revoked = gateway.revoke_legacy_keys(self.id).await?;
            let json = json!({ "merchant_id": merchant_id(self.id), "revoked": revoked });
            let text = if revoked { "The keys are revoked." } else { "There were no keys." };
            return Ok(Answer::new(json, text));
        }
        let new = gateway.issue_legacy_keys(self.id, self.withdrawals).await?;
        let (id, private_key) = (merchant_id(new.merchant_id), new.private_key.reveal());
        let json = json!({
            "merchant_id": id, "public_key": new.public_key, "private_key": private_key,
        });
        let facts = render::facts(&[
            ("merchant id", id.into()),
            ("public key", new.public_key.into()),
            ("private key", private_key.into()),
        ]);
        let text = format!("{facts}\n{SHOWN_ONCE} The IPN secret is the webhook secret.");
        Ok(Answer::new(json, text))
    }
}

impl Create {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let accepted = self.accept.map(|names| {
            let ids = names.iter().map(|name| currency::named(name).map(|c| c.token_id()));
            ids.collect::<anyhow::Result<Vec<_>>>()
        });
        let settings = Settings {
            overpay_tolerance: Bps::new(self.overpay_bps),
            underpay: settings::Underpay::NONE,
            payment_window_seconds: self.payment_window,
            selection_window_seconds: self.selection_window,
            open_invoices_max: self.max_open_invoices,
            accepted: accepted.transpose()?,
            payout_webhook_url: self.payout_webhook_url,
            default_urls: settings::DefaultUrls::default(),
        };
        let new = gateway.create_merchant(&self.name, settings).await?;
        let (key, secret) = (new.api_key.reveal(), new.webhook_secret.reveal());
        let json = json!({ "merchant_id": new.id, "api_key": key, "webhook_secret": secret });
        let facts = render::facts(&[
            ("merchant", new.id.to_string().into()),
            ("api key", key.into()),
            ("webhook secret", secret.into()),
        ]);
        let text = format!(
            "{facts}\nKeep the key and the secret now: they are not shown again.\n\
             First invoice: curl {}/v1/payment -H 'x-api-key: {key}' -H 'content-type: application/json' \\\n  \
             -d '{{\"price_amount\": 25, \"price_currency\": \"usd\", \"pay_currency\": \"all\"}}'",
            gateway.config.base_url.trim_end_matches('/')
        );
        Ok(Answer::new(json, text))
    }
}

async fn show(gateway: &Gateway, id: Uuid) -> anyhow::Result<Answer> {
    Ok(described(&gateway.merchant(id).await?))
}

/// A merchant's settings for people and for programs.
fn described(row: &MerchantRow) -> Answer {
    let accept = match &row.accepted_tokens {
        Some(tokens) => tokens.join(", "),
        None => "every enabled currency".to_owned(),
    };
    let text = render::facts(&[
        ("merchant", row.id.to_string().into()),
        ("name", Cell::from(&row.name)),
        ("state", state(row)),
        ("api key", format!("…{}", row.api_key_preview).into()),
        ("overpay tolerance", format!("{} bps", row.overpay_bps).into()),
        ("underpay tolerance", format!("{} bps, {}", row.underpay_bps, row.underpay_when).into()),
        ("payment window", format!("{} s", row.payment_window_seconds).into()),
        ("selection window", format!("{} s", row.selection_window_seconds).into()),
        ("open invoices", format!("at most {}", row.open_invoices_max).into()),
        ("accepts", accept.into()),
        ("payout webhooks", render::or_dash(row.payout_webhook_url.as_ref())),
        ("default webhooks", render::or_dash(row.default_ipn_callback_url.as_ref())),
        ("default success", render::or_dash(row.default_success_url.as_ref())),
        ("default cancel", render::or_dash(row.default_cancel_url.as_ref())),
        ("logo", render::or_dash(row.logo_url.as_ref())),
        ("created", iso_8601(row.created_at).into()),
    ]);
    Answer::new(to_json(row), text)
}

async fn list(gateway: &Gateway) -> anyhow::Result<Answer> {
    let rows = gateway.merchants().await?;
    let json = rows.iter().map(to_json).collect();
    if rows.is_empty() {
        let text =
            "There are no merchants. Create one: gatewayctl merchant create --name \"My shop\"";
        return Ok(Answer::new(json, text));
    }
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            let created = Cell::quiet(iso_8601(row.created_at));
            let preview = format!("…{}", row.api_key_preview).into();
            vec![row.id.to_string().into(), state(row), preview, created, Cell::from(&row.name)]
        })
        .collect();
    let text = render::table(&["merchant", "state", "key", "created", "name"], &lines);
    Ok(Answer::new(json, text))
}

fn state(row: &MerchantRow) -> Cell {
    match row.suspended_at {
        Some(_) => Cell::toned("suspended", Tone::Bad),
        None => Cell::toned("active", Tone::Good),
    }
}

fn to_json(row: &MerchantRow) -> Value {
    json!({
        "merchant_id": row.id,
        "name": row.name,
        "api_key_preview": row.api_key_preview,
        "suspended": row.suspended_at.is_some(),
        "suspended_at": row.suspended_at.map(iso_8601),
        "overpay_bps": row.overpay_bps,
        "underpay_bps": row.underpay_bps,
        "underpay_when": row.underpay_when,
        "payment_window_seconds": row.payment_window_seconds,
        "selection_window_seconds": row.selection_window_seconds,
        "max_open_invoices": row.open_invoices_max,
        "accept": row.accepted_tokens,
        "payout_webhook_url": row.payout_webhook_url,
        "default_ipn_callback_url": row.default_ipn_callback_url,
        "default_success_url": row.default_success_url,
        "default_cancel_url": row.default_cancel_url,
        "logo_url": row.logo_url,
        "slow_until": row.slow_until.map(iso_8601),
        "created_at": iso_8601(row.created_at),
    })
}
