//! Files and folders twice: as programs see them, and as they are after a loss of power.
//!
//! As on a journaling file system: whoever syncs one file makes all changes of names before it
//! durable, and the bytes of that file alone. A file that was created, written and never synced has
//! its name after the loss, and no bytes.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use super::content::Content;

pub type Number = u64;
pub const ROOT: Number = 1;

#[derive(Debug, Clone)]
pub struct Node {
    pub kind: Kind,
    pub mode: u16,
    pub owner: (u32, u32),
    /// Names that lead here.
    pub names: u32,
}

#[derive(Debug, Clone)]
pub enum Kind {
    File(Content),
    Folder(BTreeMap<OsString, Number>),
    Link(PathBuf),
}

/// Reasons for which an operation is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    Missing,
    Exists,
    NoFolder,
    NotEmpty,
}

#[derive(Debug)]
pub struct Tree {
    live: HashMap<Number, Node>,
    kept: HashMap<Number, Node>,
    /// Nodes whose names, owner or rights have changed since the last sync.
    changed: HashSet<Number>,
    /// Bytes that were written to a file since it was last synced.
    unsynced: HashMap<Number, u64>,
    next: Number,
}

impl Default for Tree {
    fn default() -> Self {
        let kind = Kind::Folder(BTreeMap::new());
        let root = Node { kind, mode: 0o755, owner: (0, 0), names: 1 };
        let live = HashMap::from([(ROOT, root)]);
        let (changed, unsynced) = (HashSet::new(), HashMap::new());
        Self { kept: live.clone(), live, changed, unsynced, next: ROOT + 1 }
    }
}

impl Tree {
    pub fn node(&self, number: Number) -> Result<&Node, Refused> {
        self.live.get(&number).ok_or(Refused::Missing)
    }

    /// To change its owner or its rights.
    pub fn change(&mut self, number: Number) -> Result<&mut Node, Refused> {
        self.changed.insert(number);
        self.live.get_mut(&number).ok_or(Refused::Missing)
    }

    pub fn folder(&self, number: Number) -> Result<&BTreeMap<OsString, Number>, Refused> {
        match &self.node(number)?.kind {
            Kind::Folder(names) => Ok(names),
            Kind::File(_) | Kind::Link(_) => Err(Refused::NoFolder),
        }
    }

    fn folder_mut(&mut self, number: Number) -> Result<&mut BTreeMap<OsString, Number>, Refused> {
        match &mut self.change(number)?.kind {
            Kind::Folder(names) => Ok(names),
            Kind::File(_) | Kind::Link(_) => Err(Refused::NoFolder),
        }
    }

    pub fn find(&self, folder: Number, name: &OsStr) -> Result<Number, Refused> {
        self.folder(folder)?.get(name).copied().ok_or(Refused::Missing)
    }

    pub fn add(&mut self, folder: Number, name: &OsStr, node: Node) -> Result<Number, Refused> {
        if self.folder(folder)?.contains_key(name) {
            return Err(Refused::Exists);
        }
        let number = self.next;
        self.next += 1;
        self.live.insert(number, Node { names: 0, ..node });
        self.name(folder, name, number)?;
        Ok(number)
    }

    /// Gives a node one more name.
    pub fn name(&mut self, folder: Number, name: &OsStr, number: Number) -> Result<(), Refused> {
        self.change(number)?.names += 1;
        self.folder_mut(folder)?.insert(name.to_owned(), number);
        Ok(())
    }

    /// Takes a name away. The node stays for those who have it open.
    pub fn remove(&mut self, folder: Number, name: &OsStr) -> Result<(), Refused> {
        let number = self.find(folder, name)?;
        if self.folder(number).is_ok_and(|names| !names.is_empty()) {
            return Err(Refused::NotEmpty);
        }
        self.folder_mut(folder)?.remove(name);
        self.change(number)?.names -= 1;
        Ok(())
    }

    /// Moves a name; a node that had the new one loses it.
    pub fn rename(
        &mut self,
        (folder, name): (Number, &OsStr),
        (into, new): (Number, &OsStr),
    ) -> Result<(), Refused> {
        let number = self.find(folder, name)?;
        match self.find(into, new) {
            Ok(same) if same == number => return Ok(()),
            Ok(_) => self.remove(into, new)?,
            Err(Refused::Missing) => {}
            Err(refused) => return Err(refused),
        }
        self.folder_mut(folder)?.remove(name);
        self.folder_mut(into)?.insert(new.to_owned(), number);
        Ok(())
    }

    /// Nobody has the node open any more.
    pub fn close(&mut self, number: Number) {
        if self.live.get(&number).is_some_and(|node| node.names == 0) {
            self.live.remove(&number);
            self.unsynced.remove(&number);
            self.changed.insert(number);
        }
    }

    pub fn content(&self, number: Number) -> Result<&Content, Refused> {
        match &self.node(number)?.kind {
            Kind::File(content) => Ok(content),
            Kind::Folder(_) | Kind::Link(_) => Err(Refused::Missing),
        }
    }

    /// To write `bytes` bytes, or to cut it.
    pub fn write(&mut self, number: Number, bytes: u64) -> Result<&mut Content, Refused> {
        match self.live.get_mut(&number).map(|node| &mut node.kind) {
            Some(Kind::File(content)) => {
                *self.unsynced.entry(number).or_default() += bytes;
                Ok(content)
            }
            _ => Err(Refused::Missing),
        }
    }

    /// Makes all names durable, and the bytes of one file.
    pub fn sync(&mut self, number: Number) {
        for changed in std::mem::take(&mut self.changed) {
            self.keep(changed, false);
        }
        self.keep(number, true);
    }

    /// The same for every file, as when a machine is shut down in order.
    pub fn sync_all(&mut self) {
        self.kept.clone_from(&self.live);
        self.changed.clear();
        self.unsynced.clear();
    }

    fn keep(&mut self, number: Number, with_bytes: bool) {
        let Some(live) = self.live.get(&number) else {
            self.kept.remove(&number);
            return;
        };
        let kind = match (&live.kind, self.kept.get(&number).map(|kept| &kept.kind)) {
            (Kind::File(_), Some(Kind::File(kept))) if !with_bytes => Kind::File(kept.clone()),
            (Kind::File(_), _) if !with_bytes => Kind::File(Content::default()),
            (kind, _) => kind.clone(),
        };
        if with_bytes {
            self.unsynced.remove(&number);
        }
        self.kept.insert(number, Node { kind, ..*live });
    }

    /// Number of bytes that programs wrote to files and did not sync.
    pub fn unsynced(&self) -> u64 {
        self.unsynced.values().sum()
    }

    /// Discards all that was not synced. Returns the number of bytes that are lost.
    pub fn lose_power(&mut self) -> u64 {
        let lost = self.unsynced();
        self.unsynced.clear();
        self.changed.clear();
        self.kept.retain(|number, node| *number == ROOT || node.names > 0);
        self.live.clone_from(&self.kept);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Node {
        Node { kind: Kind::File(Content::default()), mode: 0o600, owner: (0, 0), names: 0 }
    }

    fn written(tree: &mut Tree, name: &str, bytes: &[u8]) -> Number {
        let number = tree.add(ROOT, OsStr::new(name), file()).unwrap();
        tree.write(number, bytes.len() as u64).unwrap().write(0, bytes);
        number
    }

    fn read(tree: &Tree, name: &str) -> Result<Vec<u8>, Refused> {
        let number = tree.find(ROOT, OsStr::new(name))?;
        Ok(tree.content(number)?.read(0, 100))
    }

    #[test]
    fn bytes_that_were_not_synced_are_gone_and_counted() {
        let mut tree = Tree::default();
        let log = written(&mut tree, "log", b"synced");
        tree.sync(log);
        tree.write(log, 4).unwrap().write(6, b"lost");
        assert_eq!(read(&tree, "log").unwrap(), b"syncedlost");
        assert_eq!(tree.lose_power(), 4);
        assert_eq!(read(&tree, "log").unwrap(), b"synced");
        assert_eq!(tree.lose_power(), 0, "once");
    }

    #[test]
    fn a_sync_keeps_the_names_of_all_files_and_the_bytes_of_one() {
        let mut tree = Tree::default();
        let (one, _) = (written(&mut tree, "one", b"1"), written(&mut tree, "other", b"2"));
        tree.sync(one);
        let _ = written(&mut tree, "late", b"3");
        assert_eq!(tree.lose_power(), 2);
        assert_eq!(read(&tree, "one").unwrap(), b"1");
        assert_eq!(read(&tree, "other").unwrap(), b"");
        assert_eq!(read(&tree, "late"), Err(Refused::Missing));
    }

    #[test]
    fn a_new_file_replaces_an_old_one_only_with_the_bytes_that_were_synced() {
        let mut tree = Tree::default();
        let old = written(&mut tree, "name", b"old");
        tree.sync(old);
        let _ = written(&mut tree, "new", b"new");
        tree.rename((ROOT, OsStr::new("new")), (ROOT, OsStr::new("name"))).unwrap();
        tree.sync(ROOT);
        tree.lose_power();
        assert_eq!(read(&tree, "name").unwrap(), b"", "the danger of a rename without a sync");
        assert_eq!(read(&tree, "new"), Err(Refused::Missing));
    }

    #[test]
    fn what_was_removed_comes_back_unless_a_sync_followed() {
        let mut tree = Tree::default();
        let (one, other) = (written(&mut tree, "one", b"1"), written(&mut tree, "other", b"2"));
        tree.sync(one);
        tree.sync(other);
        tree.remove(ROOT, OsStr::new("one")).unwrap();
        tree.close(one);
        tree.sync(other);
        tree.remove(ROOT, OsStr::new("other")).unwrap();
        tree.close(other);
        tree.lose_power();
        assert_eq!(read(&tree, "one"), Err(Refused::Missing));
        assert_eq!(read(&tree, "other").unwrap(), b"2");
    }
}
