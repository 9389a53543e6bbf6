//! Text below the flags in `--help` of `setup` and `ready`.

use crate::words::database;

pub const SETUP: &str = concat!(
    "\
Does what `migrate` and `topology apply` do, and in the sandbox fills the pools of Solana and NEAR. Settings that
refuse a start are told before anything is changed. Run it before the programs, and before each new version; the old
ones may run meanwhile.

Example:
  docker compose run --rm migrate gatewayctl setup",
    database!(),
    "\n  \
     AMQP_URL                        amqp://user:password@host:5672/vhost\n  \
     GATEWAY_BROKER__MANAGEMENT_URL  http://user:password@host:15672, an administrator\n  \
     GATEWAY_BROKER__…_PASSWORD      of the users APPLICATION, OPERATOR and TOPOLOGY, which it creates"
);

pub const READY: &str = "\
Asks the address of a program's health (`api.metrics_listen` and the like) and says which parts cannot work. For health
checks of containers, whose image has no other client.

Examples:
  gatewayctl ready
  gatewayctl ready http://127.0.0.1:9082/readyz

Environment:
  none is read";
