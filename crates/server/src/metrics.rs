//! Metrics of the server in the Prometheus text format.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the buckets for request durations, in seconds.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];

/// The counters. Labels come from routes, op names and statuses, never from a caller's input, so there are few.
#[derive(Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<(String, u16), u64>>,
    times: Mutex<BTreeMap<String, Histogram>>,
}

#[derive(Clone, Default)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    sum: f64,
    count: u64,
}

/// A metric that is read on request.
pub struct Figure {
    /// Its name, without the prefix.
    pub name: &'static str,
    /// Its description.
    pub help: &'static str,
    /// `counter` or `gauge`.
    pub sort: &'static str,
    pub value: f64,
}

impl Metrics {
    /// Counts a request to a route, with its status and how long it took.
    pub fn request(&self, route: &str, status: u16, took: Duration) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((route.to_owned(), status)).or_default() += 1;
        drop(requests);
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = times.entry(route.to_owned()).or_default();
        let seconds = took.as_secs_f64();
        for (bucket, end) in histogram.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= end);
        }
        histogram.sum += seconds;
        histogram.count += 1;
    }

    /// All metrics as text, with the revision of the current configuration.
    pub fn text(&self, revision: &str, figures: &[Figure]) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "# HELP tenure_configuration_info The configuration in force, by its revision.");
        let _ = writeln!(out, "# TYPE tenure_configuration_info gauge");
        let _ = writeln!(out, "tenure_configuration_info{{revision={}}} 1", quoted(revision));
        for figure in figures {
            let Figure { name, help, sort, value } = figure;
            let _ = writeln!(out, "# HELP tenure_{name} {help}\n# TYPE tenure_{name} {sort}\ntenure_{name} {value}");
        }
        let _ = writeln!(out, "# HELP tenure_http_requests_total Requests by route and status.");
        let _ = writeln!(out, "# TYPE tenure_http_requests_total counter");
        for ((route, status), count) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let route = quoted(route);
            let _ = writeln!(out, "tenure_http_requests_total{{route={route},status=\"{status}\"}} {count}");
        }
        let _ = writeln!(out, "# HELP tenure_http_request_seconds How long requests took.");
        let _ = writeln!(out, "# TYPE tenure_http_request_seconds histogram");
        for (route, histogram) in &*self.times.lock().unwrap_or_else(PoisonError::into_inner) {
            let route = quoted(route);
            for (bucket, end) in histogram.buckets.iter().zip(BUCKETS) {
                let _ = writeln!(out, "tenure_http_request_seconds_bucket{{route={route},le=\"{end}\"}} {bucket}");
            }
            let Histogram { sum, count, .. } = histogram;
            let _ = writeln!(out, "tenure_http_request_seconds_bucket{{route={route},le=\"+Inf\"}} {count}");
            let _ = writeln!(out, "tenure_http_request_seconds_sum{{route={route}}} {sum}");
            let _ = writeln!(out, "tenure_http_request_seconds_count{{route={route}}} {count}");
        }
        out
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_and_status() {
        let metrics = Metrics::default();
        metrics.request("/a", 200, Duration::from_millis(3));
        metrics.request("/a", 200, Duration::from_millis(30));
        metrics.request("/a", 503, Duration::from_secs(9));
        let figures = [Figure { name: "line", help: "Queued ops.", sort: "gauge", value: 2.0 }];
        let text = metrics.text("0f", &figures);
        assert!(text.contains("tenure_configuration_info{revision=\"0f\"} 1\n"), "{text}");
        assert!(text.contains("# TYPE tenure_line gauge\ntenure_line 2\n"), "{text}");
        assert!(text.contains("tenure_http_requests_total{route=\"/a\",status=\"200\"} 2\n"), "{text}");
        assert!(text.contains("tenure_http_request_seconds_bucket{route=\"/a\",le=\"0.005\"} 1\n"), "{text}");
        assert!(text.contains("tenure_http_request_seconds_bucket{route=\"/a\",le=\"+Inf\"} 3\n"), "{text}");
    }
}
