# Functions for scripts that test whole runs. They work in the folder $work, which has the identities receiver.pem and
# sender.pem and the public keys receiver.pub and sender.pub. RECEIVER and SENDER are functions that run the program.
# shellcheck shell=bash

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
