# For the scripts that build packages: the tree, and when it last changed. Sourced at the root of the tree.

# When the tree last changed, in seconds since 1970. One that was unpacked from an archive, or belongs to
# somebody else, has no history to ask (and that of a repository around it is not its own).
last_change() {
    if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
        echo "$SOURCE_DATE_EPOCH"
    elif ! { [ -e .git ] && git log -1 --format=%ct 2>/dev/null; }; then
        find . -path './build*' -prune -o -type f -printf '%T@\n' | sort -n | sed -n '$s/\..*//p'
    fi
}

# Copies the tree into an empty folder, without the build folders and the history.
copy_sources() {
    rm -rf "$1"
    mkdir -p "$1"
    tar -c --exclude='./build*' --exclude=./.git --exclude='__pycache__' . | tar -x -C "$1"
}
