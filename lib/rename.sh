#!/bin/sh
# Renames the internal symbols of the archive that was installed: rename.sh NM OBJCOPY ARCHIVE
#
# They begin with pd_, and those of another library may, too. So they begin with pprofdelta_pd_ in programs.
set -e
archive=$MESON_INSTALL_DESTDIR_PREFIX/$3
names=$archive.names
trap 'rm -f "$names"' EXIT
"$1" --defined-only --extern-only --format=posix "$archive" |
    sed -n 's/^\(pd_[^ ]*\) .*/\1 pprofdelta_\1/p' | sort -u >"$names"
"$2" --redefine-syms="$names" "$archive"
