//! What pages show: rows selected by a URL, cells of slots, lanes of a timeline, load by hour. Time is an argument.

mod fleet_query;
mod lanes;
mod load;
mod overview;
mod slot_cells;

pub(crate) use self::fleet_query::{FleetQuery, PAGE_SIZE, SortColumn, StateFilter};
pub(crate) use self::lanes::{Bar, BarKind, Lane, LaneInput, TimelineRange, lane};
pub(crate) use self::load::{LoadMap, load_map};
pub(crate) use self::overview::{Attention, Overview, attention, overview};
pub(crate) use self::slot_cells::{CellKind, SlotCell, past_cells, record_kind, upcoming_cells};
