//! The selected row of a list and the part of the list that is shown.

use super::keys::Key;

/// A position in a list of which only a part fits the screen.
///
/// The selection stays on its object when the list changes its order. But if a user has selected the first row, or nothing
/// yet, it stays on the first row, so that a user who only watches sees what comes first.
#[derive(Debug)]
pub(super) struct ListCursor<K> {
    selected: usize,
    key: Option<K>,
    /// Whether the selection stays on its object.
    follows_object: bool,
    top: usize,
    rows: usize,
}

impl<K> Default for ListCursor<K> {
    fn default() -> Self {
        ListCursor { selected: 0, key: None, follows_object: false, top: 0, rows: 1 }
    }
}

impl<K: Clone> ListCursor<K> {
    /// Adapts to a list of this length, of which so many rows are shown. `position` finds an object.
    pub(super) fn fit(
        &mut self,
        length: usize,
        rows: usize,
        position: impl FnOnce(&K) -> Option<usize>,
    ) {
        if self.follows_object
            && let Some(found) = self.key.as_ref().and_then(position)
        {
            self.selected = found;
        }
        self.rows = rows;
        self.selected = self.selected.min(length.saturating_sub(1));
        self.top = self.top.min(length.saturating_sub(rows)).min(self.selected);
        if rows > 0 {
            self.top = self.top.max((self.selected + 1).saturating_sub(rows));
        }
    }

    /// Remembers the object of the selected row.
    pub(super) fn set_key(&mut self, key: Option<K>) {
        self.key = key;
    }

    pub(super) fn key(&self) -> Option<&K> {
        self.key.as_ref()
    }

    pub(super) fn selected(&self) -> usize {
        self.selected
    }

    pub(super) fn top(&self) -> usize {
        self.top
    }

    pub(super) fn reset(&mut self) {
        self.selected = 0;
        self.top = 0;
        self.follows_object = false;
    }

    /// Moves the selection in a list of this length. Returns whether the key means a movement.
    pub(super) fn handle_key(&mut self, key: Key, length: usize) -> bool {
        let page = self.rows.max(2) - 1;
        let last = length.saturating_sub(1);
        self.selected = match key {
            Key::Up | Key::Char('k') => self.selected.saturating_sub(1),
            Key::Down | Key::Char('j') => self.selected + 1,
            Key::PageUp | Key::Control('b') => self.selected.saturating_sub(page),
            Key::PageDown | Key::Control('f') => self.selected + page,
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => last,
            _ => return false,
        }
        .min(last);
        // The object of the new row is remembered when it is drawn.
        self.key = None;
        self.follows_object = self.selected > 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selection_stays_on_its_object_and_the_first_row_on_top() {
        let mut cursor = ListCursor::default();
        cursor.fit(10, 3, |_: &char| None);
        cursor.set_key(Some('a'));
        cursor.fit(10, 3, |_| Some(5));
        assert_eq!(cursor.selected(), 0, "a user who only watches sees what comes first");
        cursor.handle_key(Key::Down, 10);
        cursor.fit(10, 3, |_| None);
        cursor.set_key(Some('b'));
        cursor.fit(10, 3, |_| Some(7));
        assert_eq!((cursor.selected(), cursor.top()), (7, 5));
        cursor.fit(10, 3, |_| Some(0));
        cursor.fit(10, 3, |_| Some(4));
        assert_eq!(cursor.selected(), 4, "an object that was on top for a while is still selected");
        cursor.fit(2, 3, |_| None);
        assert_eq!((cursor.selected(), cursor.top()), (1, 0));
        cursor.fit(0, 0, |_| None);
        assert_eq!((cursor.selected(), cursor.top()), (0, 0));
    }
}
