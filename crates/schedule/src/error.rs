//! What can be wrong with a schedule or a zone name, said for people.

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
    /// Day of the week, 0 to 6 or `sun` to `sat`; 7 is refused.
    DayOfWeek,
}

impl CronField {
    /// The fields in the order in which an expression writes them.
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

/// Why a text is not a schedule.
///
/// Its `Display` is the text that robfig/cron, and so Kubernetes, gives for the same input.
/// Where robfig/cron panics there is a text of our own.
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
    reason: String,
}

impl ParseError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        ParseError { field: None, reason: reason.into() }
    }

    pub(crate) fn in_field(self, field: CronField) -> Self {
        ParseError { field: Some(field), ..self }
    }

    /// The field at fault, where it is one field's.
    pub fn field(&self) -> Option<CronField> {
        self.field
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for ParseError {}

/// Why a name is not a time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ZoneError {
    /// The empty name: say nothing at all, or say `UTC`.
    Empty,
    /// `Local`, in any case: it means another zone on every machine.
    Local,
    /// Not a name of the database, in exactly this case.
    Unknown {
        /// The name as it was given.
        name: String,
        /// The name that was perhaps suggestion: the same one in the right case.
        suggestion: Option<String>,
    },
}

impl fmt::Display for ZoneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ZoneError::Empty => f.write_str("timeZone must be nil or non-empty string"),
            ZoneError::Local => f.write_str(
                "timeZone must be an explicit time zone as defined in \
                 https://www.iana.org/time-zones",
            ),
            ZoneError::Unknown { name, .. } => write!(f, "unknown time zone {name}"),
        }
    }
}

impl std::error::Error for ZoneError {}
