//! Who does something by hand: kept beside what was done.

use clap::Args;

use crate::failure::wrong_usage;

const NAME_MAX: usize = 200;

#[derive(Args)]
pub struct Operator {
    /// Who you are, for the record; by default the name of your account on this machine
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl Operator {
    pub fn name(self) -> anyhow::Result<String> {
        let account =
            || ["SUDO_USER", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
        let name = self.by.or_else(account).unwrap_or_default().trim().to_owned();
        if (1..=NAME_MAX).contains(&name.chars().count()) {
            Ok(name)
        } else {
            Err(wrong_usage("say who you are, in up to 200 characters: --by NAME"))
        }
    }
}
