#!/bin/sh
# Prints the path of an nginx, and fetches one into target/ if the machine has none.
# Order: $NGINX, `nginx` on PATH, the copy fetched earlier, Debian's mirror.
exec "$(dirname "$0")/debian-program.sh" NGINX nginx nginx trixie usr/sbin/nginx
