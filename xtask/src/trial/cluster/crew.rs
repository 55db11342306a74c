//! The two controllers, each with its own way to the server.

use std::{net::SocketAddr, path::Path, time::Duration};

use jiff::Timestamp;
use punctual_e2e::{
    Cluster,
    controller::{ControllerLauncher, ControllerProcess},
};
use tokio::time::sleep;

use super::{
    proxy::{Mode, Proxy},
    trouble::{Ill, Kind},
};
use punctual_e2e::load::clock;

/// Their names, by which troubles and logs are told apart.
pub(super) const NAMES: [&str; 2] = ["a", "b"];
/// Short terms, so that there are many of them.
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

/// A controller that is hurt and comes back.
pub(super) struct Controller {
    name: &'static str,
    starter: ControllerLauncher,
    proxy: Proxy,
    program: ControllerProcess,
    /// Ends that nobody caused.
    pub(super) own_ends: Vec<String>,
}

/// What controllers are started with.
pub(super) struct Base<'a> {
    pub(super) cluster: &'a Cluster,
    /// Of their account.
    pub(super) token: &'a str,
    pub(super) binary: &'a Path,
    pub(super) folder: &'a Path,
    pub(super) seed: u64,
}

impl Base<'_> {
    /// Starts the controller of this number.
    pub(super) fn start(&self, who: usize) -> anyhow::Result<Controller> {
        let name = NAMES.get(who).copied().unwrap_or("none");
        let server: SocketAddr = self.cluster.address().parse()?;
        let proxy = Proxy::start(server, self.seed.wrapping_add(who as u64))?;
        let starter = ControllerLauncher {
            binary: self.binary.to_path_buf(),
            kubeconfig: self.cluster.kubeconfig_via(name, self.token, &proxy.url())?,
            folder: self.folder.to_path_buf(),
        };
        let program = starter.start(name, &FLAGS)?;
        Ok(Controller { name, starter, proxy, program, own_ends: Vec::new() })
    }
}

impl Controller {
    /// Whether it stands for election under this identity, or did before it was killed.
    pub(super) fn has_been(&self, identity: &str) -> anyhow::Result<bool> {
        Ok(!identity.is_empty() && self.program.log()?.contains(identity))
    }

    /// Starts it again if it ended by itself, which it should not.
    pub(super) fn look_after(&mut self) -> anyhow::Result<()> {
        if let Err(end) = self.program.ensure_running() {
            self.own_ends.push(format!("{} at {}: {end:#}", self.name, clock::wall_time()));
            self.program = self.starter.start(self.name, &FLAGS)?;
        }
        Ok(())
    }

    /// Suffers something, and is well again; from when to when.
    pub(super) async fn suffer(&mut self, ill: Ill) -> anyhow::Result<(Timestamp, Timestamp)> {
        self.look_after()?;
        let from = clock::wall_time();
        match ill.kind {
            Kind::Kill => {
                self.program.kill()?;
                sleep(ill.lasts).await;
                self.program = self.starter.start(self.name, &FLAGS)?;
            }
            Kind::Pause => {
                self.program.pause()?;
                sleep(ill.lasts).await;
                self.program.resume()?;
            }
            Kind::Cut => self.detour(Mode::Cut, ill.lasts).await,
            Kind::Delay => self.detour(Mode::Delay, ill.lasts).await,
            Kind::LostReplies => self.detour(Mode::LoseReplies, ill.lasts).await,
            // That is no controller's.
            Kind::Server => {}
        }
        Ok((from, clock::wall_time()))
    }

    async fn detour(&self, mode: Mode, lasts: Duration) {
        self.proxy.set(mode);
        sleep(lasts).await;
        self.proxy.set(Mode::Pass);
    }
}
