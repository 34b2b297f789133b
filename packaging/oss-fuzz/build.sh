#!/bin/bash -eu
# Builds each fuzz target into $OUT, with its corpus and its dictionary. The base image sets CC, CFLAGS, OUT and WORK;
# it runs the targets where none of the libraries is installed.
meson setup "$WORK/build" -Dfuzzers=true -Dprefer_static=true -Ddefault_library=static -Dsymbols=disabled -Ddemangle=disabled \
    -Db_lundef=false -Dbuildtype=plain -Db_ndebug=false
for source in tests/fuzz/fuzz_*.c; do
    target=$(basename "$source" .c)
    ninja -C "$WORK/build" "tests/$target"
    cp "$WORK/build/tests/$target" "$OUT/"
    cp tests/fuzz/profile.dict "$OUT/$target.dict"
    seeds=(testdata/valid testdata/hostile testdata/regress)
    [ ! -d "tests/fuzz/corpus/${target#fuzz_}" ] || seeds+=("tests/fuzz/corpus/${target#fuzz_}")
    zip -q -r -j "$OUT/${target}_seed_corpus.zip" "${seeds[@]}"
done
