//! Text below the flags in `--help`: examples, and the environment that a command needs.

macro_rules! database {
    () => {
        "\n\nEnvironment:\n  \
         DATABASE_URL        postgres://user:password@host:5432/database\n  \
         GATEWAY_MASTER_KEY  64 hex characters, the same as the running programs have\n  \
         GATEWAY_PROFILE     sandbox (default) or production\n  \
         GATEWAY_CONFIG      a settings file, if you use one"
    };
}

macro_rules! broker {
    () => {
        "\n\nEnvironment:\n  \
         GATEWAY_BROKER__MANAGEMENT_URL  http://user:password@host:15672, a user with the tag policymaker\n  \
         GATEWAY_BROKER__VHOST           the virtual host, / by default\n  \
         GATEWAY_BROKER__PREFIX          what our names begin with, gw by default"
    };
}

pub(crate) use database;

pub const GATEWAYCTL: &str = "\
First steps:
  gatewayctl setup
  gatewayctl doctor
  gatewayctl merchant create --name \"My shop\"

Environment:
  DATABASE_URL                    postgres://user:password@host:5432/database
  GATEWAY_DATABASE_DIRECT_URL     PostgreSQL itself, where DATABASE_URL leads to a pooler
  GATEWAY_MASTER_KEY              64 hex characters, the same as the running programs have
  GATEWAY_BROKER__MANAGEMENT_URL  http://user:password@host:15672 (topology and doctor)
  AMQP_URL                        amqp://user:password@host:5672/vhost (doctor)
  GATEWAY_CONFIG                  a settings file, if you use one
  GATEWAY_SECRETS_DIR             a folder of files that are called after the variables which they set, if you use one
  RUST_LOG                        debug shows what happens inside; nothing is logged by default

A stack started with `make up` has all of it in a file: set -a; . .run/stack.env; set +a
Exit codes: 0 done, 1 failed, 2 wrong usage.";

pub const MIGRATE: &str = "\
Waits up to 60 seconds for the database. Two at a time are fine: one waits for the other.

Example:
  gatewayctl migrate

Environment:
  DATABASE_URL                 postgres://user:password@host:5432/database; its user must own the database
  GATEWAY_DATABASE_DIRECT_URL  PostgreSQL itself, where DATABASE_URL leads to a pooler";

pub const TOPOLOGY_APPLY: &str = concat!(
    "\
With an administrator's credential it also creates the virtual host and the three users whose
passwords are given.

Example:
  GATEWAY_BROKER__MANAGEMENT_URL=http://admin:PASSWORD@127.0.0.1:15672 gatewayctl topology apply",
    broker!(),
    "\n  \
     GATEWAY_BROKER__APPLICATION_PASSWORD  for the user <prefix>-application\n  \
     GATEWAY_BROKER__OPERATOR_PASSWORD     for the user <prefix>-operator\n  \
     GATEWAY_BROKER__TOPOLOGY_PASSWORD     for the user <prefix>-topology"
);

pub const TOPOLOGY_CHECK: &str = concat!(
    "\
Example:
  gatewayctl topology check && echo \"the topology is complete\"",
    broker!()
);

pub const TOPOLOGY_DEFINITIONS: &str = "\
Example:
  GATEWAY_BROKER__VHOST=gw gatewayctl topology definitions > rabbitmq/definitions.json

Environment:
  GATEWAY_BROKER__VHOST   the virtual host, / by default
  GATEWAY_BROKER__PREFIX  what our names begin with, gw by default";

pub const MERCHANT_CREATE: &str = concat!(
    "\
Windows last 1 second or more in the sandbox, 5 minutes or more in production.

Examples:
  gatewayctl merchant create --name \"My shop\"
  gatewayctl merchant create --name \"Coins only\" --accept btc,ltc,eth@ethereum --overpay-bps 100
  gatewayctl --json merchant create --name \"My shop\"
    {\"api_key\":\"…\",\"merchant_id\":\"…\",\"webhook_secret\":\"…\"}",
    database!()
);

pub const MERCHANT_SET: &str = concat!(
    "\
Settings take effect for new invoices and new events; invoices that are open keep what they were created with. If one
value is refused, none is stored. `gatewayctl audit ID` shows who changed what, with the new values.

Windows last 1 second or more in the sandbox, 5 minutes or more in production.

Examples:
  gatewayctl merchant set 0192f0c1-2a3b-7c4d-8e5f-0123456789ab --accept btc,usdtmatic,eth@base
  gatewayctl merchant set 0192f0c1-2a3b-7c4d-8e5f-0123456789ab --accept-all --overpay-bps 100
  gatewayctl merchant set 0192f0c1-2a3b-7c4d-8e5f-0123456789ab --payment-window 3600 --max-open-invoices 2000
  gatewayctl merchant set 0192f0c1-2a3b-7c4d-8e5f-0123456789ab --payout-webhook-url https://shop.example/payouts
  gatewayctl merchant set 0192f0c1-2a3b-7c4d-8e5f-0123456789ab --name \"My shop\" --no-logo-url",
    database!()
);

pub const MERCHANT_ROTATE_KEY: &str = concat!(
    "Example:\n  gatewayctl merchant rotate-key 0192f0c1-2a3b-7c4d-8e5f-0123456789ab",
    database!()
);

pub const MERCHANT_ROTATE_SECRET: &str = concat!(
    "Example:\n  gatewayctl merchant rotate-secret 0192f0c1-2a3b-7c4d-8e5f-0123456789ab",
    database!()
);

pub const MERCHANT_LEGACY_KEYS: &str = concat!(
    "Examples:\n  gatewayctl --json merchant legacy-keys 0192f0c1-2a3b-7c4d-8e5f-0123456789ab\n  \
     gatewayctl merchant legacy-keys 0192f0c1-2a3b-7c4d-8e5f-0123456789ab --withdrawals\n  \
     gatewayctl merchant legacy-keys 0192f0c1-2a3b-7c4d-8e5f-0123456789ab --revoke",
    database!()
);

pub const MERCHANT_SUSPEND: &str = concat!(
    "Example:\n  gatewayctl merchant suspend 0192f0c1-2a3b-7c4d-8e5f-0123456789ab",
    database!()
);

pub const MERCHANT_RESUME: &str = concat!(
    "Example:\n  gatewayctl merchant resume 0192f0c1-2a3b-7c4d-8e5f-0123456789ab",
    database!()
);

pub const MERCHANT_SHOW: &str = concat!(
    "Example:\n  gatewayctl merchant show 0192f0c1-2a3b-7c4d-8e5f-0123456789ab",
    database!()
);

pub const MERCHANT_LIST: &str = concat!("Example:\n  gatewayctl --json merchant list", database!());

pub const DATABASE_HAND_OVER: &str = concat!(
    "\
Ends every session of the database and refuses new ones, so that nothing follows its last commit. A standby
that has replayed that commit continues with its addresses and payouts as they are.

Example:
  gatewayctl database hand-over",
    database!()
);

pub const DATABASE_TAKE_BACK: &str = concat!(
    "\
Never run it after a standby was promoted: two databases would be in use.

Example:
  gatewayctl database take-back",
    database!()
);

pub const DATABASE_RESTORED: &str = concat!(
    "\
Recovery from a base backup, a dump in a new database and a promoted standby are noticed by themselves. A snapshot of
a disk or of a hosted server may not be: run this before any program starts. Run once too often, it costs ten
million address indices of two thousand million, and the pools have to be filled again.

Example:
  gatewayctl database restored",
    database!()
);

macro_rules! both_keys {
    () => {
        "\n\nEnvironment:\n  \
         GATEWAY_MASTER_KEY      the new key: openssl rand -hex 32\n  \
         GATEWAY_MASTER_KEY_OLD  the one before it"
    };
}

pub const SECRETS_ROTATE: &str = concat!(
    "\
First give both keys to every program and restart it. Then run this; it may be interrupted and run again.
Finally remove the old key from every program's settings.

Example:
  gatewayctl secrets rotate",
    both_keys!(),
    "\n  \
     DATABASE_URL            postgres://user:password@host:5432/database\n  \
     GATEWAY_PROFILE         sandbox (default) or production"
);

pub const SECRETS_RESEAL_SEED: &str = concat!(
    "\
For a seed that the master key seals. One with a key of its own (GATEWAY_PAYOUTS__SEED_KEY, with --x402
GATEWAY_X402__SEED_KEY) stays as it is.

Examples:
  gatewayctl secrets reseal-seed --seed-file payout-seed > payout-seed.new
  gatewayctl secrets reseal-seed --x402 --seed-file x402-seed > x402-seed.new",
    both_keys!()
);

pub const SIMULATE_DEPOSIT: &str = concat!(
    "\
The chain-watcher finds it like any other payment; without one running no invoice changes.

Examples:
  gatewayctl simulate deposit --payment-id pzi_… --amount 25
  gatewayctl simulate deposit --payment-id pzi_… --amount 10 --unconfirmed
  gatewayctl simulate deposit --payment-id pzi_… --amount 25 --currency usdcmatic
  gatewayctl simulate deposit --network polygon --address 0x… --amount 25 --contract 0x…
  gatewayctl simulate deposit --payout empo_0123456789abcdefghjkmnpqrs",
    database!()
);

pub const SIMULATE_CONFIRM: &str =
    concat!("Example:\n  gatewayctl simulate confirm --txid 0x5f…", database!());

pub const SIMULATE_ORPHAN: &str =
    concat!("Example:\n  gatewayctl simulate orphan --txid 0x5f…", database!());

pub const SIMULATE_MINE: &str =
    concat!("Example:\n  gatewayctl simulate mine --network bitcoin --blocks 6", database!());

pub const SIMULATE_HISTORY: &str = concat!(
    "\
Invoices, deposits in blocks of the simulated chain, ledger entries and webhooks, with times of the past thirty days.
The programs must have read rates before.

Example:
  gatewayctl simulate history --merchant 0192f0c1-2a3b-7c4d-8e5f-0123456789ab",
    database!()
);

pub const ADDRESSES_STATUS: &str = concat!(
    "\
Most families derive their addresses from a public key. Solana and NEAR draw them from pools; an empty
pool takes their currencies off the market until addresses are imported.

Examples:
  gatewayctl addresses status
  gatewayctl --json addresses status | jq '.[] | select(.state == \"low\")'",
    database!()
);

pub const ADDRESSES_EXPORT: &str = concat!(
    "\
For the machine that keeps the seed: nothing is connected to, and no key leaves it. The file holds the
network, the first index, every address and a count, signed by a key of the same seed. Its public half
is printed: name it in addresses.pool_signer of the gateway, once.

Example:
  gatewayctl addresses export --network solana --seed-file invoices.seed --from 0 --count 50000 --out solana-0.pool",
    "\n\nEnvironment:\n  \
     GATEWAY_COLD_SEED_KEY  64 hex characters that sealed the seed; no running program may have them\n\
     A file of an earlier release opens with GATEWAY_PAYOUTS__SEED_KEY or GATEWAY_MASTER_KEY, whichever sealed it."
);

pub const ADDRESSES_IMPORT: &str = concat!(
    "\
The whole file is imported, or nothing. It refuses files that addresses.pool_signer has not signed, invalid
addresses, indices that the pool had before or that leave a gap, and a first address other than the
expected one.

Example:
  gatewayctl addresses import solana-0.pool --by ada",
    database!()
);

pub const ADDRESSES_FILL: &str = concat!(
    "\
Addresses of the other networks are derived from public keys and need no pool. In the sandbox they
come from a published test phrase: anybody can spend from them.

Example:
  gatewayctl addresses fill --network solana --count 200",
    database!()
);

pub const DOCTOR: &str = concat!(
    "\
Nothing is changed. Exit code 1 if anything is broken.

Examples:
  gatewayctl doctor
  gatewayctl doctor --network polygon
  gatewayctl --json doctor | jq '.checks[] | select(.state != \"ok\")'",
    database!(),
    "\n  \
     GATEWAY_BROKER__MANAGEMENT_URL  http://user:password@host:15672; without it the topology is not checked\n  \
     AMQP_URL                        amqp://user:password@host:5672/vhost"
);

macro_rules! settings {
    () => {
        "\n\nEnvironment:\n  \
         GATEWAY_CONFIG       the settings file, if you use one\n  \
         GATEWAY_SECRETS_DIR  a folder of files that are called after the variables which they set, over the file\n  \
         GATEWAY_…            every setting as GATEWAY_<SECTION>__<KEY>, over the file\n  \
         DATABASE_URL         the database, by a name of its own\n  \
         AMQP_URL             the broker, by a name of its own"
    };
}

pub const CONFIG_CHECK: &str = concat!(
    "\
Judges the settings of this shell as production would, also in a sandbox, and says for each line what to do. `broken`
refuses the start; `doubtful` does not, and should be a decision. Run it with the settings of each program, since
some belong to one alone. No server is asked: gatewayctl doctor does that.

Examples:
  gatewayctl config check
  GATEWAY_CONFIG=/etc/gateway.toml gatewayctl config check
  gatewayctl --json config check | jq '.checks[] | select(.state != \"ok\")'",
    settings!()
);

pub const CONFIG_SHOW: &str = concat!(
    "\
What a program started from this shell would run with: defaults, then the file, then the files of secrets, then the
environment. Of a secret it says only whether it is set. Of a network without a node it shows its source and what is
given. Exit code 1 if a name is no setting: no program starts with it.

Examples:
  gatewayctl config show
  gatewayctl --json config show | jq '.settings[] | select(.from != \"default\")'",
    settings!()
);

pub const AUDIT: &str = concat!(
    "\
The database notes every change that this program makes: the user, the row, the columns. Values that
may be secret show as …

Examples:
  gatewayctl audit
  gatewayctl audit evt_0192f0c12a3b7c4d8e5f0123456789ab
  gatewayctl audit --since 2026-01-31T12:00:00Z",
    database!(),
    "\n  \
     GATEWAY_OPERATOR    your name for the audit log, if not the shell's user"
);

pub const DEAD_LETTERS_LIST: &str = concat!(
    "\
Examples:
  gatewayctl dead-letters list
  gatewayctl --json dead-letters list --queue ipn-delivery",
    database!()
);

pub const DEAD_LETTERS_REQUEUE: &str = concat!(
    "\
The running programs publish them within a second. Twice starts one cycle, not two.

Examples:
  gatewayctl dead-letters requeue --event-id evt_0192f0c12a3b7c4d8e5f0123456789ab
  gatewayctl dead-letters requeue --queue ipn-delivery --since 2026-01-31T12:00:00Z
  gatewayctl dead-letters requeue --queue ipn-delivery --merchant 0192f0c1-2a3b-7c4d-8e5f-0123456789ab",
    database!()
);

pub const DELIVERIES_SHOW: &str = concat!(
    "Example:\n  gatewayctl deliveries show evt_0192f0c12a3b7c4d8e5f0123456789ab",
    database!()
);

pub const INVOICE_SHOW: &str = concat!("Example:\n  gatewayctl invoice show pzi_…", database!());

pub const INVOICE_EXPLAIN: &str = concat!(
    "\
Of an order id that several invoices have, they are listed instead, and the exit code is 1.

Examples:
  gatewayctl invoice explain pzi_…
  gatewayctl invoice explain A-1001",
    database!()
);

pub const INVOICE_CANCEL: &str = concat!(
    "\
Refused once any payment was seen. No webhook is sent; the API shows `failed`.

Example:
  gatewayctl invoice cancel pzi_…",
    database!()
);

pub const DEPOSIT_EXPLAIN: &str = concat!(
    "\
Reads the transaction from the network's node and compares each of its transfers with the rows: which
address it pays, whether its token is known, whether it was counted, and if not, why. With --address:
everything that arrived there, on every network. It changes nothing. Nodes of bitcoin-like networks find a
mined transaction while one of its outputs is unspent, or with an index. NEAR's nodes find none: look the
transaction up in an explorer, take the block of the receipt that pays the address, which is one or more
after the transaction's own, and give its number as --height.

Examples:
  gatewayctl deposit explain 0x5f… --network polygon
  gatewayctl deposit explain 9aHk… --network near --height 128000000
  gatewayctl deposit explain --address 0xf39F…",
    database!()
);

pub const DEPOSIT_IMPORT: &str = concat!(
    "\
Records what deposit explain calls missed exactly as the watcher would have: the same key, the same
confirmations, the same booking. A repeat changes nothing. Without --yes it only prints the effect. It
refuses transfers made before the address was assigned, blocks that the watcher has not read, and blocks
that differ from those it read. The audit log keeps the name. On NEAR, --height is required; deposit
explain --help says where to find it.

Examples:
  gatewayctl deposit import 0x5f… --network polygon
  gatewayctl deposit import 0x5f… --network polygon --yes --by ada",
    database!()
);

pub const DEPOSIT_ACCEPT: &str = concat!(
    "\
A deposit that a reorganisation removed after it was booked is reversed for good, with an alert
(deposit_reversed). If its transaction is mined again (reversed_deposit_returned) or has another effect
(deposit_changed), it counts only once an operator accepts it here. An amount that the total of its invoice
or order still includes returns to the books alone, without a webhook; any other amount is credited like
any deposit: by its amount, in time if it was first seen or mined in time, with its webhooks. The node must
report it in the very block that the watcher has read, with all its confirmations, or nothing is changed.
A deposit found by an address's balance has no transaction: name it by its key, ADDRESS@HEIGHT; the address
must hold it at the last block read. A repeat changes nothing. The audit log keeps the name and the reason.
Without --yes it only prints the effect.

Examples:
  gatewayctl deposit accept 0x5f… --network polygon
  gatewayctl deposit accept 0x5f… --network polygon --yes --reason 'mined again, ticket 7' --by ada
  gatewayctl deposit accept 0xf39f…@6151 --network polygon",
    database!()
);

pub const DEPOSIT_LIST: &str = concat!(
    "\
The newest first. `foreign` are payments in another currency or on another network than their invoice
asked for (its merchant was told wrong_token_received), `suspicious` those in an unknown token,
`late` those after the end.

Examples:
  gatewayctl deposit list --booked foreign
  gatewayctl --json deposit list --booked late --network bsc",
    database!()
);

pub const BALANCES_LIST: &str = concat!(
    "\
Found by the sweeper at two heights, and not explained yet. A surplus is a payment that was not
seen; a deficit, coins that somebody with the wallet's keys has moved. Networks whose nodes are not asked
for balances are named below: dogecoin's cannot tell, NEAR's need chains.near.state_url.

Examples:
  gatewayctl balances list
  gatewayctl --json balances list --network polygon",
    database!()
);

pub const BALANCES_CHECK: &str = concat!(
    "\
Asks the network's node for the balance of the address, and compares it with the rows up to the block that the
watcher has read. On bitcoin and litecoin the node scans all its outputs for that, which takes minutes; dogecoin's
nodes cannot. NEAR needs chains.near.state_url.

Example:
  gatewayctl balances check --network polygon --address 0xf39F…",
    database!()
);

pub const BALANCES_EXPLAIN: &str = concat!(
    "\
Explains the whole present difference at an address, such as a sweep. It changes no deposit and no booking;
a later difference is shown again. The audit log keeps the name.

Example:
  gatewayctl balances explain --network polygon --address 0xf39F… --reason 'swept on Monday' --by ada",
    database!()
);

pub const BALANCES_START: &str = concat!(
    "\
Transfers that blocks do not show, such as internal transfers of contracts, are found by comparing an
address's balance with its balance at assignment. If the node could no longer report that
(starting_balance_unknown), everything unexplained counts as present before and is in no book. Look the
address up in an explorer: if it held less, or nothing, record that here, and the rest becomes a deposit at
the watcher's next block, late if its invoice has ended. A recorded balance can only be lowered. The audit
log keeps the name and the reason.

Example:
  gatewayctl balances start --network polygon --address 0xf39F… --held 0 --reason 'first used on Monday' --by ada",
    database!()
);

pub const CHAIN_RESTART: &str = concat!(
    "\
A watcher remembers the last 1,000 blocks. If the node has none of them, it stops and raises an alert
(reorg_too_deep): either the node serves another chain, or the network really went back that far. Find out
which before anything else, with a second node or an explorer. If it is the network, name a block below the
fork. It must lie below all remembered blocks, the node must have it, and the newest deposit up to it must
be on the node's chain. Everything above it is read again as after any reorganisation: deposits that come
back stay booked, the others are reversed once the new chain is as high as the old one was.
The audit log keeps the name and the reason. Without --yes it only prints the effect.

Examples:
  gatewayctl chain restart --network polygon --height 70000000
  gatewayctl chain restart --network polygon --height 70000000 --yes --reason 'fork at 70000412' --by ada",
    database!()
);

pub const CURRENCY_LIST: &str =
    concat!("Example:\n  gatewayctl currency list --network polygon", database!());

pub const CURRENCY_ENABLE: &str =
    concat!("Example:\n  gatewayctl currency enable usdtnear@near", database!());

pub const CURRENCY_DISABLE: &str =
    concat!("Example:\n  gatewayctl currency disable eth@base", database!());

pub const CURRENCY_SET_MIN: &str =
    concat!("Example:\n  gatewayctl currency set-min btc 100", database!());

pub const DEMO: &str = concat!(
    "\
Plays a merchant and a buyer against a running sandbox. `make run` starts one and does this.

Example:
  gatewayctl demo --price 40 --currency btc",
    database!()
);

pub const CHECK_RECEIVER: &str = "\
Sends some twenty deliveries to a receiver and prints a table: genuine events, copies of them, and
forgeries of every kind. Exit code 0 only if all were answered as they should be. The samples are
signed with the real secret, so each says _gateway.test: true: let your receiver answer them with
200 and ship nothing. It needs no database. `curl` what fails, and see docs/webhooks.md.

Examples:
  gatewayctl check-receiver http://127.0.0.1:3000/ipn --secret 5f0c…
  gatewayctl check-receiver https://shop.example/payouts --channel payout
  gatewayctl --json check-receiver http://127.0.0.1:3000/ipn | jq '.cases[] | select(.passed | not)'

Environment:
  WEBHOOK_SECRET  instead of --secret, which other users of the machine can read in its process list";

pub const LISTEN: &str = "\
Payment IPNs are taken at /ipn, webhooks of mass payouts at /payouts: they are signed in different
ways, and neither is ever checked by the other's rules. Answers 200 to what verifies and 401 to what
does not. It needs no database.

With --forward, what verifies is posted on to your own receiver, byte for byte and with its headers,
and the gateway gets your receiver's answer: a 500 is tried again as it will be in production. While
your receiver is away the answer is 502.

With --feed nothing has to reach this machine: it asks GET /v1/events every three seconds, from now
on, and posts each event to your receiver, signed with your secret as its webhook is. So invoices
need no ipn_callback_url. What your receiver does not take is tried five times, five seconds apart.

Examples:
  gatewayctl listen --secret 5f0c… --port 9999
  gatewayctl listen --secret 5f0c… --forward http://127.0.0.1:3000/ipn
  API_KEY=64d1… gatewayctl listen --feed --base-url https://sandbox.pay.example --secret 5f0c… \\
      --forward http://127.0.0.1:3000/ipn --forward-payouts http://127.0.0.1:3000/payouts

Environment:
  WEBHOOK_SECRET    instead of --secret, which other users of the machine can read in its process
                    list
  API_KEY           instead of --api-key, for the same reason
  GATEWAY_BASE_URL  instead of --base-url";
