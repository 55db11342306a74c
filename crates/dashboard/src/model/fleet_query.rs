//! Which CronJobs the fleet list shows, as its URL says.

use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp};
use punctual_views::{FleetOrder, FleetRow, FleetState};

use crate::data::Entry;

/// How many CronJobs a page lists.
pub(crate) const PAGE_SIZE: usize = 50;
/// The longest search text.
const SEARCH_LEN_MAX: usize = 200;
/// The most words of a search.
const WORDS_MAX: usize = 10;

/// Which CronJobs to show, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FleetQuery {
    pub(crate) search: String,
    pub(crate) namespace: String,
    pub(crate) state: StateFilter,
    pub(crate) sort: SortColumn,
    pub(crate) is_descending: bool,
    /// From 1.
    pub(crate) page: usize,
}

/// The states to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StateFilter {
    #[default]
    All,
    Attention,
    Running,
    Suspended,
    /// The next run starts within an hour.
    DueSoon,
}

impl StateFilter {
    pub(crate) const ALL: [StateFilter; 5] = [
        StateFilter::All,
        StateFilter::Attention,
        StateFilter::Running,
        StateFilter::Suspended,
        StateFilter::DueSoon,
    ];

    /// Returns the value in the URL.
    pub(crate) fn value(self) -> &'static str {
        match self {
            StateFilter::All => "",
            StateFilter::Attention => "attention",
            StateFilter::Running => "running",
            StateFilter::Suspended => "suspended",
            StateFilter::DueSoon => "due",
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            StateFilter::All => "All",
            StateFilter::Attention => "Needs attention",
            StateFilter::Running => "Running",
            StateFilter::Suspended => "Suspended",
            StateFilter::DueSoon => "Due within 1 h",
        }
    }

    fn matches(self, row: &FleetRow, now: Timestamp) -> bool {
        match self {
            StateFilter::All => true,
            StateFilter::Attention => row.state.needs_attention(),
            StateFilter::Running => row.active > 0,
            StateFilter::Suspended => row.suspension.is_some(),
            StateFilter::DueSoon => row
                .next
                .is_some_and(|next| next.duration_since(now) <= SignedDuration::from_hours(1)),
        }
    }
}

/// The column by which rows are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SortColumn {
    #[default]
    Name,
    Next,
    Last,
    State,
}

impl SortColumn {
    pub(crate) const ALL: [SortColumn; 4] =
        [SortColumn::Name, SortColumn::Next, SortColumn::Last, SortColumn::State];

    /// Returns the value in the URL.
    pub(crate) fn value(self) -> &'static str {
        match self {
            SortColumn::Name => "",
            SortColumn::Next => "next",
            SortColumn::Last => "last",
            SortColumn::State => "state",
        }
    }

    fn compare(self, a: &FleetRow, b: &FleetRow) -> Ordering {
        match self {
            SortColumn::Name => FleetOrder::Name.compare(a, b),
            SortColumn::Next => FleetOrder::Next.compare(a, b),
            SortColumn::Last => FleetOrder::Last.compare(a, b),
            SortColumn::State => {
                let rank = |row: &FleetRow| state_rank(row.state);
                rank(a).cmp(&rank(b)).then_with(|| FleetOrder::Name.compare(a, b))
            }
        }
    }
}

/// Returns the place of a state in a list that begins with what needs attention.
fn state_rank(state: FleetState) -> u8 {
    match state {
        FleetState::Invalid => 0,
        FleetState::Stuck => 1,
        FleetState::Overdue => 2,
        FleetState::Failing => 3,
        FleetState::Running => 4,
        FleetState::Suspended => 5,
        FleetState::New => 6,
        FleetState::Ok => 7,
        FleetState::Complete => 8,
        FleetState::Deleting => 9,
    }
}

impl FleetQuery {
    /// Reads the parameters of a URL. What is not valid counts as absent.
    pub(crate) fn parse<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> FleetQuery {
        let mut query = FleetQuery { page: 1, ..FleetQuery::default() };
        for (key, value) in pairs {
            match key {
                "q" => {
                    query.search =
                        value.chars().take(SEARCH_LEN_MAX).collect::<String>().trim().to_owned()
                }
                "namespace" => query.namespace = value.chars().take(63).collect(),
                "state" => {
                    let found = StateFilter::ALL.into_iter().find(|state| state.value() == value);
                    query.state = found.unwrap_or_default();
                }
                "sort" => {
                    let found = SortColumn::ALL.into_iter().find(|column| column.value() == value);
                    query.sort = found.unwrap_or_default();
                }
                "order" => query.is_descending = value == "desc",
                "page" => query.page = value.parse().unwrap_or(1).max(1),
                _ => {}
            }
        }
        query
    }

    /// Returns the URL of the list. Defaults are left out.
    pub(crate) fn url(&self) -> String {
        let page = self.page.to_string();
        let pairs = [
            ("q", self.search.as_str()),
            ("namespace", self.namespace.as_str()),
            ("state", self.state.value()),
            ("sort", self.sort.value()),
            ("order", if self.is_descending { "desc" } else { "" }),
            ("page", if self.page > 1 { page.as_str() } else { "" }),
        ];
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (key, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            query.append_pair(key, value);
        }
        match query.finish() {
            query if query.is_empty() => "/".to_owned(),
            query => format!("/?{query}"),
        }
    }

    /// Returns the same list from its first page with another filter.
    pub(crate) fn with_state(&self, state: StateFilter) -> FleetQuery {
        FleetQuery { state, page: 1, ..self.clone() }
    }

    /// Returns the list sorted by a column; in the other direction if it is sorted so already.
    pub(crate) fn sorted_by(&self, sort: SortColumn) -> FleetQuery {
        let is_descending = self.sort == sort && !self.is_descending;
        FleetQuery { sort, is_descending, page: 1, ..self.clone() }
    }

    pub(crate) fn with_page(&self, page: usize) -> FleetQuery {
        FleetQuery { page, ..self.clone() }
    }

    /// Whether all CronJobs are shown.
    pub(crate) fn is_unfiltered(&self) -> bool {
        self.search.is_empty() && self.namespace.is_empty() && self.state == StateFilter::All
    }

    /// Whether a row is selected, apart from its state.
    pub(crate) fn matches_text(&self, entry: &Entry, row: &FleetRow) -> bool {
        if !self.namespace.is_empty() && row.namespace != self.namespace {
            return false;
        }
        self.search.split_whitespace().take(WORDS_MAX).all(|word| matches_word(word, entry, row))
    }

    /// Whether a row has a selected state.
    pub(crate) fn matches_state(&self, row: &FleetRow, now: Timestamp) -> bool {
        self.state.matches(row, now)
    }

    /// Compares two rows.
    pub(crate) fn compare(&self, a: &FleetRow, b: &FleetRow) -> Ordering {
        let order = self.sort.compare(a, b);
        if self.is_descending { order.reverse() } else { order }
    }
}

/// Whether a word is part of the namespace, the name, the schedule, the zone or the state, or is a label `key=value`.
fn matches_word(word: &str, entry: &Entry, row: &FleetRow) -> bool {
    if let Some((key, value)) = word.split_once('=') {
        return entry
            .snapshot
            .cron_job
            .metadata
            .labels
            .get(key)
            .is_some_and(|found| found == value);
    }
    let word = word.to_lowercase();
    let full = format!("{}/{}", row.namespace, row.name);
    let texts = [full.as_str(), &row.schedule, &row.time_zone, row.state.as_str(), row.kind];
    texts.iter().any(|text| text.to_lowercase().contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_as_it_is_written() {
        let query = FleetQuery {
            search: "back up & tier=db".into(),
            namespace: "shop".into(),
            state: StateFilter::Attention,
            sort: SortColumn::Next,
            is_descending: true,
            page: 3,
        };
        let url = query.url();
        let pairs: Vec<_> = form_urlencoded::parse(url.strip_prefix("/?").unwrap().as_bytes())
            .into_owned()
            .collect();
        let pairs = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        assert_eq!(FleetQuery::parse(pairs), query);
        assert_eq!(FleetQuery::parse(std::iter::empty()).url(), "/");
    }

    #[test]
    fn invalid_parameters_count_as_absent() {
        let pairs = [("page", "-1"), ("sort", "<script>"), ("state", "x"), ("order", "up")];
        assert_eq!(FleetQuery::parse(pairs.into_iter()).url(), "/");
    }
}
