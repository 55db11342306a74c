//! The seccomp profile `RuntimeDefault`: refuses the system calls that container runtimes refuse by default,
//! because they affect the machine as a whole or were often used to escape from containers.
//!
//! A container runtime lists what is allowed. We list what is refused: containers run the machine's own
//! programs, and we cannot know which calls those need.

use std::collections::BTreeMap;
use std::io;

use rustix::thread::{CapabilitySet, capabilities, set_no_new_privs};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

/// The refused system calls that all architectures have.
const REFUSED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// The refused system calls that not all architectures have, or that `libc` does not name for all.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_kexec_file_load,
    libc::SYS_sysfs,
    libc::SYS_ustat,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// A system call with this bit is the same call in the interface x32.
const X32_BIT: i64 = 0x4000_0000;

/// The flags of `clone` that create namespaces.
const NAMESPACE_FLAGS: [libc::c_int; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Installs the profile for this process and its children. Without the right to do so, the process also loses
/// the possibility to gain privileges.
pub(super) fn install() -> io::Result<()> {
    let failed = |error: BackendError| io::Error::other(error.to_string());
    let programs = [
        program(refused_rules().map_err(failed)?, libc::EPERM).map_err(failed)?,
        // Its flags are in memory, where a filter cannot read them. Programs fall back to `clone`.
        program(Rules::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS).map_err(failed)?,
    ];
    if !capabilities(None)?.effective.contains(CapabilitySet::SYS_ADMIN) {
        set_no_new_privs(true)?;
    }
    programs.iter().try_for_each(install_program)
}

fn refused_rules() -> Result<Rules, BackendError> {
    let numbers = REFUSED.iter().chain(REFUSED_HERE).copied();
    let mut rules: Rules =
        numbers.flat_map(|number| [number, number | X32_BIT]).map(|it| (it, Vec::new())).collect();
    let mut clone_rules = Vec::new();
    for flag in NAMESPACE_FLAGS {
        let flag = u64::from(flag.cast_unsigned());
        let operation = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, operation, flag)?;
        clone_rules.push(SeccompRule::new(vec![condition])?);
    }
    rules.insert(libc::SYS_clone, clone_rules);
    Ok(rules)
}

fn program(rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture)?.try_into()
}

#[expect(unsafe_code, reason = "there is no safe function that leaves the privileges as they are")]
fn install_program(program: &BpfProgram) -> io::Result<()> {
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(io::Error::other)?,
        filter: program.as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    // SAFETY: the kernel reads `len` instructions, which live until the end of this function, and both types
    // have the layout of the kernel's `sock_filter`.
    let result = unsafe {
        let mode = libc::c_ulong::from(libc::SECCOMP_SET_MODE_FILTER);
        libc::syscall(libc::SYS_seccomp, mode, libc::c_ulong::MIN, &raw const filter)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
