#!/bin/sh
# Prints the path of a bitcoind, and fetches one into target/ if the machine has none: Bitcoin
# Knots, a fork of Bitcoin Core that Debian packages. Order: $BITCOIND, `bitcoind` on PATH, the copy
# fetched earlier, Debian's mirror.
exec "$(dirname "$0")/debian-program.sh" BITCOIND bitcoind bitcoin-knots trixie-backports usr/bin/bitcoind
