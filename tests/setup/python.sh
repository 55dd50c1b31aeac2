#!/usr/bin/env bash
# A Python environment with the engines that data sets are tested with.
#   tests/setup/python.sh DIR          DuckDB
#   tests/setup/python.sh DIR spark    and Spark, which needs Java 17
# The tests use it when DSHLOG_PYTHON names DIR/bin/python.
set -euo pipefail
dir=$1
packages=(duckdb==2.0.1)
[ "${2:-}" = spark ] && packages+=(pyspark==4.3.0)
[ -x "$dir/bin/python" ] || python3 -m venv "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
