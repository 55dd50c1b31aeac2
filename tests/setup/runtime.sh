#!/usr/bin/env bash
# The released dsh runtimes that the tests with a real agent run, out of the Python package index.
#   tests/setup/runtime.sh DIR
# The tests find them when DSHLOG_ORACLE_CACHE names DIR.
set -euo pipefail
dir=$1
if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
    echo "the runtimes are for Linux on x86-64, not for $(uname -s) on $(uname -m)" >&2
    exit 1
fi
mkdir -p "$dir"

install() { # VERSION FOLDER
    local to="$dir/$2" part
    [ ! -x "$to/dsh" ] || return 0
    part="$(mktemp -d "$dir/part.XXXXXX")"
    # shellcheck disable=SC2064 # the folder of now
    trap "rm -rf '$part'" EXIT
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --pre --only-binary=:all: \
        --dest "$part" "deepseek-harness-runtime-bin==$1"
    python3 -m zipfile -e "$part"/*.whl "$part/wheel"
    local program
    program="$(find "$part/wheel" -type f -name deepseek-harness-sdk-runtime-linux-x64)"
    [ -n "$program" ] || { echo "no runtime in the package $1" >&2; return 1; }
    chmod +x "$program" "$program"-rg 2>/dev/null || chmod +x "$program"
    ln -s "$(basename "$program")" "$(dirname "$program")/dsh"
    "$(dirname "$program")/dsh" --version >/dev/null
    rm -rf "$to"
    mv "$(dirname "$program")" "$to"
    rm -rf "$part"
    trap - EXIT
}

install 0.2.1rc2 runtime
install 0.1.5rc1 runtime-0.1.5rc1
