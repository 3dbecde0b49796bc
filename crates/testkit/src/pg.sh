#!/bin/sh
# A temporary PostgreSQL server that lives exactly as long as the process at the other end of this script's standard
# input.
#
# The first line of standard output is the server's URL; any other output is the reason of a failure. Then the script
# waits for the end of standard input, stops the server and removes its directory. The kernel closes a pipe however the
# process ends, including `kill -9`, so no server outlives its tests.
#
# Durability is off, because the server is made for one run. No durability test runs on it.
# With --durable it is on, and a line `restart` on standard input crashes and restarts the server: its memory is lost,
# committed data is recovered, and the script prints `restarted` when the server accepts connections again.

set -u
# Also isolates initdb from the user's locale, and avoids a start-up thread on macOS that the postmaster refuses.
export LC_ALL=C
unset PGDATA PGHOST PGPORT PGUSER PGDATABASE PGOPTIONS

dir=
as=
durable=off
if [ "${1-}" = --durable ]; then
    durable=on
fi

give_up() {
    echo "$1"
    exit 1
}

clean_up() {
    # A second signal must not interrupt the cleanup.
    trap '' EXIT HUP INT TERM PIPE
    if [ -n "$dir" ]; then
        # `immediate` skips the last checkpoint, because these files are not read again.
        if [ -f "$dir/data/postmaster.pid" ]; then
            $as "$bin/pg_ctl" -D "$dir/data" -m immediate -w -t 30 stop >/dev/null 2>&1
        fi
        cd / && rm -rf "$dir"
    fi
}

# Distributions install the server's programs outside PATH, several versions side by side. The highest version wins.
find_programs() {
    on_path=$(command -v initdb) && on_path=$(dirname "$(readlink -f "$on_path")")
    for bin in "$on_path" $(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin \
        /usr/local/opt/postgresql*/bin 2>/dev/null | sort -rV); do
        if [ -x "$bin/initdb" ] && [ -x "$bin/postgres" ] && [ -x "$bin/pg_ctl" ]; then
            return 0
        fi
    done
    return 1
}

find_programs || give_up "no initdb on PATH or in the usual places: run ./test, which installs PostgreSQL, \
or set TENURE_TEST_PG to the URL of a server"
if [ "${1-}" = --find ]; then
    echo "$bin"
    exit 0
fi

trap clean_up EXIT
# PIPE: the caller may be gone before the URL is printed.
trap 'exit 1' HUP INT TERM PIPE

# Not $TMPDIR: the path of a socket has at most 107 bytes, and temporary directories can be deep.
dir=$(mktemp -d /tmp/tn-XXXXXX) || give_up "cannot make a directory in /tmp"

if [ "$(id -u)" = 0 ]; then
    # PostgreSQL refuses to run as root. setpriv execs the program; su would stay as its parent.
    command -v setpriv >/dev/null || give_up "PostgreSQL refuses to run as root, and there is no setpriv"
    user=postgres
    id "$user" >/dev/null 2>&1 || user=nobody
    chown "$user" "$dir" || give_up "cannot give $dir to $user"
    as="setpriv --reuid=$(id -u "$user") --regid=$(id -g "$user") --clear-groups"
fi
# The other user may have no access to the current directory.
cd "$dir" || give_up "cannot enter $dir"

# Trust authentication is safe here: the server listens only on the socket, and its directory is private.
$as "$bin/initdb" --pgdata="$dir/data" --username=postgres --auth=trust --locale=C --encoding=UTF8 --no-sync \
    >"$dir/log" 2>&1 </dev/null || give_up "initdb failed: $(cat "$dir/log")"

cat >>"$dir/data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$dir'
port = 5432
max_connections = 400
max_locks_per_transaction = 512
shared_buffers = 128MB
fsync = $durable
synchronous_commit = $durable
full_page_writes = $durable
CONF
if [ $durable = on ] && [ "$(uname)" = Linux ] &&
    $as "$bin/postgres" --describe-config 2>/dev/null | grep -q '^recovery_init_sync_method'; then
    # A recovery first syncs every file (3 s on a busy disk), or the whole file system at once (0.4 s).
    echo "recovery_init_sync_method = syncfs" >>"$dir/data/postgresql.conf"
fi

# pg_ctl waits until the server accepts connections, and starts it in a separate session: Ctrl-C reaches the tests, and
# this script then stops the server.
$as "$bin/pg_ctl" -D "$dir/data" -l "$dir/data/log" -w -t 60 start >>"$dir/log" 2>&1 </dev/null ||
    give_up "PostgreSQL did not start: $(cat "$dir/log" "$dir/data/log" 2>/dev/null)"

echo "postgres://postgres@/postgres?host=$dir&port=5432"
# A caller that reads this script's output to its end must not wait for the server's.
exec 3>&1 >/dev/null 2>&1
[ $durable = on ] || exec 3>&-

while read -r order; do
    if [ "$order" = restart ] && [ $durable = on ]; then
        if $as "$bin/pg_ctl" -D "$dir/data" -l "$dir/data/log" -m immediate -w -t 60 restart 3>&- </dev/null; then
            echo restarted >&3
        else
            echo "PostgreSQL did not come back: $(tail -n 20 "$dir/data/log")" >&3
        fi
    fi
done
