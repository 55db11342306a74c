//! The query parameters of a request: decoding, and access by name and type.

/// A parameter that is not an integer. The text is that of Go's parser.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("strconv.ParseInt: parsing {0:?}: invalid syntax")]
pub(crate) struct InvalidNumber(String);

/// Query parameters in the order of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueryParams {
    pairs: Vec<(String, String)>,
}

impl QueryParams {
    /// Parses an encoded query. Parameters that are not valid UTF-8 are ignored.
    pub(crate) fn parse(query: &str) -> QueryParams {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Some((decode(name, true)?, decode(value, true)?))
        };
        QueryParams {
            pairs: query.split('&').filter(|part| !part.is_empty()).filter_map(pair).collect(),
        }
    }

    /// Returns the first value of a parameter, or an empty text.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.values(name).next().unwrap_or_default()
    }

    /// Returns all values of a parameter.
    pub(crate) fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether a boolean parameter is present and not `false` or `0`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.optional_flag(name).unwrap_or(false)
    }

    /// Returns a boolean parameter, or `None` if it is absent.
    pub(crate) fn optional_flag(&self, name: &str) -> Option<bool> {
        let value = self.values(name).next()?;
        Some(!(value.eq_ignore_ascii_case("false") || value == "0"))
    }

    /// Returns an integer parameter, or `None` if it is absent or empty.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, InvalidNumber> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| InvalidNumber(text.to_owned()))
    }
}

/// Decodes percent encoding. Returns `None` if the result is not valid UTF-8.
pub(super) fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_present_flags_are_true() {
        let query = QueryParams::parse(
            "a=x%3Dy+z&b&c=false&d=0&e=1&dryRun=All&dryRun=&n=12&bad=%zz&half=%4",
        );
        assert_eq!(query.text("a"), "x=y z");
        let flags = ["b", "c", "d", "e", "f"].map(|name| query.flag(name));
        assert_eq!(flags, [true, false, false, true, false]);
        assert_eq!(query.values("dryRun").collect::<Vec<_>>(), ["All", ""]);
        assert_eq!(query.number("n"), Ok(Some(12)));
        assert!(query.number("a").is_err());
        assert_eq!((query.text("bad"), query.text("half")), ("", ""));
    }
}
