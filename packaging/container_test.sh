#!/usr/bin/env bash
# Tests packaging/Dockerfile: builds the image, and matches two tables in two containers, which are read-only and get
# their identities as mounted secrets. Called by `make container-test`.
#
# Where no container engine answers, the script takes the steps of the Dockerfile itself, as root, in clean roots of Debian
# that debootstrap makes. The image `rust` is played by such a root with a C compiler and the Rust of this machine.
# PLAYED_IMAGES=1 is for an engine that cannot pull: it gets such roots under the names of the images that it lacks.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-quick-build}
place=${CARGO_TARGET_DIR:-$PWD/target}/container

. packaging/debian_root.sh

fail() { echo "container_test.sh: $*" >&2; exit 1; }

engine=
for candidate in docker podman; do
	if timeout 20 $candidate info >/dev/null 2>&1; then engine=$candidate && break; fi
done
if [ -z "$engine" ] || [ -n "${PLAYED_IMAGES:-}" ]; then
	[ "$(id -u)" = 0 ] || fail "without a container engine and its images this test is for root"
fi
# Without an engine there are mounts, which end with this script.
if [ -z "$engine" ] && [ -z "${OWN_MOUNTS:-}" ]; then
	OWN_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
fi

# What the image `rust` has for C; the Dockerfile installs nothing for it.
c_compiler=(ca-certificates gcc libc6-dev)

# import IMAGE ROOT [CHANGE]
import() {
	echo "==> $1 is played by a root that debootstrap made"
	tar -C "$2" -c . | "$engine" import ${3:+--change "$3"} - "$1"
}

# Cargo has its crates from this machine, so that the build needs no network.
play_images() {
	local base=docker.io/library/debian:bookworm-slim build=$place/rust rust
	rust=docker.io/library/rust:$(sed -n 's/^ARG RUST=//p' packaging/Dockerfile)-slim-bookworm
	mkdir -p "$place"
	debian
	"$engine" image inspect "$base" >/dev/null 2>&1 || import "$base" "$place/debian"
	"$engine" image inspect "$rust" >/dev/null 2>&1 || {
		"${CARGO:-cargo}" fetch --locked --quiet
		rm -rf "$build"
		cp -a "$place/debian" "$build"
		install_packages "$build" "${c_compiler[@]}"
		cp -a "$(rustc --print sysroot)"/{bin,lib} "$build/usr/local"
		install -d "$build/usr/local/cargo"
		cp -a "${CARGO_HOME:-$HOME/.cargo}/registry" "$build/usr/local/cargo"
		import "$rust" "$build" "ENV CARGO_HOME=/usr/local/cargo CARGO_NET_OFFLINE=true"
		rm -rf "$build"
	}
}

# The state of the Dockerfile so far: the root of this stage, those of named stages, and what later steps see.
root='' workdir=/ user=0:0 entrypoint='' environment=() rust=()
declare -A stages arguments=([PROFILE]=$profile)

# inside COMMAND…: in this stage's root, with this stage's user, folder and environment alone.
inside() {
	chroot --userspec="$user" --groups="${user#*:}" "$root" /usr/bin/env -i --chdir="$workdir" \
		PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		"${rust[@]}" "${environment[@]}" "$@"
}

from() {
	local image=${1%% AS *} name=final
	[[ $1 != *' AS '* ]] || name=${1##* AS }
	root=$place/$name workdir=/ user=0:0 environment=() rust=()
	# It would take the Rust of this machine with it.
	! grep -q " $root/" /proc/self/mounts || fail "something is mounted in $root"
	rm -rf "$root"
	cp -a "$place/debian" "$root"
	stages[$name]=$root
	system_mounts "$root"
	case $image in
	debian:bookworm-slim) ;;
	rust:*-slim-bookworm)
		install_packages "$root" "${c_compiler[@]}"
		mkdir -p "$root"/usr/local/{cargo,rustup} "$root/src/target" "$place/cargo"
		mount --bind "${CARGO_HOME:-$HOME/.cargo}" "$root/usr/local/cargo"
		mount --bind "${RUSTUP_HOME:-$HOME/.rustup}" "$root/usr/local/rustup"
		# What an earlier test has built is not built again.
		mount --bind "$place/cargo" "$root/src/target"
		rust=(CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup)
		;;
	*) fail "an unknown image: $image" ;;
	esac
}

copy() {
	case "$*" in
	'. .')
		# shellcheck disable=SC2046  # names without blanks
		tar --anchored --exclude-from=.dockerignore -cf - $(ls -A) | tar -xf - -C "$root$workdir" --no-same-owner
		;;
	--from=*) cp --preserve=mode "${stages[${1#--from=}]}$2" "$root$3" ;;
	*) fail "COPY $*" ;;
	esac
}

step() {
	local words
	read -ra words <<<"$2"
	case $1 in
	FROM) from "$2" ;;
	ARG)
		local name=${2%%=*}
		[ -n "$root" ] || return 0
		environment+=("$name=${arguments[$name]:-${2#*=}}")
		;;
	ENV) environment+=("$2") ;;
	WORKDIR) workdir=$2 && mkdir -p "$root$2" ;;
	USER) user=$2 ;;
	COPY) copy "${words[@]}" ;;
	RUN) inside /bin/sh -c "$2" ;;
	ENTRYPOINT) entrypoint=$(tr -d '[]"' <<<"$2") ;;
	EXPOSE | CMD) ;;
	*) fail "an unknown instruction: $1" ;;
	esac
}

build_without_engine() {
	mkdir -p "$place"
	debian
	local instruction rest
	while read -r instruction rest <&3; do
		echo "==> $instruction $rest"
		step "$instruction" "$rest"
	done 3< <(grep -v '^ *#' packaging/Dockerfile | sed -e ':a' -e '/\\$/{N;s/\\\n *//;ta' -e '}' | grep .)
}

# contained FOLDER ARGUMENTS…: vesica in a container whose /data is FOLDER. Its identity.pem is the mounted secret.
contained() {
	local folder=$1 secret=()
	shift
	if [ -n "$engine" ]; then
		[ ! -e "$folder/identity.pem" ] ||
			secret=(--volume "$folder/identity.pem:/run/secrets/vesica/identity.pem:ro")
		"$engine" run --rm --read-only --cap-drop ALL --network host --volume "$folder:/data" "${secret[@]}" vesica-test "$@"
		return
	fi
	mkdir -p "$root/run/secrets/vesica"
	touch "$root/run/secrets/vesica/identity.pem"
	(
		export root workdir user entrypoint folder
		export environment_text="${environment[*]}"
		exec unshare --mount --propagation private bash -euc '
			mount --bind "$root" "$root"
			mount -o remount,bind,ro "$root"
			mount -t proc proc "$root/proc"
			mount --bind /dev/urandom "$root/dev/urandom"
			mount --bind /dev/null "$root/dev/null"
			[ ! -e "$folder/identity.pem" ] || mount --bind "$folder/identity.pem" "$root/run/secrets/vesica/identity.pem"
			mount --bind "$folder" "$root/data"
			exec chroot --userspec="$user" --groups="${user#*:}" "$root" /usr/bin/env -i --chdir="$workdir" \
				PATH=/usr/local/bin:/usr/bin:/bin $environment_text "$entrypoint" "$@"
		' contained "$@"
	)
}

# What the final image must not have, or not be.
image_is_small_and_without_rights() {
	local shell
	if [ -n "$engine" ]; then
		shell=("$engine" run --rm --entrypoint /bin/sh vesica-test -c)
	else
		shell=(inside /bin/sh -c)
	fi
	"${shell[@]}" 'test "$(id -u):$(id -g):$(id -G)" = 10001:10001:10001' || fail "the user of the image"
	for program in cc gcc cargo rustc; do
		! "${shell[@]}" "command -v $program" >/dev/null || fail "the image has $program"
	done
	! "${shell[@]}" 'touch /usr/local/bin/vesica' 2>/dev/null || fail "the user may write the program"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

two_containers() {
	local party sent address
	chmod 755 "$work"
	for party in shop newsletter; do
		install -d -m 700 "$work/$party"
		cp examples/quickstart/*.csv "$work/$party"
		chown -R 10001:10001 "$work/$party"
		contained "$work/$party" keygen --output /data/identity.pem >"$work/$party.pub"
	done
	: >"$work/screen"
	contained "$work/newsletter" send --input newsletter.csv --key mail:email --listen 127.0.0.1:0 --timeout 60s \
		--peer "$(cat "$work/shop.pub")" 2>"$work/screen" &
	sent=$!
	until address=$(grep -oP '^listening on \K[^;]+' "$work/screen"); do
		kill -0 $sent 2>/dev/null || { cat "$work/screen" >&2; fail "the sender ended"; }
		sleep 0.1
	done
	contained "$work/shop" receive --input customers.csv --key Email:email --output matched.csv --connect "$address" \
		--timeout 60s --peer "$(cat "$work/newsletter.pub")"
	wait $sent
	[ "$(grep -c '^10' "$work/shop/matched.csv")" = 6 ] || fail "the matched rows"
	[ "$(stat -c %u:%g "$work/shop/matched.csv")" = 10001:10001 ] || fail "the owner of the matched rows"

	chmod 644 "$work/shop/identity.pem"
	local code=0
	contained "$work/shop" receive --input customers.csv --key Email:email --output again.csv --connect "$address" \
		--timeout 5s --peer "$(cat "$work/newsletter.pub")" 2>"$work/screen" || code=$?
	[ $code = 64 ] && grep -q 'can be read by others' "$work/screen" || fail "an identity for all to read was taken: $code"
}

if [ -n "$engine" ]; then
	[ -z "${PLAYED_IMAGES:-}" ] || play_images
	"$engine" build --file packaging/Dockerfile --build-arg PROFILE="$profile" --tag vesica-test .
else
	build_without_engine
fi
image_is_small_and_without_rights
two_containers
echo "==> two containers matched 6 rows; built by ${engine:-the steps of the Dockerfile in clean roots, without an engine}"
