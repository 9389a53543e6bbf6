//! Disks of private servers, and space on a small one, taken and given back.

use std::{
    fs::File,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::Command,
};

use crate::server::forgetful_disk::ForgetfulDisk;

const PIECE: [u8; 4096] = [1; 4096];

/// The disk of a private server. Only root may make one that is not usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    Usual,
    Small {
        megabytes: u32,
    },
    /// Loses in a power cut what was not synced.
    Forgetful,
}

impl Room {
    /// Mounts it at `folder`.
    pub fn open(self, folder: &Path) -> Option<ForgetfulDisk> {
        match self {
            Self::Usual => None,
            Self::Small { megabytes } => {
                mount_small_disk(folder, megabytes);
                None
            }
            Self::Forgetful => Some(ForgetfulDisk::mount(folder)),
        }
    }

    /// The command that unmounts it after a test, however that ended: lazily, without waiting for a
    /// server that is slow to die.
    pub fn close(self, folder: &Path) -> Vec<String> {
        match self {
            Self::Usual => Vec::new(),
            Self::Small { .. } | Self::Forgetful => {
                vec!["umount".to_owned(), "-l".to_owned(), folder.display().to_string()]
            }
        }
    }
}

fn mount_small_disk(folder: &Path, megabytes: u32) {
    let size = format!("size={megabytes}m,mode=0700");
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder).output();
    let mounted = mount.unwrap();
    let why = String::from_utf8_lossy(&mounted.stderr);
    assert!(mounted.status.success(), "a small disk needs a root that may mount one: {why}");
}

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
