#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Configures a tree in a folder of its own and compares how that ends: with success, or with a message.

A refusal for another reason than the wanted one is a failure too.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile


def compiler_is_old_gcc(compiler):
    if not compiler or compiler.endswith("-NOTFOUND"):
        return False
    version = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=False).stdout.strip()
    return bool(re.match(r"\d+", version)) and int(re.match(r"\d+", version)[0]) < 13


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--wanted", required=True)
    parser.add_argument("options", nargs="*")
    arguments = parser.parse_args()

    compiler = next((o.split("=", 1)[1] for o in arguments.options if o.startswith("-DCMAKE_CXX_COMPILER=")), "")
    if "brace-initialised" in arguments.wanted and not compiler_is_old_gcc(compiler):
        print(f"skipped: no GCC before 13 here (found: {compiler or 'none'})")
        return 0

    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.cmake, "-G", "Ninja", "-S", arguments.source, "-B", str(pathlib.Path(folder) / "build")]
        run = subprocess.run(command + arguments.options, capture_output=True, text=True, check=False)
    # CMake wraps its messages.
    output = " ".join((run.stdout + run.stderr).split())
    if arguments.wanted == "success":
        good = run.returncode == 0
    else:
        good = run.returncode != 0 and arguments.wanted in output
    if not good:
        print(f"wanted: {arguments.wanted}\nconfigure ended with {run.returncode} and said:\n{run.stdout}{run.stderr}")
    return 0 if good else 1


sys.exit(main())
