//! A temporary folder of one test, removed with it.

use std::path::PathBuf;

pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        let name = format!("gateway-scratch-{:016x}", rand::random::<u64>());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    /// A path in it that nothing has yet.
    pub fn fresh(&self, word: &str) -> PathBuf {
        self.folder.join(format!("{word}-{:08x}", rand::random::<u32>()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Leftovers lie in the system's own temporary folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
