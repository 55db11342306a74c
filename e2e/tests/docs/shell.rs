//! The shell of one page: a home folder with the examples, and background jobs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Context;
use punctual_e2e::files::{copy_files, repository_root};
use tempfile::TempDir;

use super::{
    background_job::BackgroundJob,
    output_matcher::{OutputMatcher, Strictness},
};

/// A step that takes longer than this hangs. A step may wait up to a minute for a schedule.
const STEP_SECONDS_MAX: &str = "120";
/// The time that Pods have to end after the last step of a page.
const END_SECONDS_MAX: &str = "10";
/// The home folder in the documentation.
const HOME: &str = "/home/you";

/// A file that carries variables and working directory of the shell from one command to the next.
const STATE: &str = ".shell-state";

/// The shell of one page.
pub(super) struct PageShell {
    home: TempDir,
    path: String,
    jobs: Vec<Option<BackgroundJob>>,
    matcher: OutputMatcher,
}

impl PageShell {
    /// Makes the home folder. `search_path` has the folders of other programs.
    pub(super) fn new(binary: &Path, search_path: &str) -> anyhow::Result<PageShell> {
        let home = TempDir::new()?;
        copy_files(&repository_root().join("examples"), &home.path().join("examples"))?;
        fs::write(home.path().join(STATE), "")?;
        let binary_folder = binary.parent().unwrap_or(Path::new("/")).display();
        let replacements = vec![(home.path().display().to_string(), HOME)];
        Ok(PageShell {
            path: format!("{binary_folder}:{search_path}"),
            jobs: Vec::new(),
            matcher: OutputMatcher::new(replacements)?,
            home,
        })
    }

    /// Runs a command; returns its output and exit code.
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

    /// Starts a command in the background and waits for the expected output, or until it serves if no
    /// output is expected.
    pub(super) fn start(
        &mut self,
        command: &str,
        expected: &[String],
    ) -> anyhow::Result<(String, i32)> {
        let script = format!(". \"$HOME/{STATE}\"\nexec 2>&1\nexec {command}\n");
        let mut shell = self.command("sh");
        let mut job = BackgroundJob::start(shell.args(["-c", &script]))?;
        let matcher = &self.matcher;
        let output = match expected {
            [] => {
                let output = job.read_until(|output| output.contains("serving https://"));
                if job.is_running()? { String::new() } else { output }
            }
            _ => job.read_until(|output| matcher.matches(Strictness::Normalized, expected, output)),
        };
        self.jobs.push(Some(job));
        Ok((output, 0))
    }

    /// Stops the background job with a number; returns its remaining output and exit code.
    pub(super) fn stop(&mut self, number: usize) -> anyhow::Result<(String, i32)> {
        let job = number.checked_sub(1).and_then(|at| self.jobs.get_mut(at)?.take());
        job.with_context(|| format!("no background job %{number}"))?.stop()
    }

    /// Whether an output is the expected one. Before the first background job, outputs do not depend
    /// on the time of the run and are compared exactly.
    pub(super) fn matches(&self, expected: &[String], output: &str) -> bool {
        let strictness =
            if self.jobs.is_empty() { Strictness::Exact } else { Strictness::Normalized };
        self.matcher.matches(strictness, expected, output)
    }

    /// Stops all background jobs. Kills the processes that do not end, and returns their command lines.
    pub(super) fn stop_all(mut self) -> anyhow::Result<Vec<String>> {
        for job in self.jobs.iter_mut().filter_map(Option::take) {
            job.stop()?;
        }
        let mut killed = Vec::new();
        for pid in self.processes()? {
            // GNU tail can wait for a process that is not a child.
            let mut waiting = Command::new("timeout");
            let waiting =
                waiting.args([END_SECONDS_MAX, "tail", "--pid", &pid, "-f", "/dev/null"]).status();
            if !waiting.context("starting timeout")?.success() {
                killed.push(command_line(&pid).replace('\0', " "));
                Command::new("kill").args(["-9", &pid]).status().context("starting kill")?;
            }
        }
        Ok(killed)
    }

    /// The IDs of processes whose command line contains the home folder.
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
            // The default port may be in use.
            .env("PUNCTUAL_LISTEN", "127.0.0.1:0")
            .stdin(Stdio::null());
        command
    }
}

fn command_line(pid: &str) -> String {
    let line = fs::read(PathBuf::from("/proc").join(pid).join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).into_owned()
}
