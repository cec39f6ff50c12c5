#!/usr/bin/env bash
# The Python package on Spark: the wheel, and its tests with real executor processes. Called by `make test-spark`.
# PYSPARK names the version of PySpark. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
python=${PYTHON:-python3}
pyspark=${PYSPARK:-4.0.5}

if ! java -version 2>&1 | grep -Eq 'version "(1[7-9]|2[0-9])'; then
	echo "Spark needs Java 17 or later: on Debian, \`apt-get install openjdk-17-jre-headless\`; elsewhere https://adoptium.net" >&2
	exit 1
fi
$python -c 'import ensurepip, venv' 2>/dev/null || {
	apt-get update -qq && apt-get install -y -qq python3 python3-venv
}

# PySpark is large, so its environment stays.
venv=$target/spark/$pyspark
[ -x "$venv/bin/pip" ] || $python -m venv "$venv"
bin=$venv/bin
"$bin/pip" install --quiet --disable-pip-version-check "pyspark==$pyspark" -r python/tests/spark/requirements.txt

# The program is the partner in most tests; `make test` has built it and names it.
if [ -z "${VESICA_PROGRAM:-}" ]; then
	"${CARGO:-cargo}" build --locked --profile ci --package vesica-cli
	export VESICA_PROGRAM=$target/ci/vesica
fi
wheel=$(python/wheel.sh "$bin/python" ci "$target/spark/wheels" --compatibility linux)
"$bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$wheel"
cd python
PYSPARK_PYTHON=$bin/python "$bin/python" -m pytest -p no:cacheprovider tests/spark "$@"
