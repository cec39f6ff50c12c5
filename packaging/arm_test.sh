#!/usr/bin/env bash
# Tests the ARM build (aarch64) on an x86-64 machine, emulated by QEMU: arm_test.sh PROGRAM [unit_tests] [whole_runs],
# where PROGRAM is vesica for x86-64. Called by `make arm-test`, which installs what is needed (docs/platforms.md).
#
# An emulated program cannot start another one of its kind here (`vesica quickstart` does), so this script starts both
# parties through the emulator.
set -euo pipefail
native=$(realpath "$1")
cd "$(dirname "$0")/.."
. packaging/whole_run.sh
target=aarch64-unknown-linux-gnu
# A core of servers (AWS Graviton 2, Ampere Altra) with AES and PMULL.
emulator="qemu-aarch64-static -cpu neoverse-n1 -L /usr/aarch64-linux-gnu"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$emulator
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
# Without it a test would pass although it ran plain Rust.
export VESICA_EXPECTED_LEVEL=NEON
cargo=${CARGO:-cargo}
# The cryptography is optimised as in a release. Other tests of this machine leave the folder alone.
folder=${CARGO_TARGET_DIR:-$PWD/target}/arm
build=(--locked --profile quick-build --target "$target" --target-dir "$folder")

# Left out, since an emulator takes minutes for each: statistics over very many draws, and what is computed from counts.
# What they draw from and compute with has tests of its own.
slow=(laplace::tests::draws_have_the_distribution laplace::tests::a_wrong_distribution_would_be_seen
	hashing::parameters::experiment cheating::tests::each_ circuit_based::aggregate)

stage() { printf '==> %s (%s s so far)\n' "$1" "$SECONDS"; }

unit_tests() {
	stage "unit tests of kernels, crypto, encode, ot and protocols; digests of the wire"
	"$cargo" test "${build[@]}" -p vesica-kernels -p vesica-crypto -p vesica-encode -p vesica-ot -p vesica-protocols \
		--lib --test wire_digest --no-fail-fast -- "${slow[@]/#/--skip=}"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

arm() { $emulator "$folder/$target/quick-build/vesica" "$@"; }
x86() { "$native" "$@"; }

whole_runs() {
	stage "the program"
	"$cargo" build "${build[@]}" -p vesica-cli
	arm --version --verbose | grep '^instructions *NEON'
	tables
	arm keygen --output "$work/receiver.pem" >"$work/receiver.pub"
	arm keygen --output "$work/sender.pem" >"$work/sender.pub"
	stage "whole runs over TLS"
	local options parties
	for options in "--protocol vole" "--protocol vole --security semi-honest" "--protocol dh --security semi-honest" \
		"--protocol kkrt --security semi-honest" "--protocol circuit-vole --security semi-honest" "--protocol gbf-rr16"; do
		for parties in "arm arm" "arm x86" "x86 arm"; do
			# shellcheck disable=SC2086  # words of a list
			whole_run $parties $options
		done
	done
}

shift
[ $# -gt 0 ] || set -- unit_tests whole_runs
for part in "$@"; do
	"$part"
done
stage "all passed"
