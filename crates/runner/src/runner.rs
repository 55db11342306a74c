//! The daemon's half: what a kubelet is to a node.
//!
//! One task watches the Pods of this node and keeps a worker for each that needs one (`worker`).
//! Workers prepare, start and watch over supervisors, and write what they learn to the API. A Pod
//! that is over needs no worker; its folder, with the logs, stays until its object goes.

mod cluster;
mod events;
mod process;
mod report;
mod slots;
mod worker;

use std::collections::{HashMap, HashSet};
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;
use kube::api::DynamicObject;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use punctual_api::Pod;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::cluster::{Cluster, read_pod};
use self::slots::{Slot, Slots};
use self::worker::{Desired, Worker};
use crate::folder::{Folder, create_private};
use crate::inotify::Hub;
use crate::node;
use crate::plan::Timing;
use crate::prepare::Settings;

/// The most that a container's log takes on the disk, unless configured otherwise.
const LOG_BYTES_MAX: u64 = 20 * 1024 * 1024;

/// What a runner needs.
#[derive(Clone)]
pub struct Config {
    /// The API that Pods are read from and reported to.
    pub client: kube::Client,
    /// The name of this machine's node; Pods given to it are run.
    pub node_name: String,
    /// Where `pods/` is.
    pub data_dir: PathBuf,
    /// The program that is started as `<program> supervise <folder>`.
    pub program: PathBuf,
    /// The most Pods that run at a time.
    pub max_pods: usize,
    /// How long containers wait before they are restarted.
    pub timing: Timing,
    /// The most bytes of a container's log that are kept for a run, in two files.
    pub log_bytes_max: u64,
    /// Whether cgroups are used where they can be.
    pub cgroups: bool,
    /// Who wants to know how long a Pod took from being seen to being started.
    pub started: Option<Started>,
}

/// Is told how long a Pod took to start.
pub type Started = Arc<dyn Fn(Duration) + Send + Sync>;

impl Config {
    /// Kubernetes' usual numbers: 110 Pods, 10 MiB twice per log.
    pub fn new(
        client: kube::Client,
        node_name: &str,
        data_dir: PathBuf,
        program: PathBuf,
    ) -> Config {
        Config {
            client,
            node_name: node_name.to_owned(),
            data_dir,
            program,
            max_pods: 110,
            timing: Timing::default(),
            log_bytes_max: LOG_BYTES_MAX,
            cgroups: true,
            started: None,
        }
    }
}

/// What all workers share.
struct Context {
    cluster: Cluster,
    node_name: String,
    data_dir: PathBuf,
    program: PathBuf,
    settings: Settings,
    slots: Slots,
    hub: Arc<Hub>,
    started: Option<Started>,
}

/// Runs the Pods of one node.
pub struct Runner {
    context: Arc<Context>,
    pods: HashMap<String, Entry>,
    workers: JoinSet<worker::Done>,
    /// Places of Pods that were found running and whose worker has not started yet.
    claimed: HashMap<String, Slot>,
    /// Pods of a list that is not complete yet.
    listed: Vec<Arc<Pod>>,
}

/// A Pod that is known.
struct Entry {
    desired: watch::Sender<Desired>,
    is_worked_on: bool,
}

impl Runner {
    /// Finds what is there from before. Needs a runtime.
    pub fn start(config: Config) -> io::Result<Runner> {
        create_private(&config.data_dir.join("pods"))?;
        let settings = Settings {
            timing: config.timing,
            log_bytes_max: config.log_bytes_max,
            cgroups: config.cgroups,
            machine: node::machine(),
        };
        let context = Context {
            cluster: Cluster::new(config.client),
            node_name: config.node_name,
            data_dir: config.data_dir.canonicalize()?,
            program: config.program,
            settings,
            slots: Slots::new(config.max_pods.max(1)),
            hub: Hub::start()?,
            started: config.started,
        };
        let mut runner = Runner {
            context: Arc::new(context),
            pods: HashMap::new(),
            workers: JoinSet::new(),
            claimed: HashMap::new(),
            listed: Vec::new(),
        };
        runner.claim_places()?;
        Ok(runner)
    }

    /// Runs until told to stop. Pods run on: their supervisors are nobody's children.
    pub async fn run(mut self, stop: CancellationToken) {
        let config =
            watcher::Config::default().fields(&format!("spec.nodeName={}", self.context.node_name));
        let events = watcher::watcher(self.context.cluster.pods(), config).default_backoff();
        let mut events = std::pin::pin!(events);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                event = events.next() => match event {
                    Some(Ok(event)) => self.take(event),
                    Some(Err(error)) => tracing::warn!(%error, "the watch of Pods was interrupted"),
                    None => return,
                },
                Some(Ok(done)) = self.workers.join_next() => self.settle(done),
            }
        }
    }

    /// Pods that run already keep their places, before any other gets one.
    fn claim_places(&mut self) -> io::Result<()> {
        for uid in self.folders()? {
            let Some(folder) = Folder::of(&self.context.data_dir, &uid) else { continue };
            // One that cannot be read holds its place and must not hold up the others.
            let state = folder.state().unwrap_or_default();
            let is_over = state.is_some_and(|state| state.phase.is_final());
            if folder.has_plan() && !is_over {
                self.claimed.insert(uid, self.context.slots.claim());
            }
        }
        Ok(())
    }

    /// The UIDs of all Pods that have a folder.
    fn folders(&self) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(self.context.data_dir.join("pods"))?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    fn take(&mut self, event: Event<DynamicObject>) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => self.listed.extend(read(object)),
            Event::InitDone => self.take_list(),
            Event::Apply(object) => read(object).into_iter().for_each(|pod| self.set(pod)),
            Event::Delete(object) => read(object).into_iter().for_each(|pod| {
                self.forget(&pod.metadata.uid);
            }),
        }
    }

    /// A complete list: what is not on it is gone.
    fn take_list(&mut self) {
        let mut listed = std::mem::take(&mut self.listed);
        listed.sort_by_key(|pod| (created_at(pod), pod.metadata.name.clone()));
        let known = self.pods.keys().cloned();
        let found = self.folders().unwrap_or_default();
        let present: HashSet<&str> = listed.iter().map(|pod| &*pod.metadata.uid).collect();
        let gone = known.chain(found).filter(|uid| !present.contains(uid.as_str()));
        let gone: HashSet<String> = gone.collect();
        gone.iter().for_each(|uid| self.forget(uid));
        listed.into_iter().for_each(|pod| self.set(pod));
    }

    fn set(&mut self, pod: Arc<Pod>) {
        let uid = pod.metadata.uid.clone();
        let is_new = !self.pods.contains_key(&uid);
        let is_leaving = pod.metadata.deletion_timestamp.is_some();
        self.tell(&uid, Desired::Pod(pod));
        if is_new || is_leaving {
            self.work_on(&uid);
        }
    }

    /// The Pod's object is gone, so the Pod goes too.
    fn forget(&mut self, uid: &str) {
        self.tell(uid, Desired::Gone);
        self.work_on(uid);
    }

    fn tell(&mut self, uid: &str, desired: Desired) {
        match self.pods.get(uid) {
            Some(entry) => drop(entry.desired.send_replace(desired)),
            None => {
                let (desired, _) = watch::channel(desired);
                self.pods.insert(uid.to_owned(), Entry { desired, is_worked_on: false });
            }
        }
    }

    /// Makes sure that somebody sees to a Pod.
    fn work_on(&mut self, uid: &str) {
        let Some(entry) = self.pods.get_mut(uid).filter(|entry| !entry.is_worked_on) else {
            return;
        };
        let Some(folder) = Folder::of(&self.context.data_dir, uid) else { return };
        entry.is_worked_on = true;
        let desired = entry.desired.subscribe();
        let slot = match self.claimed.remove(uid) {
            Some(slot) => Some(slot),
            None => start_turn(&folder, &desired.borrow())
                .map(|created_at| self.context.slots.enter(created_at)),
        };
        let worker = Worker::new(self.context.clone(), folder, desired, slot);
        let uid = uid.to_owned();
        self.workers.spawn(async move {
            // A Pod must not be given up because of a mistake of ours; the next event tries again.
            let done = AssertUnwindSafe(worker.run(uid.clone())).catch_unwind().await;
            done.unwrap_or_else(|_| {
                tracing::error!(%uid, "the worker of a Pod panicked");
                worker::Done { uid, version: String::new(), is_removed: false }
            })
        });
    }

    /// A worker has done what there was to do, unless more came meanwhile.
    fn settle(&mut self, done: worker::Done) {
        let Some(entry) = self.pods.get_mut(&done.uid) else { return };
        entry.is_worked_on = false;
        if done.is_removed {
            self.pods.remove(&done.uid);
        } else if entry.desired.borrow().needs_work(&done.version) {
            self.work_on(&done.uid);
        }
    }
}

/// Since when a Pod waits that was never started; none for the others.
fn start_turn(folder: &Folder, desired: &Desired) -> Option<Timestamp> {
    match desired {
        Desired::Pod(pod) if !folder.has_plan() && !pod.status.is_terminal() => {
            Some(created_at(pod))
        }
        _ => None,
    }
}

fn created_at(pod: &Pod) -> Timestamp {
    pod.metadata.creation_timestamp.map_or(Timestamp::MAX, |time| time.at())
}

fn read(object: DynamicObject) -> Option<Arc<Pod>> {
    match read_pod(object) {
        Ok(pod) => Some(Arc::new(pod)),
        Err(error) => {
            tracing::warn!(%error, "a Pod cannot be read and is not run");
            None
        }
    }
}
