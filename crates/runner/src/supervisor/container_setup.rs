//! The setup of a container: a child of the supervisor, which has just been forked, sets up its environment and
//! then executes the container's program.
//!
//! It has a pipe to the supervisor, which carries each [`SetupReport`] as a line of JSON. If it closes without a
//! failure, the container's program is running.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{Gid, Mode, Uid};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::mounts::ImplicitMounts;
use super::{cgroup, close_all_but, mounts, pid_namespace, security, signals};
use crate::pod_folder::PodFolder;
use crate::pod_plan::{ContainerPlan, SCRATCH_MOUNT_POINT, TERMINATION_LOG_VARIABLE, UserPlan};
use crate::pod_state::{ReasonAndMessage, reasons};

/// The exit status of a setup that failed.
const SETUP_FAILED: i32 = 128;

/// What the child needs to become a container.
pub(super) struct ContainerSetup<'a> {
    pub(super) folder: &'a PodFolder,
    pub(super) plan: &'a ContainerPlan,
    /// The cgroups to join.
    pub(super) cgroups: &'a [PathBuf],
    pub(super) supervisor: Pid,
}

/// The ends of the pipes that the child gets.
pub(super) struct ChildPipes {
    pub(super) reports: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// A message of the setup to the supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SetupReport {
    /// What could not be done, although the container runs.
    Warning(String),
    Failure(SetupFailure),
}

/// Why a container did not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SetupFailure {
    pub(super) reason: ReasonAndMessage,
    pub(super) exit_code: i32,
}

impl SetupFailure {
    pub(super) fn new(reason: &str, exit_code: i32, message: impl Into<String>) -> SetupFailure {
        SetupFailure { reason: ReasonAndMessage::new(reason, message), exit_code }
    }
}

/// Becomes a container. Returns only if the container could not be started. The arguments are the
/// Executes the container's program in this process, which has just been forked. Returns the exit status if that
/// fails.
pub(super) fn become_container(setup: &ContainerSetup<'_>, pipes: ChildPipes) -> i32 {
    let ChildPipes { mut reports, stdout, stderr } = pipes;
    let failure = match redirect(&stdout, &stderr).and_then(|()| set_up(setup, &mut reports)) {
        Ok((plan, program)) => exec_failure(&plan, &execute(&plan, &program)),
        Err(error) => SetupFailure::new(reasons::START_ERROR, SETUP_FAILED, error.to_string()),
    };
    let _ = send_report(&reports, &SetupReport::Failure(failure));
    SETUP_FAILED
}

/// Sets the standard streams.
fn redirect(stdout: &OwnedFd, stderr: &OwnedFd) -> io::Result<()> {
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(stdout)?;
    Ok(rustix::stdio::dup2_stderr(stderr)?)
}

fn send_report(report_pipe: &OwnedFd, report: &SetupReport) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    File::from(report_pipe.try_clone()?).write_all(&line)
}

/// Does everything before the exec. Steps that need privileges precede the change of user.
fn set_up(
    setup: &ContainerSetup<'_>,
    report_pipe: &mut OwnedFd,
) -> io::Result<(ContainerPlan, PathBuf)> {
    let ContainerSetup { folder, supervisor, .. } = *setup;
    let mut plan = setup.plan.clone();
    die_with_supervisor(supervisor)?;
    signals::reset_dispositions();
    rustix::process::setsid()?;
    reset_oom_score();
    security::leave_rights_of_supervisor()?;
    for cgroup in setup.cgroups {
        cgroup::join(cgroup)?;
    }
    let mounted = mounts::mount_volumes(&plan, folder)?;
    if mounted.implicit_mounts == ImplicitMounts::Present {
        use_implicit_mounts(&mut plan);
    }
    if let Some(warning) = mounted.warning {
        send_report(report_pipe, &SetupReport::Warning(warning))?;
    }
    if plan.has_pid_namespace {
        // Two of the processes of the namespace execute no program, which would close these files.
        close_all_but(report_pipe.as_raw_fd())?;
        pid_namespace::enter(report_pipe)?;
    }
    enter_working_dir(&plan, folder)?;
    let program = find_program(&plan);
    rustix::process::umask(Mode::from_raw_mode(0o022));
    security::before_user_change(&plan.security)?;
    become_user(&plan)?;
    // The change of user has reset the death signal. A PID namespace ends with its first process, which
    // keeps that signal.
    if !plan.has_pid_namespace {
        die_with_supervisor(supervisor)?;
    }
    Ok((plan, program))
}

/// Removes the protection of the daemon, which containers inherit, so that the kernel ends containers
/// first when memory runs out. A process may always raise its score.
fn reset_oom_score() {
    const PATH: &str = "/proc/self/oom_score_adj";
    let score = std::fs::read_to_string(PATH).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if score.is_some_and(|score| score < 0) {
        let _ = std::fs::write(PATH, "0");
    }
}

/// Makes the kernel kill this process when the supervisor exits, so that no container runs
/// unsupervised. Fails if the supervisor has exited already: a new one may have taken over.
fn die_with_supervisor(supervisor: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() == Some(supervisor) {
        return Ok(());
    }
    Err(io::Error::other("the supervisor has exited"))
}

/// Lets a container of another user find its files where they are mounted, because it may not enter the
/// data directory.
fn use_implicit_mounts(plan: &mut ContainerPlan) {
    if !plan.has_scratch_mount {
        return;
    }
    plan.working_dir.get_or_insert_with(|| SCRATCH_MOUNT_POINT.to_owned());
    let path = plan.termination_message_path.clone();
    let variable = plan.env.iter_mut().find(|(name, _)| name == TERMINATION_LOG_VARIABLE);
    if let Some((_, value)) = variable {
        *value = path;
    }
}

fn enter_working_dir(plan: &ContainerPlan, folder: &PodFolder) -> io::Result<()> {
    let scratch = folder.run_folder(&plan.name).join("scratch");
    let target = plan.working_dir.as_ref().map_or(scratch, PathBuf::from);
    let failed = |error| io::Error::other(format!("workingDir {}: {error}", target.display()));
    std::env::set_current_dir(&target).map_err(failed)
}

/// Finds the program in the container's own `PATH`, as a shell does.
fn find_program(plan: &ContainerPlan) -> PathBuf {
    let program = plan.command.first().map(String::as_str).unwrap_or_default();
    if program.contains('/') {
        return PathBuf::from(program);
    }
    let path = plan.env.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.as_str()).unwrap_or_default();
    path.split(':')
        .filter(|folder| !folder.is_empty())
        .map(|folder| Path::new(folder).join(program))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| Path::new("/nonexistent").join(program))
}

fn become_user(container: &ContainerPlan) -> io::Result<()> {
    let plan = &container.user;
    let failed = |error| {
        let hint = "only a punctual that runs as root can change users and groups";
        io::Error::other(format!("cannot become the user asked for: {error}; {hint}"))
    };
    set_user(plan).map_err(failed)?;
    if plan.must_not_be_root && rustix::process::geteuid().is_root() {
        return Err(io::Error::other("runAsNonRoot is set, and the container would run as root"));
    }
    security::after_user_change(&container.security)?;
    if plan.no_new_privileges {
        rustix::thread::set_no_new_privs(true)?;
    }
    Ok(())
}

/// Sets user and groups. The calls affect one thread, and this process has only one.
fn set_user(plan: &UserPlan) -> rustix::io::Result<()> {
    let uid = rustix::process::getuid();
    let is_other = plan.user.is_some_and(|user| user != uid.as_raw());
    if is_other || !plan.groups.is_empty() {
        let groups: Vec<Gid> = plan.groups.iter().copied().map(Gid::from_raw).collect();
        rustix::thread::set_thread_groups(&groups)?;
    }
    if let Some(group) = plan.group.map(Gid::from_raw) {
        rustix::thread::set_thread_res_gid(group, group, group)?;
    }
    if let Some(user) = plan.user.map(Uid::from_raw) {
        rustix::thread::set_thread_res_uid(user, user, user)?;
    }
    Ok(())
}

/// Executes the program. Returns only on failure.
fn execute(plan: &ContainerPlan, program: &Path) -> io::Error {
    let arguments = plan.command.iter().skip(1);
    let environment = plan.env.iter().map(|(name, value)| (name, value));
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment);
    if let Some(name) = plan.command.first() {
        command.arg0(name);
    }
    command.exec()
}

/// The report of a failed exec, with the exit codes that shells and container runtimes use.
fn exec_failure(plan: &ContainerPlan, error: &io::Error) -> SetupFailure {
    let program = plan.command.first().map(String::as_str).unwrap_or_default();
    let (exit_code, why) = match error.kind() {
        io::ErrorKind::NotFound => (127, "no such program on this machine".to_owned()),
        io::ErrorKind::PermissionDenied => (126, "permission denied".to_owned()),
        _ => (126, error.to_string()),
    };
    let message = format!("cannot run {program:?}: {why}");
    // A lack of memory or processes may pass (EAGAIN, ENOMEM), so the container may be restarted.
    match error.raw_os_error() {
        Some(code) if [11, 12].contains(&code) => {
            SetupFailure::new(reasons::START_ERROR, 128, message)
        }
        _ => SetupFailure::new(reasons::CANNOT_RUN, exit_code, message),
    }
}
