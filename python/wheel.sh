#!/usr/bin/env bash
# Builds the wheel of the Python package: wheel.sh PYTHON PROFILE FOLDER [OPTIONS OF MATURIN]. One wheel serves every
# Python from 3.10 on. Called by `make wheel` and python/test.sh; PYTHON's environment has maturin. Prints the wheel's path.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 profile=$2 folder=$3
shift 3
rm -f "$folder"/vesica-*.whl
"$python" -m maturin build --locked --profile "$profile" --manifest-path python/Cargo.toml \
	--target-dir "${CARGO_TARGET_DIR:-$PWD/target}" --interpreter "$python" --out "$folder" --quiet "$@" >&2
ls "$folder"/vesica-*.whl
