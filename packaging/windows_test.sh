#!/usr/bin/env bash
# Tests the Windows build (x86-64) on Linux, run by Wine: windows_test.sh PROGRAM, where PROGRAM is vesica for Linux.
# Called by `make windows-test`, which installs what is needed (docs/platforms.md).
set -euo pipefail
native=$(realpath "$1")
cd "$(dirname "$0")/.."
target=x86_64-pc-windows-gnu
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
export CC_x86_64_pc_windows_gnu=x86_64-w64-mingw32-gcc
# Other tests of this machine leave the folder alone.
folder=${CARGO_TARGET_DIR:-$PWD/target}/windows
wine=/usr/lib/wine/wine64

stage() { printf '==> %s (%s s so far)\n' "$1" "$SECONDS"; }

stage "the program"
"${CARGO:-cargo}" build --locked --profile quick-build --target "$target" --target-dir "$folder" \
	-p vesica-cli --no-default-features

work=$(mktemp -d)
export WINEPREFIX=$work/wine WINEDEBUG=-all
# The server of Wine ends with its last program.
trap '/usr/lib/wine/wineserver64 -k 2>/dev/null || true; rm -rf "$work"' EXIT

# Rust's standard library draws randomness from this library of Windows, which the Wine of Debian 12 lacks.
prng() {
	"$CC_x86_64_pc_windows_gnu" -shared -O1 -x c -o "$work/bcryptprimitives.dll" - -ladvapi32 <<-'END'
		#include <windows.h>
		#include <ntsecapi.h>
		__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
			return RtlGenRandom(bytes, (ULONG)count);
		}
	END
	export WINEPATH=$work
}

windows() { "$wine" "$folder/$target/quick-build/vesica.exe" "$@"; }
linux() { "$native" "$@"; }

# Two tables of 2000 and 3000 rows with 1000 keys in common, and the rows that a plain join finds.
tables() {
	awk 'BEGIN { print "mail,place"; for (i = 0; i < 2000; i++) printf "u%d@example.com,%d\n", i * 7, i }' >"$work/ours.csv"
	awk 'BEGIN { print "mail"; for (i = 0; i < 3000; i++) printf "u%d@example.com\n", (i + 1000) * 7 }' >"$work/theirs.csv"
	awk -F, 'NR == FNR { there[$1]; next } $1 in there' "$work/theirs.csv" "$work/ours.csv" >"$work/expected.csv"
	[ "$(wc -l <"$work/expected.csv")" = 1001 ]
}

# whole_run RECEIVER SENDER OPTIONS…: two processes over TLS; the receiver's rows are those of the plain join.
whole_run() {
	local receiver=$1 sender=$2 sent address
	shift 2
	rm -f "$work/matched.csv"
	: >"$work/sender.screen"
	"$sender" send --input "$work/theirs.csv" --key mail:email --listen 127.0.0.1:0 --identity "$work/sender.pem" \
		--peer "@$work/receiver.pub" --timeout 120s "$@" 2>"$work/sender.screen" &
	sent=$!
	until address=$(grep -oP '^listening on \K[^;]+' "$work/sender.screen"); do
		kill -0 $sent 2>/dev/null || { cat "$work/sender.screen" >&2; return 1; }
		sleep 0.05
	done
	"$receiver" receive --input "$work/ours.csv" --key mail:email --connect "$address" --identity "$work/receiver.pem" \
		--peer "@$work/sender.pub" --output "$work/matched.csv" --timeout 120s "$@" 2>"$work/receiver.screen" ||
		{ cat "$work"/*.screen >&2; return 1; }
	wait $sent || { cat "$work/sender.screen" >&2; return 1; }
	cmp "$work/expected.csv" "$work/matched.csv"
	echo "$receiver receives, $sender sends, $*: the rows of the plain join"
}

stage "Wine, keys and tables"
prng
windows --version
tables
windows keygen --output "$work/receiver.pem" >"$work/receiver.pub"
windows keygen --output "$work/sender.pem" >"$work/sender.pub"
# Linux takes the files for private ones only like this.
chmod 600 "$work"/*.pem

stage "whole runs over TLS"
for options in "--protocol vole" "--protocol dh --security semi-honest" "--protocol kkrt --security semi-honest"; do
	for parties in "windows windows" "windows linux" "linux windows"; do
		# shellcheck disable=SC2086  # words of a list
		whole_run $parties $options
	done
done
stage "all passed"
