# A clean root: Debian's smallest set, for what a machine that has nothing installs and runs. Sourced. Takes root's
# rights and Debian's mirror, which the host's own apt knows.

# clean_root DIRECTORY: makes one there. The trap that it sets removes it. With $UNPACKED, a folder, Debian's set is
# unpacked there if it is empty, and copied: several roots of one run need it once.
clean_root() {
    local root=$1 from=${UNPACKED:-$1} suite mirror
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME)' | sed -n "s/ $suite\$//p" | head -n 1)
    # shellcheck disable=SC2064 # as it is now
    trap "remove_root '$root'" EXIT
    [ -e "$from/etc" ] || debootstrap --variant=minbase --include=ca-certificates "$suite" "$from" "$mirror"
    [ "$from" = "$root" ] || cp -a "$from/." "$root"
    cp -r /etc/apt/apt.conf.d "$root/etc/apt/"
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io" # a root that is lost with the machine is made again
    mount -t proc proc "$root/proc"
    mount --bind /dev "$root/dev"
}

# Nothing is removed while something is mounted there: it is the host's.
remove_root() {
    local at
    for at in dev proc srv/ccache; do
        ! mountpoint -q "$1/$at" || umount "$1/$at" || return 1
    done
    rm -rf "$1"
}

# in_root DIRECTORY COMMAND...: with nothing of the host's environment.
in_root() {
    local root=$1
    shift
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
        chroot "$root" "$@" </dev/null
}
