//! The text of an error with its causes.

use std::error::Error;

/// Returns the text of an error and of its causes, joined by colons. The text of many errors names
/// their cause already; it is not repeated.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Outer {
        text: &'static str,
        source: io::Error,
    }

    #[test]
    fn the_text_has_every_cause_once() {
        let source = || io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused");
        let silent = Outer { text: "client error (Connect)", source: source() };
        assert_eq!(error_chain(&silent), "client error (Connect): connection refused");
        let complete = Outer { text: "failed: connection refused", source: source() };
        assert_eq!(error_chain(&complete), "failed: connection refused");
    }
}
