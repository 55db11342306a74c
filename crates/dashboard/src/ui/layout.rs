//! The frame of each page: navigation, search, status and theme.

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, html};
use punctual_schedule::Zone;

/// The theme of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    /// What the system prefers.
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    /// Returns the value in the cookie.
    pub(crate) fn value(self) -> &'static str {
        match self {
            Theme::System => "system",
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }

    pub(crate) fn parse(text: &str) -> Theme {
        let all = [Theme::System, Theme::Light, Theme::Dark];
        all.into_iter().find(|theme| theme.value() == text).unwrap_or_default()
    }
}

/// The page of the navigation that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NavItem {
    Fleet,
    Timeline,
    Load,
    Ledger,
    Plan,
    None,
}

/// How current the page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    /// The first lists are not complete.
    Loading,
    /// The cluster does not answer.
    Lost,
    /// Slots are due, and their controller does not start them.
    Behind(usize),
    /// All is well.
    OnTime,
}

/// A message about an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flash {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

/// What the frame of a page shows.
pub(crate) struct Chrome {
    pub(crate) title: String,
    pub(crate) nav: NavItem,
    pub(crate) user: String,
    pub(crate) cluster: String,
    pub(crate) theme: Theme,
    pub(crate) connection: ConnectionState,
    pub(crate) flash: Option<Flash>,
    pub(crate) zone: Zone,
    pub(crate) now: Timestamp,
    pub(crate) search: String,
    /// The query of the event stream of this page; empty if it has none.
    pub(crate) events: String,
    /// The page itself, to come back to it.
    pub(crate) url: String,
    /// Whether a session is open, so that there is something to sign out from.
    pub(crate) is_signed_in: bool,
}

/// Builds a whole page.
pub(crate) fn page(chrome: &Chrome, body: &Markup) -> String {
    let theme = match chrome.theme {
        Theme::System => None,
        theme => Some(theme.value()),
    };
    let is_loading = chrome.connection == ConnectionState::Loading;
    let markup = html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (chrome.title) " · Punctual" }
                link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/dashboard.css";
                script type="module" src="/assets/dashboard.js" {}
                @if is_loading { noscript { meta http-equiv="refresh" content="2"; } }
            }
            body data-events=[(!chrome.events.is_empty()).then_some(&chrome.events)] data-now=(chrome.now.as_millisecond()) {
                a.skip href="#main" { "Skip to content" }
                (patterns())
                (header(chrome))
                div #stale .banner.warn hidden role="status" {}
                main #main tabindex="-1" {
                    div #flash { (print_flash(chrome.flash.as_ref())) }
                    (body)
                }
                footer {
                    span { "Times are in the zone of each schedule, else in " (chrome.zone.name()) "." }
                    span { "Press " kbd { "?" } " for keys." }
                }
                dialog #dialog aria-labelledby="dialog-title" { div #dialog-body {} }
            }
        }
    };
    markup.into_string()
}

/// The patterns that charts refer to.
fn patterns() -> Markup {
    html! {
        svg.patterns width="0" height="0" aria-hidden="true" {
            defs {
                pattern id="hatch" width="4" height="4" patternTransform="rotate(45)" patternUnits="userSpaceOnUse" {
                    rect.hatch-line width="2" height="4" {}
                }
            }
        }
    }
}

/// Shows a message about an action.
pub(crate) fn print_flash(flash: Option<&Flash>) -> Markup {
    html! {
        @if let Some(flash) = flash {
            div class=(if flash.is_error { "banner bad" } else { "banner good" }) role=(if flash.is_error { "alert" } else { "status" }) {
                span.mark aria-hidden="true" { (if flash.is_error { "✕" } else { "✓" }) }
                span { (flash.text) }
            }
        }
    }
}

fn header(chrome: &Chrome) -> Markup {
    let items = [
        (NavItem::Fleet, "/", "Fleet"),
        (NavItem::Timeline, "/timeline", "Timeline"),
        (NavItem::Load, "/load", "Load"),
        (NavItem::Ledger, "/ledger", "Ledger"),
        (NavItem::Plan, "/plan", "Plan"),
    ];
    html! {
        header.top {
            a.brand href="/" { "Punctual" }
            @if chrome.is_signed_in {
                nav aria-label="Pages" {
                    @for (item, href, label) in items {
                        a href=(href) aria-current=[(item == chrome.nav).then_some("page")] { (label) }
                    }
                }
                form.search action="/" role="search" {
                    label.sr for="search" { "Search CronJobs" }
                    input #search type="search" name="q" value=(chrome.search) placeholder="Name, label=value, state" maxlength="200" autocomplete="off" spellcheck="false";
                    kbd aria-hidden="true" { "/" }
                }
                div #status .status { (connection_chip(chrome)) }
                (user_menu(chrome))
            }
        }
    }
}

fn connection_chip(chrome: &Chrome) -> Markup {
    let (class, mark, text, title) = match chrome.connection {
        ConnectionState::Loading => (
            "chip calm",
            "○",
            "Loading…".to_owned(),
            "The lists of CronJobs and Jobs are being read",
        ),
        ConnectionState::Lost => (
            "chip bad",
            "✕",
            "No answer".to_owned(),
            "The Kubernetes API does not answer; this page shows its last known state",
        ),
        ConnectionState::Behind(count) => (
            "chip warn",
            "!",
            format!("{count} overdue"),
            "Slots are due, and their controller has not started them",
        ),
        ConnectionState::OnTime => (
            "chip good",
            "✓",
            "On time".to_owned(),
            "The Kubernetes API answers, and no slot is overdue",
        ),
    };
    html! {
        span class=(class) title=(title) { span.mark aria-hidden="true" { (mark) } (text) }
    }
}

fn user_menu(chrome: &Chrome) -> Markup {
    let zone = &chrome.zone;
    html! {
        details.menu {
            summary {
                span.clock data-clock=(zone.name()) { (zone.at(chrome.now).strftime("%H:%M:%S").to_string()) }
                span.zone { (short_zone(zone.name())) }
                span.sr { "Session and theme" }
            }
            div.menu-body {
                p { "Signed in as " b { (chrome.user) } br; span.dim { (chrome.cluster) } }
                form action="/theme" method="post" {
                    input type="hidden" name="back" value=(chrome.url);
                    fieldset.segments {
                        legend { "Theme" }
                        @for theme in [Theme::System, Theme::Light, Theme::Dark] {
                            button type="submit" name="theme" value=(theme.value()) aria-pressed=(if theme == chrome.theme { "true" } else { "false" }) { (theme.value()) }
                        }
                    }
                }
                form action="/logout" method="post" { button.plain type="submit" { "Sign out" } }
            }
        }
    }
}

/// Returns the last part of a zone's name: `Berlin`.
fn short_zone(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).replace('_', " ")
}
