//! What the figures must be.

use crate::{
    results::{Column, Results},
    table::Format,
    workload::{Question, Span, Zone},
};

/// The questions of the case in which the last run was in 1970.
pub(crate) const SINCE_1970: [(Question, &str); 3] = [
    (Question::Latest, "latest at or before t"),
    (Question::LatestSince1970, "latest in (1970, t]"),
    (Question::Count(Span::Since1970), "count in (1970, t]"),
];

const NANOSECONDS_MAX: f64 = 1000.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Met,
    Missed,
    NotMeasured,
}

impl Verdict {
    fn of(met: bool) -> Verdict {
        if met { Verdict::Met } else { Verdict::Missed }
    }

    fn name(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Missed => "MISSED",
            Verdict::NotMeasured => "not measured",
        }
    }
}

pub(crate) struct Target {
    what: String,
    /// The figure that decides.
    seen: String,
    verdict: Verdict,
    /// Instructions are exact and so can fail a run; time depends on who else is running.
    exact: bool,
}

pub(crate) fn all(results: &Results) -> Vec<Target> {
    let mut targets = Vec::new();
    for (question, what) in [
        (Question::Next, "next"),
        (Question::Latest, "latest"),
        (Question::Count(Span::Day), "count over a day"),
    ] {
        for zone in Zone::ALL {
            targets.push(fewest(results, question, zone, what));
        }
    }
    targets.push(next_geomean(results, Zone::Utc, 350.0));
    targets.push(next_geomean(results, Zone::NewYork, 600.0));
    targets.push(since_1970(results));
    targets
}

/// Whether a target that can be trusted is missed. One that valgrind left out is missed as well.
pub(crate) fn any_missed(targets: &[Target], has_valgrind: bool) -> bool {
    let missed = |target: &Target| match target.verdict {
        Verdict::Met => false,
        Verdict::Missed => true,
        Verdict::NotMeasured => has_valgrind,
    };
    targets.iter().any(|target| target.exact && missed(target))
}

/// The targets, one to a line.
pub(crate) fn list(targets: &[Target], format: Format) -> String {
    let line = |target: &Target| {
        let Target { what, seen, verdict, .. } = target;
        let verdict = verdict.name();
        match format {
            Format::Plain => format!("  {verdict:<12}  {what} ({seen})\n"),
            Format::Markdown => format!("- {verdict}: {what} ({seen})\n"),
        }
    };
    let lines: String = targets.iter().map(line).collect();
    match format {
        Format::Plain => format!("targets\n{lines}"),
        Format::Markdown => format!("**targets**\n\n{lines}"),
    }
}

/// The geometric mean, if every value is known.
pub(crate) fn geomean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(|value| value.map(f64::ln)).collect::<Option<_>>()?;
    if logarithms.is_empty() {
        return None;
    }
    Some((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

/// One cell of ours beside the same cell of a peer that answers it correctly.
struct Duel {
    what: String,
    ours: f64,
    theirs: f64,
}

impl Duel {
    fn ratio(&self) -> f64 {
        self.theirs / self.ours
    }

    fn text(&self) -> String {
        format!("{:.0} against {:.0} of {}", self.ours, self.theirs, self.what)
    }
}

fn fewest(results: &Results, question: Question, zone: Zone, what: &str) -> Target {
    let peers = results.columns.iter().filter(|column| !column.is_ours());
    let duels = peers.map(|peer| duels(results.ours(), peer, question, zone));
    // Fewer cells than there should be prove nothing.
    let duels: Option<Vec<Vec<Duel>>> = duels.collect();
    let (verdict, seen) = judge(duels.unwrap_or_default().into_iter().flatten().collect());
    let what = format!(
        "{what}, {}: fewer instructions than every peer that answers correctly",
        zone.name()
    );
    Target { what, seen, verdict, exact: true }
}

/// The cells that a peer answers correctly. None if the instructions of one are not known.
fn duels(ours: &Column, peer: &Column, question: Question, zone: Zone) -> Option<Vec<Duel>> {
    let pairs = ours.cells(question, zone).zip(peer.cells(question, zone));
    let correct = pairs.filter(|(_, (_, theirs))| theirs.is_correct());
    correct
        .map(|((expression, ours), (_, theirs))| {
            let what = format!("{} on `{}`", peer.library.name(), expression.text);
            Some(Duel { what, ours: ours.instructions()?, theirs: theirs.instructions()? })
        })
        .collect()
}

fn judge(mut duels: Vec<Duel>) -> (Verdict, String) {
    duels.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    let lost: Vec<String> =
        duels.iter().filter(|duel| duel.ours >= duel.theirs).map(Duel::text).collect();
    match duels.first() {
        None => (Verdict::NotMeasured, "not every cell was counted".into()),
        Some(closest) if lost.is_empty() => {
            (Verdict::Met, format!("all {} cells, closest: {}", duels.len(), closest.text()))
        }
        Some(_) => {
            let share = format!("not in {} of {} cells", lost.len(), duels.len());
            (Verdict::Missed, format!("{share}: {}", lost.join("; ")))
        }
    }
}

fn next_geomean(results: &Results, zone: Zone, max: f64) -> Target {
    let cells = results.ours().cells(Question::Next, zone);
    let mean = geomean(cells.map(|(_, cell)| cell.instructions()));
    Target {
        what: format!("next, {}: geomean at most {max:.0} instructions", zone.name()),
        seen: mean.map_or("-".into(), |mean| format!("{mean:.0}")),
        verdict: mean.map_or(Verdict::NotMeasured, |mean| Verdict::of(mean <= max)),
        exact: true,
    }
}

fn since_1970(results: &Results) -> Target {
    let questions =
        Zone::ALL.iter().flat_map(|zone| SINCE_1970.map(|(question, _)| (question, *zone)));
    let slowest: Option<f64> = questions
        .map(|(question, zone)| results.ours().cells(question, zone).next()?.1.nanoseconds())
        .try_fold(0.0, |slowest: f64, nanoseconds| Some(slowest.max(nanoseconds?)));
    Target {
        what: format!("last run 1970, every minute: at most {NANOSECONDS_MAX:.0} ns"),
        seen: slowest.map_or("-".into(), |slowest| format!("slowest {slowest:.0} ns")),
        verdict: slowest.map_or(Verdict::NotMeasured, |ns| Verdict::of(ns <= NANOSECONDS_MAX)),
        exact: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(verdict: Verdict, exact: bool) -> Target {
        Target { what: String::new(), seen: String::new(), verdict, exact }
    }

    fn check(duels: &[(f64, f64)], verdict: Verdict, seen: &str) {
        let duel = |&(ours, theirs): &(f64, f64)| Duel { what: "a peer".into(), ours, theirs };
        assert_eq!(judge(duels.iter().map(duel).collect()), (verdict, String::from(seen)));
    }

    #[test]
    fn fewer_means_fewer_in_every_cell() {
        let closest = "all 2 cells, closest: 5 against 6 of a peer";
        check(&[(1.0, 9.0), (5.0, 6.0)], Verdict::Met, closest);
        let lost = "not in 1 of 2 cells: 6 against 6 of a peer";
        check(&[(1.0, 9.0), (6.0, 6.0)], Verdict::Missed, lost);
        check(&[], Verdict::NotMeasured, "not every cell was counted");
    }

    #[test]
    fn only_exact_targets_fail_a_run() {
        assert!(any_missed(&[target(Verdict::Met, true), target(Verdict::Missed, true)], true));
        assert!(!any_missed(&[target(Verdict::Met, true), target(Verdict::Missed, false)], true));
    }

    #[test]
    fn what_was_not_measured_fails_a_run_with_valgrind_only() {
        assert!(any_missed(&[target(Verdict::NotMeasured, true)], true));
        assert!(!any_missed(&[target(Verdict::NotMeasured, true)], false));
    }

    #[test]
    fn a_geomean_needs_all_its_values() {
        assert_eq!(geomean([Some(2.0), Some(8.0)].into_iter()).map(f64::round), Some(4.0));
        assert_eq!(geomean([Some(2.0), None].into_iter()), None);
        assert_eq!(geomean([].into_iter()), None);
    }
}
