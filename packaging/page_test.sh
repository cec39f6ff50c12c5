#!/usr/bin/env bash
# Reports, plans and inspected tables as pages, in a browser: runs the program, opens what it has written on a phone, on
# a desktop and on paper, and checks it with axe-core. Called by `make page-test`: page_test.sh PROGRAM FOLDER. Pictures
# and PDFs stay in the folder, for somebody to look at.
set -euo pipefail
program=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)

# Debian's browser and pdfinfo, and Node.js; the libraries have their versions here.
for tool in chromium pdfinfo npm; do
	command -v $tool >/dev/null || {
		apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core poppler-utils npm
		break
	}
done
npm install --prefix "$out/node" --silent --no-audit --no-fund axe-core@4.14.1 playwright-core@1.65.1

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill $server; rm -rf "$work"' EXIT
# shellcheck source=packaging/whole_run.sh
. "$here/whole_run.sh"
for party in receiver sender; do
	"$program" keygen --output "$work/$party.pem" >"$work/$party.pub" 2>/dev/null
done
tables
rm -f "$out"/*.{html,png,pdf}
cd "$work"

# address SCREEN: where the process with this screen listens.
address() {
	until grep -oP '^listening on \K[^;]+' "$1"; do sleep 0.05; done
}

# meet NAME OPTIONS…: two processes, each with a page as its report. How they end is on the pages.
meet() {
	local name=$1 screen=$work/$1.screen sent
	shift
	: >"$screen"
	"$program" send theirs.csv --listen 127.0.0.1:0 --identity sender.pem --peer @receiver.pub \
		--report "$out/$name-sender.html" "$@" 2>"$screen" &
	sent=$!
	"$program" receive ours.csv --connect "$(address "$screen")" --identity receiver.pem --peer @sender.pub \
		--output - --report "$out/$name-receiver.html" "$@" >/dev/null 2>&1 || true
	wait $sent || true
}

meet rows --key mail:email
meet rules --match mail:email --match mail:text --match mail:raw
meet count --key mail:email --result count --noise 0.5 --security semi-honest
"$program" receive ours.csv --key mail:email --connect 127.0.0.1:9 --identity receiver.pem --peer @sender.pub \
	--deadline 1s --output - --report "$out/failed.html" 2>/dev/null || true
"$program" publish theirs.csv --key mail:email --secret set.pem --identity sender.pem --output one.vset \
	--report "$out/published.html" 2>/dev/null
"$program" serve --secret set.pem --set one.vset --ledger ledger --listen 127.0.0.1:0 --allow @receiver.pub \
	--identity sender.pem 2>serve.screen &
server=$!
"$program" lookup ours.csv --key mail:email --set one.vset --connect "$(address serve.screen)" --peer @sender.pub \
	--identity receiver.pem --output found.csv --report "$out/looked-up.html" 2>/dev/null
"$program" plan --receiver 2^20 --sender 2^20 --bandwidth 100M --latency 20ms --security semi-honest \
	--output "$out/plan.html"
"$program" inspect ours.csv --key mail:email --output "$out/inspected.html"
[ "$(find "$out" -maxdepth 1 -name '*.html' | wc -l)" = 11 ]

NODE_PATH=$out/node/node_modules node "$here/page_test.js" "$out" "$(command -v chromium)"
for pdf in "$out"/*.pdf; do
	[ "$(pdfinfo "$pdf" | grep -oP '^Pages: +\K\d+')" = 1 ] || { echo "$pdf has more than one page" >&2; exit 1; }
	pdfinfo "$pdf" | grep -q 'A4' || { echo "$pdf is not A4" >&2; exit 1; }
done
echo "11 pages: no violation, nothing loaded, nothing too wide, one sheet of A4 each; pictures are in $out"
