//! A disk in memory that keeps a journal of everything done to it, can be told to fail, and can be
//! cut off at any moment.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use redb::StorageBackend;

use crate::dice::Dice;

const SECTOR_BYTES: usize = 512;

/// Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    /// What the process sees.
    pub(crate) image: Vec<u8>,
    pub(crate) journal: Vec<Deed>,
    calls: u64,
    failing: Option<Failing>,
    pub(crate) failed_count: u64,
}

/// Which calls fail, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failing {
    pub(crate) at: u64,
    pub(crate) forever: bool,
    pub(crate) kind: io::ErrorKind,
}

/// Something that was done to the disk.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Write {
        offset: usize,
        data: Vec<u8>,
    },
    Resize(usize),
    Sync,
    /// What was not synced by now never will be by a later sync: the pages count as clean.
    FailedSync,
}

impl Disk {
    pub(crate) fn holding(image: Vec<u8>) -> Self {
        let disk = Self::default();
        disk.lock().image = image;
        disk
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    /// Calls are counted anew from here.
    pub(crate) fn fail(&self, failing: Failing) {
        let mut inner = self.lock();
        inner.calls = 0;
        inner.failing = Some(failing);
    }

    pub(crate) fn calls(&self) -> u64 {
        self.lock().calls
    }
}

impl Inner {
    fn call(&mut self) -> io::Result<()> {
        let at = self.calls;
        self.calls += 1;
        match self.failing {
            Some(failing) if at == failing.at || (failing.forever && at > failing.at) => {
                self.failed_count += 1;
                Err(failing.kind.into())
            }
            _ => Ok(()),
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.lock().image.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let mut inner = self.lock();
        inner.call()?;
        let range = offset as usize..offset as usize + out.len();
        out.copy_from_slice(inner.image.get(range).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        let mut inner = self.lock();
        inner.call()?;
        inner.journal.push(Deed::Resize(len as usize));
        inner.image.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        let mut inner = self.lock();
        let called = inner.call();
        inner.journal.push(if called.is_ok() { Deed::Sync } else { Deed::FailedSync });
        called
    }

    /// A write that fails has written half of its bytes.
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        let mut inner = self.lock();
        let called = inner.call();
        let kept = if called.is_ok() { data.len() } else { data.len() / 2 };
        let (offset, data) = (offset as usize, data[..kept].to_vec());
        write(&mut inner.image, offset, &data);
        inner.journal.push(Deed::Write { offset, data });
        called
    }
}

fn write(image: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset..end].copy_from_slice(data);
}

/// What a power cut leaves of what was not synced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Survival {
    Nothing,
    Everything,
    /// Any subset in any order, some of it torn.
    Chance,
}

/// What is on the disk for certain, and what was done since.
#[derive(Clone, Default)]
pub(crate) struct Platter {
    durable: Vec<u8>,
    unsynced: Vec<Deed>,
    /// Not synced when a sync failed.
    limbo: Vec<Deed>,
}

impl Platter {
    pub(crate) fn holding(image: Vec<u8>) -> Self {
        Self { durable: image, ..Self::default() }
    }

    pub(crate) fn perform(&mut self, deed: &Deed) {
        match deed {
            Deed::Sync => {
                let deeds: Vec<Deed> = self.unsynced.drain(..).collect();
                deeds.iter().for_each(|deed| apply(&mut self.durable, deed, None));
            }
            Deed::FailedSync => self.limbo.append(&mut self.unsynced),
            deed => self.unsynced.push(deed.clone()),
        }
    }

    pub(crate) fn has_unsynced(&self) -> bool {
        !self.unsynced.is_empty() || !self.limbo.is_empty()
    }

    /// The disk as it is found after the power is back.
    pub(crate) fn after_power_cut(&self, survival: Survival, dice: &mut Dice) -> Vec<u8> {
        let mut image = self.durable.clone();
        let mut deeds: Vec<&Deed> = self.limbo.iter().chain(&self.unsynced).collect();
        match survival {
            Survival::Nothing => {}
            Survival::Everything => deeds.iter().for_each(|deed| apply(&mut image, deed, None)),
            Survival::Chance => {
                while !deeds.is_empty() {
                    let deed = deeds.swap_remove(dice.below(deeds.len() as u64) as usize);
                    match dice.below(3) {
                        0 => {}
                        1 => apply(&mut image, deed, Some(dice)),
                        _ => apply(&mut image, deed, None),
                    }
                }
            }
        }
        image
    }
}

/// With dice, the deed is torn: only some of its sectors arrive, or it ends at any byte.
fn apply(image: &mut Vec<u8>, deed: &Deed, tear: Option<&mut Dice>) {
    match (deed, tear) {
        (Deed::Write { offset, data }, None) => write(image, *offset, data),
        (Deed::Write { offset, data }, Some(dice)) => tear_write(image, *offset, data, dice),
        (Deed::Resize(len), _) => image.resize(*len, 0),
        (Deed::Sync | Deed::FailedSync, _) => {}
    }
}

fn tear_write(image: &mut Vec<u8>, offset: usize, data: &[u8], dice: &mut Dice) {
    if dice.once_in(4) {
        return write(image, offset, &data[..dice.below(data.len() as u64 + 1) as usize]);
    }
    for (at, sector) in data.chunks(SECTOR_BYTES).enumerate() {
        if dice.once_in(2) {
            write(image, offset + at * SECTOR_BYTES, sector);
        }
    }
}
