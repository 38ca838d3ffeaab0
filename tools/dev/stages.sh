# SPDX-License-Identifier: Apache-2.0
# Stages: steps of ./dev that print one line with their time, keep a log, and leave no process behind. Sourced by ./dev.
#
# Every process of a stage carries LONGHOLD_DEV_RUN in its environment, whatever session or group it moves to; so leftovers are
# found by that mark, and nothing that another run or person started is ever touched.

root=$PWD
jobs=${LONGHOLD_JOBS:-$(nproc)}
logs=build/logs
run_mark=LONGHOLD_DEV_RUN=$$-${EPOCHREALTIME//[!0-9]/}
began_at=${EPOCHREALTIME//[!0-9]/}
current_job=
failures=()

# One clone's objects serve another's: the compiler cache looks at paths below the root as relative ones.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=true

say() { printf '%s\n' "$*" >&3; }
exec 3>&1

# "12.3 s" or "4 min 05 s" since `$1` (microseconds).
since() {
    local tenths=$(((${EPOCHREALTIME//[!0-9]/} - $1) / 100000))
    if ((tenths < 1200)); then
        printf '%d.%d s' $((tenths / 10)) $((tenths % 10))
    else
        printf '%d min %02d s' $((tenths / 600)) $((tenths / 10 % 60))
    fi
}

# Ids of the live processes that stages of this run have started.
marked_processes() {
    local file
    for file in /proc/[0-9]*/environ; do
        if grep -qzxF -- "$run_mark" "$file" 2>/dev/null; then
            file=${file#/proc/}
            echo "${file%/environ}"
        fi
    done
}

# TERM, then KILL after two seconds, to what this run has started.
kill_marked_processes() {
    local signal pids tries
    for signal in TERM KILL; do
        for ((tries = 0; tries < 20; tries++)); do
            pids=$(marked_processes)
            [[ -n $pids ]] || return 0
            # shellcheck disable=SC2086
            ((tries > 0)) || kill -s "$signal" $pids 2>/dev/null || true
            sleep 0.1
        done
    done
}

stopped_by() {
    trap - INT TERM HUP
    say "stopped by SIG$1: ending what was started"
    [[ -z $current_job ]] || kill -TERM -- "-$current_job" 2>/dev/null || true
    kill_marked_processes
    exit $((128 + $2))
}
trap 'stopped_by INT 2' INT
trap 'stopped_by TERM 15' TERM
trap 'stopped_by HUP 1' HUP

# run_job FILTER LOG COMMAND…: runs it in a process group of its own, all output to LOG, what FILTER lets through also to the screen.
# The log is a file and no pipe, so that a process left behind cannot keep the stage from ending.
run_job() {
    local filter=$1 log=$2 status=0 follower=
    shift 2
    mkdir -p "$(dirname "$log")"
    : >"$log"
    set -m
    env "$run_mark" "$@" >"$log" 2>&1 </dev/null &
    current_job=$!
    set +m
    if [[ $filter != filter_nothing ]]; then
        { tail -n +1 -s 0.1 --pid="$current_job" -f "$log" | "$filter" >&3; } &
        follower=$!
    fi
    wait "$current_job" || status=$?
    current_job=
    [[ -z $follower ]] || wait "$follower" || true
    return "$status"
}

# Filters: `filter_nothing` (nothing is shown), `cat`, or a function.
# Of CTest's output: what failed, and the closing lines.
filter_ctest() { sed -nE -u '/\*\*\*/s/^/     /p; /tests passed|^Total Test time/s/^/     /p'; }

# stage NAME FILTER COMMAND…: one step. Returns its status; a failure is remembered and the end of its log is shown.
stage() {
    local name=$1 filter=$2 log=$logs/${1//[ \/]/-}.log start=${EPOCHREALTIME//[!0-9]/}
    shift 2
    say "==> $name"
    if run_job "$filter" "$log" "$@"; then
        say "    done in $(since "$start")"
    else
        failures+=("$name")
        say "    FAILED after $(since "$start"); the end of $log:"
        tail -n 40 "$log" | sed 's/^/    | /' >&3
        return 1
    fi
}

# Whether everything that the run started has ended; kills and lists what has not.
check_leftovers() {
    local pid tries left
    for ((tries = 0; tries < 20; tries++)); do
        left=$(marked_processes)
        [[ -n $left ]] || return 0
        sleep 0.1
    done
    failures+=("processes left behind")
    say "==> processes left behind, ended now:"
    for pid in $left; do
        say "    $pid $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | cut -c1-160)"
    done
    kill_marked_processes
}

# The last line of a command, and its exit status.
finish() {
    if ((${#failures[@]} > 0)); then
        local list
        list=$(printf ', %s' "${failures[@]}")
        say "./dev $1: FAILED in $(since "$began_at"): ${list:2}"
        exit 1
    fi
    say "./dev $1: passed in $(since "$began_at")"
}
