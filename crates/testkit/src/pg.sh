#!/bin/sh
# A throw-away PostgreSQL that lives exactly as long as whoever holds the other end of this script's standard input.
#
# The first line on standard output is the server's URL; anything else is the reason why there is none. Then the script
# waits for standard input to end, stops the server and removes its directory. The kernel closes a pipe however its
# holder ends, `kill -9` included, so no server outlives the tests it was made for.
#
# Durability is off: the server is made for one run. What is tested about durability is never tested on this one.
# With --durable it is on, and a line `restart` on standard input crashes the server and brings it back: its memory is
# lost, what it had promised is recovered, and `restarted` is said when it takes connections again.

set -u
# Also keeps a user's locale out of initdb, and macOS out of a start-up thread the postmaster refuses.
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
    # A second signal must not stop this half way.
    trap '' EXIT HUP INT TERM PIPE
    if [ -n "$dir" ]; then
        # `immediate` skips the last checkpoint: nobody will read these files again.
        if [ -f "$dir/data/postmaster.pid" ]; then
            $as "$bin/pg_ctl" -D "$dir/data" -m immediate -w -t 30 stop >/dev/null 2>&1
        fi
        cd / && rm -rf "$dir"
    fi
}

# Distributions keep the server's programs out of PATH and several versions side by side: the highest one wins.
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
# PIPE: whoever asked may be gone before the URL can be said.
trap 'exit 1' HUP INT TERM PIPE

# Not $TMPDIR: a socket's whole path has at most 107 bytes, and temporary directories can be deep.
dir=$(mktemp -d /tmp/tn-XXXXXX) || give_up "cannot make a directory in /tmp"

if [ "$(id -u)" = 0 ]; then
    # PostgreSQL refuses to run as root. setpriv becomes the program it starts; su would stay in between.
    command -v setpriv >/dev/null || give_up "PostgreSQL refuses to run as root, and there is no setpriv"
    user=postgres
    id "$user" >/dev/null 2>&1 || user=nobody
    chown "$user" "$dir" || give_up "cannot give $dir to $user"
    as="setpriv --reuid=$(id -u "$user") --regid=$(id -g "$user") --clear-groups"
fi
# The other user may not be allowed to stand where we were started.
cd "$dir" || give_up "cannot enter $dir"

# Trust is safe here: the socket is the only way in, and its directory is closed to other users.
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
    # A recovery first syncs every file by itself, or the whole file system at once: 3 s or 0.4 s on a busy disk.
    echo "recovery_init_sync_method = syncfs" >>"$dir/data/postgresql.conf"
fi

# pg_ctl waits until connections are accepted, and puts the server in a session of its own: Ctrl-C reaches the tests
# first and the server through us.
$as "$bin/pg_ctl" -D "$dir/data" -l "$dir/data/log" -w -t 60 start >>"$dir/log" 2>&1 </dev/null ||
    give_up "PostgreSQL did not start: $(cat "$dir/log" "$dir/data/log" 2>/dev/null)"

echo "postgres://postgres@/postgres?host=$dir&port=5432"
# Whoever reads our output to its end must not wait for the server's.
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
