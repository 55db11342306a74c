//! A child that never outlives its owner.

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

/// How much of a log is shown when a program did not start.
const TAIL_LINES: usize = 15;

/// A running program; killed and awaited when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
    /// How it was started, where it can be started again.
    command: Option<Command>,
}

impl Process {
    /// Starts a program that writes into `NAME.log` of a folder.
    pub(crate) fn start(mut command: Command, folder: &Path) -> anyhow::Result<Self> {
        let (log, file) = open_log(&command, folder)?;
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone().context("a second handle of the log")?)
            .stderr(file);
        let child = spawn(&mut command)?;
        Ok(Process { child, log, command: Some(command) })
    }

    /// Kills the program and waits until it has ended.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Starts the program again as it was started; the one before must have been killed.
    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        let has_ended = self.child.try_wait()?.is_some();
        ensure!(has_ended, "it still runs");
        self.child = spawn(self.command.as_mut().context("it cannot be started again")?)?;
        Ok(())
    }

    /// Whether it is the program of that name.
    pub(crate) fn is(&self, program: &str) -> bool {
        self.log.file_stem().is_some_and(|stem| stem == program)
    }

    /// Starts a program and waits until it prints a line that starts with `word`; gives the rest of it.
    pub(crate) fn start_until(
        command: &mut Command,
        folder: &Path,
        word: &'static str,
        within: Duration,
    ) -> anyhow::Result<(Self, String)> {
        let (log, file) = open_log(command, folder)?;
        let errors = file.try_clone().context("a second handle of the log")?;
        let mut child = spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors))?;
        let said = child.stdout.take().map(|stdout| listen(stdout, file, word));
        let process = Process { child, log, command: None };
        let rest = said.and_then(|said| said.recv_timeout(within).ok());
        match rest {
            Some(rest) => Ok((process, rest)),
            None => bail!(
                "no line `{word}`, neither within {within:?} nor before it ended:\n{}",
                process.tail()
            ),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Fails with the end of its log if the program has ended.
    pub(crate) fn must_run(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("ended with {status}:\n{}", self.tail()),
            None => Ok(()),
        }
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&mut self, signal: Signal) -> anyhow::Result<()> {
        self.must_run()?;
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).context("no process")?;
        // It is ours and not awaited yet, so the number is nobody else's.
        Ok(kill_process(pid, signal)?)
    }

    /// Asks the program to end and waits until it has.
    pub(crate) fn stop(mut self, within: Duration) -> anyhow::Result<()> {
        self.signal(Signal::TERM)?;
        for _ in 0..within.as_millis().div_ceil(probe::PAUSE.as_millis()) {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "ended with {status}:\n{}", self.tail());
                return Ok(());
            }
            probe::pause();
        }
        bail!("did not end within {within:?}:\n{}", self.tail())
    }

    pub(crate) fn tail(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let skipped = lines.len().saturating_sub(TAIL_LINES);
        lines.into_iter().skip(skipped).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Neither can fail in a way that matters: a child that has ended already is what we want.
        let _ended = self.child.kill();
        let _status = self.child.wait();
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

/// Reads a program's output to its end, so that it never waits for us or meets a closed pipe.
fn listen(stdout: ChildStdout, log: File, word: &'static str) -> Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    // The thread ends with the program, which ends with its owner.
    thread::spawn(move || copy(BufReader::new(stdout), log, word, &sender));
    receiver
}

fn copy(
    lines: impl BufRead,
    mut log: File,
    word: &str,
    sender: &SyncSender<String>,
) -> io::Result<()> {
    for line in lines.lines() {
        let line = line?;
        writeln!(log, "{line}")?;
        if let Some(rest) = line.strip_prefix(word) {
            // Only the first one is waited for.
            let _unwanted = sender.try_send(rest.trim().to_owned());
        }
    }
    Ok(())
}
