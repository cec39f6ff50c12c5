#!/usr/bin/env bash
# Tests on ARM (aarch64), emulated by QEMU on x86-64 with Debian's packages. Called by `make arm-test`; not part of
# `make test`, since emulation is slow. Stages, by default all of them:
#
#   unit    the unit tests of crypto, encode, ot and protocols, with the kernels of the level NEON
#   digests what the protocols and the OTs send, byte for byte, against the digests recorded on x86-64
#   pair    `vesica receive` and `vesica send`, both emulated
#   mixed   an emulated party with one of this machine, in both roles
#
#   packaging/arm_test.sh [STAGE…]
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
triple=aarch64-unknown-linux-gnu
# A core of servers that has the cryptography extension: AWS Graviton 2, Ampere Altra.
runner="qemu-aarch64-static -cpu neoverse-n1 -L /usr/aarch64-linux-gnu"

# The compiler is Debian's, because its std for ARM is a package. It takes the names of a Rust in /usr/bin.
packages=(rustc-web cargo-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)
if ! dpkg -s "${packages[@]}" >/dev/null 2>&1; then
	dpkg --add-architecture arm64
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "${packages[@]}"
fi

export RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$runner
export VESICA_EXPECTED_LEVEL=NEON
cargo() { /usr/bin/cargo "$@" --locked --profile quick-build --target-dir "$target/arm"; }
stage() { echo "==> arm: $*"; }

unit() {
	for crate in crypto encode ot protocols; do
		stage "unit tests of $crate"
		cargo test --target $triple --package "vesica-$crate" --lib
	done
}

digests() {
	stage "wire digests of ot and protocols"
	cargo test --target $triple --package vesica-ot --test blocks
	cargo test --target $triple --package vesica-protocols --test wire_digest
}

built=""
build() {
	[ -z "$built" ] || return 0
	stage "build for ARM and for this machine"
	cargo build --target $triple --package vesica-cli --no-default-features
	cargo build --package vesica-cli --no-default-features
	arm="$runner $target/arm/$triple/quick-build/vesica"
	here=$target/arm/quick-build/vesica
	built=yes
	$arm --version --verbose | grep '^instructions *NEON$'
}

# run NAME RECEIVER SENDER OPTIONS: two parties with these programs; the rows of the quickstart, and one digest.
run() {
	local name=$1 receiver=$2 sender=$3 folder address
	shift 3
	stage "$name: $*"
	folder=$(mktemp -d)
	cp examples/quickstart/*.csv "$folder"
	(
		cd "$folder"
		$here keygen --output receiver.pem >receiver.pub 2>keygen.screen
		$here keygen --output sender.pem >sender.pub 2>>keygen.screen
		$sender send --input newsletter.csv --key mail:email --listen 127.0.0.1:0 --identity sender.pem \
			--peer @receiver.pub --report sender.json "$@" 2>sender.screen &
		for _ in $(seq 300); do
			address=$(sed -n 's/^listening on \([^;]*\);.*/\1/p' sender.screen)
			[ -z "$address" ] || break
			sleep 0.2
		done
		$receiver receive --input customers.csv --key Email:email --connect "$address" --identity receiver.pem \
			--peer @sender.pub --output matched.csv --report receiver.json "$@" 2>receiver.screen
		wait $!
		[ "$(grep -c '^10' matched.csv)" = 6 ]
	) || { cat "$folder"/*.screen >&2; exit 1; }
	rm -rf "$folder"
}

each_protocol() {
	run "$@"
	for protocol in dh vole kkrt circuit-phasing-gmw circuit-phasing-yao; do
		run "$@" --protocol $protocol --security semi-honest
	done
}

pair() {
	build
	each_protocol "ARM with ARM" "$arm" "$arm"
}

mixed() {
	build
	each_protocol "ARM receives from x86-64" "$arm" "$here"
	each_protocol "x86-64 receives from ARM" "$here" "$arm"
}

for name in "${@:-unit digests pair mixed}"; do
	for one in $name; do "$one"; done
done
stage "passed"
