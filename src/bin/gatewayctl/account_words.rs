//! Text below the flags of `gatewayctl account …`.

use crate::words::database;

pub const ACCOUNT_CREATE: &str = concat!(
    "\
The account gets its role once it has accepted the invitation: the address of a page that asks for a password. An
account that exists already gets a further role, and accepts it with the password that it has. Operators set up a second
factor before they can do anything.

Examples:
  gatewayctl account create --email ada@example.com --role operator-admin
  gatewayctl account create --email bob@shop.example --role owner --merchant 0192f0c1-2a3b-7c4d-8e5f-0123456789ab
  gatewayctl --json account create --email ada@example.com --role operator-support
    {\"account_id\":\"…\",\"invite_url\":\"…\"}",
    database!(),
    "\n  \
     GATEWAY_DASHBOARD_URL  where people reach the dashboard; invitations begin with it"
);

pub const ACCOUNT_LOGIN_LINK: &str = concat!(
    "\
The link stands for the password and the second factor, so production refuses to make one.

Example:
  gatewayctl account login-link --email ada@example.com",
    database!(),
    "\n  \
     GATEWAY_DASHBOARD_URL  where people reach the dashboard; the link begins with it"
);

pub const ACCOUNT_RESET: &str = concat!(
    "\
For an owner who lost the password, or the second factor and all recovery codes. Verify the identity of whoever asks:
the link gives full access to the account.

Example:
  gatewayctl account reset --email ada@example.com",
    database!(),
    "\n  \
     GATEWAY_DASHBOARD_URL  where people reach the dashboard; the link begins with it"
);

pub const ACCOUNT_DISABLE: &str =
    concat!("Example:\n  gatewayctl account disable --email ada@example.com", database!());

pub const ACCOUNT_ENABLE: &str =
    concat!("Example:\n  gatewayctl account enable --email ada@example.com", database!());
