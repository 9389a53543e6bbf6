//! Text below the flags in the help of `gatewayctl payouts …`.

use crate::words::database;

pub const PAYOUTS_LIST: &str = concat!(
    "\
Examples:
  gatewayctl payouts list
  gatewayctl --json payouts list --state processing
  gatewayctl payouts list --nc --state submitted",
    database!()
);

pub const PAYOUTS_SHOW: &str = concat!(
    "\
Examples:
  gatewayctl payouts show empo_0123456789abcdefghjkmnpqrs
  gatewayctl payouts show ncp_0123456789abcdefghjkmnpqrs",
    database!()
);

pub const PAYOUTS_WATCH: &str = concat!(
    "\
One line that changes on a terminal, a line for each change elsewhere. It ends when the order has ended
and nothing of it is left to send back; exit code 1 unless every recipient was paid. With --json it is
silent until then.

Examples:
  gatewayctl payouts watch empo_0123456789abcdefghjkmnpqrs
  gatewayctl payouts watch empo_0123456789abcdefghjkmnpqrs && echo 'all paid'",
    database!()
);

pub const PAYOUTS_EXPLAIN: &str = concat!(
    "\
Examples:
  gatewayctl payouts explain empo_0123456789abcdefghjkmnpqrs
  gatewayctl payouts explain ncp_0123456789abcdefghjkmnpqrs",
    database!()
);

pub const PAYOUTS_HOLD: &str = concat!(
    "\
Payments that are signed already continue; nothing can call them back.

Examples:
  gatewayctl payouts hold empo_0123456789abcdefghjkmnpqrs --reason 'asking the merchant'",
    database!()
);

pub const PAYOUTS_RELEASE: &str = concat!(
    "\
The releasing person is the account that runs the command; --by may only repeat its name. Where two people
are required, the second runs it under an account of their own, not in a shared container or a shared sudo.

Examples:
  gatewayctl payouts release empo_0123456789abcdefghjkmnpqrs",
    database!()
);

pub const PAYOUTS_REFUND_TO: &str = concat!(
    "\
An address that is set cannot be changed. The money is the merchant's, so get the address from the merchant. For an
order worth more than payouts.two_people_above_usd a second person gives the same address, under another account.

Examples:
  gatewayctl payouts refund-to empo_0123456789abcdefghjkmnpqrs 0x52908400098527886e0f7030069857d2e4169ee7",
    database!()
);

pub const PAYOUTS_ACCEPT: &str = concat!(
    "\
For orders that are held because no digest binds their recipients, as after an upgrade from an earlier release, or
because their rows differ from what was confirmed. Compare them with the merchant first: this pays the present rows.
Of an order above the configured limit (payouts.two_people_above_usd) a second person accepts the same rows.

Examples:
  gatewayctl payouts accept empo_0123456789abcdefghjkmnpqrs --reason 'of the old release; compared by telephone'",
    database!()
);

pub const PAYOUTS_BUMP: &str = concat!(
    "\
The new version has the same nonce, so only one of the two can confirm. It never costs more than was quoted.

Examples:
  gatewayctl payouts bump empo_0123456789abcdefghjkmnpqrs",
    database!()
);

pub const PAYOUTS_CANCEL: &str = concat!(
    "\
Examples:
  gatewayctl payouts cancel empo_0123456789abcdefghjkmnpqrs",
    database!()
);

pub const PAYOUTS_SETTLE: &str = concat!(
    "\
For payments that the alerts payout_displaced and payout_unexplained are about. The network's node is asked, and its
witnesses: the transaction must be final, and must have used the payment's nonce or all outputs that it spends, so
that the payment can never be made any more. Its recipients are read from it, and must agree with --paid or
--nobody-paid. A token payment that moved other amounts than were signed is settled by its own hash, with --paid; one
without any log of the token's by its own hash too, with --paid or --nobody-paid, after you compared the recipient's
balance. A held order stays held.

Examples:
  gatewayctl payouts settle empo_0123456789abcdefghjkmnpqrs 0x5c50… --nobody-paid --reason 'a test of the key'
  gatewayctl payouts settle mpo_0123456789abcdefghjkmnpqrs 9f8e… --height 5012345 --paid --reason 'new hash'",
    database!()
);

pub const PAYOUTS_STOP: &str = concat!(
    "\
Payments that are signed already continue.

Examples:
  gatewayctl payouts stop --reason 'key ceremony'
  gatewayctl payouts stop --network polygon --reason 'node trouble'",
    database!()
);

pub const PAYOUTS_RESUME: &str = concat!(
    "\
Examples:
  gatewayctl payouts resume
  gatewayctl payouts resume --network polygon",
    database!()
);

pub const PAYOUTS_LIMITS: &str = concat!(
    "\
Without --hour-usd and --day-usd it shows the limits that hold and changes nothing. Limits over all
merchants are settings: payouts.transaction_usd_max, payouts.hour_usd_max and payouts.day_usd_max.

Examples:
  gatewayctl payouts limits 0192f3c4-0000-7000-8000-000000000000
  gatewayctl payouts limits 0192f3c4-0000-7000-8000-000000000000 --hour-usd 20000 --day-usd 100000",
    database!()
);

pub const PAYOUTS_SEAL: &str = concat!(
    "\
No server is asked. The file opens for its use alone: a payout seed in the payout-batch role, with --x402 in the
x402-settlement role, with --invoices for gatewayctl addresses export on the machine that keeps that seed. Each
has a key of its own, 64 hex characters, which should be set here and in that role and nowhere else.

Examples:
  gatewayctl payouts seal-seed <seed.hex >payout-seed.sealed
  gatewayctl payouts seal-seed --x402 <x402-seed.hex >x402-seed.sealed
  gatewayctl payouts seal-seed --invoices <invoices-seed.hex >invoices.seed",
    "\n\nEnvironment:\n  \
     GATEWAY_PAYOUTS__SEED_KEY  seals a payout seed\n  \
     GATEWAY_X402__SEED_KEY     seals one of x402\n  \
     GATEWAY_COLD_SEED_KEY      seals one of the invoices; no running program may have it\n  \
     GATEWAY_MASTER_KEY         seals the first two where they have no such key"
);

pub const PAYOUTS_ACCOUNTS: &str = concat!(
    "\
Public keys only; no server is asked. Make the seed for payouts alone: with the seed of the invoices, whoever may
pay out could spend all that every invoice receives, and production refuses it. With --x402 it prints x402.account
of a seed that is made for x402 alone.

Examples:
  gatewayctl payouts accounts <seed.hex >>gateway.toml
  gatewayctl payouts accounts --x402 <x402-seed.hex",
    "\n\nEnvironment:\n  \
     GATEWAY_CONFIG  the settings file, where chains are test chains"
);
