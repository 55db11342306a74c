//! Watching along: changes into the model, the model onto the terminal or into lines.

use std::time::Duration;

use kube::Client;
use punctual_schedule::Zone;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::printer::Printer;
use super::view::{self, ViewOptions};
use super::view_model::{ViewModel, WatchUpdate};
use super::{event_lines, terminal, watch};
use crate::clock;

/// Changes that may wait to be looked at.
const QUEUED_MAX: usize = 1024;
/// Countdowns count in seconds.
const REDRAW_EVERY: Duration = Duration::from_secs(1);
/// Changes are shown no sooner after one another.
const REDRAW_DELAY_MIN: Duration = Duration::from_millis(200);

/// How what happens is shown.
pub(super) enum DisplayMode {
    /// A line for everything.
    Lines,
    /// A view that is drawn over.
    View { has_color: bool, url: String, zone: Zone },
}

/// Shows what happens until told to stop.
pub(super) async fn run(client: Client, mode: DisplayMode, to: Printer, stop: CancellationToken) {
    let (sender, changes) = channel(QUEUED_MAX);
    let showing = async {
        match mode {
            DisplayMode::Lines => print(changes, &to).await,
            DisplayMode::View { has_color, url, zone } => {
                draw(changes, &ViewOptions { has_color, url, zone }, &to).await;
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        ((), ()) = async { tokio::join!(watch::everything(client, sender), showing) } => {}
    }
    to.freeze();
}

async fn print(mut changes: Receiver<WatchUpdate>, to: &Printer) {
    let mut model = ViewModel::default();
    while let Some(change) = changes.recv().await {
        for event in model.apply(change) {
            to.text(event_lines::format_line(&event, clock::now()));
        }
    }
}

/// Draws once a second, and soon after a change.
async fn draw(mut changes: Receiver<WatchUpdate>, options: &ViewOptions, to: &Printer) {
    let (mut model, mut is_new) = (ViewModel::default(), false);
    let mut drawn_at = Instant::now();
    let mut ticks = interval_at(drawn_at + REDRAW_EVERY, REDRAW_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            change = changes.recv() => {
                let Some(change) = change else { return };
                model.apply(change);
                is_new = true;
                continue;
            }
            _ = ticks.tick() => {}
            () = tokio::time::sleep_until(drawn_at + REDRAW_DELAY_MIN), if is_new => {}
        }
        // Half of a list would options as if the other half were gone.
        if model.is_complete() {
            to.frame(view::render(&model, options, clock::now(), terminal::size()));
        }
        (drawn_at, is_new) = (Instant::now(), false);
    }
}
