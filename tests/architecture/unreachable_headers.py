#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries, with the include path of each layer, one public header of every layer.

Reason: a layer may use what it declares and nothing else; there is no include path that leads past a declaration. The header of a
layer that is not declared must be missed, by that very name; one that is declared, or its own, must be found (which proves that
the probe would notice).
"""
import argparse
import concurrent.futures
import pathlib
import subprocess
import sys


def reachable(layer, depends, seen=None):
    """The layer itself and what it declares, directly or through others."""
    seen = set() if seen is None else seen
    if layer not in seen:
        seen.add(layer)
        for lower in depends[layer]:
            reachable(lower, depends, seen)
    return seen


def probe(compiler, folders, header):
    """None when `header` is found, otherwise what the compiler said."""
    command = [compiler, "-E", "-x", "c++", "-std=c++23", "-o", "/dev/null", *[f"-I{folder}" for folder in folders], "-"]
    run = subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True, check=False)
    return None if run.returncode == 0 else run.stderr


def judge(compiler, layer, folders, header, wanted_reachable):
    """None when the rule is kept, otherwise a sentence."""
    said = probe(compiler, folders, header)
    if wanted_reachable:
        return None if said is None else f"{layer}: <{header}> is declared and not found: {said}"
    error = next((line for line in (said or "").splitlines() if "error:" in line), "")
    if header in error and ("file not found" in error or "No such file" in error):
        return None
    # Found; whether it then misses what it includes itself does not matter.
    return f"{layer}: <{header}> can be included although {layer} does not declare that layer {error}".rstrip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    parser.add_argument("--paths", required=True, type=pathlib.Path)
    arguments = parser.parse_args()

    depends, folders, headers = {}, {}, {}
    for line in arguments.paths.read_text().splitlines():
        layer, lower, include = line.split("|")
        depends[layer] = [name for name in lower.split(";") if name and not name.endswith("NOTFOUND")]
        folders[layer] = [folder for folder in include.split(";") if folder]
        found = sorted((arguments.source / layer / "include").rglob("*.h"))
        if found:
            headers[layer] = str(found[0].relative_to(arguments.source / layer / "include"))

    jobs = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for layer in depends:
            allowed = reachable(layer, depends)
            for other, header in headers.items():
                jobs.append(pool.submit(judge, arguments.compiler, layer, folders[layer], header, other in allowed))
    breaches = [job.result() for job in jobs if job.result()]
    print(*breaches, f"{len(jobs)} probes, {len(breaches)} breaches", sep="\n")
    return 1 if breaches or not jobs else 0


sys.exit(main())
