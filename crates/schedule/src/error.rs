//! Errors of parsing schedules and looking up time zones.

use std::fmt;

/// One of the five fields of a cron expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CronField {
    /// Minute of the hour, 0 to 59.
    Minute,
    /// Hour of the day, 0 to 23.
    Hour,
    /// Day of the month, 1 to 31.
    DayOfMonth,
    /// Month of the year, 1 to 12 or `jan` to `dec`.
    Month,
    /// Day of the week, 0 to 6 or `sun` to `sat`. 7 is an error.
    DayOfWeek,
}

impl CronField {
    /// The fields in the order of a cron expression.
    pub const ALL: [CronField; 5] = [
        CronField::Minute,
        CronField::Hour,
        CronField::DayOfMonth,
        CronField::Month,
        CronField::DayOfWeek,
    ];
}

impl fmt::Display for CronField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CronField::Minute => "minute",
            CronField::Hour => "hour",
            CronField::DayOfMonth => "day of month",
            CronField::Month => "month",
            CronField::DayOfWeek => "day of week",
        })
    }
}

/// The error of a text that is not a schedule.
///
/// Its message is the one that robfig/cron v3 gives for the same text. Texts that make robfig/cron
/// panic have a message of this crate.
///
/// ```
/// use punctual_schedule::{CronField, Schedule, Zones};
///
/// let error = Schedule::parse("0 24 * * *", &Zones::bundled().utc()).unwrap_err();
/// assert_eq!(error.to_string(), "end of range (24) above maximum (23): 24");
/// assert_eq!(error.field(), Some(CronField::Hour));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    field: Option<CronField>,
    message: String,
}

impl ParseError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        ParseError { field: None, message: message.into() }
    }

    pub(crate) fn in_field(self, field: CronField) -> Self {
        ParseError { field: Some(field), ..self }
    }

    /// Returns the invalid field, if the error is in a single field.
    pub fn field(&self) -> Option<CronField> {
        self.field
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

/// The error of a value that is not a time zone of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ZoneError {
    /// The name is empty.
    Empty,
    /// The name is `Local`, in any case. It means a different zone on every machine.
    Local,
    /// The database has no zone of exactly this name.
    Unknown {
        /// The name that was looked up.
        name: String,
        /// A name of the database that differs only in case.
        suggestion: Option<String>,
    },
    /// A [`jiff::tz::TimeZone`] has no IANA name, so no text can refer to it.
    Unnamed,
}

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ZoneError::Empty => f.write_str("the time zone name is empty; use UTC or an IANA name"),
            ZoneError::Local => f.write_str(
                "Local is not an explicit time zone; use an IANA name such as Europe/Berlin",
            ),
            ZoneError::Unknown { name, .. } => write!(f, "unknown time zone {name}"),
            ZoneError::Unnamed => f.write_str("the time zone has no IANA name"),
        }
    }
}

impl std::error::Error for ZoneError {}
