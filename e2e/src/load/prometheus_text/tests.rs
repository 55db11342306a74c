//! Tests of the parser of the Prometheus text format.

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
    let text = PrometheusText::parse(TEXT);
    assert_eq!(text.total("depth", &[]), Some(7.0));
    assert_eq!(text.total("depth", &[("name", "cronjob")]), Some(3.0));
    assert_eq!(text.total("depth", &[("note", "a \"b\" \\ {},")]), Some(4.0));
    assert_eq!(text.total("revision", &[]), Some(12.0));
    assert_eq!(text.total("depth", &[("name", "none")]), None);
}

#[test]
fn a_percentile_is_the_upper_bound_of_its_bucket() {
    let histogram = PrometheusText::parse(TEXT).histogram("skew").unwrap();
    assert_eq!(histogram.count(), 100.0);
    assert_eq!(histogram.percentile(50.0), Some(0.01));
    assert_eq!(histogram.percentile(99.0), Some(f64::INFINITY));
    assert_eq!(histogram.percentile(1.0), Some(0.001));
    assert_eq!(PrometheusText::parse(TEXT).histogram("other"), None);
    let empty = PrometheusText::parse("skew_bucket{le=\"+Inf\"} 0\n").histogram("skew").unwrap();
    assert_eq!(empty.percentile(50.0), None);
}

#[test]
fn lines_that_are_not_samples_are_ignored() {
    for line in ["", "a", "a{b=\"c", "a{b} 1", "a{b=\"c\"}", "a x", "a{b=\"\\"] {
        assert_eq!(parse_sample(line), None, "{line}");
    }
}
