//! The files that are carried between the machine with the nodes and the one with the seed. They
//! hold nothing secret, and never replace another.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
};

use anyhow::{anyhow, bail};

/// Far above the largest plan: each output comes with the transaction that made it.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

pub fn refuse_existing(path: &Path) -> anyhow::Result<()> {
    if path.exists() {
        bail!("{} exists already; name another file", path.display());
    }
    Ok(())
}

pub fn read(path: &Path) -> anyhow::Result<String> {
    let shown = path.display();
    let unreadable = |error| anyhow!("{shown} cannot be read: {error}");
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text)
}

/// Writes a new file, to the disk.
pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut options = fs::OpenOptions::new();
    let written = options.write(true).create_new(true).open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| anyhow!("{} cannot be written: {error}", path.display()))
}
