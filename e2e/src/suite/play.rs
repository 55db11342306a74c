//! One transcript on one server: a namespace, a folder and a shell.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Context;

use crate::{
    Cluster, Programs,
    blur::Blur,
    transcript::{Outcome, Step},
};

/// A step that takes longer than this hangs.
const STEP_SECONDS_MAX: &str = "60";

/// Where a transcript is played.
pub(super) struct Stage<'a> {
    cluster: &'a Cluster,
    path: String,
    home: &'a Path,
    folder: PathBuf,
    blur: Blur,
}

impl<'a> Stage<'a> {
    /// Makes a folder with copies of the files, and a namespace with the name of the transcript, which
    /// kubectl will use unless told otherwise.
    pub(super) fn set(
        cluster: &'a Cluster,
        programs: &Programs,
        home: &'a Path,
        name: &str,
        files: &Path,
    ) -> anyhow::Result<Self> {
        let folder = home.join(name);
        copy_files(files, &folder)?;
        fs::copy(&cluster.kubeconfig, folder.join("kubeconfig"))?;
        let words = vec![
            (cluster.url.clone(), "https://SERVER"),
            (cluster.address().to_owned(), "SERVER"),
            (folder.display().to_string(), "FOLDER"),
        ];
        let path = programs.search_path();
        let stage = Stage { cluster, path, home, folder, blur: Blur::new(words)? };
        // From a manifest, which is the plainest request that kubectl makes.
        let manifest = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}");
        stage.must(&format!("echo '{manifest}' | kubectl create -f -"))?;
        stage.must(&format!("kubectl config set-context --current --namespace={name}"))?;
        Ok(stage)
    }

    pub(super) fn server(&self) -> &'static str {
        self.cluster.name
    }

    /// Gives a command to a shell.
    pub(super) fn play(&self, command: &str) -> anyhow::Result<Outcome> {
        let output = Command::new("timeout")
            .args([STEP_SECONDS_MAX, "sh", "-c", command])
            .current_dir(&self.folder)
            .env_clear()
            .envs([("PATH", self.path.as_str()), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC")])
            .env("HOME", self.home)
            .env("KUBECONFIG", self.folder.join("kubeconfig"))
            .stdin(Stdio::null())
            .output()
            .context("starting a shell")?;
        let blur = |bytes: &[u8]| self.blur.apply(&String::from_utf8_lossy(bytes));
        Ok(Outcome {
            stdout: blur(&output.stdout),
            stderr: blur(&output.stderr),
            code: output.status.code().unwrap_or(-1),
        })
    }

    fn must(&self, command: &str) -> anyhow::Result<()> {
        let outcome = self.play(command)?;
        anyhow::ensure!(outcome.code == 0, "{command}\n{outcome}");
        Ok(())
    }
}

fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// What is wrong with an outcome, as what was expected and what came; nothing if it is right.
pub(super) fn fault(server: &str, step: &Step, outcome: &Outcome) -> Option<String> {
    let mut expected = step.expected.clone();
    if step.differs.is_some() && server == "punctual" {
        expected.stdout.clone_from(&outcome.stdout);
        expected.stderr.clone_from(&outcome.stderr);
    }
    (!same(&expected, outcome))
        .then(|| format!("$ {}\nexpected\n{}got\n{outcome}", step.command, step.expected))
}

/// A transcript cannot say whether the last line of an output ended.
fn same(expected: &Outcome, outcome: &Outcome) -> bool {
    expected.code == outcome.code
        && expected.stdout.lines().eq(outcome.stdout.lines())
        && expected.stderr.lines().eq(outcome.stderr.lines())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(differs: Option<&str>) -> Step {
        let expected = Outcome { stdout: "a".into(), ..Outcome::default() };
        Step { differs: differs.map(str::to_owned), expected, ..Step::default() }
    }

    fn outcome(stdout: &str, code: i32) -> Outcome {
        Outcome { stdout: stdout.into(), code, ..Outcome::default() }
    }

    #[test]
    fn an_answer_must_be_the_expected_one() {
        assert_eq!(fault("punctual", &step(None), &outcome("a\n", 0)), None);
        let fault = fault("punctual", &step(None), &outcome("b", 0)).unwrap();
        assert_eq!(fault, "$ \nexpected\n> a\ngot\n> b\n");
    }

    #[test]
    fn our_server_may_differ_where_a_reason_is_given_but_not_in_the_exit_code() {
        let differing = step(Some("another name"));
        assert_eq!(fault("punctual", &differing, &outcome("b", 0)), None);
        assert!(fault("punctual", &differing, &outcome("a", 1)).is_some());
        assert!(fault("kube-apiserver", &differing, &outcome("b", 0)).is_some());
    }
}
