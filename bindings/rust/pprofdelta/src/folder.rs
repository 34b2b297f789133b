//! Windows as files, with the names that `pprofdelta record` gives.

use crate::profiler::Batch;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Bytes of a program's name that are in a file's name, as in those of `record`.
const PROGRAM_MAX: usize = 40;

pub(crate) struct Folder {
    path: PathBuf,
    program: String,
    next: u64,
}

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        let name = std::env::args_os().next().unwrap_or_default();
        let name = Path::new(&name).file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { path, program: plain(&name), next: 1 }
    }

    /// Writes one window to a file that has its name only when it is complete. The name is that of no other file.
    pub(crate) fn write(&mut self, batch: &Batch<'_>) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        let pid = std::process::id();
        let temporary = self.path.join(format!(".pprofdelta-{pid}-{:p}", self as *const Self));
        let written = create(&temporary).and_then(|mut file| {
            file.write_all(batch.bytes())?;
            self.publish(&temporary, pid, batch.ending())
        });
        let _ = fs::remove_file(&temporary);
        written
    }

    fn publish(&mut self, temporary: &Path, pid: u32, ending: &str) -> io::Result<()> {
        loop {
            let path = self.path.join(format!("heap.{}.{pid}.{:06}{ending}", self.program, self.next));
            let linked = match fs::hard_link(temporary, &path) {
                // A file system without hard links.
                Err(error) if error.kind() != ErrorKind::AlreadyExists && !path.exists() => fs::rename(temporary, &path),
                linked => linked,
            };
            match linked {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => self.next += 1,
                Err(error) => return Err(error),
                Ok(()) => {
                    self.next += 1;
                    return Ok(());
                }
            }
        }
    }
}

/// A process of the same number may have been killed, and left a file of this name.
fn create(path: &Path) -> io::Result<File> {
    let _ = fs::remove_file(path);
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// The name of a program as a part of a file's name.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
    let mut plain: String = name.chars().take(PROGRAM_MAX).map(|c| if is_plain(c) { c } else { '_' }).collect();
    if plain.is_empty() || plain.starts_with(['.', '-']) {
        plain.replace_range(..usize::from(!plain.is_empty()), "_");
    }
    plain
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_programs_are_plain() {
        for (name, expected) in
            [("server", "server"), ("a b/c", "a_b_c"), (".x", "_x"), ("-sh", "_sh"), ("", "_"), ("é1", "_1")]
        {
            assert_eq!(super::plain(name), expected);
        }
        assert_eq!(super::plain(&"x".repeat(100)).len(), super::PROGRAM_MAX);
    }
}
