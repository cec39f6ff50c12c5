# Functions for scripts that test in clean roots of Debian 12. They are for root, and keep what they make in the folder
# $place. The script has mounts of its own (unshare --mount) where it uses system_mounts, and defines `fail`.
# shellcheck shell=bash

# What debootstrap makes, in $place/debian: to be copied, not changed.
debian() {
	[ ! -e "$place/debian.done" ] || return 0
	command -v debootstrap >/dev/null || {
		apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap
	}
	rm -rf "$place/debian"
	debootstrap --variant=minbase bookworm "$place/debian" >"$place/debootstrap.log" ||
		{ tail "$place/debootstrap.log" >&2; fail "debootstrap"; }
	touch "$place/debian.done"
}

# install_packages ROOT PACKAGE…: packages of Debian, with the name servers of this machine.
install_packages() {
	local root=$1
	shift
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -c \
		'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"' apt "$@" \
		>"$place/apt.log" 2>&1 || { tail "$place/apt.log" >&2; fail "apt-get"; }
}

system_mounts() {
	mount -t proc proc "$1/proc"
	local device
	for device in null zero random urandom; do
		[ -e "$1/dev/$device" ] || touch "$1/dev/$device"
		mount --bind "/dev/$device" "$1/dev/$device"
	done
}
