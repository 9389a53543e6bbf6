//! Name of the operator, recorded with every manual action.

use clap::Args;

use crate::failure::wrong_usage;

const NAME_MAX: usize = 200;

#[derive(Args)]
pub struct Operator {
    /// Your name for the audit log; by default the name of your account on this machine
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl Operator {
    pub fn name(self) -> anyhow::Result<String> {
        let name = self.by.unwrap_or_else(account).trim().to_owned();
        if (1..=NAME_MAX).contains(&name.chars().count()) {
            Ok(name)
        } else {
            Err(wrong_usage("say who you are, in up to 200 characters: --by NAME"))
        }
    }
}

/// The account name of the operator, as the shell knows it; empty if it does not.
pub fn account() -> String {
    let names = ["GATEWAY_OPERATOR", "SUDO_USER", "USER", "LOGNAME"];
    names.iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default()
}
