#!/usr/bin/env bash
# Backups of the gateway's PostgreSQL, and restoring them so that the gateway notices. Needs
# PostgreSQL's own programs of the server's major version, tar, gzip, flock and, for encryption, gpg;
# nothing of the gateway.
#
#   backup.sh base --to FOLDER     a copy of the whole server (a user with REPLICATION)
#   backup.sh wal --to FOLDER      receives the write-ahead log until it is stopped
#   backup.sh dump --to FOLDER     a copy of the one database, where no replication is offered
#   backup.sh check FILE           reads a backup as a restore would
#   backup.sh restore FILE --into FOLDER [--wal FOLDER] [--until TIME]      of base
#   backup.sh restore FILE --database URL                                   of dump
#
# base and dump want --encrypt-to RECIPIENT (a public key that gpg knows) or --unencrypted. The
# database is GATEWAY_DATABASE_DIRECT_URL or DATABASE_URL; PG_BIN names the folder of PostgreSQL's
# programs where they are not found. docs/backup.md has the whole procedure.
set -euo pipefail
umask 077

say() { printf '%s\n' "$*" >&2; }
die() {
    say "error: $*"
    exit 1
}
usage() {
    sed -n '/^#   backup.sh/s/^# *//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

to='' recipient='' unencrypted='' into='' wal='' until='' target='' file='' slot=gateway_backup
scratch='' major=''
cleanup() { if [ -n "$scratch" ]; then rm -rf -- "$scratch"; fi; }
trap cleanup EXIT

read_options() {
    while [ $# -gt 0 ]; do
        case $1 in
            --unencrypted) unencrypted=yes && shift && continue ;;
            --to | --encrypt-to | --into | --wal | --until | --database | --slot)
                [ $# -ge 2 ] || die "$1 needs a value"
                ;;&
            --to) to=$2 ;;
            --encrypt-to) recipient=$2 ;;
            --into) into=$2 ;;
            --wal) wal=$2 ;;
            --until) until=$2 ;;
            --database) target=$2 ;;
            --slot) slot=$2 ;;
            -*) die "unknown option $1" ;;
            *)
                [ -z "$file" ] || die "one file only: $1"
                file=$1 && shift && continue
                ;;
        esac
        shift 2
    done
}

# Sets `url` to $1 without its password, which goes to the environment: command lines are public on
# their machine.
connect_to() {
    url=$1
    [ -n "$url" ] || die "which database? Set DATABASE_URL, or GATEWAY_DATABASE_DIRECT_URL where that leads to a pooler"
    if [[ $url =~ ^([a-z]+://[^:/@?]*):([^@/]*)@(.*)$ ]]; then
        local encoded=${BASH_REMATCH[2]//\\/\\\\}
        PGPASSWORD=$(printf '%b' "${encoded//%/\\x}")
        export PGPASSWORD
        url=${BASH_REMATCH[1]}@${BASH_REMATCH[3]}
    fi
}

ask() { psql -X -w -A -t -q -v ON_ERROR_STOP=1 -d "$url" -c "$1"; }

# Prints the path of a program of PostgreSQL $2, or of the newest. Debian keeps most of them off the
# PATH.
program() {
    local folder version=${2:-}
    [ -n "$version" ] || version=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1 | cut -d / -f 5)
    for folder in ${PG_BIN:+"$PG_BIN"} "/usr/lib/postgresql/$version/bin" "/usr/pgsql-$version/bin"; do
        if [ -x "$folder/$1" ]; then
            printf '%s\n' "$folder/$1"
            return
        fi
    done
    command -v "$1" || die "$1 of PostgreSQL ${2:-} was not found: install it, or set PG_BIN to its folder"
}

check_target_folder() {
    [ -n "$to" ] || die "--to FOLDER: where shall it go?"
    [ -d "$to" ] || die "$to is no folder"
    to=$(cd "$to" && pwd)
}

check_encryption() {
    [ -z "$recipient" ] || [ -z "$unencrypted" ] || die "--encrypt-to or --unencrypted, not both"
    if [ -n "$recipient" ]; then
        gpg --batch --list-keys -- "$recipient" >/dev/null 2>&1 || die "gpg knows no public key of $recipient"
    elif [ -z "$unencrypted" ]; then
        die "a backup holds buyers' addresses and merchants' sealed secrets: --encrypt-to RECIPIENT, or" \
            "--unencrypted where the folder itself is encrypted"
    fi
}

encrypt() {
    if [ -n "$recipient" ]; then
        gpg --batch --quiet --trust-model always --encrypt --recipient "$recipient" --output -
    else
        cat
    fi
}

# Sets `kept` to the path of a backup called $1.
name_it() {
    kept=$to/$1
    if [ -n "$recipient" ]; then kept=$kept.gpg; fi
    # Told before an hour of copying, and made sure of after it.
    if [ -e "$kept" ]; then die "$kept is there already; nothing was written"; fi
    if [ -e "$kept.sha256" ]; then die "$kept.sha256 is there already, of another backup; nothing was written"; fi
}

# Lets one run at a time write into the folder, and removes what killed ones left, which may be
# readable. The lock ends with its holders, and PostgreSQL's programs, which outlive a script that
# is killed, hold it too.
take_folder() {
    command -v flock >/dev/null || die "flock was not found: it is part of util-linux"
    { exec {lock}>>"$to/.backup.lock"; } 2>/dev/null || die "$to/.backup.lock cannot be written: is the folder another user's?"
    flock -n "$lock" || die "another backup is being written into $to; wait for its end"
    local left
    # The release before this one took no lock, and called its folders by six characters alone. A
    # run of it may still be under way, but not for a day.
    find "$to" -maxdepth 1 -type d \( -name '.unfinished.run.*' -o -name '.unfinished.??????' -mtime +0 \) -print0 |
        while IFS= read -r -d '' left; do
            rm -rf -- "$left"
            say "removed $left, which a backup that was killed had left"
        done
    scratch=$(mktemp -d "$to/.unfinished.run.XXXXXX")
}

# Puts the finished file in `scratch` at $kept and its checksum beside it. Neither may exist. Both are
# on the disk when this returns.
#
# Never at the end of a pipe: a part of it that broke off would be known only after this, and half a
# backup would have a checksum that holds.
keep() {
    local name=${kept##*/}
    [ -s "$scratch/$name" ] || die "nothing was written"
    (cd "$scratch" && sha256sum -- "$name" >sum)
    sync -- "$scratch/$name" "$scratch/sum" || die "the disk did not take it; nothing was kept"
    # A link is made or refused at once, where a move would overwrite. The checksum is first, so that
    # no kill leaves a backup without one or beside a foreign one.
    ln -T -- "$scratch/sum" "$kept.sha256" || die "$kept.sha256 is there already; nothing was kept"
    if ! ln -T -- "$scratch/$name" "$kept"; then
        rm -f -- "$kept.sha256"
        die "$kept is there already; nothing was kept"
    fi
    # The names are in the folder, which is a file of its own.
    sync -- "$to" || die "$kept is written, but a power cut may lose it: the disk did not take its folder"
}

say_kept() {
    say "$1, schema step ${schema_step:-unknown (no right to read _sqlx_migrations)}, $(du -h -- "$kept" | cut -f 1), $kept"
    if [ -n "$recipient" ]; then
        say "encrypted to $recipient: only the holder of that private key can restore it. Try it there: backup.sh check FILE"
    else
        say "NOT ENCRYPTED: keep it where only you can read it, and encrypt it before it leaves this machine"
    fi
    say "not in it: master key, seeds and their keys, settings. A backup without its master key opens no webhook secret"
}

# What a restore needs to know about the server.
look() {
    major=$(($(ask 'show server_version_num') / 10000))
    schema_step=$(ask "select max(version) from _sqlx_migrations" 2>/dev/null || true)
}

base() {
    check_target_folder
    check_encryption
    connect_to "${GATEWAY_DATABASE_DIRECT_URL:-${DATABASE_URL:-}}"
    look
    local basebackup verify
    basebackup=$(program pg_basebackup "$major")
    verify=$(program pg_verifybackup "$major")
    name_it "gateway-base-$(date -u +%Y%m%dT%H%M%SZ).tar.gz"
    take_folder
    "$basebackup" -w -d "$url" -D "$scratch/data" -X stream --checkpoint=fast --manifest-checksums=SHA256
    "$verify" --quiet "$scratch/data" || die "the copy is damaged; nothing was kept"
    tar -C "$scratch/data" -cf - . | gzip -1 | encrypt >"$scratch/${kept##*/}" ||
        die "the copy could not be packed; nothing was kept"
    [ -n "$recipient" ] || gzip -t "$scratch/${kept##*/}" || die "what was packed cannot be read; nothing was kept"
    keep
    say_kept "base backup of PostgreSQL $major, verified by its manifest"
    say "with the log that backup.sh wal receives it restores up to the last second; alone, up to now"
}

wal() {
    check_target_folder
    connect_to "${GATEWAY_DATABASE_DIRECT_URL:-${DATABASE_URL:-}}"
    look
    local receive
    receive=$(program pg_receivewal "$major")
    if [ "$(ask 'show max_slot_wal_keep_size')" = -1 ]; then
        say "warning: max_slot_wal_keep_size is unlimited. While this program is away the server keeps its log, until its disk is full"
    fi
    "$receive" -w -d "$url" --slot "$slot" --create-slot --if-not-exists
    say "receiving the write-ahead log of PostgreSQL $major into $to (slot $slot), each commit as it comes"
    exec "$receive" -w -d "$url" -D "$to" --slot "$slot" --synchronous
}

dump() {
    check_target_folder
    check_encryption
    connect_to "${GATEWAY_DATABASE_DIRECT_URL:-${DATABASE_URL:-}}"
    look
    name_it "gateway-dump-$(date -u +%Y%m%dT%H%M%SZ).pgdump"
    take_folder
    "$(program pg_dump "$major")" -w -d "$url" -Fc --lock-wait-timeout=60000 -f "$scratch/dump"
    read_dump "$scratch/dump" || die "the copy cannot be read; nothing was kept"
    encrypt <"$scratch/dump" >"$scratch/${kept##*/}" || die "the copy could not be encrypted; nothing was kept"
    keep
    say_kept "dump of PostgreSQL $major, read to its end"
    say "what is committed after this moment is not in it and no log can add it: at most the time between two dumps is lost"
}

# Decompresses everything, and looks for the table that no installation is without.
read_dump() {
    local restore
    restore=$(program pg_restore "$major")
    # Not grep -q, which would end pg_restore in the middle of its list.
    "$restore" --list "$1" | grep ' TABLE DATA [^ ]* database_identity ' >/dev/null &&
        "$restore" -f /dev/null "$1"
}

# Prints the backup, decrypted.
open() {
    case $file in
        *.gpg) gpg --batch --quiet --decrypt -- "$file" ;;
        *) cat -- "$file" ;;
    esac
}

check_file() {
    [ -n "$file" ] || die "which file?"
    [ -r "$file" ] || die "$file cannot be read"
    if [ -r "$file.sha256" ]; then
        (cd "$(dirname "$file")" && sha256sum --quiet --check -- "$(basename "$file").sha256") >&2 ||
            die "$file is not what was written"
    else
        say "warning: $file.sha256 is not there, so nobody knows whether the file is whole"
    fi
}

# Unpacks a base backup into $1 and verifies it.
unpack() {
    open | gzip -dc | tar -xpf - -C "$1"
    major=$(cat "$1/PG_VERSION")
    "$(program pg_verifybackup "$major")" --quiet "$1" || die "$file is damaged"
}

# Makes `scratch` for what `check` decrypts, and removes what checks that were killed left.
take_scratch() {
    local left
    for left in "${TMPDIR:-/tmp}"/backup-check.??????; do
        # One that was made just now may not have its lock yet.
        if [ -d "$left" ] && [ ! -L "$left" ] && [ -O "$left" ] && [ -n "$(find "$left" -maxdepth 0 -mmin +1)" ]; then
            exec {lock}<"$left"
            if flock -n "$lock"; then rm -rf -- "$left"; fi
            exec {lock}<&-
        fi
    done
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/backup-check.XXXXXX")
    exec {lock}<"$scratch"
    flock -n "$lock" || die "$scratch cannot be locked"
}

check() {
    check_file
    take_scratch
    case $file in
        *.tar.gz | *.tar.gz.gpg)
            mkdir "$scratch/data"
            unpack "$scratch/data"
            ;;
        *.pgdump | *.pgdump.gpg)
            open >"$scratch/dump"
            read_dump "$scratch/dump" || die "$file cannot be restored"
            ;;
        *) die "$file is no backup of this script" ;;
    esac
    say "$file can be restored"
}

# Recovery ends on a new timeline, by which the gateway knows that it is not the server it was. A
# base backup that is merely started recovers like after a power cut, stays on its timeline, and
# would go unnoticed.
write_recovery() {
    local fetch=false
    if [ -n "$wal" ]; then
        fetch="cp \"$wal/%f\" \"%p\" 2>/dev/null || cp \"$wal/%f.partial\" \"%p\" 2>/dev/null"
    fi
    {
        printf '\n# Written by backup.sh restore.\n'
        printf "restore_command = '%s'\n" "$fetch"
        if [ -n "$until" ]; then printf "recovery_target_time = '%s'\n" "$until"; fi
        printf "recovery_target_action = 'promote'\n"
        printf "recovery_target_timeline = 'latest'\n"
        # Its commits would wait for a standby it does not have, and its log would mix with that of
        # the server it was copied from.
        printf "synchronous_standby_names = ''\nprimary_conninfo = ''\narchive_mode = off\n"
    } >>"$into/postgresql.auto.conf"
    touch "$into/recovery.signal"
}

restore_base() {
    [ -n "$into" ] || die "--into FOLDER: an empty folder for the server's data"
    if [ -e "$into" ] && [ -n "$(ls -A -- "$into")" ]; then die "$into is not empty; nothing was changed"; fi
    if [ -n "$wal" ]; then
        [ -d "$wal" ] || die "$wal is no folder"
        wal=$(cd "$wal" && pwd)
        case $wal in *[\'\"\\%\$\`]*) die "PostgreSQL's restore_command cannot name $wal" ;; esac
    fi
    if [ -n "$until" ]; then
        date -d "$until" >/dev/null 2>&1 || die "$until is no time; write it as '2026-11-26 12:00:00+00'"
        case $until in *\'*) die "$until is no time" ;; esac
    fi
    mkdir -p -- "$into"
    chmod 0700 -- "$into"
    into=$(cd "$into" && pwd)
    unpack "$into"
    write_recovery
    say "restored into $into, verified by its manifest, for PostgreSQL $major; recovery goes to ${until:-the end of the log}${wal:+ in $wal}"
    [ -e "$into/postgresql.conf" ] ||
        say "its settings are not in the backup, as the server keeps them elsewhere: start it with those (Debian: pg_createcluster)"
    say "next, as the user who runs PostgreSQL:"
    say "  pg_ctl -D $into start"
    say_next
}

restore_dump() {
    [ -n "$target" ] || die "--database URL: a new, empty database"
    connect_to "$target"
    look
    local tables
    tables=$(ask "select count(*) from pg_tables where schemaname not in ('pg_catalog', 'information_schema')")
    [ "$tables" = 0 ] || die "that database has $tables tables; make a new one: createdb. Nothing was changed"
    # Owners and grants are those of this server: gatewayctl migrate makes the roles and grants anew.
    open | "$(program pg_restore "$major")" -w -d "$url" --exit-on-error --single-transaction --no-owner --no-privileges
    # Also in a database that was emptied for this, where every other mark is as before.
    ask "update database_identity set identity = 'restored ' || identity, handover = null"
    say "restored into $(ask 'select current_database()') on PostgreSQL $major"
    say "next:"
    say_next
}

say_next() {
    say "  gatewayctl migrate             with DATABASE_URL of the restored server; also makes roles and grants"
    say "  gatewayctl topology apply      if the broker is new as well"
    say "  gatewayctl doctor              has to report database_replaced: addresses jump, nothing is signed"
    say "and then docs/backup.md, from 'After a restore' on, before gatewayctl payouts resume"
}

restore() {
    check_file
    case $file in
        *.tar.gz | *.tar.gz.gpg) restore_base ;;
        *.pgdump | *.pgdump.gpg) restore_dump ;;
        *) die "$file is no backup of this script" ;;
    esac
}

command=${1:-}
[ $# -eq 0 ] || shift
read_options "$@"
case $command in
    base | wal | dump | check | restore) "$command" ;;
    *) usage ;;
esac
