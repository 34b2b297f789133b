//! Compiles the C library. Its sources are those that c/meson.build lists. Three crates supply and build the
//! compression libraries, and xxhash-c-sys supplies xxHash, so nothing has to be installed but a C compiler.

use std::env;
use std::path::{Path, PathBuf};

/// The lists of c/meson.build that all make up the library where it has all doors.
const LISTS: [&str; 4] = ["inside_agent", "inside_rest", "portable_agent", "portable_rest"];

/// The files of `NAME = files(...)`.
fn files(meson: &str, name: &str) -> Vec<PathBuf> {
    let begin = format!("\n{name} = files(");
    let rest = meson.split_once(&begin).unwrap_or_else(|| panic!("c/meson.build has no list {name}")).1;
    let list = rest.split_once(')').expect("the list ends").0;
    list.split('\'').filter(|file| file.ends_with(".c")).map(|file| Path::new("c").join(file)).collect()
}

fn main() {
    let meson = std::fs::read_to_string("c/meson.build").expect("c/meson.build: the package has it");
    let mut build = cc::Build::new();
    build.std("c11").warnings(false).define("PPROFDELTA_STATIC", None);
    build.define("_GNU_SOURCE", None).define("_FILE_OFFSET_BITS", "64"); // as meson does
    build.flag_if_supported("-fvisibility=hidden").include("include").include("c/include").include("c");
    for library in ["DEFLATE", "Z", "ZSTD"] {
        let name = format!("DEP_{}_INCLUDE", if library == "DEFLATE" { "LIBDEFLATE" } else { library });
        let folders = env::var(&name).unwrap_or_else(|_| panic!("{name}: the crate that it is from sets it"));
        build.includes(folders.split([';', ',']));
    }
    if env::var("PROFILE").as_deref() != Ok("debug") {
        build.define("NDEBUG", None);
    }
    // A sample is taken in the allocator of a program: it should not take longer because that is a debug build.
    build.opt_level(2);
    for list in LISTS {
        build.files(files(&meson, list));
    }
    build.compile("pprofdelta");
    println!("cargo:rerun-if-changed=c");
    println!("cargo:rerun-if-changed=include");
}
