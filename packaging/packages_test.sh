#!/usr/bin/env bash
# Packs the crates as a registry would get them, and installs the program from the packed crates alone, in a clean folder:
# packages_test.sh FOLDER, where FOLDER takes what is built. Called by `make package-test`.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=$(realpath -m "$1")
stage() { printf '==> %s (%s s so far)\n' "$1" "$SECONDS"; }

published=()
for manifest in crates/*/Cargo.toml; do
	grep -q '^publish = false' "$manifest" || published+=(--package "$(sed -n 's/^name = "\(.*\)"/\1/p' "$manifest" | head -n 1)")
done

stage "the crates are packed"
rm -rf "$target/package"
# What is built from the packed crates comes below, once for all of them.
"$cargo" package --quiet --locked --no-verify --allow-dirty --target-dir "$target" "${published[@]}"
ls -s --block-size=1K "$target"/package/*.crate

stage "the program is installed from the packed crates"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for crate in "$target"/package/*.crate; do
	# Packed files are as old as one another; cargo goes by when they were written.
	tar -C "$work" -xzmf "$crate"
done
# Until the crates are on a registry, this workspace says where each one is. The versions of all others are those that the
# repository is tested with.
{
	printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n\n[patch.crates-io]\n'
	for folder in "$work"/*/; do
		name=$(basename "$folder")
		printf '%s = { path = "%s" }\n' "${name%-*}" "$name"
	done
} >"$work/Cargo.toml"
cp Cargo.lock "$work"
folder=$(echo "$work"/vesica-cli-*)
# It is tried, not used: nothing is optimised.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=0
(
	cd "$work"
	"$cargo" update --quiet --workspace
	"$cargo" install --quiet --locked --path "$folder" --root "$work/installed" --target-dir "$target/installed" --no-track
)

stage "the installed program plays both parties"
cd "$work"
installed/bin/vesica quickstart
