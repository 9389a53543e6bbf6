//! Secrets in files. The folder that `GATEWAY_SECRETS_DIR` names has one file per secret, called
//! after the variable that it sets: the way in which Docker, Kubernetes and systemd hand secrets
//! over. Unlike a variable, a file is in no environment that `docker inspect` or a crash report
//! shows.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use config::Map;

use super::{ConfigError, given};

/// Far above any secret; a larger file is another one.
const BYTES_MAX: u64 = 64 * 1024;
/// Permissions that let other users read a file, or the group write it. The group may read: that is
/// how Kubernetes and systemd give a file to one program.
const OPEN: u32 = 0o037;
/// Settings with names of their own, and what they set.
const OWN_NAMES: [(&str, &str); 2] =
    [("DATABASE_URL", "GATEWAY_DATABASE_URL"), ("AMQP_URL", "GATEWAY_AMQP_URL")];

/// The variables that the folder sets. It has no `Debug`: the values are secret.
#[derive(Default)]
pub(super) struct SecretFiles {
    values: Map<String, String>,
    paths: BTreeMap<String, PathBuf>,
}

impl SecretFiles {
    /// Reads every file that is called as a variable of ours; others, such as a sealed seed, are
    /// somebody else's.
    ///
    /// # Errors
    /// A sentence for each file that cannot be read, or that others can read.
    pub(super) fn read(folder: &Path) -> Result<Self, ConfigError> {
        let unreadable = |error: io::Error| {
            ConfigError::Unreadable(format!(
                "GATEWAY_SECRETS_DIR names {}: {error}",
                folder.display()
            ))
        };
        let (mut files, mut faults) = (Self::default(), Vec::new());
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let own = OWN_NAMES.iter().find(|(own, _)| *own == name).map(|(_, of)| *of);
            if (own.is_none() && given::key_of(name).is_none()) || path.is_dir() {
                continue;
            }
            let variable = own.unwrap_or(name).to_owned();
            match secret(&path) {
                // The name of its own wins, as in the environment.
                Ok(_) if own.is_none() && files.paths.contains_key(&variable) => {}
                Ok(value) => {
                    files.values.insert(variable.clone(), value);
                    files.paths.insert(variable, path);
                }
                Err(fault) => faults.push(fault),
            }
        }
        faults.sort();
        if faults.is_empty() { Ok(files) } else { Err(ConfigError::Unusable(faults)) }
    }

    pub(super) fn values(&self) -> &Map<String, String> {
        &self.values
    }

    /// Variables that are set to something, each with its file.
    pub(super) fn set(&self) -> impl Iterator<Item = (&String, &PathBuf)> {
        self.paths
            .iter()
            .filter(|(name, _)| self.values.get(*name).is_some_and(|value| !value.is_empty()))
    }
}

/// The text of the file, without the line end that editors add.
fn secret(path: &Path) -> Result<String, String> {
    let failed = |error: io::Error| {
        let user = rustix::process::geteuid().as_raw();
        let place = path.display();
        format!(
            "{place} cannot be read by user {user}, under which this program runs: {error}; run: chown {user} {place}"
        )
    };
    let file = fs::metadata(path).map_err(failed)?;
    if let Some(fault) = open_to_others(path, file.permissions().mode()) {
        return Err(fault);
    }
    if file.len() > BYTES_MAX {
        return Err(format!("{} is larger than any secret", path.display()));
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// The fault of a file with secrets that is open to other users.
pub(super) fn exposed(path: &Path) -> Option<String> {
    let mode = fs::metadata(path).ok()?.permissions().mode();
    open_to_others(path, mode)
}

fn open_to_others(path: &Path, mode: u32) -> Option<String> {
    (mode & OPEN != 0).then(|| {
        format!(
            "{place} holds secrets and is open to other users (mode {mode:04o}); run: chmod 600 {place}",
            mode = mode & 0o7777,
            place = path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is gone with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn with(files: &[(&str, &str, u32)]) -> Self {
            let name = format!("gateway-secrets-{:016x}", rand::random::<u64>());
            let path = std::env::temp_dir().join(name);
            fs::create_dir(&path).unwrap();
            for (name, text, mode) in files {
                fs::write(path.join(name), text).unwrap();
                fs::set_permissions(path.join(name), fs::Permissions::from_mode(*mode)).unwrap();
            }
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _removed = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn each_file_sets_the_variable_that_it_is_called_after() {
        let folder = Folder::with(&[
            ("DATABASE_URL", "postgres://a\n", 0o600),
            ("GATEWAY_DATABASE_URL", "postgres://b", 0o600),
            ("GATEWAY_MASTER_KEY", "  key with spaces \r\n", 0o440),
            ("GATEWAY_MAIL__PASSWORD", "", 0o400),
            // Open, and none of ours.
            ("payouts.seed", "sealed", 0o644),
        ]);
        let files = SecretFiles::read(&folder.0).unwrap();
        let value = |name: &str| files.values().get(name).map(String::as_str);
        assert_eq!(value("GATEWAY_DATABASE_URL"), Some("postgres://a"));
        assert_eq!(value("GATEWAY_MASTER_KEY"), Some("  key with spaces "));
        assert_eq!(value("payouts.seed"), None);
        let set: Vec<_> = files.set().map(|(name, _)| name.as_str()).collect();
        assert_eq!(set, ["GATEWAY_DATABASE_URL", "GATEWAY_MASTER_KEY"]);
    }

    #[test]
    fn a_file_that_others_can_read_or_the_group_can_write_is_refused_with_the_remedy() {
        for mode in [0o644, 0o604, 0o660, 0o777] {
            let folder = Folder::with(&[
                ("GATEWAY_MASTER_KEY", "hunter2", mode),
                ("AMQP_URL", "hunter2", mode),
                ("DATABASE_URL", "hunter2", 0o600),
            ]);
            let said = SecretFiles::read(&folder.0).err().unwrap().to_string();
            for name in ["GATEWAY_MASTER_KEY", "AMQP_URL"] {
                let path = folder.0.join(name);
                let told = format!(
                    "is open to other users (mode {mode:04o}); run: chmod 600 {}",
                    path.display()
                );
                assert!(said.contains(&told), "{said}");
            }
            assert!(!said.contains("hunter2") && !said.contains("DATABASE_URL"), "{said}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let said = SecretFiles::read(Path::new("/nowhere")).err().unwrap().to_string();
        assert!(said.contains("GATEWAY_SECRETS_DIR names /nowhere: No such file"), "{said}");
    }
}
