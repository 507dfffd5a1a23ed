#!/usr/bin/env bash
# Does everything at once on all stores at once, at a pace, and checks that nothing is left: no thread, subscription, queue entry,
# key, row, node, file handle or heap.
#   tools/soak.sh [--minutes 30] [--store redis,etcd] [--rate 20] [--out benchmarks/target/soak]
# The rate is how many deeds in a second each store gets. What was measured on the way is in soak.csv and soak.png of the folder --out.
set -euo pipefail
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

jar=benchmarks/target/app/holdfast-benchmarks.jar
sources=(pom.xml {core,stores/*,testkit,workload,benchmarks}/{pom.xml,src/main})
if [[ ! -f $jar || -n $(find "${sources[@]}" -newer "$jar" -print -quit) ]]; then
    mvn -B -ntp -q package -DskipTests -pl benchmarks -am
fi
# A small heap is collected often, so that the plot shows what is kept and not what is not collected yet.
exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" -Xmx256m -XX:+UseSerialGC --enable-native-access=ALL-UNNAMED -cp "$jar" \
    dev.holdfast.benchmarks.soak.Soak "$@"
