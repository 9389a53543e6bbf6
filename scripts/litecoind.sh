#!/bin/sh
# Prints the path of a litecoind, and fetches one into target/ if the machine has none.
# Order: $LITECOIND, `litecoind` on PATH, the copy fetched earlier, Debian's mirror.
# Not the package's /usr/bin/litecoind: that one writes into the home folder first.
exec "$(dirname "$0")/debian-program.sh" LITECOIND litecoind litecoind trixie usr/lib/litecoin/litecoind
