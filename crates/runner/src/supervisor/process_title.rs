//! Changes the arguments of this process, which `ps` shows and by which the daemon finds supervisors.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;

/// The positions of the begin and the end of the arguments in memory among the fields of `/proc/self/stat` after
/// the name.
const ARGUMENTS_START: usize = 45;
const ARGUMENTS_END: usize = 46;

/// Replaces all arguments but the first, the name of the program. They must not be longer in total than those
/// with which the process was started.
pub(super) fn set(arguments: &[OsString]) -> io::Result<()> {
    let (start, end) = arguments_range()?;
    let size = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
    let before = fs::read("/proc/self/cmdline")?;
    let name = before.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut text = name.to_vec();
    for argument in arguments {
        text.push(0);
        text.extend_from_slice(argument.as_bytes());
    }
    // The last byte stays zero; otherwise the kernel takes the environment for a part of the arguments.
    if text.len() >= size {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    text.resize(size, 0);
    // The kernel checks the addresses of this write, so it can only fail.
    File::options().write(true).open("/proc/self/mem")?.write_all_at(&text, start)
}

fn arguments_range() -> io::Result<(u64, u64)> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name may contain spaces and brackets.
    let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
    let field = |position: usize| fields.split_ascii_whitespace().nth(position)?.parse().ok();
    field(ARGUMENTS_START)
        .zip(field(ARGUMENTS_END))
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}
