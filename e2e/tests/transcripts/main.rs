//! Runs the transcripts of kubectl and of the official Python client on kube-apiserver and on our
//! server. Both must give the recorded output.

mod runner;
mod transcript;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use punctual_e2e::{
    Cluster, Controllers, KubeApiServer, Programs, Punctual,
    files::crate_folder,
    harness::{self, TestArgs, TestReport},
};
use tempfile::TempDir;

use self::{
    runner::TranscriptRunner,
    transcript::{CommandOutput, Transcript},
};

const SUITES: [TranscriptSuite; 2] = [
    TranscriptSuite { name: "kubectl", files: "testdata", needs_python: false },
    TranscriptSuite { name: "python", files: "python", needs_python: true },
];

/// The unit tests of this suite's parsers. The usual harness, which would find them, is not used.
const UNIT_CHECKS: [fn(); 7] = [
    runner::tests::another_output_than_the_expected_one_is_a_mismatch,
    runner::tests::our_server_may_differ_for_a_reason_but_not_in_the_exit_code,
    tests::every_transcript_parses_and_has_steps,
    transcript::tests::a_step_has_its_line_and_expected_output,
    transcript::tests::actual_outputs_replace_expected_ones_in_order,
    transcript::tests::formatting_restores_the_parsed_text,
    transcript::tests::output_without_a_command_is_an_error,
];

/// A folder of transcripts and its requirements.
#[derive(Debug)]
struct TranscriptSuite {
    /// The name of its folder below `transcripts/`.
    name: &'static str,
    /// The folder of files that the commands use, relative to this crate.
    files: &'static str,
    /// Whether it needs a Python with the official client.
    needs_python: bool,
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

/// Runs all transcripts and returns the exit code of the test program.
///
/// Arguments: a text that the names of transcripts, such as `kubectl/apply`, must contain, and
/// `--bless`, which writes kube-apiserver's outputs into them.
fn main() -> ExitCode {
    harness::main("transcripts", &UNIT_CHECKS, |args, report| {
        SUITES.iter().try_for_each(|suite| suite.run(args, report))
    })
}

impl TranscriptSuite {
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
                let controllers = Controllers::Base;
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
            if format!("{}/{name}", self.name).contains(filter) {
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

    pub(crate) fn every_transcript_parses_and_has_steps() {
        for suite in SUITES {
            let files = suite.read_transcripts("").unwrap();
            assert!(!files.is_empty());
            assert!(files.iter().all(|file| file.transcript.steps().count() > 0));
        }
    }
}
