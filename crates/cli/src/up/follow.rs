//! Watching along: changes into the model, the model onto the terminal or into lines.

use std::time::Duration;

use kube::Client;
use punctual_schedule::Zone;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::model::{Change, Model};
use super::printer::Printer;
use super::view::{self, Look};
use super::{lines, terminal, watch};
use crate::clock;

/// Changes that may wait to be looked at.
const WAITING_MAX: usize = 1024;
/// Countdowns count in seconds.
const REDRAW_EVERY: Duration = Duration::from_secs(1);
/// Changes are shown no sooner after one another.
const REDRAW_REST: Duration = Duration::from_millis(200);

/// How what happens is shown.
pub(super) enum Style {
    /// A line for everything.
    Lines,
    /// A view that is drawn over.
    View { has_color: bool, url: String, zone: Zone },
}

/// Shows what happens until told to stop.
pub(super) async fn follow(client: Client, style: Style, to: Printer, stop: CancellationToken) {
    let (sender, changes) = channel(WAITING_MAX);
    let showing = async {
        match style {
            Style::Lines => print(changes, &to).await,
            Style::View { has_color, url, zone } => {
                draw(changes, &Look { has_color, url, zone }, &to).await;
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        ((), ()) = async { tokio::join!(watch::everything(client, sender), showing) } => {}
    }
    to.freeze();
}

async fn print(mut changes: Receiver<Change>, to: &Printer) {
    let mut model = Model::default();
    while let Some(change) = changes.recv().await {
        for news in model.take(change) {
            to.text(lines::line(&news, clock::now()));
        }
    }
}

/// Draws once a second, and soon after a change.
async fn draw(mut changes: Receiver<Change>, look: &Look, to: &Printer) {
    let (mut model, mut is_new) = (Model::default(), false);
    let mut drawn_at = Instant::now();
    let mut ticks = interval_at(drawn_at + REDRAW_EVERY, REDRAW_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            change = changes.recv() => {
                let Some(change) = change else { return };
                model.take(change);
                is_new = true;
                continue;
            }
            _ = ticks.tick() => {}
            () = tokio::time::sleep_until(drawn_at + REDRAW_REST), if is_new => {}
        }
        // Half of a list would look as if the other half were gone.
        if model.is_complete() {
            to.frame(view::render(&model, look, clock::now(), terminal::size()));
        }
        (drawn_at, is_new) = (Instant::now(), false);
    }
}
