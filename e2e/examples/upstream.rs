//! Runs Kubernetes' own end-to-end tests of CronJobs on `punctual up`, or on `punctual controller` in
//! a cluster of Kubernetes' own programs.
//!
//! The script `e2e/upstream` builds the tests and starts this program.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, bail, ensure};
use punctual_e2e::{
    Cluster, Controllers, FakeNode, KubeApiServer, Programs, Punctual,
    controller::ControllerLauncher,
};

/// All controllers of Kubernetes but the one that Punctual replaces.
const OTHER_CONTROLLERS: Controllers = Controllers::Named(&["*", "-cronjob-controller"]);

/// The test program of Kubernetes, and which of its tests to run.
struct TestSuite<'a> {
    program: &'a Path,
    focus: &'a str,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "the program reports to its user")]
fn print_error(error: &anyhow::Error) {
    eprintln!("e2e/upstream: {error:#}");
}

fn run(args: &[String]) -> anyhow::Result<()> {
    let [program, command, focus] = args else { bail!("arguments: PROGRAM up|controller FOCUS") };
    let suite = TestSuite { program: Path::new(program), focus };
    let folder = tempfile::tempdir()?;
    match command.as_str() {
        "up" => suite.run_on_up(folder.path()),
        "controller" => suite.run_on_controller(folder.path()),
        _ => bail!("{command:?} is neither `up` nor `controller`"),
    }
}

impl TestSuite<'_> {
    fn run_on_up(&self, folder: &Path) -> anyhow::Result<()> {
        let cluster = Punctual::find()?.up(folder, &[])?;
        self.run(&cluster)
    }

    fn run_on_controller(&self, folder: &Path) -> anyhow::Result<()> {
        let programs = Programs::find();
        let server = KubeApiServer { programs: &programs, folder, controllers: OTHER_CONTROLLERS };
        let cluster = server.start()?;
        let _node = FakeNode::start(&cluster)?;
        let launcher = ControllerLauncher::with_new_account(&cluster, &Punctual::find()?, folder)?;
        // A test writes the status of a CronJob as a competing controller does, which would stop ours.
        let flags = ["--kinds", "cronjobs", "--take-over"];
        let mut controller = launcher.start("punctual", &flags)?;
        controller.wait_until_ready()?;
        self.run(&cluster)?;
        controller.stop()
    }

    /// Runs the tests. No tests at all are a failure.
    fn run(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let mut command = Command::new(self.program);
        command.arg("--kubeconfig").arg(&cluster.kubeconfig).arg("--provider=local");
        // The tests would otherwise look for nodes, and the fake node is not an object of the server.
        command.arg("--num-nodes=1");
        command.arg(format!("--ginkgo.focus={}", self.focus));
        command.args(["--ginkgo.fail-on-empty", "--ginkgo.v", "--ginkgo.no-color"]);
        let status = command.status().with_context(|| self.program.display().to_string())?;
        ensure!(status.success(), "tests failed on {}: {status}", cluster.name);
        Ok(())
    }
}
