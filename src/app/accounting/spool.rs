//! A file that is complete before any of it is sent.

use std::{
    fs::{File, OpenOptions, remove_file},
    io::{self, SeekFrom},
    os::unix::fs::OpenOptionsExt,
};

use sha2::{Digest, Sha256};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};
use uuid::Uuid;

/// Text that is kept before it is written.
const CHUNK: usize = 256 * 1024;
/// Larger than a year of the largest merchant; a bound for the disk.
const BYTES_MAX: u64 = 4 << 30;

/// A complete export.
pub struct Spooled {
    /// Open at its beginning, and without a name: it is gone when it is closed.
    pub file: tokio::fs::File,
    pub bytes: u64,
    pub rows: u64,
    /// In hex.
    pub sha256: String,
}

pub(super) struct Spool {
    file: tokio::fs::File,
    hash: Sha256,
    bytes: u64,
    pub buffer: String,
}

impl Spool {
    pub async fn create() -> io::Result<Self> {
        let made = tokio::task::spawn_blocking(unlinked).await;
        let file = made.unwrap_or_else(|_| Err(io::Error::other("the program ends")))?;
        let file = tokio::fs::File::from_std(file);
        Ok(Self { file, hash: Sha256::new(), bytes: 0, buffer: String::with_capacity(CHUNK) })
    }

    /// Writes the buffer once it is large.
    pub async fn drain(&mut self) -> io::Result<()> {
        if self.buffer.len() < CHUNK { Ok(()) } else { self.write().await }
    }

    async fn write(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.buffer);
        self.write_bytes(text.as_bytes()).await?;
        self.buffer = text;
        self.buffer.clear();
        Ok(())
    }

    pub async fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if self.bytes > BYTES_MAX {
            return Err(io::Error::other("the export is larger than a file may be"));
        }
        self.hash.update(bytes);
        self.file.write_all(bytes).await
    }

    pub async fn finish(mut self, rows: u64) -> io::Result<Spooled> {
        self.write().await?;
        self.file.flush().await?;
        self.file.seek(SeekFrom::Start(0)).await?;
        let sha256 = hex::encode(self.hash.finalize());
        Ok(Spooled { file: self.file, bytes: self.bytes, rows, sha256 })
    }
}

/// A file of the temporary folder that only its descriptor leads to, so that no crash leaves it.
fn unlinked() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("gateway-export-{}", Uuid::now_v7().simple()));
    let file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn a_spooled_file_is_what_was_written_and_has_no_name() {
        let mut spool = Spool::create().await.unwrap();
        let line = "0123456789abcdef\r\n";
        let mut expected = String::new();
        for _ in 0..40_000 {
            spool.buffer.push_str(line);
            expected.push_str(line);
            spool.drain().await.unwrap();
            assert!(spool.buffer.len() < CHUNK);
        }
        let mut spooled = spool.finish(40_000).await.unwrap();
        let mut text = String::new();
        spooled.file.read_to_string(&mut text).await.unwrap();
        assert!(text == expected);
        assert_eq!(spooled.bytes, u64::try_from(expected.len()).unwrap());
        assert_eq!(spooled.sha256, hex::encode(Sha256::digest(&expected)));
        let links = spooled.file.metadata().await.unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::nlink(&links), 0);
    }
}
