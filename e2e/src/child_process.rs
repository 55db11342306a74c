//! A child process that is killed when its owner is dropped.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver, SyncSender},
    thread,
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::probe;

/// The number of log lines that an error shows.
const TAIL_LINES: usize = 15;

/// A running program. Dropping it kills the program and waits for its end.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    log: PathBuf,
    /// The command to restart it with; `None` if it cannot be restarted.
    command: Option<Command>,
}

impl ChildProcess {
    /// Starts a program that writes into `NAME.log` of a folder.
    pub(crate) fn start(mut command: Command, folder: &Path) -> anyhow::Result<Self> {
        let (log, file) = open_log(&command, folder)?;
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone().context("a second handle of the log")?)
            .stderr(file);
        let child = spawn(&mut command)?;
        Ok(ChildProcess { child, log, command: Some(command) })
    }

    /// Starts a program and waits until it prints a line with a prefix. Returns the remaining line.
    pub(crate) fn start_and_wait_for(
        command: &mut Command,
        folder: &Path,
        prefix: &'static str,
        timeout: Duration,
    ) -> anyhow::Result<(Self, String)> {
        let (log, file) = open_log(command, folder)?;
        let errors = file.try_clone().context("a second handle of the log")?;
        let mut child = spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors))?;
        let receiver = child.stdout.take().map(|stdout| forward_output(stdout, file, prefix));
        let process = ChildProcess { child, log, command: None };
        match receiver.and_then(|receiver| receiver.recv_timeout(timeout).ok()) {
            Some(line) => Ok((process, line)),
            None => bail!(
                "printed no line `{prefix}` within {timeout:?} or before it ended:\n{}",
                process.log_tail()
            ),
        }
    }

    /// Kills the program and waits until it has ended.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Starts a killed program again with the same command.
    pub(crate) fn restart(&mut self) -> anyhow::Result<()> {
        let has_ended = self.child.try_wait()?.is_some();
        ensure!(has_ended, "it is still running");
        self.child = spawn(self.command.as_mut().context("it cannot be restarted")?)?;
        Ok(())
    }

    /// Whether this is the program of that name.
    pub(crate) fn is_program(&self, program: &str) -> bool {
        self.log.file_stem().is_some_and(|stem| stem == program)
    }

    /// The process ID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns an error with the end of the log if the program has ended.
    pub fn ensure_running(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("ended with {status}:\n{}", self.log_tail()),
            None => Ok(()),
        }
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&mut self, signal: Signal) -> anyhow::Result<()> {
        self.ensure_running()?;
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).context("no process")?;
        // The process is not awaited yet, so its ID cannot belong to another process.
        Ok(kill_process(pid, signal)?)
    }

    /// Sends SIGTERM and waits until the program exits with success.
    pub(crate) fn stop(mut self, timeout: Duration) -> anyhow::Result<()> {
        self.signal(Signal::TERM)?;
        for _ in 0..timeout.as_millis().div_ceil(probe::PAUSE.as_millis()) {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "ended with {status}:\n{}", self.log_tail());
                return Ok(());
            }
            probe::pause();
        }
        bail!("did not end within {timeout:?}:\n{}", self.log_tail())
    }

    /// The end of its log.
    pub fn log_tail(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let skipped = lines.len().saturating_sub(TAIL_LINES);
        lines.into_iter().skip(skipped).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // Both calls fail only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(command: &mut Command) -> anyhow::Result<Child> {
    command.spawn().with_context(|| format!("starting {:?}", command.get_program()))
}

fn open_log(command: &Command, folder: &Path) -> anyhow::Result<(PathBuf, File)> {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let log = folder.join(program).with_extension("log");
    let file = File::options().create(true).append(true).open(&log);
    let file = file.with_context(|| format!("opening {}", log.display()))?;
    Ok((log, file))
}

/// Copies the output to the log until its end, so that the program never blocks on a full pipe.
fn forward_output(stdout: ChildStdout, log: File, prefix: &'static str) -> Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    // The thread ends with the program, which ends with its owner.
    thread::spawn(move || copy_lines(BufReader::new(stdout), log, prefix, &sender));
    receiver
}

fn copy_lines(
    lines: impl BufRead,
    mut log: File,
    prefix: &str,
    sender: &SyncSender<String>,
) -> io::Result<()> {
    for line in lines.lines() {
        let line = line?;
        writeln!(log, "{line}")?;
        if let Some(rest) = line.strip_prefix(prefix) {
            // The receiver takes only the first such line.
            let _ = sender.try_send(rest.trim().to_owned());
        }
    }
    Ok(())
}
