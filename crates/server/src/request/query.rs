//! The parameters behind the question mark.

/// Parameters in the order of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads an encoded query; what is not text is left out, as it names nothing.
    pub(crate) fn parse(query: &str) -> Query {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Some((decode(name, true)?, decode(value, true)?))
        };
        Query { pairs: query.split('&').filter(|part| !part.is_empty()).filter_map(pair).collect() }
    }

    /// The first value of a parameter; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A switch is on when it is there, unless it says otherwise.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.switch(name).unwrap_or(false)
    }

    /// A switch that may be absent.
    pub(crate) fn switch(&self, name: &str) -> Option<bool> {
        let value = self.all(name).next()?;
        Some(!(value.eq_ignore_ascii_case("false") || value == "0"))
    }

    /// A number; none if it is absent or empty.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, String> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(None);
        }
        let bad = || format!("strconv.ParseInt: parsing {text:?}: invalid syntax");
        text.parse().map(Some).map_err(|_| bad())
    }
}

/// Undoes percent encoding; none if the result is no text.
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
    fn parameters_are_decoded_and_switches_are_on_when_they_are_there() {
        let query =
            Query::parse("a=x%3Dy+z&b&c=false&d=0&e=1&dryRun=All&dryRun=&n=12&bad=%zz&half=%4");
        assert_eq!(query.text("a"), "x=y z");
        let on = |name| query.flag(name);
        assert_eq!(
            (on("b"), on("c"), on("d"), on("e"), on("f")),
            (true, false, false, true, false)
        );
        assert_eq!(query.all("dryRun").collect::<Vec<_>>(), ["All", ""]);
        assert_eq!(query.number("n"), Ok(Some(12)));
        assert!(query.number("a").is_err());
        assert_eq!((query.text("bad"), query.text("half")), ("", ""));
    }
}
