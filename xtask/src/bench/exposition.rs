//! What a server tells Prometheus.

use super::connection::Connection;

/// The samples of one look at `/metrics`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exposition(Vec<Sample>);

#[derive(Clone, Debug, PartialEq)]
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

/// How many values were at most so large, for some sizes in rising order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Histogram(Vec<(f64, f64)>);

impl Exposition {
    pub(crate) async fn read(connection: &mut Connection) -> anyhow::Result<Self> {
        let body = connection.get("/metrics").await?;
        Ok(Exposition::parse(&String::from_utf8_lossy(&body)))
    }

    /// Lines that are no samples are passed over.
    pub(crate) fn parse(text: &str) -> Self {
        Exposition(text.lines().filter_map(sample).collect())
    }

    /// The sum of all samples of a name that have these labels; none if there are none.
    pub(crate) fn total(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let found: Vec<f64> = self.named(name, labels).map(|sample| sample.value).collect();
        (!found.is_empty()).then(|| found.iter().sum())
    }

    /// The histogram of a name, over all its labels.
    pub(crate) fn histogram(&self, name: &str) -> Option<Histogram> {
        let mut sizes: Vec<(f64, f64)> = Vec::new();
        for sample in self.named(&format!("{name}_bucket"), &[]) {
            let size: f64 = sample.label("le")?.parse().ok()?;
            match sizes.iter_mut().find(|(known, _)| *known == size) {
                Some((_, count)) => *count += sample.value,
                None => sizes.push((size, sample.value)),
            }
        }
        sizes.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        (!sizes.is_empty()).then_some(Histogram(sizes))
    }

    fn named<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = &'a Sample> {
        let has =
            |sample: &Sample| labels.iter().all(|(key, value)| sample.label(key) == Some(value));
        self.0.iter().filter(move |sample| sample.name == name && has(sample))
    }
}

impl Sample {
    fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| known == key).map(|(_, value)| &**value)
    }
}

impl Histogram {
    pub(crate) fn count(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, count)| *count)
    }

    /// The size that this many percent do not exceed: that of a bucket, so no less than the truth.
    pub(crate) fn percentile(&self, percent: f64) -> Option<f64> {
        let wanted = self.count() * percent / 100.0;
        let bucket = self.0.iter().find(|(_, count)| *count >= wanted && *count > 0.0);
        bucket.map(|(size, _)| *size)
    }
}

/// `name{label="value",...} 12.5`, maybe with an instant behind it.
fn sample(line: &str) -> Option<Sample> {
    if line.starts_with('#') {
        return None;
    }
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample { name: name.to_owned(), labels, value })
}

/// The labels up to the closing brace, and what is behind it.
fn labels(mut rest: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (key, behind) = rest.split_once("=\"")?;
        let (value, behind) = quoted(behind)?;
        labels.push((key.to_owned(), value));
        rest = behind;
    }
}

/// A text up to its closing quote, and what is behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => match letters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# TYPE skew histogram
skew_bucket{le="0.001"} 1
skew_bucket{le="0.01"} 98
skew_bucket{le="+Inf"} 100
depth{name="cronjob"} 3
depth{name="job",note="a \"b\" \\ {},"} 4
revision 12 1700000000
# EOF
"#;

    #[test]
    fn samples_are_summed_by_their_labels() {
        let seen = Exposition::parse(TEXT);
        assert_eq!(seen.total("depth", &[]), Some(7.0));
        assert_eq!(seen.total("depth", &[("name", "cronjob")]), Some(3.0));
        assert_eq!(seen.total("depth", &[("note", "a \"b\" \\ {},")]), Some(4.0));
        assert_eq!(seen.total("revision", &[]), Some(12.0));
        assert_eq!(seen.total("depth", &[("name", "none")]), None);
    }

    #[test]
    fn a_percentile_is_the_bound_of_its_bucket() {
        let histogram = Exposition::parse(TEXT).histogram("skew").unwrap();
        assert_eq!(histogram.count(), 100.0);
        assert_eq!(histogram.percentile(50.0), Some(0.01));
        assert_eq!(histogram.percentile(99.0), Some(f64::INFINITY));
        assert_eq!(histogram.percentile(1.0), Some(0.001));
        assert_eq!(Exposition::parse(TEXT).histogram("other"), None);
        let empty = Exposition::parse("skew_bucket{le=\"+Inf\"} 0\n").histogram("skew").unwrap();
        assert_eq!(empty.percentile(50.0), None);
    }

    #[test]
    fn what_is_no_sample_is_passed_over() {
        for line in ["", "a", "a{b=\"c", "a{b} 1", "a{b=\"c\"}", "a x", "a{b=\"\\"] {
            assert_eq!(sample(line), None, "{line}");
        }
    }
}
