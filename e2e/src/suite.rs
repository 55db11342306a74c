//! Plays transcripts against both servers, and says what was done, what failed and what was skipped.

mod play;
mod tally;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use tempfile::TempDir;

use crate::{
    Cluster, Controllers, KubeApiServer, Programs, Punctual,
    transcript::{Outcome, Transcript},
};
use play::Stage;
pub(crate) use tally::Tally;

/// What a folder of transcripts needs.
#[derive(Debug)]
pub struct Suite {
    /// Its name, which is also the name of the folder below `transcripts/`.
    pub name: &'static str,
    /// Files beside which every transcript is played, relative to this crate.
    pub files: &'static str,
    /// Whether it needs a Python with the official client.
    pub needs_python: bool,
}

/// What was asked for on the command line.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// Write what kube-apiserver answers into the transcripts.
    pub(crate) bless: bool,
    /// Only transcripts whose name contains this.
    pub(crate) filter: String,
    /// Play nothing: some tool asks for the names of tests, and there are none.
    pub(crate) list: bool,
}

/// A transcript and where it is from.
struct Script {
    name: String,
    path: PathBuf,
    transcript: Transcript,
}

/// What became of a server.
enum Server {
    Runs(Cluster),
    IsMissing(anyhow::Error),
    Failed(anyhow::Error),
}

/// Runs the checks of a name; the exit code of a test program.
pub(crate) fn main(
    name: &'static str,
    run: impl FnOnce(&Request, &mut Tally) -> anyhow::Result<()>,
) -> ExitCode {
    let request = Request::of(std::env::args().skip(1));
    if request.list {
        return ExitCode::SUCCESS;
    }
    let mut tally = Tally::new(name);
    if let Err(error) = run(&request, &mut tally) {
        tally.fail(name, &format!("{error:#}"));
    }
    tally.finish()
}

impl Suite {
    /// Plays everything; the exit code of a test program.
    ///
    /// Arguments: a word that the names of transcripts must contain, and `--bless`, which writes what
    /// kube-apiserver answers into them. What the usual harness understands is ignored.
    pub fn main(&self) -> ExitCode {
        main(self.name, |request, tally| self.run(request, tally))
    }

    fn run(&self, request: &Request, tally: &mut Tally) -> anyhow::Result<()> {
        let scripts = self.scripts(&request.filter)?;
        let step_count = scripts.iter().map(|script| script.transcript.steps().count()).sum();
        if step_count == 0 {
            return Ok(());
        }
        let folder = tempfile::tempdir()?;
        let servers: &[&str] =
            if request.bless { &["kube-apiserver"] } else { &["kube-apiserver", "punctual"] };
        for name in servers {
            match self.server(name, folder.path()) {
                Server::Runs(cluster) => self.play_all(&cluster, &scripts, request, tally)?,
                Server::IsMissing(error) => tally.skip(name, step_count, &error),
                Server::Failed(error) => tally.fail(name, &format!("{error:#}")),
            }
        }
        Ok(())
    }

    /// Starts a server. What is missing is skipped; what is there must start.
    fn server(&self, name: &str, folder: &Path) -> Server {
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
            Ok(Ok(cluster)) => Server::Runs(cluster),
            Ok(Err(error)) => Server::Failed(error),
            Err(error) => Server::IsMissing(error),
        }
    }

    fn scripts(&self, filter: &str) -> anyhow::Result<Vec<Script>> {
        let folder = root().join("transcripts").join(self.name);
        let mut scripts = Vec::new();
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if name.contains(filter) {
                let text = fs::read_to_string(&path)?;
                let transcript = Transcript::parse(&text).with_context(|| name.clone())?;
                scripts.push(Script { name, path, transcript });
            }
        }
        scripts.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(scripts)
    }

    fn programs(&self) -> anyhow::Result<Programs> {
        let programs = Programs::find();
        programs.path("kubectl")?;
        if self.needs_python {
            programs.python()?;
        }
        Ok(programs)
    }

    fn play_all(
        &self,
        cluster: &Cluster,
        scripts: &[Script],
        request: &Request,
        tally: &mut Tally,
    ) -> anyhow::Result<()> {
        let programs = self.programs()?;
        let home = TempDir::new()?;
        for script in scripts {
            let files = root().join(self.files);
            match Stage::set(cluster, &programs, home.path(), &script.name, &files) {
                Ok(stage) if request.bless => bless(&stage, script)?,
                Ok(stage) => check(&stage, script, tally)?,
                Err(error) => {
                    let place = format!("{} on {}", script.name, cluster.name);
                    tally.fail(&place, &format!("{error:#}"));
                }
            }
        }
        Ok(())
    }
}

fn bless(stage: &Stage<'_>, script: &Script) -> anyhow::Result<()> {
    let outcomes = script.transcript.steps().map(|step| stage.play(&step.command));
    let outcomes: Vec<Outcome> = outcomes.collect::<anyhow::Result<_>>()?;
    let text = script.transcript.with_outcomes(outcomes).to_string();
    fs::write(&script.path, text).with_context(|| script.path.display().to_string())
}

fn check(stage: &Stage<'_>, script: &Script, tally: &mut Tally) -> anyhow::Result<()> {
    let failed_before = tally.failed();
    let mut step_count = 0;
    for step in script.transcript.steps() {
        step_count += 1;
        let outcome = stage.play(&step.command)?;
        match play::fault(stage.server(), step, &outcome) {
            None => tally.pass(),
            Some(fault) => {
                let place = format!("{}.txt:{} on {}", script.name, step.line, stage.server());
                tally.fail(&place, &fault);
            }
        }
    }
    if tally.failed() == failed_before {
        tally.note(&format!("{} on {}: {step_count} steps", script.name, stage.server()));
    }
    Ok(())
}

impl Request {
    pub(crate) fn of(args: impl Iterator<Item = String>) -> Request {
        args.fold(Request::default(), |request, arg| match arg.as_str() {
            "--bless" => Request { bless: true, ..request },
            "--list" => Request { list: true, ..request },
            // Said by people to the usual harness; nothing here is hidden or parallel.
            _ if arg.starts_with('-') => request,
            _ => Request { filter: arg, ..request },
        })
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_found_among_what_the_usual_harness_understands() {
        let args = ["--nocapture", "apply", "--test-threads=1"].map(str::to_owned);
        let request = Request::of(args.into_iter());
        assert_eq!((request.filter.as_str(), request.bless), ("apply", false));
    }

    #[test]
    fn every_transcript_is_read_and_has_steps() {
        for (name, files, needs_python) in
            [("kubectl", "testdata", false), ("python", "python", true)]
        {
            let suite = Suite { name, files, needs_python };
            let scripts = suite.scripts("").unwrap();
            assert!(!scripts.is_empty());
            assert!(scripts.iter().all(|script| script.transcript.steps().count() > 0));
        }
    }
}
