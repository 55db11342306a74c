//! Formats a forecast: a summary, and a line for each hour with a bar.

use punctual_schedule::Zone;
use punctual_views::{Forecast, ForecastHour, local_time};

use crate::cron_jobs::columns::{self, TerminalColumn};

/// The longest bar.
const BAR_WIDTH: u64 = 30;
/// How many names are listed.
const NAMES_MAX: usize = 5;

pub(super) fn text(forecast: &Forecast, zone: &Zone) -> String {
    let mut text = format!(
        "{} CronJobs start {} runs until {}.\n",
        forecast.cron_jobs,
        forecast.starts,
        local_time(zone, forecast.until)
    );
    if let Some(at) = forecast.peak_at {
        let at = local_time(zone, at);
        text += &format!(
            "At most {} runs are active at the same time, first at {at}.\n",
            forecast.peak
        );
    }
    text += &without_duration(forecast);
    if forecast.hours.is_empty() {
        return text;
    }
    let busiest = forecast.hours.iter().map(|hour| hour.peak).max().unwrap_or(1).max(1);
    let hour = format!("HOUR ({})", zone.name());
    let columns = [hour.as_str(), "STARTS", "PEAK", "AVERAGE", "ACTIVE"].map(TerminalColumn::fixed);
    let rows: Vec<Vec<String>> =
        forecast.hours.iter().map(|hour| cells(hour, zone, busiest)).collect();
    text + "\n" + &columns::table(&columns, &rows, None)
}

fn cells(hour: &ForecastHour, zone: &Zone, busiest: u64) -> Vec<String> {
    let bar = (hour.peak * BAR_WIDTH).div_ceil(busiest);
    vec![
        zone.at(hour.hour).strftime("%a %Y-%m-%d %H:%M").to_string(),
        hour.starts.to_string(),
        hour.peak.to_string(),
        format!("{:.1}", hour.average),
        "#".repeat(usize::try_from(bar).unwrap_or_default()),
    ]
}

fn without_duration(forecast: &Forecast) -> String {
    let unknown = &forecast.without_duration;
    if unknown.is_empty() {
        return String::new();
    }
    let shown: Vec<&str> = unknown.iter().take(NAMES_MAX).map(String::as_str).collect();
    let more = match unknown.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "No finished run is known of {}{more}; their runs count as one second.\n",
        shown.join(", ")
    )
}
