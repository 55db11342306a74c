//! The daemon's half: what a kubelet is to a node.
//!
//! One task watches the Pods of this node and keeps a worker for each that needs one (`worker`).
//! Workers prepare, start and watch over supervisors, and write what they learn to the API. A Pod
//! that is over needs no worker; its folder, with the logs, stays until its object goes.

mod cluster;
mod events;
mod listed;
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
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::cluster::{Cluster, read_pod};
use self::listed::Listed;
use self::slots::{Slot, Slots};
use self::worker::{Desired, Done, Left, RETRY, Worker};
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
    workers: JoinSet<Done>,
    /// Places of Pods that were found running and whose worker has not started yet.
    claimed: HashMap<String, Slot>,
    /// Pods of a list that is not complete yet.
    listed: Listed,
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
            listed: Listed::default(),
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
            if is_begun(&folder) && !is_over(&folder) {
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
            Event::Init => self.listed = Listed::default(),
            Event::InitApply(object) => self.listed.add(object),
            Event::InitDone => self.take_list(),
            Event::Apply(object) => read(object).into_iter().for_each(|pod| self.set(pod)),
            Event::Delete(object) => {
                object.metadata.uid.iter().for_each(|uid| self.forget(uid));
            }
        }
    }

    /// A complete list: what is not on it is gone.
    fn take_list(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        let known = self.pods.keys().cloned();
        let found = self.folders().unwrap_or_default();
        let gone: HashSet<String> = known.chain(found).filter(|uid| !listed.has(uid)).collect();
        gone.iter().for_each(|uid| self.forget(uid));
        listed.into_pods().into_iter().for_each(|pod| self.set(pod));
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
        let claimed = self.claimed.remove(uid);
        let slot = claimed.or_else(|| self.context.place(&folder, &desired.borrow()));
        let worker = Worker::new(self.context.clone(), folder, desired, slot);
        let uid = uid.to_owned();
        self.workers.spawn(run_worker(worker, uid));
    }

    /// A worker has done what there was to do, unless more came meanwhile.
    fn settle(&mut self, Done { uid, left }: Done) {
        let Some(entry) = self.pods.get_mut(&uid) else { return };
        entry.is_worked_on = false;
        let needs_work = match left {
            Left::Nothing => return drop(self.pods.remove(&uid)),
            Left::Settled { version } => entry.desired.borrow().needs_work(&version),
            Left::Unfinished => true,
        };
        if needs_work {
            self.work_on(&uid);
        }
    }
}

impl Context {
    /// The place of a Pod that runs, or the wait for one if it is yet to be started.
    fn place(&self, folder: &Folder, desired: &Desired) -> Option<Slot> {
        match desired {
            _ if is_begun(folder) => (!is_over(folder)).then(|| self.slots.claim()),
            Desired::Pod(pod) if !pod.status.is_terminal() => {
                Some(self.slots.enter(created_at(pod)))
            }
            _ => None,
        }
    }
}

/// A Pod must not be given up because of a mistake of ours: whoever panics leaves the rest of the
/// work to another one. The pause is here, where only this Pod waits for it.
async fn run_worker(worker: Worker, uid: String) -> Done {
    match AssertUnwindSafe(worker.run(uid.clone())).catch_unwind().await {
        Ok(done) => done,
        Err(_) => {
            tracing::error!(%uid, "the worker of a Pod panicked; trying again");
            sleep(RETRY).await;
            Done { uid, left: Left::Unfinished }
        }
    }
}

/// Whether a Pod was begun. One that cannot be looked at is taken to be, as it may be running.
fn is_begun(folder: &Folder) -> bool {
    folder.has_plan().unwrap_or(true)
}

/// Whether a Pod is known to be over.
fn is_over(folder: &Folder) -> bool {
    folder.state().ok().flatten().is_some_and(|state| state.phase.is_final())
}

fn created_at(pod: &Pod) -> Timestamp {
    pod.metadata.creation_timestamp.map_or(Timestamp::MAX, |time| time.timestamp())
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
