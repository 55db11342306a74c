//! Tests of the dashboard in a browser: see `tests/browser`.
