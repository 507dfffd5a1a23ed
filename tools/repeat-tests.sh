#!/usr/bin/env bash
# Looks for tests that fail now and then: runs each test class of a module again and again, beside threads that keep all cores busy.
#   tools/repeat-tests.sh MODULE [SECONDS] [THREADS] [CLASS...]
#   tools/repeat-tests.sh stores/redis 20 4 RoundTripTest
# SECONDS is the time for each class (default 10; a class that takes longer runs once), THREADS how many threads are busy beside it
# (default 4). Each class has a JVM of its own; every fifth run has new classes in it, and so another seed.
set -euo pipefail
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

if (($# == 0)) || [[ ! -d $1/src/test ]]; then
    sed -n '2,6s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 64
fi
module=$1 seconds=${2:-10} threads=${3:-4}
shift $(($# < 3 ? $# : 3))

target=$PWD/$module/target
work=$target/repeat
mkdir -p "$work"
# In one run of Maven, so that the module is tested with what is here and not with what was installed; it is the last one that
# writes the file.
mvn -B -ntp -q test-compile dependency:build-classpath -pl "$module" -am -Dspotless.check.skip=true \
    -Dmdep.outputFile="$work/libraries" -Dmdep.includeScope=test
classes=$target/test-classes
# All that the tests use is loaded anew for each fifth run; only what starts them is not.
libraries=$(<"$work/libraries")
# The modules for Spring have a newer JUnit than the others.
junit=$(tr : '\n' <<<"$libraries" | sed -n 's:.*/junit-platform-engine-\(.*\)\.jar$:\1:p')
mvn -B -ntp -q dependency:copy -Dartifact="org.junit.platform:junit-platform-launcher:$junit" -DoutputDirectory="$work"
platform=$(tr : '\n' <<<"$libraries" | grep -E '/(junit-platform-(engine|commons)|opentest4j|apiguardian-api)-[^/]*$' | paste -sd :)
platform=$work:$work/junit-platform-launcher-$junit.jar:$platform
javac -d "$work" -cp "$platform" tools/repeat/RepeatTests.java

status=0
# Some tests read files of their module, whose folder is where Maven runs them.
cd "$module"
while read -r file; do
    name=${file#"$classes/"}
    name=${name%.class}
    if (($#)) && [[ ! " $* " == *" ${name##*/} "* ]]; then
        continue
    fi
    java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$platform" \
        -Drepeated.classes="$classes/:$target/classes/:$libraries" RepeatTests "${name//\//.}" "$seconds" "$threads" </dev/null || status=1
done < <(find "$classes" -name '*Test.class' ! -name '*$*' | sort)
exit "$status"
