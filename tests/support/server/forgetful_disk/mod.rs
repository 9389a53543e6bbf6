//! A disk that loses what was not synced: a file system in this process's memory, mounted by FUSE.
//! Only root may mount it. Its syncs take as long as a test says, so it is a slow disk too.

mod content;
mod tree;

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
    time::{Duration, Instant, SystemTime},
};

use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs,
    ReplyWrite, Request, SessionACL, TimeOrNow, WriteFlags,
};

use super::processes::Signal;

use self::{
    content::Content,
    tree::{Kind, Node, Refused, Tree},
};

/// For as long as the kernel may remember what it was told: nobody else changes the disk.
const REMEMBERED: Duration = Duration::from_secs(3600);
const BLOCK: u32 = 4096;
/// Free space that programs are told of: 64 GB.
const BLOCKS_FREE: u64 = 16 << 20;
const FIRST_USE: Generation = Generation(0);
/// For killed processes to be gone.
const LIMIT: Duration = Duration::from_secs(10);

/// Unmounted when dropped, once no program uses it.
pub struct ForgetfulDisk {
    folder: PathBuf,
    disk: Disk,
    session: Option<BackgroundSession>,
}

impl ForgetfulDisk {
    /// An empty disk at `folder`.
    pub fn mount(folder: &Path) -> Self {
        let folder = folder.canonicalize().unwrap();
        let mut disk = Self { folder, disk: Disk::default(), session: None };
        disk.attach();
        disk
    }

    fn attach(&mut self) {
        let mut config = Config::default();
        config.mount_options =
            vec![MountOption::FSName("forgetful".to_owned()), MountOption::DefaultPermissions];
        config.acl = SessionACL::All;
        let mounted = fuser::spawn_mount(self.disk.clone(), &self.folder, &config);
        self.session = Some(mounted.unwrap_or_else(|error| {
            panic!("a disk that forgets needs /dev/fuse and a root that may mount it: {error}")
        }));
    }

    /// Returns when the last process that was killed has let go of it.
    fn detach(&mut self) -> io::Result<()> {
        Command::new("umount").arg("-l").arg(&self.folder).status()?;
        self.session.take().map_or(Ok(()), BackgroundSession::join)
    }

    /// Kills the programs that use the disk, loses what was not synced, and returns the number of
    /// its bytes.
    pub fn lose_power(&mut self) -> u64 {
        assert!(self.kill_users(), "{:?} do not die", self.users());
        // The kernel forgets its copies with the mount.
        self.detach().unwrap();
        let lost = self.disk.tree().lose_power();
        self.disk.power = Arc::default();
        self.attach();
        lost
    }

    /// Returns `false` if some do not die.
    fn kill_users(&self) -> bool {
        let started = Instant::now();
        while started.elapsed() < LIMIT {
            let users = self.users();
            if users.is_empty() {
                return true;
            }
            for user in users {
                Signal::Kill.send(user);
            }
            // A process that waits for a sync does not die before the sync has ended.
            self.disk.power.cut();
        }
        false
    }

    /// Other processes that work in the disk's folders or have its files open.
    fn users(&self) -> Vec<u32> {
        let here = |link: PathBuf| fs::read_link(link).is_ok_and(|to| to.starts_with(&self.folder));
        let has_open = |process: &Path| {
            let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
            here(process.join("cwd")) || files.map(|file| file.path()).any(here)
        };
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let path = entry.ok()?.path();
            let id = path.file_name()?.to_str()?.parse().ok()?;
            (id != std::process::id() && has_open(&path)).then_some(id)
        });
        processes.collect()
    }

    /// Keeps everything that was written, as after an orderly shutdown.
    pub fn sync_all(&self) {
        self.disk.tree().sync_all();
    }

    /// Number of bytes that a loss of power would take now.
    pub fn unsynced(&self) -> u64 {
        self.disk.tree().unsynced()
    }

    /// From now on a sync returns after `pause`.
    pub fn sync_takes(&self, pause: Duration) {
        *self.disk.pause.lock().unwrap() = pause;
    }
}

impl Drop for ForgetfulDisk {
    fn drop(&mut self) {
        self.kill_users();
        // A test that fails has said why; what is left is unmounted by its server's janitor.
        let _ = self.detach();
    }
}

#[derive(Clone, Default)]
struct Disk {
    tree: Arc<Mutex<Tree>>,
    pause: Arc<Mutex<Duration>>,
    power: Arc<Power>,
}

/// Power of the disk. A cut ends the syncs that are under way, and they keep nothing.
#[derive(Default)]
struct Power {
    is_cut: Mutex<bool>,
    changed: Condvar,
}

impl Power {
    fn cut(&self) {
        *self.is_cut.lock().unwrap() = true;
        self.changed.notify_all();
    }

    /// Waits, and returns `false` once the power is cut.
    fn lasts(&self, time: Duration) -> bool {
        let is_cut = self.is_cut.lock().unwrap();
        !*self.changed.wait_timeout_while(is_cut, time, |is_cut| !*is_cut).unwrap().0
    }
}

type Done<T> = Result<T, Errno>;

impl From<Refused> for Errno {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Missing => Self::ENOENT,
            Refused::Exists => Self::EEXIST,
            Refused::NoFolder => Self::ENOTDIR,
            Refused::NotEmpty => Self::ENOTEMPTY,
        }
    }
}

impl Disk {
    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap()
    }

    fn attributes(&self, number: u64) -> Done<FileAttr> {
        Ok(attributes(number, self.tree().node(number)?))
    }

    fn found(&self, parent: INodeNo, name: &OsStr) -> Done<FileAttr> {
        let number = self.tree().find(parent.0, name)?;
        self.attributes(number)
    }

    fn added(
        &self,
        parent: INodeNo,
        name: &OsStr,
        request: &Request,
        node: (Kind, u32),
    ) -> Done<FileAttr> {
        let (kind, mode) = node;
        let owner = (request.uid(), request.gid());
        let node = Node { kind, mode: permissions(mode), owner, names: 0 };
        let number = self.tree().add(parent.0, name, node)?;
        self.attributes(number)
    }

    /// Syncs a file after the disk's pause, while other requests go on.
    fn sync(&self, number: INodeNo, reply: ReplyEmpty) {
        let (disk, pause) = (self.clone(), *self.pause.lock().unwrap());
        let sync = move || {
            if disk.power.lasts(pause) {
                disk.tree().sync(number.0);
                reply.ok();
            } else {
                reply.error(Errno::EIO);
            }
        };
        if pause.is_zero() {
            sync();
        } else {
            thread::spawn(sync);
        }
    }
}

/// The rights in a mode.
fn permissions(mode: u32) -> u16 {
    u16::try_from(mode & 0o7777).unwrap()
}

fn attributes(number: u64, node: &Node) -> FileAttr {
    let (kind, size) = match &node.kind {
        Kind::File(content) => (FileType::RegularFile, content.size()),
        Kind::Folder(_) => (FileType::Directory, 0),
        Kind::Link(target) => (FileType::Symlink, target.as_os_str().len()),
    };
    let size = size as u64;
    let time = SystemTime::UNIX_EPOCH;
    FileAttr {
        ino: INodeNo(number),
        size,
        blocks: size.div_ceil(512),
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind,
        perm: node.mode,
        nlink: node.names,
        uid: node.owner.0,
        gid: node.owner.1,
        rdev: 0,
        blksize: BLOCK,
        flags: 0,
    }
}

fn position(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}

fn entry(found: Done<FileAttr>, reply: ReplyEntry) {
    match found {
        Ok(attributes) => reply.entry(&REMEMBERED, &attributes, FIRST_USE),
        Err(error) => reply.error(error),
    }
}

fn done(result: Result<(), Refused>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(refused) => reply.error(refused.into()),
    }
}

impl Filesystem for Disk {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        entry(self.found(parent, name), reply);
    }

    fn forget(&self, _: &Request, number: INodeNo, _: u64) {
        self.tree().close(number.0);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number.0) {
            Ok(attributes) => reply.attr(&REMEMBERED, &attributes),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = || -> Result<FileAttr, Refused> {
            let mut tree = self.tree();
            if let Some(size) = size {
                tree.write(number.0, 0)?.resize(position(size));
            }
            let node = tree.change(number.0)?;
            node.mode = mode.map_or(node.mode, permissions);
            node.owner = (user.unwrap_or(node.owner.0), group.unwrap_or(node.owner.1));
            Ok(attributes(number.0, node))
        };
        match change() {
            Ok(attributes) => reply.attr(&REMEMBERED, &attributes),
            Err(refused) => reply.error(refused.into()),
        }
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        match self.tree().node(number.0).map(|node| &node.kind) {
            Ok(Kind::Link(target)) => reply.data(target.as_os_str().as_encoded_bytes()),
            _ => reply.error(Errno::EINVAL),
        }
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let folder = (Kind::Folder(BTreeMap::new()), mode & !umask);
        entry(self.added(parent, name, request, folder), reply);
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let link = (Kind::Link(target.to_owned()), 0o777);
        entry(self.added(parent, name, request, link), reply);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let file = (Kind::File(Content::default()), mode & !umask);
        match self.added(parent, name, request, file) {
            Ok(made) => {
                let (handle, flags) = (FileHandle(0), FopenFlags::empty());
                reply.created(&REMEMBERED, &made, FIRST_USE, handle, flags);
            }
            Err(error) => reply.error(error),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.tree().remove(parent.0, name), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.tree().remove(parent.0, name), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        into: INodeNo,
        new: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        done(self.tree().rename((parent.0, name), (into.0, new)), reply);
    }

    fn link(&self, _: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let named = self.tree().name(parent.0, name, number.0);
        let attributes = named.map_err(Errno::from).and_then(|()| self.attributes(number.0));
        entry(attributes, reply);
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.tree().content(number.0) {
            Ok(content) => reply.data(&content.read(position(offset), size as usize)),
            Err(refused) => reply.error(refused.into()),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.tree().write(number.0, data.len() as u64) {
            Ok(content) => {
                content.write(position(offset), data);
                reply.written(u32::try_from(data.len()).unwrap());
            }
            Err(refused) => reply.error(refused.into()),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(number, reply);
    }

    fn fsyncdir(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(number, reply);
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let tree = self.tree();
        let names = match tree.folder(number.0) {
            Ok(names) => names,
            Err(refused) => return reply.error(refused.into()),
        };
        // The parent's number is not asked for by anybody.
        let dots = [".", ".."].map(|name| (OsString::from(name), number.0));
        let entries = dots.iter().map(|(name, number)| (name, number)).chain(names);
        for (place, (name, number)) in (1..).zip(entries).skip(position(offset)) {
            let kind = tree.node(*number).map(|node| attributes(*number, node).kind);
            if reply.add(INodeNo(*number), place, kind.unwrap_or(FileType::Directory), name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let files = BLOCKS_FREE;
        reply.statfs(2 * BLOCKS_FREE, BLOCKS_FREE, BLOCKS_FREE, files, files, BLOCK, 255, BLOCK);
    }
}
