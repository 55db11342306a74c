//! Runs the commands of one transcript on one server, in a namespace and a folder of their own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Context;
use punctual_e2e::{Cluster, Programs, files, normalize::OutputNormalizer};

use super::transcript::{CommandOutput, TranscriptStep};

/// A step that takes longer than this hangs.
const STEP_SECONDS_MAX: &str = "60";

/// The environment of one transcript.
pub(super) struct TranscriptRunner<'a> {
    cluster: &'a Cluster,
    path: String,
    home: &'a Path,
    folder: PathBuf,
    normalizer: OutputNormalizer,
}

impl<'a> TranscriptRunner<'a> {
    /// Makes a folder with copies of the input files, and a namespace with the name of the transcript
    /// as kubectl's default namespace.
    pub(super) fn new(
        cluster: &'a Cluster,
        programs: &Programs,
        home: &'a Path,
        name: &str,
        inputs: &Path,
    ) -> anyhow::Result<Self> {
        let folder = home.join(name);
        files::copy_files(inputs, &folder)?;
        fs::copy(&cluster.kubeconfig, folder.join("kubeconfig"))?;
        let replacements = vec![
            (cluster.url.clone(), "https://SERVER"),
            (cluster.address().to_owned(), "SERVER"),
            (folder.display().to_string(), "FOLDER"),
        ];
        let normalizer = OutputNormalizer::new(replacements)?;
        let path = programs.search_path();
        let runner = TranscriptRunner { cluster, path, home, folder, normalizer };
        // `create -f` makes the simplest request of all commands of kubectl.
        let manifest = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}");
        runner.run_ok(&format!("echo '{manifest}' | kubectl create -f -"))?;
        runner.run_ok(&format!("kubectl config set-context --current --namespace={name}"))?;
        Ok(runner)
    }

    pub(super) fn server(&self) -> &'static str {
        self.cluster.name
    }

    /// Runs a shell command.
    pub(super) fn run(&self, command: &str) -> anyhow::Result<CommandOutput> {
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
        let normalize = |bytes: &[u8]| self.normalizer.normalize(&String::from_utf8_lossy(bytes));
        Ok(CommandOutput {
            stdout: normalize(&output.stdout),
            stderr: normalize(&output.stderr),
            code: output.status.code().unwrap_or(-1),
        })
    }

    fn run_ok(&self, command: &str) -> anyhow::Result<()> {
        let output = self.run(command)?;
        anyhow::ensure!(output.code == 0, "{command}\n{output}");
        Ok(())
    }
}

/// The expected and the actual output of a step, if they differ.
pub(super) fn describe_mismatch(
    server: &str,
    step: &TranscriptStep,
    output: &CommandOutput,
) -> Option<String> {
    let may_differ = step.difference.is_some() && server == "punctual";
    let is_expected =
        step.expected.code == output.code && (may_differ || has_same_lines(&step.expected, output));
    (!is_expected).then(|| format!("$ {}\nexpected\n{}got\n{output}", step.command, step.expected))
}

/// Compares lines, since a transcript cannot express whether the last line ends with a line break.
fn has_same_lines(expected: &CommandOutput, output: &CommandOutput) -> bool {
    expected.stdout.lines().eq(output.stdout.lines())
        && expected.stderr.lines().eq(output.stderr.lines())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn step(difference: Option<&str>) -> TranscriptStep {
        let expected = CommandOutput { stdout: "a".into(), ..CommandOutput::default() };
        let difference = difference.map(str::to_owned);
        TranscriptStep { difference, expected, ..TranscriptStep::default() }
    }

    fn output(stdout: &str, code: i32) -> CommandOutput {
        CommandOutput { stdout: stdout.into(), code, ..CommandOutput::default() }
    }

    pub(crate) fn another_output_than_the_expected_one_is_a_mismatch() {
        assert_eq!(describe_mismatch("punctual", &step(None), &output("a\n", 0)), None);
        let mismatch = describe_mismatch("punctual", &step(None), &output("b", 0)).unwrap();
        assert_eq!(mismatch, "$ \nexpected\n> a\ngot\n> b\n");
    }

    pub(crate) fn our_server_may_differ_for_a_reason_but_not_in_the_exit_code() {
        let differing = step(Some("another name"));
        assert_eq!(describe_mismatch("punctual", &differing, &output("b", 0)), None);
        assert!(describe_mismatch("punctual", &differing, &output("a", 1)).is_some());
        assert!(describe_mismatch("kube-apiserver", &differing, &output("b", 0)).is_some());
    }
}
