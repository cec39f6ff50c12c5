#!/usr/bin/env bash
# What a person does who has Debian 12 with its Python and no compiler: clean_debian.sh WHEEL installs the wheel, installs
# what the notebook needs from the package index, and runs examples/tutorial.ipynb. The script is for root: the person
# lives in a clean root that debootstrap makes. Called by `make notebook-test`.
set -euo pipefail
wheel=$(realpath "$1")
cd "$(dirname "$0")/.."
fail() { echo "clean_debian.sh: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail "this test is for root"
# The mounts end with this script.
[ -n "${OWN_MOUNTS:-}" ] || OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$wheel"

place=${CARGO_TARGET_DIR:-$PWD/target}/container root=$place/person
. packaging/debian_root.sh
mkdir -p "$place"
debian
! grep -q " $root/" /proc/self/mounts || fail "something is mounted in $root"
rm -rf "$root"
cp -a "$place/debian" "$root"
system_mounts "$root"
install_packages "$root" python3 python3-venv ca-certificates
chroot "$root" useradd --create-home person
# The package index may have a certificate of this machine's own.
cp --dereference "${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/index.pem"

person() {
	chroot --userspec=person:person --groups= "$root" /usr/bin/env -i --chdir=/home/person HOME=/home/person \
		PATH=/home/person/venv/bin:/usr/bin:/bin PIP_CERT=/etc/index.pem PIP_DISABLE_PIP_VERSION_CHECK=1 "$@"
}

cp -r "$wheel" examples "$root/home/person"
chroot "$root" chown -R person:person /home/person
for program in cc gcc g++ clang cargo rustc maturin; do
	! person sh -c "command -v $program" >/dev/null || fail "$program is on the machine that should have none"
done
mapfile -t needed < <(grep -E '^(ipykernel|matplotlib|nbclient|pandas|pyarrow)==' python/tests/requirements.txt)
person python3 -m venv venv
person pip install --quiet "./$(basename "$wheel")" "${needed[@]}"
person jupyter execute --output=executed examples/tutorial.ipynb
# The shop's rows that match are those of the readme.
person python - <<'END'
import nbformat

cells = nbformat.read("examples/executed.ipynb", as_version=4).cells
matched = [cell for cell in cells if cell.source.endswith("\nmatched")]
text = matched[0].outputs[-1].data["text/plain"]
ids = [int(line.split()[1]) for line in text.splitlines()[1:]]
assert ids == [1001, 1002, 1004, 1009, 1010, 1012], text
END
echo "$(basename "$wheel"): on $(person python --version) of Debian $(cat "$root/etc/debian_version"), without a compiler," \
	"the notebook gave the 6 matched rows"
