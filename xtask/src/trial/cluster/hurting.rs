//! Who hurts the controllers: one after the other, or both.

use std::time::Duration;

use jiff::Timestamp;
use punctual_e2e::Cluster;
use tokio::{time::sleep, try_join};

use super::{
    ability::{Held, Span},
    crew::{Controller, NAMES},
    proxy::between,
    record::{Runs, Terms},
    recorder::Recorder,
    trouble::{Ill, Kind, Target, Trouble},
};
use crate::dice::Dice;
use punctual_e2e::load::clock;

/// Milliseconds from one trouble to the next.
const PAUSE_MS: (u64, u64) = (500, 4_000);
/// One pause in so many is long enough for everything to settle.
const REST_ONE_IN: u64 = 6;
const REST: Duration = Duration::from_secs(9);
/// Before the first trouble everything must be at work.
const BEGIN: Duration = Duration::from_secs(15);
const TELL_EVERY: usize = 10;

/// What is hurt, and who looks on.
pub(super) struct Hurting<'a> {
    pub(super) cluster: &'a mut Cluster,
    pub(super) jobs: &'a Recorder<Runs>,
    pub(super) leases: &'a Recorder<Terms>,
    pub(super) dice: Dice,
}

impl Hurting<'_> {
    /// Lets so many troubles happen; all that did.
    pub(super) async fn run(
        &mut self,
        crew: &mut [Controller; NAMES.len()],
        count: usize,
    ) -> anyhow::Result<Vec<Trouble>> {
        let start = clock::now();
        let mut troubles = Vec::new();
        sleep(BEGIN).await;
        while troubles.len() < count {
            let told = troubles.len() / TELL_EVERY;
            let target = Target::draw(&mut self.dice);
            troubles.extend(self.happen(crew, target).await?);
            if troubles.len() / TELL_EVERY > told {
                self.tell(troubles.len(), start.elapsed());
            }
            let rests = self.dice.once_in(REST_ONE_IN);
            sleep(if rests { REST } else { between(&mut self.dice, PAUSE_MS) }).await;
        }
        Ok(troubles)
    }

    async fn happen(
        &mut self,
        crew: &mut [Controller; NAMES.len()],
        target: Target,
    ) -> anyhow::Result<Vec<Trouble>> {
        let leader = self.leader(crew)?;
        let [a, b] = crew;
        let (leads, other) = if leader == Some(1) { (b, a) } else { (a, b) };
        let (first, second) = if leader == Some(1) { (1, 0) } else { (0, 1) };
        let led = leader.is_some();
        match target {
            Target::Server => Ok(vec![self.kill_server().await?]),
            Target::Leader => {
                let trouble = hurt(leads, Ill::draw(&mut self.dice), Duration::ZERO).await?;
                Ok(vec![Trouble { who: Some(first), led, ..trouble }])
            }
            Target::Standby => {
                let trouble = hurt(other, Ill::draw(&mut self.dice), Duration::ZERO).await?;
                Ok(vec![Trouble { who: Some(second), ..trouble }])
            }
            Target::Both(apart) => {
                let (ill, another) = (Ill::draw(&mut self.dice), Ill::draw(&mut self.dice));
                let apart = Duration::from_millis(apart);
                let (one, two) =
                    try_join!(hurt(leads, ill, Duration::ZERO), hurt(other, another, apart))?;
                let one = Trouble { who: Some(first), led, ..one };
                Ok(vec![one, Trouble { who: Some(second), ..two }])
            }
        }
    }

    /// Who holds the Lease now.
    fn leader(&self, crew: &[Controller; NAMES.len()]) -> anyhow::Result<Option<usize>> {
        let holder = self.leases.kept().record.0.last().map(|term| term.holder.clone());
        who(crew, &holder.unwrap_or_default())
    }

    async fn kill_server(&mut self) -> anyhow::Result<Trouble> {
        const SERVER: &str = "kube-apiserver";
        let ill = Ill::of_server(&mut self.dice);
        let from = clock::wall_time();
        self.cluster.kill(SERVER)?;
        sleep(ill.lasts).await;
        self.cluster.restart(SERVER)?;
        let span = Span { from, to: clock::wall_time() };
        Ok(Trouble { kind: Kind::Server, who: None, led: false, span })
    }

    fn tell(&self, troubles: usize, elapsed: Duration) {
        let jobs = self.jobs.kept().record.count();
        let changes = self.leases.kept().record.changes();
        println!(
            "{troubles} troubles in {} s; {jobs} Jobs, {changes} changes of the leader",
            elapsed.as_secs()
        );
    }
}

/// Hurts one of them after a while.
async fn hurt(whom: &mut Controller, ill: Ill, after: Duration) -> anyhow::Result<Trouble> {
    sleep(after).await;
    let (from, to) = whom.suffer(ill).await?;
    Ok(Trouble { kind: ill.kind, who: None, led: false, span: Span { from, to } })
}

/// Whose identity it is.
fn who(crew: &[Controller; NAMES.len()], identity: &str) -> anyhow::Result<Option<usize>> {
    for (who, controller) in crew.iter().enumerate() {
        if controller.has_been(identity)? {
            return Ok(Some(who));
        }
    }
    Ok(None)
}

/// Who held the Lease from when to when, until now.
pub(super) fn held(
    crew: &[Controller; NAMES.len()],
    terms: &Terms,
    now: Timestamp,
) -> anyhow::Result<Vec<Held>> {
    let ends = terms.0.iter().skip(1).map(|term| term.from).chain([now]);
    let terms = terms.0.iter().zip(ends).map(|(term, to)| {
        let span = Span { from: term.from, to };
        Ok(Held { by: who(crew, &term.holder)?, span })
    });
    terms.collect()
}
