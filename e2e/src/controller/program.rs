//! `punctual controller` as a program, and its pages.

use std::{
    ffi::OsStr,
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::Command,
    time::Duration,
};

use anyhow::{Context, bail};
use rustix::process::Signal;

use crate::{probe, process::Process};

const LISTENS_WITHIN: Duration = Duration::from_secs(30);
const LOG: &str = "punctual.log";
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// How to start `punctual controller`.
#[derive(Clone, Debug)]
pub struct Starter {
    /// The program.
    pub binary: PathBuf,
    /// Where the cluster is, and in whose name it is asked.
    pub kubeconfig: PathBuf,
    /// Where logs go, each into a folder of its own.
    pub folder: PathBuf,
}

/// A running one. Dropping it kills it.
#[derive(Debug)]
pub struct Program {
    process: Process,
    address: String,
    log: PathBuf,
}

impl Starter {
    /// Starts it under a name, and waits until it listens.
    pub fn start(&self, name: &str, flags: &[&str]) -> anyhow::Result<Program> {
        let own = ["controller", "--lease-namespace", super::OWN_NAMESPACE, "--time-zone", "UTC"];
        self.start_as(name, own.iter().chain(flags))
    }

    /// Starts it with these arguments alone, apart from where the cluster is and where it listens.
    pub(crate) fn start_as(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> anyhow::Result<Program> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)?;
        let mut command = Command::new(&self.binary);
        command.args(arguments).arg("--kubeconfig").arg(&self.kubeconfig);
        command.args(["--listen", "127.0.0.1:0"]);
        let word = "listening http://";
        let (process, address) = Process::start_until(&mut command, &folder, word, LISTENS_WITHIN)?;
        Ok(Program { process, address, log: folder.join(LOG) })
    }

    /// What all of them said, by their names.
    pub(super) fn logs(&self) -> anyhow::Result<Vec<(String, String)>> {
        let mut logs = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let (name, path) = (entry.file_name(), entry.path().join(LOG));
            if path.exists() {
                logs.push((name.to_string_lossy().into_owned(), fs::read_to_string(path)?));
            }
        }
        Ok(logs)
    }
}

impl Program {
    /// Waits until it is ready.
    pub(crate) fn until_ready(&mut self) -> anyhow::Result<()> {
        let (process, address) = (&mut self.process, &self.address);
        probe::until("the controller is ready", || {
            process.must_run()?;
            Ok((get(address, "/readyz")?.0 == 200).then_some(()))
        })
    }

    /// Whether it leads.
    pub(super) fn leads(&self) -> anyhow::Result<bool> {
        let (_, page) = get(&self.address, "/metrics")?;
        Ok(page.contains("leader_election_master_status{name=\"punctual\"} 1"))
    }

    /// A page: its status and its text.
    pub(super) fn page(&self, path: &str) -> anyhow::Result<(u16, String)> {
        get(&self.address, path)
    }

    /// Kills it and waits until it has ended.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()
    }

    /// Stops it where it stands; it does not notice.
    pub fn pause(&mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::STOP)
    }

    /// Wakes one that was stopped.
    pub fn wake(&mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::CONT)
    }

    /// Fails with the end of its log if it has ended.
    pub fn must_run(&mut self) -> anyhow::Result<()> {
        self.process.must_run()
    }

    /// Asks it to end, which it must do well.
    pub(crate) fn stop(self) -> anyhow::Result<()> {
        self.process.stop(Duration::from_secs(15))
    }

    /// Waits until it has ended by itself; what it said.
    pub(super) fn until_ended(&mut self) -> anyhow::Result<String> {
        let process = &mut self.process;
        probe::until("the controller has ended", || Ok(process.must_run().is_err().then_some(())))?;
        self.said()
    }

    /// What it said, and those of the same name before it.
    pub fn said(&self) -> anyhow::Result<String> {
        Ok(fs::read_to_string(&self.log)?)
    }

    /// Waits until it has said something.
    pub(super) fn until_said(&self, words: &str) -> anyhow::Result<()> {
        probe::until(words, || Ok(self.said()?.contains(words).then_some(())))
    }
}

/// A page over plain HTTP: its status and its text.
fn get(address: &str, path: &str) -> anyhow::Result<(u16, String)> {
    let mut socket = TcpStream::connect(address).with_context(|| address.to_owned())?;
    socket.set_read_timeout(Some(ANSWER_WITHIN))?;
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { bail!("no answer: {answer}") };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.context("no status")?, body.to_owned()))
}
