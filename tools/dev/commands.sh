# SPDX-License-Identifier: Apache-2.0
# The commands of ./dev. Sourced by it.

install_packages() {
    [[ -n ${LONGHOLD_NO_INSTALL-} ]] || tools/install-packages.sh "$@" >&3 || exit 1
}

# npm packages of `$1` (a folder with a lock file), into its node_modules; nothing when the lock has not changed.
install_npm() {
    local folder=$1 stamp=$1/node_modules/.installed-lock
    if [[ ! -f $folder/package-lock.json ]] || cmp -s "$folder/package-lock.json" "$stamp"; then
        return 0
    fi
    [[ -z ${LONGHOLD_NO_INSTALL-} ]] || return 0
    stage "npm $folder" filter_nothing npm --prefix "$folder" ci --ignore-scripts --no-audit --no-fund --no-update-notifier &&
        cp "$folder/package-lock.json" "$stamp"
}

# configure PRESET: only when the folder is new, or the presets have changed; else Ninja sees to it.
configure() {
    local preset=$1 file=build/$1/build.ninja
    if [[ ! -f $file || CMakePresets.json -nt $file ]]; then
        stage "configure $preset" filter_nothing cmake --preset "$preset" || return 1
        touch "$file"
    fi
}

# build_preset PRESET [TARGET…]
build_preset() {
    local keep_going=1
    [[ $1 != tidy ]] || keep_going=0
    configure "$1" && stage "build $1" filter_nothing ninja -C "build/$1" -j "$jobs" -k "$keep_going" "${@:2}"
}

command_build() {
    local preset presets=("$@")
    ((${#presets[@]} > 0)) || presets=(release)
    install_packages build
    for preset in "${presets[@]}"; do
        case $preset in
            asan | tsan | fuzz) install_packages test ;;
            tidy | bench) install_packages "$preset" ;;
            release | dev) ;;
            *)
                echo "./dev build: no preset '$preset' (release dev asan tsan fuzz tidy bench)" >&2
                exit 2
                ;;
        esac
    done
    for preset in "${presets[@]}"; do
        if [[ $preset == release ]]; then
            build_preset release bin/longhold bin/longhold-sim || true  # who wants the programs need not wait for their tests
        else
            build_preset "$preset" || true
        fi
    done
    finish build
}

command_quickstart() {
    # Standard output belongs to the program, so that `-o json` can be piped.
    exec 3>&2
    install_packages build
    build_preset release bin/longhold || exit 1
    trap - INT TERM HUP
    exec build/release/bin/longhold quickstart "$@"
}

# run_ctest PRESET NAME ARGUMENT…: CTest on a built preset. Cases that need the machine for themselves say RUN_SERIAL.
run_ctest() {
    local preset=$1 name=$2
    shift 2
    stage "$name" filter_ctest ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure --no-tests=error --timeout 900 "$@"
}

# The closing line of each CTest run of this run of ./dev test.
print_closing_lines() {
    local name log
    for name in "$@"; do
        log=$logs/${name// /-}.log
        [[ ! -f $log ]] || say "$name: $(grep -E 'tests passed|No tests' "$log" | tail -n 1)"
    done
}

test_sanitizer() {
    local preset=$1
    build_preset "$preset" || return 0
    run_ctest "$preset" "test $preset" -L '^(unit|contract|sanitize)$' || true
}

# Each fuzz target for LONGHOLD_FUZZ_SECONDS, as many at a time as there are cores. What it finds of new inputs stays in
# build/fuzz/corpus; seeds come from tests/fuzz/<target>/.
test_fuzzers() {
    local seconds=${LONGHOLD_FUZZ_SECONDS:-60}
    build_preset fuzz fuzzers || return 0
    if ! compgen -G 'build/fuzz/bin/*_fuzz' >/dev/null; then
        failures+=("fuzz: no targets")
        return 0
    fi
    stage "fuzz ${seconds} s each" filter_fuzz tools/dev/run_fuzzers.sh "$seconds" "$jobs" build/fuzz/bin/*_fuzz || true
}
filter_fuzz() { sed -nE -u 's/^fuzz: /     /p'; }

command_test() {
    local quick= label= argument runs=()
    for argument in "$@"; do
        case $argument in
            --quick) quick=1 ;;
            -*)
                echo "./dev test: no option '$argument'; usage: ./dev test [--quick] [LABEL]" >&2
                exit 2
                ;;
            *) label=$argument ;;
        esac
    done
    install_packages build test
    rm -rf "$logs"
    install_npm tests/e2e || true
    export NODE_PATH=$root/tests/e2e/node_modules
    export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
    if [[ -n $label ]]; then
        runs=("test release")
        build_preset release && run_ctest release "test release" -L "^($label)\$" || true
    elif [[ -n $quick ]]; then
        runs=("test release")
        build_preset release && run_ctest release "test release" -LE '^(soak|e2e)$' || true
    else
        runs=("test asan" "test tsan" "test release")
        build_preset release && run_ctest release "test release" -LE '^soak$' || true
        export LONGHOLD_E2E_SHORT=1
        test_sanitizer asan
        test_sanitizer tsan
        test_fuzzers
    fi
    check_leftovers
    print_closing_lines "${runs[@]}"
    finish test
}

command_bench() {
    local name=${1-} benchmark found=
    install_packages build bench
    install_npm tests/e2e || true
    install_npm bench || true
    export NODE_PATH=$root/bench/node_modules:$root/tests/e2e/node_modules LONGHOLD_BUILD=$root/build/bench
    build_preset bench || finish bench
    for benchmark in build/bench/bin/*_bench bench/run_*; do
        if [[ -x $benchmark && $(basename "$benchmark") == *"$name"* ]]; then
            found=1
            stage "bench $(basename "$benchmark")" cat "$benchmark" || true
        fi
    done
    [[ -n $found ]] || failures+=("no benchmark whose name contains '$name'")
    check_leftovers
    finish bench
}

command_soak() {
    local minutes=${1:-${LONGHOLD_SOAK:-60}} round=0 until
    [[ $minutes =~ ^[1-9][0-9]*$ ]] || { echo "./dev soak: '$minutes' is no number of minutes" >&2; exit 2; }
    export LONGHOLD_SOAK=$minutes
    install_packages build test
    install_npm tests/e2e || true
    export NODE_PATH=$root/tests/e2e/node_modules
    build_preset release || finish soak
    until=$((SECONDS + minutes * 60))
    if ctest --test-dir build/release -N -L '^soak$' | grep -q 'Test *#'; then
        run_ctest release "soak" --timeout $((minutes * 60 + 900)) -L '^soak$' || finish soak
    fi
    while ((SECONDS < until)); do
        round=$((round + 1))
        run_ctest release "e2e round $round" -L '^e2e$' || break
    done
    check_leftovers
    finish soak
}

cxx_files() { git ls-files --cached --others --exclude-standard -z -- '*.h' '*.cc'; }

command_format() {
    install_packages format
    case ${1-} in
        "") cxx_files | xargs -0 -r -P "$jobs" -n 16 clang-format-19 -i ;;
        --check) cxx_files | xargs -0 -r -P "$jobs" -n 16 clang-format-19 --dry-run -Werror || failures+=("not formatted") ;;
        *)
            echo "./dev format: no option '$1'; usage: ./dev format [--check]" >&2
            exit 2
            ;;
    esac
    finish format
}

command_tidy() {
    install_packages build tidy
    build_preset tidy || grep -E '(error|warning): ' "$logs/build-tidy.log" | sort -u | sed "s|$root/||; s/^/    /" >&3
    finish tidy
}
