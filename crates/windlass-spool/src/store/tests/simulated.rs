//! A simulated disk that can lose unsynced data, be full, or fail.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::store::disk::{Disk, OpenFile};

/// Number of bytes that a disk writes whole or not at all.
const SECTOR: usize = 512;

/// Kinds of a server's end, which decide about unsynced data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerEnd {
    /// The process ended: all that it wrote is there.
    Process,
    /// The power failed: any unsynced sector may be there or not.
    Power {
        /// Number of 256 sectors that survive.
        survive: u8,
    },
}

#[derive(Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Extend(usize),
}

#[derive(Debug, Default)]
struct Inode {
    cache: Vec<u8>,
    disk: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Debug)]
enum Naming {
    Create(String, usize),
    Remove(String),
}

#[derive(Debug, Default)]
struct World {
    inodes: Vec<Inode>,
    names: HashMap<String, usize>,
    disk_names: HashMap<String, usize>,
    unsynced: Vec<Naming>,
    boot: u8,
    /// Session of the server that may use the disk: an ended server cannot.
    session: u64,
    /// Number of changes made.
    done: u64,
    /// Number of the last change, made in part, before the server ends.
    last: Option<u64>,
    /// Number of the change that fails.
    fails: Option<u64>,
    /// True if no more files may be open.
    is_out_of_files: bool,
    capacity: u64,
}

/// One server's view of the disk.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedDisk {
    world: Arc<Mutex<World>>,
    session: u64,
}

#[derive(Debug)]
struct Handle {
    disk: SimulatedDisk,
    inode: usize,
}

/// Pseudo-random numbers from a seed (splitmix64).
#[derive(Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }
}

fn full() -> io::Error {
    io::Error::from_raw_os_error(28) // ENOSPC
}

fn broken() -> io::Error {
    io::Error::from_raw_os_error(5) // EIO
}

impl SimulatedDisk {
    pub(crate) fn new(capacity: u64) -> Self {
        let world = World { boot: 1, capacity, ..World::default() };
        Self { world: Arc::new(Mutex::new(world)), session: 0 }
    }

    /// Ends the server after `changes` changes.
    pub(crate) fn end_after(&self, changes: u64) {
        let mut world = self.world.lock().unwrap();
        world.last = Some(world.done + changes);
    }

    /// Makes one change fail: number `changes` from now on.
    pub(crate) fn fail_after(&self, changes: u64) {
        let mut world = self.world.lock().unwrap();
        world.fails = Some(world.done + changes);
    }

    /// Sets whether the limit of open files is reached.
    pub(crate) fn set_out_of_files(&self, is_out_of_files: bool) {
        self.world.lock().unwrap().is_out_of_files = is_out_of_files;
    }

    pub(crate) fn set_capacity(&self, capacity: u64) {
        self.world.lock().unwrap().capacity = capacity;
    }

    /// Overwrites bytes behind the server's back.
    pub(crate) fn damage(&self, name: &str, range: Range<usize>, value: u8) {
        let mut world = self.world.lock().unwrap();
        let inode = world.names[name];
        let Inode { cache, disk, .. } = &mut world.inodes[inode];
        cache[range.clone()].fill(value);
        // Unsynced data may be nowhere else.
        let end = range.end.min(disk.len());
        disk[range.start.min(end)..end].fill(value);
    }

    /// Flips bits of a byte.
    pub(crate) fn flip(&self, name: &str, at: usize, bits: u8) {
        let value = self.content(name)[at] ^ bits;
        self.damage(name, at..at + 1, value);
    }

    /// Truncates a file.
    pub(crate) fn cut(&self, name: &str, length: usize) {
        let mut world = self.world.lock().unwrap();
        let inode = world.names[name];
        world.inodes[inode].cache.truncate(length);
        world.inodes[inode].disk.truncate(length);
    }

    /// Restarts the machine; all written data is there.
    pub(crate) fn restart_machine(&self) {
        let mut world = self.world.lock().unwrap();
        world.boot = world.boot.wrapping_add(1).max(1);
    }

    pub(crate) fn content(&self, name: &str) -> Vec<u8> {
        let world = self.world.lock().unwrap();
        world.names.get(name).map(|inode| world.inodes[*inode].cache.clone()).unwrap_or_default()
    }

    /// Ends the server, and returns the disk as the next server finds it.
    pub(crate) fn restart(&self, end: ServerEnd, chance: &mut Chance) -> Self {
        let mut world = self.world.lock().unwrap();
        if let ServerEnd::Power { survive } = end {
            world.boot = world.boot.wrapping_add(1).max(1);
            let mut lucky = || chance.below(256) < u64::from(survive);
            let mut names = std::mem::take(&mut world.disk_names);
            for naming in std::mem::take(&mut world.unsynced) {
                match naming {
                    Naming::Create(name, inode) if lucky() => drop(names.insert(name, inode)),
                    Naming::Remove(name) if lucky() => drop(names.remove(&name)),
                    _ => {}
                }
            }
            world.disk_names = names.clone();
            world.names = names;
            for inode in &mut world.inodes {
                for change in std::mem::take(&mut inode.unsynced) {
                    inode.survive(change, &mut lucky);
                }
                inode.cache = inode.disk.clone();
            }
        }
        world.session += 1;
        (world.last, world.fails) = (None, None);
        Self { world: Arc::clone(&self.world), session: world.session }
    }

    /// Counts a change, unless the server has ended. Returns whether the change is the last one,
    /// and made in part.
    fn change(&self) -> io::Result<(MutexGuard<'_, World>, bool)> {
        let mut world = self.look()?;
        world.done += 1;
        if world.fails == Some(world.done) {
            world.fails = None;
            return Err(broken());
        }
        let last = world.last == Some(world.done);
        Ok((world, last))
    }

    fn look(&self) -> io::Result<MutexGuard<'_, World>> {
        let world = self.world.lock().unwrap();
        let ended = world.last.is_some_and(|last| world.done >= last);
        if ended || world.session != self.session { Err(broken()) } else { Ok(world) }
    }
}

impl Inode {
    /// Applies a change to the disk, or parts of it.
    fn survive(&mut self, change: Change, lucky: &mut impl FnMut() -> bool) {
        match change {
            Change::Extend(size) => {
                if lucky() && self.disk.len() < size {
                    self.disk.resize(size, 0);
                }
            }
            Change::Write { offset, bytes } => {
                let mut at = 0;
                while at < bytes.len() {
                    let sector = (SECTOR - (offset + at) % SECTOR).min(bytes.len() - at);
                    let range = offset + at..offset + at + sector;
                    // Data after the end of the file is lost.
                    if lucky() && range.end <= self.disk.len() {
                        self.disk[range].copy_from_slice(&bytes[at..at + sector]);
                    }
                    at += sector;
                }
            }
        }
    }
}

impl Disk for SimulatedDisk {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names: Vec<String> = self.look()?.names.keys().cloned().collect();
        names.sort_unstable();
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn OpenFile>> {
        let (mut world, _) = self.change()?;
        if world.is_out_of_files {
            return Err(io::Error::from_raw_os_error(24)); // EMFILE
        }
        if world.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = world.inodes.len();
        world.inodes.push(Inode::default());
        world.names.insert(name.to_owned(), inode);
        world.unsynced.push(Naming::Create(name.to_owned(), inode));
        Ok(Arc::new(Handle { disk: self.clone(), inode }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn OpenFile>> {
        let world = self.look()?;
        let inode = *world.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Arc::new(Handle { disk: self.clone(), inode }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let (mut world, _) = self.change()?;
        world.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        world.unsynced.push(Naming::Remove(name.to_owned()));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let (mut world, last) = self.change()?;
        if last {
            return Err(broken());
        }
        world.disk_names = world.names.clone();
        world.unsynced.clear();
        Ok(())
    }

    fn available(&self) -> io::Result<u64> {
        let world = self.look()?;
        let used: u64 =
            world.names.values().map(|inode| world.inodes[*inode].cache.len() as u64).sum();
        Ok(world.capacity.saturating_sub(used))
    }

    fn boot(&self) -> [u8; 16] {
        [self.world.lock().unwrap().boot; 16]
    }

    fn path(&self, name: &str) -> String {
        name.to_owned()
    }
}

impl OpenFile for Handle {
    fn write_at(&self, pieces: [&[u8]; 2], offset: u64) -> io::Result<()> {
        let (mut world, last) = self.disk.change()?;
        let mut bytes = pieces.concat();
        if last {
            // The ended process wrote a part of the data.
            bytes.truncate(bytes.len() / 2);
        }
        let offset = usize::try_from(offset).unwrap();
        let inode = &mut world.inodes[self.inode];
        // A write that needs new space could find the disk full.
        assert!(
            offset + bytes.len() <= inode.cache.len(),
            "space was kept for all that is written"
        );
        inode.cache[offset..offset + bytes.len()].copy_from_slice(&bytes);
        inode.unsynced.push(Change::Write { offset, bytes });
        if last { Err(broken()) } else { Ok(()) }
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let world = self.disk.look()?;
        let cache = &world.inodes[self.inode].cache;
        let start = usize::try_from(offset).unwrap().min(cache.len());
        let count = into.len().min(cache.len() - start);
        into[..count].copy_from_slice(&cache[start..start + count]);
        Ok(count)
    }

    fn allocate(&self, part: Range<u64>) -> io::Result<()> {
        let available = self.disk.available()?;
        let (mut world, _) = self.disk.change()?;
        let inode = &mut world.inodes[self.inode];
        let size = usize::try_from(part.end).unwrap();
        if size > inode.cache.len() {
            if (size - inode.cache.len()) as u64 > available {
                return Err(full());
            }
            inode.cache.resize(size, 0);
            inode.unsynced.push(Change::Extend(size));
        }
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.disk.look()?.inodes[self.inode].cache.len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        let (mut world, last) = self.disk.change()?;
        if last {
            return Err(broken());
        }
        let inode = &mut world.inodes[self.inode];
        for change in std::mem::take(&mut inode.unsynced) {
            inode.survive(change, &mut || true);
        }
        Ok(())
    }
}
