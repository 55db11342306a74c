//! Where a page is played: a home folder with the examples in it, a shell, and what was started.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Context;
use tempfile::TempDir;

use super::{
    expected::{Comparison, Rigour},
    job::Job,
};

/// A step that takes longer than this hangs. A schedule may have to be waited for, up to a minute.
const STEP_SECONDS_MAX: &str = "120";
/// How long Pods that still run when a page is over may take to end.
const END_SECONDS_MAX: &str = "10";
/// What the documentation calls the home folder.
const HOME: &str = "/home/you";

/// Variables and folder of the shell live on in a file from one command to the next.
const STATE: &str = ".shell-state";

/// The world of one page.
pub(super) struct World {
    home: TempDir,
    path: String,
    jobs: Vec<Option<Job>>,
    comparison: Comparison,
}

impl World {
    /// A new world in which a shell finds the program and, in a path of folders, others.
    pub(super) fn new(binary: &Path, others: &str, project: &Path) -> anyhow::Result<World> {
        let home = TempDir::new()?;
        copy_files(&project.join("examples"), &home.path().join("examples"))?;
        fs::write(home.path().join(STATE), "")?;
        let own = binary.parent().unwrap_or(Path::new("/")).display();
        let words = vec![(home.path().display().to_string(), HOME)];
        Ok(World {
            path: format!("{own}:{others}"),
            jobs: Vec::new(),
            comparison: Comparison::new(words)?,
            home,
        })
    }

    /// Gives a command to the shell: what it prints, and its exit code.
    pub(super) fn run(&mut self, command: &str) -> anyhow::Result<(String, i32)> {
        let script = format!(
            ". \"$HOME/{STATE}\"\n\
             trap '{{ export -p; echo \"cd \\\"$PWD\\\"\"; }} >\"$HOME/{STATE}\"' EXIT\n\
             exec 2>&1\n{command}\n"
        );
        let mut shell = self.command("timeout");
        let output = shell.args([STEP_SECONDS_MAX, "sh", "-c", &script]).output();
        let output = output.context("starting a shell")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok((text, output.status.code().unwrap_or(-1)))
    }

    /// Starts a command that goes on, and waits until it has printed what is expected or, where
    /// nothing is, that it serves.
    pub(super) fn start(
        &mut self,
        command: &str,
        expected: &[String],
    ) -> anyhow::Result<(String, i32)> {
        let script = format!(". \"$HOME/{STATE}\"\nexec 2>&1\nexec {command}\n");
        let mut shell = self.command("sh");
        let mut job = Job::start(shell.args(["-c", &script]))?;
        let comparison = &self.comparison;
        let output = match expected {
            [] => {
                let output = job.read_until(|output| output.contains("serving https://"));
                if job.is_running()? { String::new() } else { output }
            }
            _ => job.read_until(|output| comparison.matches(Rigour::Sense, expected, output)),
        };
        self.jobs.push(Some(job));
        Ok((output, 0))
    }

    /// Tells what was started as the first, say, to stop: what it prints until it has, and its exit
    /// code.
    pub(super) fn stop(&mut self, number: usize) -> anyhow::Result<(String, i32)> {
        let job = number.checked_sub(1).and_then(|at| self.jobs.get_mut(at)?.take());
        job.with_context(|| format!("there is no job %{number}"))?.stop()
    }

    /// Whether an output is the expected one. Until something was started nothing depends on when
    /// the page is played, and every letter counts.
    pub(super) fn matches(&self, expected: &[String], output: &str) -> bool {
        let rigour = if self.jobs.is_empty() { Rigour::Letters } else { Rigour::Sense };
        self.comparison.matches(rigour, expected, output)
    }

    /// Stops everything; what is left running all the same, and was ended by force.
    pub(super) fn end(mut self) -> anyhow::Result<Vec<String>> {
        for job in self.jobs.iter_mut().filter_map(Option::take) {
            job.stop()?;
        }
        let mut left = Vec::new();
        for pid in self.processes()? {
            // GNU's own way to wait for somebody else's child.
            let mut waiting = Command::new("timeout");
            let waiting =
                waiting.args([END_SECONDS_MAX, "tail", "--pid", &pid, "-f", "/dev/null"]).status();
            if !waiting.context("starting timeout")?.success() {
                left.push(command_line(&pid).replace('\0', " "));
                Command::new("kill").args(["-9", &pid]).status().context("starting kill")?;
            }
        }
        Ok(left)
    }

    /// Whoever was started with something in this world.
    fn processes(&self) -> anyhow::Result<Vec<String>> {
        let home = self.home.path().display().to_string();
        let entries = fs::read_dir("/proc").context("/proc")?;
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let pids = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        Ok(pids.filter(|pid| command_line(pid).contains(&home)).collect())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.home.path())
            .env_clear()
            .envs([("PATH", self.path.as_str()), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC")])
            .env("HOME", self.home.path())
            // The documentation has the usual port, which is not ours to take.
            .env("PUNCTUAL_LISTEN", "127.0.0.1:0")
            .stdin(Stdio::null());
        command
    }
}

fn command_line(pid: &str) -> String {
    let line = fs::read(PathBuf::from("/proc").join(pid).join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).into_owned()
}

fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
