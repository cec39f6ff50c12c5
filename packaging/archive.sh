#!/usr/bin/env bash
# Packs a built program with its completions, manual pages and licences, then unpacks the archive, and runs what is in it.
# Called by `make dist` and `make test`: archive.sh PROGRAM FOLDER. `--strip-components=1` unpacks it into ~/.local.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
host=$(rustc -vV | sed -n 's/^host: //p')
name=vesica-$("$program" --version | cut -d' ' -f2)-$host

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/$name
share=$tree/share
man=$share/man/man1
mkdir -p "$man" "$share"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,doc/vesica}

install -D -m 755 "$program" "$tree/bin/vesica"
"$program" completions bash >"$share/bash-completion/completions/vesica"
"$program" completions zsh >"$share/zsh/site-functions/_vesica"
"$program" completions fish >"$share/fish/vendor_completions.d/vesica.fish"
# `vesica man` prints one page after the other. Each begins with two lines of preamble and its title.
"$program" man | awk -v folder="$man" '
	/^\.ie \\n\(\.g / { if (page) close(page); page = ""; preamble = "" }
	page == "" && /^\.TH / {
		name = $2
		gsub(/[\\"]/, "", name)
		page = folder "/" name ".1"
		printf "%s", preamble >page
	}
	page == "" { preamble = preamble $0 "\n"; next }
	{ print >page }
'
install -m 644 README.md CHANGELOG.md SECURITY.md LICENSE-APACHE LICENSE-MIT "$share/doc/vesica"

# The same files give the same archive, byte for byte.
archive=$out/$name.tar.gz
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-0}" --mode=u+rw,go+r,go-w \
	-C "$work" -c "$name" | gzip -n -9 >"$archive"
(cd "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")

# As a user has it: unpacked elsewhere, with nothing else on PATH.
home=$work/home
mkdir -p "$home/.local"
(cd "$out" && sha256sum --quiet --check "$name.tar.gz.sha256")
tar -xzf "$archive" -C "$home/.local" --strip-components=1
(cd "$home" && env -i HOME="$home" PATH="$home/.local/bin" "$home/.local/bin/vesica" quickstart) >"$work/screen" 2>&1 ||
	{ cat "$work/screen" >&2; exit 1; }
grep -q '6 of 12 rows match' "$work/screen"
bash -n "$home/.local/share/bash-completion/completions/vesica"
for page in vesica vesica-receive vesica-send vesica-relay; do
	grep -q "^\.TH \"\?$page\"\? 1" "$home/.local/share/man/man1/$page.1" || { echo "no manual page $page" >&2; exit 1; }
done
echo "$archive: $(stat -c %s "$archive") bytes, $(ls "$man" | wc -l) manual pages; it needs $(
	tr -c '[:print:]' '\n' <"$program" | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1 | sed 's/_/ /'
) or later"
