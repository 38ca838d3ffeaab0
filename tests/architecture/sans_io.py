#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks for calls to the outside world among the undefined symbols of archives.

Reason: what decides must be replayable from its inputs. A clock, a thread, a socket, a random device or the environment inside
base, core, config, sim or doctor would make a run depend on the machine. `nm` sees what a text search would miss: a call through
a macro, an alias or a library.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

CLOCKS = [r"::now\(\)", r"^(clock_gettime|gettimeofday|time|timespec_get)$"]
THREADS = [r"^pthread_", r"std::thread::", r"std::condition_variable", r"^(nanosleep|usleep|sleep)$"]
SOCKETS = [r"^(socket|connect|bind|listen|accept4?|send|sendto|sendmsg|recv|recvfrom|recvmsg|getaddrinfo|poll|epoll_\w+)$"]
SURROUNDINGS = [r"random_device", r"^(getrandom|rand|random)$", r"^(secure_)?getenv$"]
FILES = [r"^(fopen|fopen64|open|open64|openat|openat64|creat)$", r"std::(basic_)?[io]?f(ile)?stream", r"std::(basic_)?filebuf"]

# config and doctor read the files that they are about.
RULES = {
    "base": CLOCKS + THREADS + SOCKETS + SURROUNDINGS + FILES,
    "core": CLOCKS + THREADS + SOCKETS + SURROUNDINGS + FILES,
    "sim": CLOCKS + THREADS + SOCKETS + SURROUNDINGS,
    "config": CLOCKS + THREADS + SOCKETS + SURROUNDINGS,
    "doctor": CLOCKS + THREADS + SOCKETS + SURROUNDINGS,
}

SEEDS = {
    "a clock": "#include <chrono>\nlong f() { return std::chrono::steady_clock::now().time_since_epoch().count(); }",
    "the C clock": "#include <ctime>\nlong f() { timespec t{}; clock_gettime(CLOCK_BOOTTIME, &t); return t.tv_sec; }",
    "a thread": "#include <thread>\nvoid f() { std::thread{[] {}}.join(); }",
    "a lock": "#include <pthread.h>\nvoid f(pthread_mutex_t* m) { pthread_mutex_lock(m); }",
    "a socket": "#include <sys/socket.h>\nint f() { return socket(AF_INET, SOCK_STREAM, 0); }",
    "a random device": "#include <random>\nunsigned f() { return std::random_device{}(); }",
    "the environment": "#include <cstdlib>\nconst char* f() { return std::getenv(\"HOME\"); }",
    "a file": "#include <cstdio>\nvoid* f() { return std::fopen(\"x\", \"r\"); }",
}
CLEAN = "#include <string>\n#include <map>\nint f(const std::map<std::string, int>& m) { return m.at(std::string(99, 'x')); }"


def breaches(nm, layer, archive):
    listing = subprocess.run([nm, "-uC", archive], capture_output=True, text=True, check=True).stdout
    symbols = {re.sub(r"^\s*[Uw]\s+", "", line).split("@")[0].strip() for line in listing.splitlines() if line.strip()}
    return sorted(symbol for symbol in symbols if any(re.search(rule, symbol) for rule in RULES[layer]))


def self_test(nm, compiler):
    """Each seed, compiled, must be noticed; clean code must not be."""
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, code in {**SEEDS, "nothing": CLEAN}.items():
            source = pathlib.Path(folder) / "seed.cc"
            source.write_text(code + "\n")
            output = source.with_suffix(".o")
            subprocess.run([compiler, "-std=c++23", "-c", str(source), "-o", str(output)], check=True)
            if bool(breaches(nm, "core", output)) != (name != "nothing"):
                failures.append(f"a seeded use of {name} was judged wrongly")
    print(*failures, f"{len(SEEDS) + 1} seeds, {len(failures)} judged wrongly", sep="\n")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nm", required=True)
    parser.add_argument("--self-test", metavar="COMPILER")
    parser.add_argument("archives", nargs="*", metavar="LAYER=ARCHIVE")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test(arguments.nm, arguments.self_test)
    bad = 0
    for word in arguments.archives:
        layer, archive = word.split("=", 1)
        for symbol in breaches(arguments.nm, layer, archive):
            bad += 1
            print(f"{layer} calls {symbol}: hand it in as a value, or move the call to runtime or app")
    print(f"{len(arguments.archives)} layers, {bad} breaches")
    return 1 if bad or not arguments.archives else 0


sys.exit(main())
