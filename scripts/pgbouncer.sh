#!/bin/sh
# Prints the path of a PgBouncer, and fetches one into target/ if the machine has none. Order:
# $PGBOUNCER, `pgbouncer` on PATH, the copy fetched earlier, Debian's mirror. Below 1.21 it forgets
# prepared statements, and the gateway refuses it.
exec "$(dirname "$0")/debian-program.sh" PGBOUNCER pgbouncer pgbouncer trixie usr/sbin/pgbouncer
