# A clean root: Debian's smallest set, for what a machine that has nothing installs and runs. Sourced. Takes root's
# rights and Debian's mirror, which the host's own apt knows.

# clean_root DIRECTORY: makes one there. The trap that it sets removes it. Root's cache keeps Debian's set for a month.
clean_root() {
    local root=$1 cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/pprofdelta-root suite mirror kept
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    kept=$cache/$suite-$(date +%Y-%m).tar
    # shellcheck disable=SC2064 # as it is now
    trap "remove_root '$root'" EXIT
    if [ -e "$kept" ]; then
        tar -C "$root" -xpf "$kept" --numeric-owner
    else
        mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME)' | sed -n "s/ $suite\$//p" | head -n 1)
        debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror"
        mkdir -p "$cache"
        rm -f "$cache"/*
        tar -C "$root" -cf "$kept.$$" --numeric-owner .
        mv "$kept.$$" "$kept"
    fi
    chmod 755 "$root" # as of every system: a process that gives up root still finds its files
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

# With ccache, a root compiles what the cache of the host does not have.
share_ccache() {
    local root=$1 cache
    if [ -z "${CCACHE_DISABLE:-}" ] && cache=$(ccache -k cache_dir 2>/dev/null); then
        in_root "$root" apt-get -q -y install --no-install-recommends ccache
        mkdir -p "$cache" "$root/srv/ccache"
        mount --bind "$cache" "$root/srv/ccache"
    fi
}

# in_root DIRECTORY COMMAND...: with nothing of the host's environment.
in_root() {
    local root=$1
    shift
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
        CCACHE_DIR=/srv/ccache chroot "$root" "$@" </dev/null
}
