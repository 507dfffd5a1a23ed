#!/usr/bin/env bash
# Runs the laws of the stores, and the tests of the Spring module, with the libraries that a version of Spring Boot brings:
#   tools/test-boot.sh BOOT [short|all] [an argument of Maven]...
#   tools/test-boot.sh 4.0.7 all
# "short", the default, is some laws of each kind; "all" takes some ten minutes for one version. Both run the laws on Redis (Jedis and
# Lettuce), PostgreSQL, SQLite, ZooKeeper and etcd. A Jedis that is too old is shown to be refused; "all" then runs the laws with the
# version to which docs/spring-boot.md sends an application. Nothing is compiled: the classes are those of the last build, which
# were compiled against another version of Boot, as those that an application gets.
set -euo pipefail
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly OLDEST_JEDIS=7.2.0 # see docs/redis.md
readonly MODULES=core,testkit,stores/jdbc,stores/redis,stores/redis-lettuce,stores/zookeeper,stores/etcd,integrations/micrometer
readonly SPRING=bom,integrations/spring-boot,integrations/spring-boot-starter,integrations/spring-boot-versions
readonly OTHER_STORES=(LettuceLockStoreTest PostgresLockStoreTest SqliteLockStoreTest ZooKeeperLockStoreTest EtcdLockStoreTest)
# The keys that the build of the module has written are read from its folder, by its own build only.
readonly SPRING_TESTS='dev/holdfast/spring/**/*Test,!ConfigurationMetadataTest'
readonly REPORTS=integrations/spring-boot-versions/target/surefire-reports

if (($# < 1)) || [[ ! ${2:-short} =~ ^(short|all)$ ]]; then
    sed -n '2,8s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 64
fi
boot=$1 form=${2:-short}
shift $(($# < 2 ? 1 : 2))

run() {
    mvn -B -ntp test -pl "$MODULES,$SPRING" -Dboot.version="$boot" -DskipTests -Dmaven.main.skip=true \
        -Dmaven.compiler.useIncrementalCompilation=false -Dmaven.resources.skip=true -Dspotless.check.skip=true \
        -Denforcer.skip=true "$@"
}

joined() { (IFS=, && printf '%s' "$*"); }

# The reports say which class path the tests had, and which of them were run.
must_have_run() {
    local test
    for test in "$@"; do
        if ! compgen -G "$REPORTS/TEST-*.$test-boot-$boot.xml" >/dev/null; then
            echo "$test was not run with Spring Boot $boot." >&2
            exit 1
        fi
    done
}

rm -rf "$REPORTS"
stores=("${OTHER_STORES[@]}") spring=(JedisOfBootTest LocksEndpointTest) exceptions=()
if [[ $boot == 4.0.* ]]; then
    exceptions=('!HoldfastAutoConfigurationTest#jedis*+aJedis*' '!VirtualThreadsTest') # its Jedis is older than 7.2
else
    stores+=(RedisLockStoreTest) spring=(JedisOfBootTest VirtualThreadsTest) # the endpoint is tested by the build
fi
if [[ $form == short ]]; then
    laws=$(sed -n 's|.*<boot.laws>\(.*\)</boot.laws>.*|\1|p' integrations/spring-boot-versions/pom.xml)
    chosen=("${stores[@]/%/$laws}" "${spring[@]}" 'HoldfastAutoConfigurationTest#aLockedMethod*')
else
    chosen=("${stores[@]}" "$SPRING_TESTS" "${exceptions[@]}")
fi
run -Dboot.tests="$(joined "${chosen[@]}")" "$@"
must_have_run "${stores[@]}" "${spring[@]}" HoldfastAutoConfigurationTest

# In the short form that would be what ./test does with the oldest Jedis anyway.
if [[ $boot == 4.0.* && $form == all ]]; then
    run -Dboot.jedis="$OLDEST_JEDIS" \
        -Dboot.tests=RedisLockStoreTest,JedisOfBootTest,HoldfastAutoConfigurationTest,VirtualThreadsTest "$@"
    must_have_run RedisLockStoreTest
fi
