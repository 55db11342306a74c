//! Shows runs as they happen: as a live view in a terminal, or as plain lines.

use punctual_client::SharedWatches;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::live::{LiveOptions, LiveView, SharedModel};
use super::view_model::{ViewModel, WatchUpdate};
use super::{event_lines, watch};
use crate::printer::Printer;
use crate::{clock, terminal};

/// How runs are shown.
pub(super) enum DisplayMode {
    /// One line per event.
    Lines,
    /// A view that fills the screen.
    View(Box<LiveOptions>),
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
            DisplayMode::Lines => print_lines(updates, ViewModel::default(), &printer).await,
            DisplayMode::View(options) => show_view(updates, *options, &printer, &stop).await,
        }
    };
    let watching = async {
        tokio::select! {
            () = stop.cancelled() => {}
            () = watch::watch_all(watches, sender) => {}
        }
    };
    tokio::join!(watching, showing);
}

/// Prints a line for each event until the channel is closed.
async fn print_lines(
    mut updates: UnboundedReceiver<WatchUpdate>,
    mut model: ViewModel,
    printer: &Printer,
) {
    while let Some(update) = updates.recv().await {
        for event in model.apply(update) {
            printer.print(event_lines::format_line(&event, clock::now()));
        }
    }
}

/// Shows the view until `stop` is cancelled. If it fails, lines are printed instead.
async fn show_view(
    mut updates: UnboundedReceiver<WatchUpdate>,
    options: LiveOptions,
    printer: &Printer,
    stop: &CancellationToken,
) {
    // What was printed before must not be written into the view.
    printer.flush().await;
    let console = options.console.clone();
    let model = SharedModel::default();
    let mut view = match LiveView::start(options, model.clone()) {
        Ok(view) => view,
        Err(error) => {
            terminal::restore();
            for line in console.give_back() {
                printer.print(format!("{line}\n"));
            }
            tracing::warn!("no live view: {error:#}; printing lines instead");
            return print_lines(updates, ViewModel::default(), printer).await;
        }
    };
    let is_failed = loop {
        tokio::select! {
            () = stop.cancelled() => break false,
            () = view.wait_for_failure() => break true,
            update = updates.recv() => {
                let Some(update) = update else { break false };
                model.update(|model| model.apply(update));
            }
        }
    };
    printer.flush().await;
    for line in view.leave().await {
        printer.print(format!("{line}\n"));
    }
    if is_failed {
        tracing::error!("the live view failed; printing lines instead");
        let model = model.update(std::mem::take);
        print_lines(updates, model, printer).await;
    }
}
