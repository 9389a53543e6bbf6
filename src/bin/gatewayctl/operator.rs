//! Name of the operator, recorded with every manual action.

use std::fs;

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
            Err(wrong_usage("give your name, up to 200 characters: --by NAME"))
        }
    }
}

/// Whose word decides over money: the account that the kernel runs this command under.
#[derive(Args)]
pub struct Person {
    /// Your account on this machine; optional, and no other name is accepted
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl Person {
    pub fn name(self) -> anyhow::Result<String> {
        let account = os_account();
        match self.by {
            Some(by) if by.trim() != account => Err(wrong_usage(format!(
                "--by {by} is not your account on this machine, which is {account}. Leave --by out; a second person runs \
                 the command under an account of their own"
            ))),
            Some(_) | None => Ok(account),
        }
    }
}

/// An account that no process of its owner can change: the real user, and for root the one who
/// became root, where the kernel keeps that. A `sudo` that the kernel keeps nothing of is root,
/// whoever typed it.
fn os_account() -> String {
    const UNSET: u32 = u32::MAX;
    let real = rustix::process::getuid().as_raw();
    let login = || {
        let text = fs::read_to_string("/proc/self/loginuid").ok()?;
        text.trim().parse().ok().filter(|uid| *uid != UNSET)
    };
    let uid = if real == 0 { login().unwrap_or(real) } else { real };
    name_of(uid).unwrap_or_else(|| format!("uid {uid}"))
}

fn name_of(uid: u32) -> Option<String> {
    let accounts = fs::read_to_string("/etc/passwd").ok()?;
    let mut lines = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let line = lines.find(|fields| fields.get(2).is_some_and(|id| *id == uid.to_string()))?;
    line.first().map(|name| (*name).to_owned())
}

/// The account name of the operator, as the shell knows it; empty if it does not.
pub fn account() -> String {
    let names = ["GATEWAY_OPERATOR", "SUDO_USER", "USER", "LOGNAME"];
    names.iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default()
}
