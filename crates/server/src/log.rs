//! The server's log: one JSON object a line, for the operator.

use std::sync::Arc;

use serde_json::{Map, Value};

/// The destination of log lines. It must not fail and must not block for long.
pub type LogSink = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Clone)]
pub struct ServerLog {
    sink: LogSink,
    /// The current time as text: the library reads no clock.
    clock: Arc<dyn Fn() -> String + Send + Sync>,
    /// Whether `info` lines are left out.
    errors_only: bool,
}

impl ServerLog {
    /// A log that writes to `sink`, with times from `clock`.
    pub fn new(sink: LogSink, clock: Arc<dyn Fn() -> String + Send + Sync>) -> ServerLog {
        ServerLog { sink, clock, errors_only: false }
    }

    /// The same log without `info` lines.
    pub fn errors_only(self) -> ServerLog {
        ServerLog { errors_only: true, ..self }
    }

    /// Writes a line. Texts are quoted as JSON, so nothing a caller sent can start a line of its own.
    pub fn line(&self, level: &str, fields: &[(&str, &str)]) {
        if self.errors_only && level == "info" {
            return;
        }
        let mut line = Map::new();
        line.insert("at".into(), Value::String((self.clock)()));
        line.insert("level".into(), Value::String(level.to_owned()));
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            line.insert((*name).to_owned(), Value::String((*value).to_owned()));
        }
        (self.sink)(&Value::Object(line).to_string());
    }
}
