#!/usr/bin/env bash
# Does what the README says a newcomer can do: installs the modules into a Maven repository, then builds and runs the sample
# project on SQLite and on Redis, by the README's own lines. Only two things differ: the modules go to a temporary folder, so that
# what the user has installed stays as it is, and Redis listens on a free port. Other artifacts come from the user's repository.
# Then it runs the test of the Spring Boot sample, and starts that by its README's own command, on a free port.
set -euo pipefail
shopt -s nullglob
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly MARK='<!-- tools/try-readme.sh runs these lines'
readonly MOST_PORTS=10  # so many ports are tried for Redis
readonly MOST_WAITS=3000 # so often a Redis, or a shop, that was started is looked at, ten times a second; one that ends is noticed at once

scratch=$(mktemp -d)
redis=
shop=
finish() {
    local started
    for started in $redis $shop; do
        kill "$started" 2>/dev/null || true
    done
    [[ -z $shop ]] || wait "$shop" || true
    rm -rf "$scratch"
}
trap finish EXIT

fail() {
    printf 'README.md: %s\n' "$*" >&2
    exit 1
}

# The lines of the first block of kind $1 in the README, or of the first after the mark if $2 is given; without indentation. $3 is
# another page.
block() {
    awk -v fence="\`\`\`$1" -v mark="${2:-}" '
        mark == "" || index($0, mark) { marked = 1 }
        marked && $0 == fence { inside = 1; next }
        inside && $0 == "```" { exit }
        inside { sub(/^ +/, ""); print }' "${3:-README.md}"
}

# Whether the lines of file $1 stand in file $2, one after the other.
contains() {
    awk 'NR == FNR { wanted[++count] = $0; next }
        { sub(/^ +/, ""); at = $0 == wanted[at + 1] ? at + 1 : ($0 == wanted[1]); if (at == count) { found = 1; exit } }
        END { exit !(found && count) }' "$1" "$2"
}

# A repository that has what the user's has, but for Holdfast itself.
make_repository() {
    local user=$HOME/.m2/repository entry
    mkdir -p "$scratch/repository/dev"
    for entry in "$user"/*; do
        [[ $entry == */dev ]] || ln -s "$entry" "$scratch/repository/"
    done
    for entry in "$user"/dev/*; do
        [[ $entry == */holdfast ]] || ln -s "$entry" "$scratch/repository/dev/"
    done
    mkdir "$scratch/bin"
    printf '#!/bin/sh\nexec %q -B -ntp -Dmaven.repo.local=%q "$@"\n' "$(command -v mvn)" "$scratch/repository" >"$scratch/bin/mvn"
    chmod +x "$scratch/bin/mvn"
}

start_redis() {
    local try waits
    for ((try = 0; try < MOST_PORTS; try++)); do
        port=$((20000 + RANDOM % 10000))
        redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$scratch" >"$scratch/redis.log" 2>&1 &
        redis=$!
        for ((waits = 0; waits < MOST_WAITS; waits++)); do
            kill -0 "$redis" 2>/dev/null || break
            if redis-cli -p "$port" info server 2>/dev/null | grep -q "^process_id:$redis"; then
                return
            fi
            sleep 0.1
        done
        kill "$redis" 2>/dev/null || true
    done
    fail "redis-server does not start: $(cat "$scratch/redis.log")"
}

block java >"$scratch/program"
contains "$scratch/program" samples/plain-java/src/main/java/com/example/SellTheLastItem.java ||
    fail "its first block of Java is not in samples/plain-java"
block xml >"$scratch/dependency"
contains "$scratch/dependency" samples/plain-java/pom.xml || fail "its dependency is not in the pom.xml of samples/plain-java"
block sh "$MARK" >"$scratch/lines"
grep -q -- -Dquick "$scratch/lines" || fail "the lines that install Holdfast are not found"
runs=$(grep -c exec:java "$scratch/lines" || true)
grep -q sqlite: "$scratch/lines" && grep -q redis://localhost:6379 "$scratch/lines" || fail "a run on SQLite or on Redis is missing"

make_repository
start_redis
sed "s/:6379/:$port/" "$scratch/lines" >"$scratch/run"
PATH=$scratch/bin:$PATH bash -euo pipefail "$scratch/run" | tee "$scratch/out"
[[ $(grep -c 'Sold the last item, with fencing token [0-9]' "$scratch/out") == "$runs" ]] || fail "not every run has sold the item"

# The command of the shop's page begins its only line, so that arguments can follow.
shop_command=$(block sh '' samples/spring-boot/README.md)
[[ $shop_command == 'mvn -q spring-boot:run' ]] || fail "the first command of samples/spring-boot/README.md is not the one that starts it"
cd samples/spring-boot
export PATH=$scratch/bin:$PATH
mvn -q test
$shop_command -Dspring-boot.run.arguments="--server.port=0 --shop.database=$scratch/shop" >"$scratch/shop.log" 2>&1 &
shop=$!
for ((waits = 0; waits < MOST_WAITS; waits++)); do
    grep -q 'Started Shop in' "$scratch/shop.log" && break
    kill -0 "$shop" 2>/dev/null || break
    sleep 0.1
done
grep -q 'Started Shop in' "$scratch/shop.log" || fail "the shop does not start by its command: $(cat "$scratch/shop.log")"
