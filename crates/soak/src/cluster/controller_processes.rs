//! Starts, kills and pauses the two controllers. Each reaches the server through a proxy of its
//! own.

use std::{net::SocketAddr, path::Path, time::Duration};

use punctual_e2e::{
    Cluster,
    controller::{ControllerLauncher, ControllerProcess},
    load::clock,
};
use tokio::time::sleep;

use super::{
    fault::{FaultKind, PlannedFault},
    proxy::{FaultProxy, ProxyMode},
};
use crate::timing::TimeSpan;

/// The names of the controllers in reports and log folders.
pub(super) const NAMES: [&str; 2] = ["a", "b"];
/// Short Lease times, so that there are many terms.
const FLAGS: [&str; 8] = [
    "--kinds=cronjobs,scheduledjobs",
    "--lease-duration",
    "4s",
    "--renew-deadline",
    "3s",
    "--retry-period",
    "500ms",
    "--log=info",
];

/// A controller into which faults can be injected.
pub(super) struct FaultyController {
    name: &'static str,
    launcher: ControllerLauncher,
    proxy: FaultProxy,
    process: ControllerProcess,
    /// Descriptions of exits that were not injected.
    pub(super) exits: Vec<String>,
}

/// What is needed to start controllers.
pub(super) struct ControllerSetup<'a> {
    pub(super) cluster: &'a Cluster,
    /// The token of the controller's service account.
    pub(super) token: &'a str,
    pub(super) binary: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) seed: u64,
}

impl ControllerSetup<'_> {
    /// Starts the controller with this number.
    pub(super) fn start(&self, number: usize) -> anyhow::Result<FaultyController> {
        let name = NAMES.get(number).copied().unwrap_or("none");
        let server: SocketAddr = self.cluster.address().parse()?;
        let proxy = FaultProxy::start(server, self.seed.wrapping_add(number as u64))?;
        let launcher = ControllerLauncher {
            binary: self.binary.to_path_buf(),
            kubeconfig: self.cluster.kubeconfig_via(name, self.token, &proxy.url())?,
            folder: self.folder.to_path_buf(),
        };
        let process = launcher.start(name, &FLAGS)?;
        Ok(FaultyController { name, launcher, proxy, process, exits: Vec::new() })
    }
}

impl FaultyController {
    /// Whether this controller, or one before a restart, used this identity in the election.
    pub(super) fn has_used_identity(&self, identity: &str) -> anyhow::Result<bool> {
        Ok(!identity.is_empty() && self.process.log()?.contains(identity))
    }

    /// Injects a fault and removes it again. Returns when it was present.
    pub(super) async fn inject(&mut self, fault: PlannedFault) -> anyhow::Result<TimeSpan> {
        self.restart_if_exited()?;
        let from = clock::wall_time();
        match fault.kind {
            FaultKind::Kill => {
                self.process.kill()?;
                sleep(fault.duration).await;
                self.process = self.launcher.start(self.name, &FLAGS)?;
            }
            FaultKind::Pause => {
                self.process.pause()?;
                sleep(fault.duration).await;
                self.process.resume()?;
            }
            FaultKind::Disconnect => self.set_proxy(ProxyMode::Disconnect, fault.duration).await,
            FaultKind::Delay => self.set_proxy(ProxyMode::Delay, fault.duration).await,
            FaultKind::LoseResponses => {
                self.set_proxy(ProxyMode::LoseResponses, fault.duration).await;
            }
            // The fault injector kills the server.
            FaultKind::KillServer => {}
        }
        Ok(TimeSpan { from, to: clock::wall_time() })
    }

    /// Restarts the controller if it has exited, and records that as an error.
    fn restart_if_exited(&mut self) -> anyhow::Result<()> {
        if let Err(exit) = self.process.ensure_running() {
            self.exits.push(format!("{} at {}: {exit:#}", self.name, clock::wall_time()));
            self.process = self.launcher.start(self.name, &FLAGS)?;
        }
        Ok(())
    }

    async fn set_proxy(&self, mode: ProxyMode, duration: Duration) {
        self.proxy.set(mode);
        sleep(duration).await;
        self.proxy.set(ProxyMode::Forward);
    }
}
