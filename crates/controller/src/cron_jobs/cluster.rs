//! What is to be known of a cluster that is not ours.

use std::time::Duration;

use punctual_api::CronJobKind;
use tokio::sync::watch;

use crate::rival::Rival;

/// What is to be known of the cluster. The default is a server of ours: it keeps everything, and all of
/// its namespaces are looked after.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// The namespaces to look after; none are all of them.
    pub namespaces: Vec<String>,
    /// The kinds of which the server keeps no field that Kubernetes does not know. What must not be
    /// forgotten of their status is kept in an annotation, and somebody else who writes their status is
    /// told through the signals.
    pub pruned: Vec<CronJobKind>,
    /// How long a call may be on its way after everybody has given it up. What has ended is not removed for
    /// so long after a start or a call without an answer: a late create must find its name taken.
    pub echo: Duration,
    /// What whoever runs the controller wants to hear.
    pub signals: Signals,
}

impl Cluster {
    /// Where to watch: everywhere, or in each namespace.
    pub(super) fn places(&self) -> Vec<Option<String>> {
        match self.namespaces.is_empty() {
            true => vec![None],
            false => self.namespaces.iter().cloned().map(Some).collect(),
        }
    }
}

/// What a controller tells whoever runs it. Clones are handles to the same.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    listed: watch::Sender<bool>,
    rival: watch::Sender<Option<Rival>>,
}

impl Signals {
    /// Whether something that is looked after was listed, so that work is done.
    pub fn is_listed(&self) -> bool {
        *self.listed.borrow()
    }

    /// Waits until somebody else has written the status of a CronJob that we look after.
    pub async fn rival(&self) -> Rival {
        let mut rival = self.rival.subscribe();
        loop {
            if let Some(rival) = &*rival.borrow_and_update() {
                return rival.clone();
            }
            // It cannot be closed: we hold a sender.
            let _ = rival.changed().await;
        }
    }

    /// Says that work is done, until the result is dropped.
    pub(super) fn listed(&self) -> Listing {
        self.listed.send_replace(true);
        Listing(self.listed.clone())
    }

    pub(super) fn tell_rival(&self, rival: Rival) {
        self.rival.send_replace(Some(rival));
    }
}

/// Work is done while this is there; also for work that is dropped where it stands.
pub(super) struct Listing(watch::Sender<bool>);

impl Drop for Listing {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}
