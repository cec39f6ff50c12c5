#!/bin/sh
# Checks and times the kernels of `crates/kernels/src/cuda` on a machine with a card of NVIDIA. It builds nothing:
#
#   cargo build --release -p vesica-crypto --features cuda --example card
#   python benchmarks/card/compile.py --kind sm_90 --output target/kernels.cubin
#   benchmarks/card/device.sh target/release/examples/card target/kernels.cubin
#
# The first run takes the machine code as it was compiled here; a second one compiles on the machine, if NVRTC is there.
# It takes less than two minutes, and ends with an error where card and processor differ.
set -eu
program=$1
kernels=${2:-}

nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv || true

# NVRTC of the system, or of a package of Python.
nvrtc=$(find /usr/local/cuda*/ /usr/lib /opt "$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')" \
    -name 'libnvrtc.so.*' -not -name '*.alt.*' 2>/dev/null | head -n 1 || true)
if [ -n "$nvrtc" ]; then
    echo "NVRTC: $nvrtc"
    LD_LIBRARY_PATH=$(dirname "$nvrtc")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi

if [ -n "$kernels" ]; then
    echo "== kernels from $kernels"
    "$program" "$kernels"
fi
echo "== kernels compiled here"
"$program"
