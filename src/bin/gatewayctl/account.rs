//! `gatewayctl account …`

use clap::{Args, Subcommand};
use gateway::{account::Role, app::Gateway};
use serde_json::json;
use uuid::Uuid;

use crate::{
    account_words as words,
    render::{self, Answer},
};

#[derive(Subcommand)]
pub enum Account {
    /// Create an account of the dashboard and the invitation that its owner accepts
    #[command(after_help = words::ACCOUNT_CREATE)]
    Create(Create),
    /// Make a link that signs an account in once, within ten minutes (sandbox only)
    #[command(after_help = words::ACCOUNT_LOGIN_LINK)]
    LoginLink(Email),
    /// Let an owner who lost his password or second factor choose a new password
    #[command(after_help = words::ACCOUNT_RESET)]
    Reset(Email),
    /// End an account and all its sessions
    #[command(after_help = words::ACCOUNT_DISABLE)]
    Disable(Email),
    /// Let an account that was disabled sign in again
    #[command(after_help = words::ACCOUNT_ENABLE)]
    Enable(Email),
}

#[derive(Args)]
pub struct Create {
    /// The address that names the account
    #[arg(long, value_name = "E")]
    email: String,
    /// operator-admin, operator-finance or operator-support; owner, developer, finance or viewer
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Role,
    /// The merchant of the role; left out for operators
    #[arg(long, value_name = "ID")]
    merchant: Option<Uuid>,
}

#[derive(Args)]
pub struct Email {
    /// The address that names the account
    #[arg(long, value_name = "E")]
    email: String,
}

fn role(text: &str) -> Result<Role, String> {
    text.parse().map_err(|_| {
        let all: Vec<_> = Role::ALL.iter().map(|role| role.as_str()).collect();
        format!("write one of {}", all.join(", "))
    })
}

impl Account {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::Create(create) => create.run(gateway).await,
            Self::LoginLink(Email { email }) => {
                let url = gateway.create_sign_in_link(&email).await?;
                let text = format!("{url}\n\nIt works once, within ten minutes.");
                Ok(Answer::new(json!({ "url": url }), text))
            }
            Self::Reset(Email { email }) => {
                let made = gateway.reset_account(&email).await?;
                let json = json!({ "account_id": made.account_id, "invite_url": made.url });
                let text = format!(
                    "{}\n\nIts password, second factors and sessions have ended; its roles stay. Send the link to its owner \
                     alone: it works once, within 72 hours.",
                    made.url
                );
                Ok(Answer::new(json, text))
            }
            Self::Disable(Email { email }) => set_disabled(gateway, &email, true).await,
            Self::Enable(Email { email }) => set_disabled(gateway, &email, false).await,
        }
    }
}

impl Create {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let made = gateway.create_account(&self.email, self.role, self.merchant).await?;
        let json = json!({ "account_id": made.account_id, "invite_url": made.url });
        let facts = render::facts(&[
            ("account", made.account_id.to_string().into()),
            ("invitation", made.url.as_str().into()),
        ]);
        let text = format!(
            "{facts}\nSend the invitation to its owner alone: it works once, within 72 hours, and is not shown again."
        );
        Ok(Answer::new(json, text))
    }
}

async fn set_disabled(gateway: &Gateway, email: &str, disabled: bool) -> anyhow::Result<Answer> {
    gateway.set_account_disabled(email, disabled).await?;
    let text = if disabled {
        "The account is disabled, and its sessions have ended."
    } else {
        "The account can sign in again."
    };
    Ok(Answer::new(json!({ "email": email, "disabled": disabled }), text))
}
