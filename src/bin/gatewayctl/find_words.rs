//! Text below the flags in `--help` of `find` and of the lists.

use crate::words::database;

pub const FIND: &str = concat!(
    "\
TEXT is an id (of a payment, payout, recipient, link, subscription, device, event or merchant, of a resource or a
settlement of x402, a txn_id or withdrawal id of /legacy, or a row's id, as messages of the broker and logs have it),
an order id, the hash of a transaction, an address on a chain, or an e-mail address. Every meaning is listed, up to
20 of each kind, the newest first.

Nothing is asked of a node. Of a text that is nothing of ours the exit code is 1. A transaction or an address that is
not found here, and should be: gatewayctl deposit explain.

Examples:
  gatewayctl find pzi_…
  gatewayctl find A-1001
  gatewayctl find 0x52908400098527886E0F7030069857D2E4169EE7
  gatewayctl --json find buyer@example.com",
    database!()
);

pub const INVOICE_LIST: &str = concat!(
    "\
The newest first. Of one merchant, drafts without a currency are listed with --status draft alone. Without --merchant
only the newest 20,000 are looked at, and the answer says so if older ones may match.

Examples:
  gatewayctl invoice list --status partial
  gatewayctl invoice list --merchant 0192f0c1-2a3b-7c4d-8e5f-0123456789ab --since 2026-01-31T12:00:00Z
  gatewayctl --json invoice list --merchant 0192f0c1-2a3b-7c4d-8e5f-0123456789ab --limit 1000",
    database!()
);

pub const DELIVERIES_LIST: &str = concat!(
    "\
The newest first. Without --merchant only the newest 20,000 are looked at, and the answer says so if older ones may
match. All that were given up, however old: gatewayctl dead-letters list.

Examples:
  gatewayctl deliveries list --state retry_wait
  gatewayctl deliveries list --merchant 0192f0c1-2a3b-7c4d-8e5f-0123456789ab --since 2026-01-31T12:00:00Z",
    database!()
);
