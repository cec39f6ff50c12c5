#!/usr/bin/env bash
# Installs a wheel as a user would, and runs examples/two_parties.py: clean_install.sh WHEEL. The environment is new, has
# no other package, and its PATH has no compiler and no Rust. Called by `make wheel` and `make test`.
set -euo pipefail
wheel=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${PYTHON:-python3} -m venv "$work/venv"
cp -r examples/two_parties.py examples/quickstart "$work"
clean() { (cd "$work" && env -i HOME="$work" PATH="$work/venv/bin" "$@"); }

for program in cc gcc clang cargo rustc maturin; do
	if clean "$BASH" -c "command -v $program" >/dev/null; then
		echo "$program is on the PATH that should have none" >&2
		exit 1
	fi
done
clean pip install --quiet --disable-pip-version-check --no-index "$wheel"
clean python two_parties.py >"$work/screen"
[ "$(grep -c '^10' "$work/screen")" = 6 ] && grep -q 'the shop has 10 different addresses' "$work/screen" || {
	cat "$work/screen" >&2
	exit 1
}
echo "$(basename "$wheel"): $(stat -c %s "$wheel") bytes; installed without a compiler, and two parties matched 6 rows"
