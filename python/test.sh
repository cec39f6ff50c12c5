#!/usr/bin/env bash
# The Python package as a user gets it: the wheel, installed into clean virtual environments, and its tests.
# Called by `make python-test`. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
python=${PYTHON:-python3}

$python -c 'import ensurepip, venv' 2>/dev/null || {
	apt-get update -qq && apt-get install -y -qq python3 python3-venv
}
if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! command -v initdb >/dev/null; then
	# No server is wanted but the one that the tests start.
	mkdir -p /etc/postgresql-common/createcluster.d 2>/dev/null &&
		echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/vesica.conf || true
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql; } || {
		export VESICA_NO_POSTGRESQL="apt-get cannot install it on this machine"
		echo "WARNING: PostgreSQL will not be tested: $VESICA_NO_POSTGRESQL" >&2
	}
fi

rm -rf "$target/python"
$python -m venv "$target/python/venv"
bin=$target/python/venv/bin
"$bin/pip" install --quiet --disable-pip-version-check -r python/tests/requirements.txt

# The command line that meets Python in some tests; `make test` has built it and names it.
if [ -z "${VESICA_PROGRAM:-}" ]; then
	"${CARGO:-cargo}" build --locked --profile ci --package vesica-cli
	export VESICA_PROGRAM=$target/ci/vesica
fi
wheel=$(python/wheel.sh "$bin/python" ci "$target/python/wheels" --compatibility linux)
python/clean_install.sh "$wheel"
"$bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"
cd python
VESICA_WHEEL=$wheel "$bin/python" -m pytest -p no:cacheprovider "$@"
