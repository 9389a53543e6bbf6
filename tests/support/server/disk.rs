//! Space on a small disk, taken and given back.

use std::{
    fs::File,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

const PIECE: [u8; 4096] = [1; 4096];

/// A file that takes up space until it is dropped.
pub struct Ballast(PathBuf);

impl Ballast {
    /// Takes all the space there is.
    pub fn filling(folder: &Path) -> Self {
        let (ballast, mut file) = Self::create(folder);
        let full = (0..).find_map(|_| file.write_all(&PIECE).err()).unwrap();
        assert_eq!(full.kind(), ErrorKind::StorageFull, "{full}");
        ballast
    }

    /// Takes all but this many bytes.
    pub fn leaving(folder: &Path, bytes: u64) -> Self {
        let (ballast, mut file) = Self::create(folder);
        while free(folder) > bytes {
            file.write_all(&PIECE).unwrap();
        }
        ballast
    }

    fn create(folder: &Path) -> (Self, File) {
        let path = folder.join("ballast");
        let file = File::create(&path).unwrap();
        (Self(path), file)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

fn free(folder: &Path) -> u64 {
    let disk = rustix::fs::statvfs(folder).unwrap();
    disk.f_bavail * disk.f_frsize
}
