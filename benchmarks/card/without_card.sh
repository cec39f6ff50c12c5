#!/bin/sh
# Runs the example `card` with `driver.c` in the place of CUDA's driver: pieces, copies, arguments and wiping are tested
# as they are, and the kernels as the C compiler of this machine builds them. Its times say nothing.
#
#   cargo build --profile ci -p vesica-crypto --features cuda --example card
#   benchmarks/card/without_card.sh target/ci/examples/card
set -eu
program=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cc -std=c11 -O2 -Wall -Wextra -Werror -shared -fPIC -o "$folder/libcuda.so" "$(dirname "$0")/driver.c"
echo 'no machine code' > "$folder/kernels"
LD_LIBRARY_PATH=$folder VESICA_CARD_COUNT=${VESICA_CARD_COUNT:-2000} "$program" "$folder/kernels"
