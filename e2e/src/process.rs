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
}

impl Process {
    /// Starts a program that writes into `NAME.log` of a folder.
    pub(crate) fn start(command: &mut Command, folder: &Path) -> anyhow::Result<Self> {
        let (log, file) = open_log(command, folder)?;
        let spawned = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().context("a second handle of the log")?)
            .stderr(file)
            .spawn();
        let child = spawned.with_context(|| format!("starting {:?}", command.get_program()))?;
        Ok(Process { child, log })
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
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn();
        let mut child = spawned.with_context(|| format!("starting {:?}", command.get_program()))?;
        let said = child.stdout.take().map(|stdout| listen(stdout, file, word));
        let process = Process { child, log };
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

    /// Asks the program to end and waits until it has.
    pub(crate) fn stop(mut self, within: Duration) -> anyhow::Result<()> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).context("no process")?;
        // It is ours and not awaited yet, so the number is nobody else's.
        kill_process(pid, Signal::TERM)?;
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
