#!/usr/bin/env bash
# Plants faults in a copy of this folder, one at a time, and reports those that no test sees. ./test --mutants calls it:
#   ./test --mutants                     plants all faults
#   ./test --mutants redis core          those of some modules
#   ./test --mutants stagger-removed     single ones
# A fault is a patch, tools/mutants/MODULE/NAME.patch. Its first lines say what it breaks and which tests must fail with it,
# in the form in which Surefire takes them:
#   # Breaks: The promise.
#   # Tests: SomeTest,OtherTest#someMethod
# Where those pass, the wider tests of the module (WIDER below) are run before the fault counts as a survivor. The copy holds
# what is not committed, too. HOLDFAST_MUTANT_SECONDS is the time limit of one run of tests (default 240), and
# HOLDFAST_MUTANT_MAVEN holds further arguments of Maven, such as -o.
# The exit status is 0 if every fault was killed, and 1 if not: it survived, did not apply, did not compile or met the time limit.
set -euo pipefail
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

LIMIT=${HOLDFAST_MUTANT_SECONDS:-240}
# The core has no tests of its own.
declare -A WIDER=([core]='dev/holdfast/engine/*Test')

say() { printf '%s\n' "$*" >&2; }

source_module() {
    case $1 in
        core) echo core ;;
        spring-boot) echo integrations/spring-boot ;;
        *) echo "stores/$1" ;;
    esac
}
test_module() { [[ $1 == core ]] && echo testkit || source_module "$1"; }
header() { sed -n "s/^# $2: //p;/^diff /q" "$1"; } # PATCH FIELD

# The chosen patches, in the order of their names.
choose() {
    local all chosen wanted
    mapfile -t all < <(printf '%s\n' tools/mutants/*/*.patch)
    if (($# == 0)); then
        printf '%s\n' "${all[@]}"
        return
    fi
    for wanted in "$@"; do
        mapfile -t chosen < <(printf '%s\n' "${all[@]}" | grep -E "^tools/mutants/($wanted/[^/]+|([^/]+/)?$wanted)\.patch$" || true)
        if [[ -z ${chosen[*]} ]]; then
            say "There is neither a module nor a fault \"$wanted\" in tools/mutants."
            exit 64
        fi
        printf '%s\n' "${chosen[@]}"
    done
}

# A commit of all files as they are now, on no branch.
snapshot() {
    export GIT_INDEX_FILE=$scratch/index
    git read-tree HEAD
    git add -A
    git -c user.name=mutants -c user.email=mutants@localhost commit-tree -p HEAD -m 'A copy to plant faults in' "$(git write-tree)"
}

# Maven without the gates, in the copy. What it prints goes to the log.
maven() {
    (cd "$copy" && timeout --kill-after=10 "$LIMIT" mvn -B -ntp -q ${HOLDFAST_MUTANT_MAVEN:-} -Dquick -Dmaven.test.skip=false \
        -Dholdfast.target=target -Dsurefire.failIfNoSpecifiedTests=false "$@") >>"$scratch/log" 2>&1 </dev/null
}

# The tests that failed in the last run, by what Surefire wrote.
failed_tests() {
    find "$copy" -path '*/surefire-reports/TEST-*.xml' -exec awk '
        /<testcase / { match($0, / name="[^"]*"/); name = substr($0, RSTART + 7, RLENGTH - 8)
            match($0, /classname="[^"]*"/); class = substr($0, RSTART + 11, RLENGTH - 12); sub(/.*\./, "", class) }
        /<(failure|error)[ >]/ { print class "." name }' {} +
}

tests_run() { find "$copy" -path '*/surefire-reports/TEST-*.xml' -exec grep -h '<testcase ' {} + | wc -l; }

# Runs tests with the classes as they are compiled, and sets outcome and detail. The phase is "test" because the tests of some
# modules need those of others, which Maven finds in target from that phase on only.
run_tests() { # MODULE TESTS
    local status=0
    find "$copy" -path '*/surefire-reports/TEST-*.xml' -delete
    maven test -Dmaven.main.skip=true -Dmaven.resources.skip=true -Dmaven.compiler.useIncrementalCompilation=false \
        -Dsurefire.skipAfterFailureCount=1 -pl "$(test_module "$1")" -am -Dtest="$2" || status=$?
    detail=$(failed_tests | head -1)
    if [[ -n $detail ]]; then
        outcome=killed
    elif ((status == 124 || status == 137)); then
        outcome='time limit'
        detail="after $LIMIT s, and no test had failed"
    elif ((status != 0)) || (($(tests_run) == 0)); then
        outcome='not run'
        detail="the tests could not be run, see the end of the log"
        tail -n 20 "$scratch/log" >&2
    else
        outcome=SURVIVED
        detail="$(tests_run) tests passed"
    fi
}

# Plants one fault, and sets outcome and detail.
try() { # PATCH MODULE
    local patch=$PWD/$1 tests
    tests=$(header "$patch" Tests)
    if ! git -C "$copy" apply --check "$patch" >>"$scratch/log" 2>&1; then
        outcome='does not apply' detail='the code has changed: make the patch anew'
        return
    fi
    git -C "$copy" apply "$patch"
    if ! maven compile -pl "$(source_module "$2")" -am; then
        outcome='does not compile' detail=$(grep -m1 ERROR <(tail -n 60 "$scratch/log") || true)
    else
        run_tests "$2" "$tests"
        if [[ $outcome == SURVIVED && -n ${WIDER[$2]:-} ]]; then
            run_tests "$2" "${WIDER[$2]}"
            [[ $outcome != killed ]] || detail+=" (none of its own tests)"
        fi
    fi
    git -C "$copy" apply -R "$patch"
}

# Compiles a module and its tests, and shows that the tests of the chosen faults pass without any.
prepare() { # MODULE PATCH...
    local module=$1 tests patch
    shift
    tests=$(for patch in "$@"; do header "$patch" Tests; done | tr ',' '\n' | sort -u | paste -sd, -)
    say "== $module: without a fault"
    maven test-compile -pl "$(test_module "$module")" -am || {
        tail -n 30 "$scratch/log" >&2
        exit 1
    }
    run_tests "$module" "$tests"
    if [[ $outcome != SURVIVED ]]; then
        say "The tests do not pass without a fault, so that they show nothing with one: $outcome, $detail"
        exit 1
    fi
    say "   $detail"
}

names=$(choose "$@") || exit # an unknown name has been said
mapfile -t patches <<<"$names"
scratch=$(mktemp -d)
copy=$scratch/copy
: >"$scratch/log"
clean_up() {
    git worktree remove --force "$copy" 2>/dev/null || true
    rm -rf "$scratch"
}
trap clean_up EXIT
git worktree add -q --detach "$copy" "$(snapshot)"

declare -A counts=()
bad=0
last=''
for patch in "${patches[@]}"; do
    module=$(basename -- "$(dirname -- "$patch")")
    if [[ $module != "$last" ]]; then
        mapfile -t of_module < <(printf '%s\n' "${patches[@]}" | grep "^tools/mutants/$module/")
        prepare "$module" "${of_module[@]}"
        last=$module
    fi
    begun=$SECONDS
    try "$patch" "$module"
    counts[$outcome]=$((${counts[$outcome]:-0} + 1))
    if [[ $outcome != killed ]]; then
        bad=$((bad + 1))
        detail+=". $(header "$patch" Breaks)"
    fi
    printf '%-16s %-52s %4d s  %s\n' "$outcome" "$module/$(basename "$patch" .patch)" $((SECONDS - begun)) "$detail"
done
printf '\n%d faults:' "${#patches[@]}"
for outcome in "${!counts[@]}"; do
    printf ' %d %s' "${counts[$outcome]}" "$outcome"
done
echo
((bad == 0))
