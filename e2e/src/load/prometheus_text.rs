//! Parses the Prometheus text format of a metrics page.

use super::connection::Connection;

/// The samples of one response of `/metrics`.
#[derive(Clone, Debug, Default)]
pub struct PrometheusText(Vec<MetricSample>);

#[derive(Clone, Debug, PartialEq)]
struct MetricSample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

/// Upper bounds and cumulative counts of a histogram's buckets, in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram(Vec<(f64, f64)>);

impl PrometheusText {
    /// Reads `/metrics` of a server.
    pub async fn read(connection: &mut Connection) -> anyhow::Result<Self> {
        let body = connection.get("/metrics").await?;
        Ok(PrometheusText::parse(&String::from_utf8_lossy(&body)))
    }

    /// Parses a text. Lines that are not samples are ignored.
    pub fn parse(text: &str) -> Self {
        PrometheusText(text.lines().filter_map(parse_sample).collect())
    }

    /// The sum of all samples with a name and labels; `None` without such a sample.
    pub fn total(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let found: Vec<f64> = self.named(name, labels).map(|sample| sample.value).collect();
        (!found.is_empty()).then(|| found.iter().sum())
    }

    /// The histogram of a name, summed over all labels.
    pub fn histogram(&self, name: &str) -> Option<Histogram> {
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for sample in self.named(&format!("{name}_bucket"), &[]) {
            let bound: f64 = sample.label("le")?.parse().ok()?;
            match buckets.iter_mut().find(|(known, _)| *known == bound) {
                Some((_, count)) => *count += sample.value,
                None => buckets.push((bound, sample.value)),
            }
        }
        buckets.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        (!buckets.is_empty()).then_some(Histogram(buckets))
    }

    fn named<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = &'a MetricSample> {
        let has = |sample: &MetricSample| {
            labels.iter().all(|(key, value)| sample.label(key) == Some(value))
        };
        self.0.iter().filter(move |sample| sample.name == name && has(sample))
    }
}

impl MetricSample {
    fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| known == key).map(|(_, value)| &**value)
    }
}

impl Histogram {
    /// The number of values.
    pub fn count(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, count)| *count)
    }

    /// The upper bound of the bucket that contains a percentile.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let wanted = self.count() * percent / 100.0;
        let bucket = self.0.iter().find(|(_, count)| *count >= wanted && *count > 0.0);
        bucket.map(|(bound, _)| *bound)
    }
}

/// Parses `name{label="value",...} 12.5` with an optional timestamp.
fn parse_sample(line: &str) -> Option<MetricSample> {
    if line.starts_with('#') {
        return None;
    }
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => parse_labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(MetricSample { name: name.to_owned(), labels, value })
}

/// The labels up to the closing brace, and the remaining text.
fn parse_labels(mut rest: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = parse_quoted(after)?;
        labels.push((key.to_owned(), value));
        rest = after;
    }
}

/// The value up to the closing quote, and the remaining text.
fn parse_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests;
