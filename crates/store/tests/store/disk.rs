//! An in-memory disk that journals all operations, can inject errors, and can simulate a power cut
//! at any operation.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use punctual_testing::TestRng;
use redb::StorageBackend;

const SECTOR_BYTES: usize = 512;

/// An in-memory disk. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestDisk {
    inner: Arc<Mutex<DiskState>>,
}

#[derive(Debug, Default)]
pub(crate) struct DiskState {
    /// The contents that the process reads.
    pub(crate) image: Vec<u8>,
    pub(crate) journal: Vec<DiskOp>,
    calls: u64,
    injected: Option<InjectedError>,
    pub(crate) failed_count: u64,
}

/// Which calls fail, and with which error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InjectedError {
    pub(crate) at: u64,
    pub(crate) is_permanent: bool,
    pub(crate) kind: io::ErrorKind,
}

/// An operation on the disk.
#[derive(Clone, Debug)]
pub(crate) enum DiskOp {
    Write {
        offset: usize,
        data: Vec<u8>,
    },
    Resize(usize),
    Sync,
    /// After a failed sync the kernel marks the pages as clean, so a later sync does not write them.
    FailedSync,
}

impl TestDisk {
    pub(crate) fn from_image(image: Vec<u8>) -> Self {
        let disk = Self::default();
        disk.lock().image = image;
        disk
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.inner.lock().unwrap()
    }

    /// Injects errors. Counts calls from 0 again.
    pub(crate) fn inject(&self, injected: InjectedError) {
        let mut inner = self.lock();
        inner.calls = 0;
        inner.injected = Some(injected);
    }

    pub(crate) fn calls(&self) -> u64 {
        self.lock().calls
    }
}

impl DiskState {
    fn count_call(&mut self) -> io::Result<()> {
        let at = self.calls;
        self.calls += 1;
        match self.injected {
            Some(injected) if at == injected.at || (injected.is_permanent && at > injected.at) => {
                self.failed_count += 1;
                Err(injected.kind.into())
            }
            _ => Ok(()),
        }
    }
}

impl StorageBackend for TestDisk {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.lock().image.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        let mut inner = self.lock();
        inner.count_call()?;
        let range = offset as usize..offset as usize + out.len();
        out.copy_from_slice(inner.image.get(range).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        let mut inner = self.lock();
        inner.count_call()?;
        inner.journal.push(DiskOp::Resize(len as usize));
        inner.image.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        let mut inner = self.lock();
        let result = inner.count_call();
        inner.journal.push(if result.is_ok() { DiskOp::Sync } else { DiskOp::FailedSync });
        result
    }

    /// A failed write writes half of its bytes.
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        let mut inner = self.lock();
        let result = inner.count_call();
        let len = if result.is_ok() { data.len() } else { data.len() / 2 };
        let offset = offset as usize;
        let data = data[..len].to_vec();
        write(&mut inner.image, offset, &data);
        inner.journal.push(DiskOp::Write { offset, data });
        result
    }
}

fn write(image: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset..end].copy_from_slice(data);
}

/// Which unsynced operations survive a power cut.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Survival {
    Nothing,
    Everything,
    /// A random subset in random order, some of it torn.
    Random,
}

/// The durable contents of a disk, and the operations since the last sync.
#[derive(Clone, Default)]
pub(crate) struct PersistedDisk {
    durable: Vec<u8>,
    unsynced: Vec<DiskOp>,
    /// Operations that were unsynced when a sync failed.
    unsyncable: Vec<DiskOp>,
}

impl PersistedDisk {
    pub(crate) fn from_image(image: Vec<u8>) -> Self {
        Self { durable: image, ..Self::default() }
    }

    pub(crate) fn replay(&mut self, op: &DiskOp) {
        match op {
            DiskOp::Sync => {
                for op in self.unsynced.drain(..) {
                    apply(&mut self.durable, &op, None);
                }
            }
            DiskOp::FailedSync => self.unsyncable.append(&mut self.unsynced),
            op => self.unsynced.push(op.clone()),
        }
    }

    pub(crate) fn has_unsynced(&self) -> bool {
        !self.unsynced.is_empty() || !self.unsyncable.is_empty()
    }

    /// Returns the contents of the disk after a power cut.
    pub(crate) fn after_power_cut(&self, survival: Survival, rng: &TestRng) -> Vec<u8> {
        let mut image = self.durable.clone();
        let mut ops: Vec<&DiskOp> = self.unsyncable.iter().chain(&self.unsynced).collect();
        match survival {
            Survival::Nothing => {}
            Survival::Everything => {
                for op in &ops {
                    apply(&mut image, op, None);
                }
            }
            Survival::Random => {
                while !ops.is_empty() {
                    let op = ops.swap_remove(rng.below(ops.len() as u64) as usize);
                    match rng.below(3) {
                        0 => {}
                        1 => apply(&mut image, op, Some(rng)),
                        _ => apply(&mut image, op, None),
                    }
                }
            }
        }
        image
    }
}

/// Applies an operation. With `tear`, a write is torn: only some of its sectors or bytes are written.
fn apply(image: &mut Vec<u8>, op: &DiskOp, tear: Option<&TestRng>) {
    match (op, tear) {
        (DiskOp::Write { offset, data }, None) => write(image, *offset, data),
        (DiskOp::Write { offset, data }, Some(rng)) => tear_write(image, *offset, data, rng),
        (DiskOp::Resize(len), _) => image.resize(*len, 0),
        (DiskOp::Sync | DiskOp::FailedSync, _) => {}
    }
}

fn tear_write(image: &mut Vec<u8>, offset: usize, data: &[u8], rng: &TestRng) {
    if rng.once_in(4) {
        return write(image, offset, &data[..rng.below(data.len() as u64 + 1) as usize]);
    }
    for (at, sector) in data.chunks(SECTOR_BYTES).enumerate() {
        if rng.once_in(2) {
            write(image, offset + at * SECTOR_BYTES, sector);
        }
    }
}
