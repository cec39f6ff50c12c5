#!/bin/sh
# Whole runs of a program that was built with the feature `cuda`, with `driver.c` in the place of CUDA's driver and `compiler.c`
# in that of NVRTC: with a card it writes what it writes with the cores alone. Tests that come after the program are run
# there too. Times say nothing.
#
#   cargo build --profile ci -p vesica-cli --features cuda
#   benchmarks/card/whole_runs.sh target/ci/vesica [TEST...]
set -eu
program=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
for library in cuda:driver nvrtc:compiler; do
    cc -std=c11 -O2 -Wall -Wextra -Werror -shared -fPIC -o "$folder/lib${library%:*}.so" "$here/${library#*:}.c"
done
export LD_LIBRARY_PATH="$folder"
for test in "$@"; do
    VESICA_CARD_EXPECTED=1 "$test" card
done
cd "$folder"
awk 'BEGIN { print "id,mail"; for (i = 0; i < 3000; ++i) print i ",user" i "@example.org" }' > mine.csv
awk 'BEGIN { print "id,mail"; for (i = 0; i < 2000; ++i) print i ",user" 3 * i "@example.org" }' > theirs.csv
"$program" keygen --output identity.pem > /dev/null 2>&1

fail() {
    echo "whole_runs.sh: $1" >&2
    exit 1
}

# What follows the signature: the index, with the digest of each block, and the blocks.
values() {
    length=$(od -An -tu4 -j13 -N4 "$1" | tr -d ' ')
    tail -c +$((13 + 4 + length + 64 + 1)) "$1"
}

publish() {
    "$program" publish --key mail:email --secret secret.pem --identity identity.pem "$@" 2> said
}

publish --input mine.csv --device cpu --output cores.vset
publish --input mine.csv --device cuda:0 --output card.vset
grep -q 'computing on the card too: this processor' said || fail 'the card is not named'
values cores.vset > cores
values card.vset > card
cmp cores card
publish --input mine.csv --device cuda:0 --memory 64M --output disk.vset
values disk.vset > disk
cmp cores disk
mkdir set
cp cores.vset set
publish --input theirs.csv --previous set --device cpu --output cores_2.vset
publish --input theirs.csv --previous set --device cuda:0 --output card_2.vset
values cores_2.vset > cores_2
values card_2.vset > card_2
cmp cores_2 card_2
publish --input mine.csv --payload id --device cuda:0 --output labels.vset
echo "publish: $(wc -c < cores) bytes of index and blocks are the same, of keys in memory and on disk, and of a delta"

# Both forms of `dh`, and Bloom filters.
local_run() {
    "$program" local --receiver "$1" --sender "$2" --key mail:email --security semi-honest --output "$3" \
        --protocol "$4" --level "$5" --device "$6" --allow-insecure 2> said
}
for run in 'dh 128' 'gbf 80' 'gbf 128' 'gbf 192'; do
    for tables in 'mine.csv theirs.csv' 'theirs.csv mine.csv'; do
        # Both are lists of words.
        # shellcheck disable=SC2086
        local_run $tables expected.csv $run cpu
        # shellcheck disable=SC2086
        local_run $tables found.csv $run cuda:0
        grep -q 'computing on the card too' said || fail "$run: the card is not named"
        if grep -q "card's place" said; then
            fail "$run: $(cat said)"
        fi
        cmp expected.csv found.csv
        rm expected.csv found.csv
    done
    echo "$run: the same rows, in both orders of sizes"
done

# Parts share the card.
"$program" local --receiver mine.csv --sender theirs.csv --key mail:email --security semi-honest --protocol dh \
    --parts 4 --device cuda:0 --output parts.csv 2> said
[ "$(wc -l < parts.csv)" = 1001 ] || fail "parts: $(cat said)"
echo 'dh in 4 parts: all matches'

# A card that fails: the cores go on.
for run in 'dh 128' 'gbf 128'; do
    # shellcheck disable=SC2086
    local_run mine.csv theirs.csv expected.csv $run cpu
    # shellcheck disable=SC2086
    VESICA_CARD_LAUNCHES=7 local_run mine.csv theirs.csv found.csv $run cuda:0
    grep -q "the cores went on in the card's place" said || fail "$run: $(cat said)"
    cmp expected.csv found.csv
    rm expected.csv found.csv
done
VESICA_CARD_LAUNCHES=2 publish --input mine.csv --device cuda:0 --output failed.vset
values failed.vset > failed
cmp cores failed
echo 'a card that fails: the same rows and values'

# Cards that are not there, before a partner is met.
set +e
"$program" receive --input mine.csv --key mail:email --output none.csv --connect 127.0.0.1:9 --timeout 1s \
    --insecure-plaintext --device cuda:7 2> said
code=$?
set -e
[ "$code" = 64 ] || fail "a card that is not there: exit code $code"
grep -q 'no card 7: the driver finds 1' said || fail "$(cat said)"
"$program" --version --verbose | grep -i 'card' || fail 'the version names no card'
echo 'a card that is not there ends the run with 64'
