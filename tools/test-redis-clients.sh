#!/usr/bin/env bash
# Runs the tests of the stores in Redis with other versions of their client libraries, as an application may have them:
#   tools/test-redis-clients.sh JEDIS LETTUCE [-Dtest=... or another argument of Maven]
#   tools/test-redis-clients.sh 7.4.1 7.5.2.RELEASE
# Without -Dtest all tests of both modules are run. Nothing is compiled: the classes are those that the last build has
# made against its own versions, so that a call that a version lacks is met here as it is in an application.
set -euo pipefail
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

if (($# < 2)); then
    sed -n '2,6s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 64
fi
jedis=$1 lettuce=$2
shift 2

rm -f stores/redis{,-lettuce}/target/surefire-reports/TEST-*-clients.xml
mvn -B -ntp test -pl core,testkit,stores/redis,stores/redis-lettuce \
    -Djedis.version="$jedis" -Dlettuce.version="$lettuce" -Dsurefire.reportNameSuffix=clients \
    -Dmaven.main.skip=true -Dmaven.compiler.useIncrementalCompilation=false -Dmaven.resources.skip=true \
    -Dspotless.check.skip=true -Denforcer.skip=true -Dsurefire.failIfNoSpecifiedTests=false \
    -Dtest='dev/holdfast/redis/*Test,dev/holdfast/redis/**/*Test' "$@"

# The reports say which class path the tests had.
if ! grep -qs "jedis-$jedis\.jar" stores/redis/target/surefire-reports/TEST-*-clients.xml \
    || ! grep -qs "lettuce-core-$lettuce\.jar" stores/redis-lettuce/target/surefire-reports/TEST-*-clients.xml; then
    echo "No test was run with Jedis $jedis, or none with Lettuce $lettuce." >&2
    exit 1
fi
