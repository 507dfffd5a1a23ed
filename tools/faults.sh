#!/usr/bin/env bash
# Disturbs the processes that contend for one lock, their lines and their servers, and checks that nothing is lost:
#   tools/faults.sh STORE [INJECTIONS] [-D... or another argument of Maven]
#   tools/faults.sh redis 1000
# STORE is sqlite, postgres, mariadb, redis, zookeeper, etcd or memcached. INJECTIONS is how many faults each of its scenarios
# gets (default 1000); ./test gives each kind once. What was injected is printed with the seed, which -Dholdfast.seed sets.
# Where networks are cut, root and the programs ip and tc are needed, or the scenario is skipped.
set -euo pipefail
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

case ${1:-} in
    sqlite) module=jdbc tests='#*Sqlite' ;;
    postgres) module=jdbc tests='#*Postgres' ;;
    mariadb) module=jdbc tests='#*MariaDb' ;;
    redis | zookeeper | etcd | memcached) module=$1 tests='' ;;
    *)
        sed -n '2,7s/^# //p' "${BASH_SOURCE[0]}" >&2
        exit 64
        ;;
esac
injections=${2:-1000}
shift $(($# < 2 ? $# : 2))

# Maven says little: what the run prints is to be seen.
mvn -B -ntp -q test -pl "stores/$module" -am -Dtest="NemesisTest$tests,ServerClockTest$tests,FullDiskTest$tests" -Dsurefire.failIfNoSpecifiedTests=false \
    -Dholdfast.faults.injections="$injections" "$@"
