#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: tools/install-packages.sh LIST…
#
# Installs what is missing of the Debian packages in tools/packages/LIST.txt. Asks dpkg first, so that it takes no time and no
# rights when nothing is missing. Works as root or through sudo.
set -euo pipefail

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/packages" && pwd)
[[ $# -gt 0 ]] || { echo "usage: $0 LIST…   (lists: $(cd "$folder" && echo *.txt))" >&2; exit 2; }

# A line without a command asks dpkg; one with a command is content with the command.
ask_dpkg=()
missing=()
for list in "$@"; do
    file=$folder/$list.txt
    [[ -r $file ]] || { echo "install-packages: no list $file" >&2; exit 2; }
    while read -r package command _; do
        if [[ -z $package || $package == \#* ]]; then continue; fi
        if [[ -z $command ]]; then
            ask_dpkg+=("$package")
        elif ! command -v "$command" >/dev/null; then
            missing+=("$package")
        fi
    done <"$file"
done

if ! command -v dpkg-query >/dev/null; then
    echo "install-packages: this system has no dpkg, so nothing is installed; a build needs the equivalents of:" >&2
    echo "  ${ask_dpkg[*]} ${missing[*]}" >&2
    exit 0
fi

if ((${#ask_dpkg[@]} > 0)); then
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${ask_dpkg[@]}" 2>/dev/null | sed -n 's/^installed //p' || true)
    for package in "${ask_dpkg[@]}"; do
        grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
    done
fi
((${#missing[@]} > 0)) || exit 0

install=(env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -qq)
if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
        echo "install-packages: packages are missing, and this is neither root nor is there a sudo. As root, run:" >&2
        echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
    install=(sudo "${install[@]}")
fi

echo "installing ${#missing[@]} packages: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${install[@]}" update && "${install[@]}" install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo "install-packages: apt-get failed; wanted: ${missing[*]}" >&2
    exit 1
fi
