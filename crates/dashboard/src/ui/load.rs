//! The load map: when runs start, and when the fewest do.

use jiff::Timestamp;
use maud::{Markup, html};
use punctual_schedule::Zone;

use super::text::{friendly_time, grouped, plural};
use crate::charts::{heat_map, minute_chart};
use crate::model::LoadMap;

/// How many free minutes are listed.
const FREE_MAX: usize = 30;

/// Builds the page.
pub(crate) fn load_page(map: &LoadMap, zone: &Zone, now: Timestamp) -> Markup {
    let free = map.free_minutes();
    let hours = map.until.duration_since(map.from).as_hours();
    html! {
        div #load {
            h1 { "Load" }
            p.dim { "Expected starts from now on, in " (zone.name()) ": the schedules of the next " (if hours >= 168 { "week".to_owned() } else { plural(usize::try_from(hours).unwrap_or(1), "hour") }) " with their jitter, and how long the last runs took." }
            @if map.is_short { p.note { span.mark aria-hidden="true" { "i" } "There are too many runs in a week to predict each, so a shorter time is shown." } }
            div.facts.card {
                div { span.figure { (grouped(map.runs)) } span.dim { "runs expected" } }
                div { span.figure { (map.peak) } span.dim { "at the same time at most" @if let Some(at) = map.peak_at { ", first " (friendly_time(zone, at, now)) } } }
                div { span.figure { (free.len()) } span.dim { "minutes of the hour in which nothing starts" } }
            }
            @if map.without_duration > 0 { p.dim { "No run of " (plural(map.without_duration, "CronJob")) " has finished yet; theirs count as one second." } }
            section aria-labelledby="week" {
                h2 #week { "By hour of the week" }
                div.card { div.scroll { (heat_map(map)) } p.dim { "The number in a cell counts the starts of that hour." } }
            }
            section aria-labelledby="minutes" {
                h2 #minutes { "By minute of the hour" }
                div.card {
                    div.scroll { (minute_chart(&map.minutes)) }
                    @if free.is_empty() { p.dim { "Every minute of the hour has a start." } }
                    @else {
                        p { "Free minutes: "
                            @for minute in free.iter().take(FREE_MAX) { code { (format!(":{minute:02}")) } " " }
                            @if free.len() > FREE_MAX { "…" }
                        }
                    }
                }
            }
        }
    }
}
