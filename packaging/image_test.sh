#!/usr/bin/env bash
# Builds the image of packaging/Dockerfile and runs two parties from it, as its user, each with an identity that is mounted.
# With docker or podman, that is what runs. Without them the steps of the Dockerfile are run in new roots of Debian
# (debootstrap, as root). PROFILE names another profile than that of releases. Called by `make image-test`.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-dist}
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

if docker info >/dev/null 2>&1; then
	engine=docker
elif podman info >/dev/null 2>&1; then
	engine=podman
elif [ "$(id -u)" = 0 ] && { command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null; }; then
	engine=roots
else
	echo "neither docker nor podman runs here, and there is no debootstrap for root: the image is NOT TESTED" >&2
	exit 1
fi

# As the Dockerfile says, in roots that debootstrap makes. It knows the instructions that the Dockerfile has.
build_in_roots() {
	local instruction rest line root="" stage="" folder=/
	debootstrap --variant=minbase bookworm "$work/debian" http://deb.debian.org/debian >/dev/null
	echo "deb http://deb.debian.org/debian-security bookworm-security main" >>"$work/debian/etc/apt/sources.list"
	cp /etc/resolv.conf "$work/debian/etc/resolv.conf"
	while read -r instruction rest; do
		case $instruction in
		'' | '#'*) ;;
		FROM)
			[ "${rest%% *}" = debian:bookworm-slim ]
			stage=${rest##* AS } folder=/
			[ "$stage" != "$rest" ] || stage=image
			root=$work/$stage
			cp -a "$work/debian" "$root"
			;;
		WORKDIR) mkdir -p "$root$rest" && folder=$rest ;;
		COPY)
			case $rest in
			--from=*) line=${rest#--from=} && cp "$work/${line%% *}$(cut -d' ' -f2 <<<"$rest")" "$root${rest##* }" ;;
			*) tar -c --exclude-vcs --exclude=./target . | tar -x -C "$root$folder" ;;
			esac
			;;
		ARG) [ "$rest" = PROFILE=dist ] ;;
		RUN) chroot "$root" env -i PATH="$PATH" HOME=/root PROFILE="$profile" DEBIAN_FRONTEND=noninteractive \
			sh -ec "cd $folder; $rest" ;;
		USER) user=$rest ;;
		ENV) environment+=("$rest") ;;
		ENTRYPOINT | CMD) ;;
		*)
			echo "packaging/image_test.sh does not know $instruction" >&2
			return 1
			;;
		esac
	done <packaging/Dockerfile
}

# vesica SECRETS ARGUMENTS: the program in the image, with this folder at /run/secrets/vesica and $work/data at /data.
user="" environment=()
vesica() {
	local secrets=$1
	shift
	if [ "$engine" = roots ]; then
		unshare --mount bash -c '
			mkdir -p "$1/run/secrets/vesica"
			mount --bind "$2" "$1/run/secrets/vesica" && mount --bind "$3" "$1/data"
			shift 3; exec "$@"' - "$work/image" "$secrets" "$work/data" \
			chroot --userspec="$user" "$work/image" \
			env -i PATH=/usr/local/bin:/usr/bin:/bin "${environment[@]}" sh -c 'cd /data; exec vesica "$@"' - "$@"
	else
		"$engine" run --rm --network host --read-only --tmpfs /tmp --cap-drop ALL --volume "$secrets:/run/secrets/vesica" \
			--volume "$work/data:/data" vesica-test "$@"
	fi
}

if [ "$engine" = roots ]; then
	build_in_roots
else
	"$engine" build --quiet --build-arg PROFILE="$profile" --file packaging/Dockerfile --tag vesica-test . >/dev/null
fi

mkdir "$work"/{shop,newsletter,data}
cp examples/quickstart/*.csv "$work/data"
chown -R 10001:10001 "$work"/{shop,newsletter,data}
chmod 711 "$work"
vesica "$work/shop" --version --verbose
shop=$(vesica "$work/shop" keygen)
newsletter=$(vesica "$work/newsletter" keygen)
vesica "$work/newsletter" send --input newsletter.csv --key mail:email --listen 127.0.0.1:7407 --peer "$shop" &
vesica "$work/shop" receive --input customers.csv --key Email:email --output matched.csv \
	--connect 127.0.0.1:7407 --peer "$newsletter"
wait $!
[ "$(grep -c '^10' "$work/data/matched.csv")" = 6 ]
[ "$(stat -c %u:%a "$work/shop/identity.pem")" = 10001:600 ]
echo "the image was built with $engine, and two parties matched 6 rows as an ordinary user"
