# For the scripts that build packages: the tree, its version, and when it last changed. Sourced at the root of the tree.

version=$(sed -n "s/^ *version: '\(.*\)',$/\1/p" meson.build | head -n 1)

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

# commit_copy DIRECTORY: such a copy with a history of one commit, for programs that pack what is committed. Prints its time,
# which is that of the last change.
commit_copy() {
    local when
    copy_sources "$1"
    when=$(last_change)
    git -C "$1" init --quiet
    git -C "$1" add --all
    GIT_COMMITTER_DATE="@$when +0000" GIT_AUTHOR_DATE="@$when +0000" git -C "$1" -c user.name=pprofdelta \
        -c user.email=nobody@localhost -c commit.gpgsign=false commit --quiet --message "the tree"
    echo "$when"
}
