//! The first moments of a container: this program, in the container's own process, makes everything
//! ready and then becomes the container's program.
//!
//! Standard input is the line to the supervisor. It gets a [`Report`] per line; that the line ends
//! without a fault among them is the sign that the program runs.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::fs::{Gid, Mode, Uid};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::{cgroup, mounts};
use crate::folder::Folder;
use crate::plan::{ContainerPlan, UserPlan};
use crate::state::{Fault, reasons};

/// What the supervisor is told about a start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Report {
    /// Something could not be done, but the container starts.
    Note(Fault),
    /// The container does not start.
    Failed { fault: Fault, exit_code: i32 },
}

impl Report {
    pub(super) fn failed(reason: &str, exit_code: i32, message: impl Into<String>) -> Report {
        Report::Failed { fault: Fault::new(reason, message), exit_code }
    }
}

/// Returns only if the container could not be started. The arguments are the container's name, the
/// supervisor's number and the cgroup, if there is one.
pub(super) fn become_container(folder: &Path, arguments: &[OsString]) -> ExitCode {
    let Ok(mut line) = take_line() else { return ExitCode::from(128) };
    let report = match prepare(folder, arguments, &mut line) {
        Ok((plan, program)) => cannot_run(&plan, &execute(&plan, &program)),
        Err(error) => Report::failed(reasons::START_ERROR, 128, error.to_string()),
    };
    let _ = tell(&mut line, &report);
    ExitCode::from(128)
}

/// Takes the line to the supervisor away from standard input, which the program finds empty.
fn take_line() -> io::Result<File> {
    let line = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(line.into())
}

fn tell(line: &mut File, report: &Report) -> io::Result<()> {
    let mut text = serde_json::to_vec(report)?;
    text.push(b'\n');
    line.write_all(&text)
}

/// Everything up to the exec, from the inside. The order matters: what needs rights comes before
/// they are given up.
fn prepare(
    folder: &Path,
    arguments: &[OsString],
    line: &mut File,
) -> io::Result<(ContainerPlan, PathBuf)> {
    let [container, supervisor, group @ ..] = arguments else {
        return Err(io::Error::other("usage: supervise <pod folder>"));
    };
    die_with(supervisor)?;
    let folder = Folder::new(folder);
    let pod = folder.plan()?;
    let plan = pod.containers.into_iter().find(|plan| plan.name.as_str() == container);
    let plan = plan.ok_or_else(|| io::Error::other("the Pod has no such container"))?;
    rustix::process::setsid()?;
    group.iter().try_for_each(|group| cgroup::join(Path::new(group)))?;
    for note in mounts::apply(&plan, &folder.run(&plan.name))? {
        tell(line, &Report::Note(note))?;
    }
    enter_working_dir(&plan, &folder)?;
    let program = find(&plan);
    rustix::process::umask(Mode::from_raw_mode(0o022));
    become_user(&plan.user)?;
    // Becoming another user has undone it.
    die_with(supervisor)?;
    Ok((plan, program))
}

/// Sees to it that the container ends with its supervisor: it must not run on unseen, and not begin
/// if the supervisor is gone already, because another one may have decided what comes next.
fn die_with(supervisor: &OsStr) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let parent = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().to_string());
    match parent {
        Some(parent) if supervisor == parent.as_str() => Ok(()),
        _ => Err(io::Error::other("the supervisor is gone")),
    }
}

fn enter_working_dir(plan: &ContainerPlan, folder: &Folder) -> io::Result<()> {
    let scratch = folder.run(&plan.name).join("scratch");
    let target = plan.working_dir.as_ref().map_or(scratch, PathBuf::from);
    let failed = |error| io::Error::other(format!("workingDir {}: {error}", target.display()));
    std::env::set_current_dir(&target).map_err(failed)
}

/// Looks the program up in the container's own `PATH`, as a shell would.
fn find(plan: &ContainerPlan) -> PathBuf {
    let program = plan.command.first().map(String::as_str).unwrap_or_default();
    let path = plan.env.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.as_str()).unwrap_or_default();
    let is_file = |candidate: &PathBuf| candidate.is_file();
    match program.contains('/') {
        true => PathBuf::from(program),
        false => path
            .split(':')
            .filter(|folder| !folder.is_empty())
            .map(|folder| Path::new(folder).join(program))
            .find(is_file)
            .unwrap_or_else(|| Path::new("/nonexistent").join(program)),
    }
}

fn become_user(plan: &UserPlan) -> io::Result<()> {
    let failed = |error| io::Error::other(format!("cannot become the user asked for: {error}"));
    set_user(plan).map_err(failed)?;
    if plan.must_not_be_root && rustix::process::geteuid().is_root() {
        return Err(io::Error::other("runAsNonRoot is set, and the container would run as root"));
    }
    if plan.no_new_privileges {
        rustix::thread::set_no_new_privs(true)?;
    }
    Ok(())
}

/// The calls are a thread's, and this process has only one.
fn set_user(plan: &UserPlan) -> rustix::io::Result<()> {
    let uid = rustix::process::getuid();
    let is_other = plan.user.is_some_and(|user| user != uid.as_raw());
    if is_other || !plan.groups.is_empty() {
        let groups: Vec<Gid> = plan.groups.iter().copied().map(Gid::from_raw).collect();
        rustix::thread::set_thread_groups(&groups)?;
    }
    if let Some(group) = plan.group.or(is_other.then_some(0)).map(Gid::from_raw) {
        rustix::thread::set_thread_res_gid(group, group, group)?;
    }
    if let Some(user) = plan.user.map(Uid::from_raw) {
        rustix::thread::set_thread_res_uid(user, user, user)?;
    }
    Ok(())
}

/// Becomes the program. What comes back is why it could not.
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

/// In the words and with the codes that shells and container runtimes have for it.
fn cannot_run(plan: &ContainerPlan, error: &io::Error) -> Report {
    let program = plan.command.first().map(String::as_str).unwrap_or_default();
    let (exit_code, why) = match error.kind() {
        io::ErrorKind::NotFound => (127, "no such program on this machine".to_owned()),
        io::ErrorKind::PermissionDenied => (126, "permission denied".to_owned()),
        _ => (126, error.to_string()),
    };
    let message = format!("cannot run {program:?}: {why}");
    // Memory or processes may be there later; a program that is missing will be missing.
    match error.raw_os_error() {
        Some(code) if [11, 12].contains(&code) => {
            Report::failed(reasons::START_ERROR, 128, message)
        }
        _ => Report::failed(reasons::CANNOT_RUN, exit_code, message),
    }
}
