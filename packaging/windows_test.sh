#!/usr/bin/env bash
# Tests the Windows build (x86-64) on Linux, run by Wine: windows_test.sh PROGRAM, where PROGRAM is vesica for Linux.
# Called by `make windows-test`, which installs what is needed (docs/platforms.md).
set -euo pipefail
native=$(realpath "$1")
cd "$(dirname "$0")/.."
. packaging/whole_run.sh
target=x86_64-pc-windows-gnu
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
export CC_x86_64_pc_windows_gnu=x86_64-w64-mingw32-gcc
# Other tests of this machine leave the folder alone.
folder=${CARGO_TARGET_DIR:-$PWD/target}/windows
wine=/usr/lib/wine/wine64

stage() { printf '==> %s (%s s so far)\n' "$1" "$SECONDS"; }

stage "the program"
"${CARGO:-cargo}" build --locked --profile quick-build --target "$target" --target-dir "$folder" \
	-p vesica-cli

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
