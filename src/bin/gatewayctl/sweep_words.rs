//! Texts below the flags of `gatewayctl sweep …`.

use crate::words::database;

pub const PLAN: &str = concat!(
    "\
Step 1 of 3, where the database and the nodes are. It looks at what ended invoices received, asks what
collecting costs now, and plans everything whose cost is at most treasury.fee_percent_max. The rest is listed
with the reason. The only destination is the address of each network in section treasury.

The plan's coins are its own until it is sent or given up (gatewayctl sweep drop). The file holds nothing
secret. docs/collecting.md explains the whole way.

Examples:
  gatewayctl sweep plan --out monday.plan
  gatewayctl sweep plan --network bitcoin --network polygon --limit 100 --out monday.plan
  gatewayctl sweep plan --again swp_4k2m… --out monday.plan",
    database!()
);

pub const SIGN: &str = "\
Step 2 of 3, on the machine with the seed; it needs no server and no network. The 24 words are read from stdin,
or the seed from invoices.seed. It refuses the whole plan if one transaction goes to any address but that of
section treasury of the settings on this machine, costs more than these allow (chains.*.fee_rate_max,
treasury.fee_percent_max, treasury.token_fee_max), or takes what the seed does not own. Set that section here by
hand: a copy of the other machine's file proves nothing. The same plan and seed give the same bytes.

Before anything is signed it shows for each asset what is taken, the most that the network keeps, and where the
rest goes, and asks. Without a terminal it signs only with --yes.

Examples:
  gatewayctl sweep sign monday.plan --out monday.signed
  gatewayctl sweep sign monday.plan --seed-file keys/invoices.seed --out monday.signed
  gatewayctl sweep sign monday.plan --seed-file keys/invoices.seed --yes --out monday.signed

Environment:
  GATEWAY_CONFIG         the settings of this machine, with section treasury
  GATEWAY_COLD_SEED_KEY  the key that sealed invoices.seed; not needed for words";

pub const SEND: &str = concat!(
    "\
Step 3 of 3, where the plan was made. It compares the bytes with the plan, stores them, sends them, and follows
them until they are large_confirmations deep; then it books them. It can be stopped and repeated at any moment:
what is sent is always what was stored. Exit code 1 if a transaction failed.

Examples:
  gatewayctl sweep send monday.signed
  gatewayctl sweep send --id swp_4k2m… --once",
    database!()
);

pub const GAS_PAYER: &str = "\
On the machine with the seed, once. The wallet is the first address of account 4 (m/44'/60'/4') of the words,
the same on all EVM networks. Set it as treasury.gas_payer where the database is, and send it some coins of
each network whose tokens are to be collected. Its key stays cold: it only signs in gatewayctl sweep sign.

Examples:
  gatewayctl sweep gas-payer
  gatewayctl sweep gas-payer --seed-file keys/invoices.seed

Environment:
  GATEWAY_COLD_SEED_KEY  the key that sealed invoices.seed; not needed for words";

pub const STATUS: &str = concat!(
    "\
Examples:
  gatewayctl sweep status
  gatewayctl --json sweep status swp_4k2m…",
    database!()
);

pub const DROP: &str = concat!(
    "\
Only while nothing of it is stored signed. Bytes that were signed elsewhere stay valid: destroy that file.

Example:
  gatewayctl sweep drop swp_4k2m…",
    database!()
);
