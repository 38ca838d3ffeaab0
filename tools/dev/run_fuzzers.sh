#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: run_fuzzers.sh SECONDS JOBS TARGET…
#
# Runs each libFuzzer target for SECONDS, JOBS at a time. Lines that begin with "fuzz: " are for people. What makes a target fail
# is left beside its log in build/logs/fuzz/.
set -euo pipefail
seconds=$1 jobs=$2
shift 2
mkdir -p build/logs/fuzz

run_one() {
    local seconds=$1 target=$2 name corpus folders log runs
    name=$(basename "$target")
    corpus=build/fuzz/corpus/$name
    log=build/logs/fuzz/$name.log
    mkdir -p "$corpus"
    folders=("$corpus")
    [[ ! -d tests/fuzz/$name ]] || folders+=("tests/fuzz/$name")
    if "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="build/logs/fuzz/$name-" "${folders[@]}" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        echo "fuzz: $name clean, $runs runs"
    else
        echo "fuzz: $name FAILED, see $log"
        tail -n 40 "$log"
        return 1
    fi
}
export -f run_one
printf '%s\0' "$@" | xargs -0 -P "$jobs" -I {} bash -c 'run_one "$@"' run_one "$seconds" {}
