//! Runs transcripts on both servers and reports passed, failed and skipped steps.

mod runner;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use tempfile::TempDir;

use self::runner::TranscriptRunner;
use crate::{
    Cluster, Controllers, KubeApiServer, Programs, Punctual,
    files::crate_folder,
    harness::{self, TestArgs, TestReport},
    transcript::{CommandOutput, Transcript},
};

/// A folder of transcripts and its requirements.
#[derive(Debug)]
pub struct TranscriptSuite {
    /// The name of the suite and of its folder below `transcripts/`.
    pub name: &'static str,
    /// The folder of files that the commands use, relative to this crate.
    pub files: &'static str,
    /// Whether it needs a Python with the official client.
    pub needs_python: bool,
}

/// A transcript and its file.
struct TranscriptFile {
    name: String,
    path: PathBuf,
    transcript: Transcript,
}

/// The result of starting a server.
enum ServerStart {
    Running(Cluster),
    /// A program is missing on this machine.
    Missing(anyhow::Error),
    Failed(anyhow::Error),
}

impl TranscriptSuite {
    /// Runs all transcripts and returns the exit code of the test program.
    ///
    /// Arguments: a text that the names of transcripts must contain, and `--bless`, which writes
    /// kube-apiserver's outputs into them.
    pub fn main(&self) -> ExitCode {
        harness::main(self.name, |args, report| self.run(args, report))
    }

    fn run(&self, args: &TestArgs, report: &mut TestReport) -> anyhow::Result<()> {
        let files = self.read_transcripts(&args.filter)?;
        let step_count = files.iter().map(|file| file.transcript.steps().count()).sum();
        if step_count == 0 {
            return Ok(());
        }
        let folder = tempfile::tempdir()?;
        let servers: &[&str] =
            if args.bless { &["kube-apiserver"] } else { &["kube-apiserver", "punctual"] };
        for name in servers {
            match self.start_server(name, folder.path()) {
                ServerStart::Running(cluster) => self.run_all(&cluster, &files, args, report)?,
                ServerStart::Missing(error) => report.skip(name, step_count, &error),
                ServerStart::Failed(error) => report.fail(name, &format!("{error:#}")),
            }
        }
        Ok(())
    }

    fn start_server(&self, name: &str, folder: &Path) -> ServerStart {
        let folder = folder.join(name);
        let started = match name {
            "punctual" => self.programs().and_then(|_| Punctual::find()).map(|punctual| {
                fs::create_dir_all(&folder)?;
                punctual.start(&folder)
            }),
            _ => self.programs().and_then(|programs| {
                let controllers = Controllers::Deletion;
                let server = KubeApiServer { programs: &programs, folder: &folder, controllers };
                server.check()?;
                Ok(server.start())
            }),
        };
        match started {
            Ok(Ok(cluster)) => ServerStart::Running(cluster),
            Ok(Err(error)) => ServerStart::Failed(error),
            Err(error) => ServerStart::Missing(error),
        }
    }

    fn read_transcripts(&self, filter: &str) -> anyhow::Result<Vec<TranscriptFile>> {
        let folder = crate_folder().join("transcripts").join(self.name);
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if name.contains(filter) {
                let text = fs::read_to_string(&path)?;
                let transcript = Transcript::parse(&text).with_context(|| name.clone())?;
                files.push(TranscriptFile { name, path, transcript });
            }
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    fn programs(&self) -> anyhow::Result<Programs> {
        let programs = Programs::find();
        programs.path("kubectl")?;
        if self.needs_python {
            programs.python()?;
        }
        Ok(programs)
    }

    fn run_all(
        &self,
        cluster: &Cluster,
        files: &[TranscriptFile],
        args: &TestArgs,
        report: &mut TestReport,
    ) -> anyhow::Result<()> {
        let programs = self.programs()?;
        let home = TempDir::new()?;
        let inputs = crate_folder().join(self.files);
        for file in files {
            match TranscriptRunner::new(cluster, &programs, home.path(), &file.name, &inputs) {
                Ok(runner) if args.bless => bless(&runner, file)?,
                Ok(runner) => check(&runner, file, report)?,
                Err(error) => {
                    let location = format!("{} on {}", file.name, cluster.name);
                    report.fail(&location, &format!("{error:#}"));
                }
            }
        }
        Ok(())
    }
}

fn bless(runner: &TranscriptRunner<'_>, file: &TranscriptFile) -> anyhow::Result<()> {
    let outputs = file.transcript.steps().map(|step| runner.run(&step.command));
    let outputs: Vec<CommandOutput> = outputs.collect::<anyhow::Result<_>>()?;
    let text = file.transcript.with_outputs(outputs).to_string();
    fs::write(&file.path, text).with_context(|| file.path.display().to_string())
}

fn check(
    runner: &TranscriptRunner<'_>,
    file: &TranscriptFile,
    report: &mut TestReport,
) -> anyhow::Result<()> {
    let failed_before = report.failed();
    let mut step_count = 0;
    for step in file.transcript.steps() {
        step_count += 1;
        let output = runner.run(&step.command)?;
        match runner::describe_mismatch(runner.server(), step, &output) {
            None => report.pass(),
            Some(mismatch) => {
                let location = format!("{}.txt:{} on {}", file.name, step.line, runner.server());
                report.fail(&location, &mismatch);
            }
        }
    }
    if report.failed() == failed_before {
        report.note(&format!("{} on {}: {step_count} steps", file.name, runner.server()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transcript_parses_and_has_steps() {
        for (name, files, needs_python) in
            [("kubectl", "testdata", false), ("python", "python", true)]
        {
            let suite = TranscriptSuite { name, files, needs_python };
            let files = suite.read_transcripts("").unwrap();
            assert!(!files.is_empty());
            assert!(files.iter().all(|file| file.transcript.steps().count() > 0));
        }
    }
}
