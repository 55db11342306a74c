//! Shows runs as they happen: as a live view in a terminal, or as plain lines.

use std::time::Duration;

use punctual_client::SharedWatches;
use punctual_schedule::Zone;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use super::view::{self, ViewOptions};
use super::view_model::{ViewModel, WatchUpdate};
use super::{event_lines, watch};
use crate::printer::Printer;
use crate::{clock, terminal};

/// The view is redrawn at least this often, because its countdowns show seconds.
const REDRAW_INTERVAL: Duration = Duration::from_secs(1);
/// The minimum time between a redraw and the next one after a change.
const REDRAW_DELAY_MIN: Duration = Duration::from_millis(200);

/// How runs are shown.
pub(super) enum DisplayMode {
    /// One line per event.
    Lines,
    /// A view that is redrawn in place.
    View { use_color: bool, url: String, zone: Zone },
}

/// Shows runs until `stop` is cancelled.
pub(super) async fn run(
    watches: SharedWatches,
    mode: DisplayMode,
    printer: Printer,
    stop: CancellationToken,
) {
    // The channel needs no bound: watches and display run in one task, so the watches cannot run ahead.
    let (sender, updates) = unbounded_channel();
    let showing = async {
        match mode {
            DisplayMode::Lines => print_lines(updates, &printer).await,
            DisplayMode::View { use_color, url, zone } => {
                draw_view(updates, &ViewOptions { use_color, url, zone }, &printer).await;
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        ((), ()) = async { tokio::join!(watch::watch_all(watches, sender), showing) } => {}
    }
    printer.freeze_frame();
}

async fn print_lines(mut updates: UnboundedReceiver<WatchUpdate>, printer: &Printer) {
    let mut model = ViewModel::default();
    while let Some(update) = updates.recv().await {
        for event in model.apply(update) {
            printer.print(event_lines::format_line(&event, clock::now()));
        }
    }
}

/// Redraws once per second, and soon after a change.
async fn draw_view(
    mut updates: UnboundedReceiver<WatchUpdate>,
    options: &ViewOptions,
    printer: &Printer,
) {
    let mut model = ViewModel::default();
    let mut has_changed = false;
    let mut drawn_at = Instant::now();
    let mut ticks = interval_at(drawn_at + REDRAW_INTERVAL, REDRAW_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            update = updates.recv() => {
                let Some(update) = update else { return };
                model.apply(update);
                has_changed = true;
                continue;
            }
            _ = ticks.tick() => {}
            () = tokio::time::sleep_until(drawn_at + REDRAW_DELAY_MIN), if has_changed => {}
        }
        // An incomplete list would look as if the missing objects had been deleted.
        if model.is_complete() {
            let frame = view::render(&model, options, clock::now(), terminal::size());
            printer.draw_frame(frame);
        }
        drawn_at = Instant::now();
        has_changed = false;
    }
}
