//! The declarations are those of the headers: a C compiler compares sizes, offsets and constants.

use pprofdelta_sys::*;
use std::process::{Command, Stdio};
use std::{env, fs, mem};

macro_rules! size {
    ($name:ident) => {
        format!(
            "sizeof({}) == {} && _Alignof({0}) == {}",
            stringify!($name),
            std::mem::size_of::<$name>(),
            std::mem::align_of::<$name>()
        )
    };
}

macro_rules! offset {
    ($name:ident, $member:ident) => {
        format!(
            "offsetof({}, {}) == {}",
            stringify!($name),
            stringify!($member).trim_start_matches("r#"),
            std::mem::offset_of!($name, $member)
        )
    };
}

macro_rules! constant {
    ($name:ident) => {
        format!("{} == {}", stringify!($name), $name)
    };
}

#[rustfmt::skip]
mod table;

fn compiles(name: &str, assertions: &[String]) -> bool {
    let mut text = String::from("#define PPROFDELTA_EXPERIMENTAL\n#include <pprofdelta.h>\n#include <pprofdelta_heap.h>\n");
    for one in assertions {
        text += &format!("_Static_assert({one}, \"it is not\");\n");
    }
    let path = env::temp_dir().join(format!("pprofdelta-layout-{}-{name}.c", std::process::id()));
    fs::write(&path, text).unwrap();
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    command.args(words).args(["-std=c11", "-fsyntax-only", "-I", concat!(env!("CARGO_MANIFEST_DIR"), "/c/include")]);
    let status = command.arg(&path).stderr(if name == "wrong" { Stdio::null() } else { Stdio::inherit() }).status();
    fs::remove_file(&path).unwrap();
    status.expect("a C compiler").success()
}

#[test]
fn declarations_are_those_of_the_headers() {
    let mut assertions = table::assertions();
    assertions.push(constant!(PPROFDELTA_HEAP_FILTER_LEN));
    assertions.push(constant!(PPROFDELTA_ERROR_LINE));
    assertions.push(constant!(PPROFDELTA_HEAP_GRANULE_BITS));
    assert!(compiles("right", &assertions));
    let is = format!("== {}", mem::size_of::<pprofdelta_report>());
    let wrong: Vec<String> = assertions.iter().map(|one| one.replace(&is, "== 1")).collect();
    assert!(wrong != assertions && !compiles("wrong", &wrong), "a wrong size is noticed");
}
