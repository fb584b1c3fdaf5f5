//! `model`: any server with an OpenAI-compatible `/v1/chat/completions`.
//!
//! The call runs on a thread of its own, so that a caller who cancels is free at once; the thread ends with its
//! connection, at the latest when the time is over. Redirects are not followed: they would take the key elsewhere.

use crate::error::{Error, Kind, cancelled};
use crate::message::{Answer, LOOK, Provider, Request, Stop, Usage};
use crate::retry::retry_after;
use crate::secret::Secret;
use serde_json::{Map, Value, json};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};

/// Where the model is and how it is called.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The base URL, with or without `/chat/completions` at its end: `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// The key, or an empty one.
    pub key: Secret,
    /// The time of a call from the connection to the last byte.
    pub timeout: Duration,
    /// Bytes of an answer at most.
    pub most_bytes: usize,
    /// The field that bounds the tokens of an answer: `max_tokens`, or `max_completion_tokens`.
    pub tokens_field: String,
}

impl Endpoint {
    /// An endpoint with a limit of three minutes and 4 MB for a call.
    pub fn new(url: &str, key: Secret) -> Endpoint {
        Endpoint {
            url: url.trim().to_string(),
            key,
            timeout: Duration::from_secs(180),
            most_bytes: 4 << 20,
            tokens_field: "max_tokens".into(),
        }
    }
}

/// A model behind an endpoint.
#[derive(Clone, Debug)]
pub struct Model {
    endpoint: Endpoint,
    url: String,
    agent: ureq::Agent,
}

impl Model {
    /// Checks the endpoint; nothing is sent.
    pub fn new(endpoint: Endpoint) -> Result<Model, Error> {
        let base = endpoint.url.trim_end_matches('/');
        let url =
            if base.ends_with("/chat/completions") { base.to_string() } else { format!("{base}/chat/completions") };
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(Error::new(
                Kind::Settings,
                format!("{base} is not the URL of an endpoint"),
                "write it in full: http://127.0.0.1:8080/v1",
            ));
        };
        let host = rest.split(['/', '?']).next().unwrap_or("");
        if host.contains('@') {
            return Err(Error::new(
                Kind::Settings,
                "the endpoint's URL has a user or a key in it",
                "name the environment variable that holds the key instead",
            ));
        }
        match scheme {
            "http" => {}
            "https" if cfg!(feature = "tls") => {}
            "https" => {
                return Err(Error::new(
                    Kind::Settings,
                    "this build of dmci has no TLS and cannot open https connections",
                    "build it with --features tls (a C compiler is needed), or with cargo dist",
                ));
            }
            other => {
                return Err(Error::new(
                    Kind::Settings,
                    format!("an endpoint is reached by http or https, not by {other}"),
                    "write http://127.0.0.1:8080/v1",
                ));
            }
        }
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let near = matches!(name, "localhost" | "127.0.0.1" | "[::1]") || name.starts_with("127.");
        let mut config = ureq::Agent::config_builder()
            .timeout_global(Some(endpoint.timeout))
            .timeout_connect(Some(endpoint.timeout.min(Duration::from_secs(15))))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("dmci/", env!("CARGO_PKG_VERSION")));
        if near {
            config = config.proxy(None);
        }
        Ok(Model { agent: config.build().new_agent(), url, endpoint })
    }

    /// The body of a request.
    fn body(&self, request: &Request) -> Value {
        let mut body = Map::new();
        body.insert("model".into(), json!(request.model));
        body.insert("messages".into(), json!(request.messages));
        body.insert(self.endpoint.tokens_field.clone(), json!(request.max_tokens));
        if let Some(t) = request.temperature {
            body.insert("temperature".into(), json!(t));
        }
        if let Some(effort) = &request.reasoning {
            body.insert("reasoning_effort".into(), json!(effort));
        }
        if request.sample > 0 {
            body.insert("seed".into(), json!(request.sample));
        }
        for (name, value) in &request.extra {
            if value.is_null() {
                body.remove(name);
            } else {
                body.insert(name.clone(), value.clone());
            }
        }
        Value::Object(body)
    }
}

impl Provider for Model {
    fn ask(&self, request: &Request, stop: Stop<'_>) -> Result<Answer, Error> {
        if stop() {
            return Err(cancelled());
        }
        let body = self.body(request).to_string();
        let model = self.clone();
        let over = Arc::new(AtomicBool::new(false));
        let ended = over.clone();
        let (give, take) = channel();
        let thread = std::thread::Builder::new().name("dmci-llm".into()).spawn(move || {
            let _ = give.send(model.call(&body, &ended));
        });
        if let Err(error) = thread {
            return Err(Error::new(Kind::Local, format!("no thread for a call: {error}"), "use fewer parallel calls"));
        }
        // The thread has timeouts of its own; this one holds even if a resolver or a socket ignores them.
        let end = std::time::Instant::now() + self.endpoint.timeout + Duration::from_secs(2);
        loop {
            match take.recv_timeout(LOOK) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::new(Kind::Local, "the thread of a call failed", "try again"));
                }
                Err(RecvTimeoutError::Timeout) if stop() => {
                    over.store(true, Ordering::Relaxed);
                    return Err(cancelled());
                }
                Err(RecvTimeoutError::Timeout) if std::time::Instant::now() >= end => {
                    over.store(true, Ordering::Relaxed);
                    return Err(self.late());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn describe(&self) -> String {
        format!("the endpoint {}", self.url)
    }

    fn is_paid(&self) -> bool {
        true
    }
}

impl Model {
    fn late(&self) -> Error {
        let seconds = self.endpoint.timeout.as_secs_f64();
        Error::new(
            Kind::Timeout,
            format!("{} did not answer within {seconds} s", self.url),
            "allow more time or fewer tokens",
        )
    }

    /// One exchange over HTTP.
    fn call(&self, body: &str, over: &AtomicBool) -> Result<Answer, Error> {
        let mut request = self.agent.post(&self.url).header("Content-Type", "application/json");
        if let Some(value) = self.endpoint.key.header() {
            request = request.header("Authorization", value);
        }
        let response = request.send(body).map_err(|error| self.failed(error))?;
        let header = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_string);
        let status = response.status().as_u16();
        let kind = header("content-type").unwrap_or_default();
        let encoding = header("content-encoding").unwrap_or_default();
        let after = header("retry-after").and_then(|text| retry_after(&text, SystemTime::now()));
        let location = header("location");
        let mut bytes = Vec::new();
        let mut reader = response.into_body().into_reader();
        let mut piece = [0; 16 << 10];
        loop {
            if over.load(Ordering::Relaxed) {
                return Err(cancelled());
            }
            match reader.read(&mut piece) {
                Ok(0) => break,
                Ok(n) => bytes.extend_from_slice(&piece[..n]),
                Err(error) if status == 200 => return Err(self.interrupted(error)),
                // The status says enough.
                Err(_) => break,
            }
            if bytes.len() > self.endpoint.most_bytes {
                return Err(Error::new(
                    Kind::TooLong,
                    format!("the answer of {} has more than {} bytes", self.url, self.endpoint.most_bytes),
                    "allow fewer tokens",
                ));
            }
        }
        if let (300..400, Some(place)) = (status, &location) {
            return Err(Error::new(
                Kind::Refused,
                format!("{} redirects to {}", self.url, self.shown(place)),
                "use that address as the endpoint if you trust it",
            ));
        }
        if !matches!(encoding.to_ascii_lowercase().as_str(), "" | "identity") {
            return Err(self.malformed(format!("is encoded with {}, which nobody asked for", self.shown(&encoding))));
        }
        let text = decode(&bytes, &kind);
        if status != 200 {
            return Err(self.refused(status, text.as_deref().unwrap_or(""), after));
        }
        let text = text.ok_or_else(|| self.malformed("is not text in UTF-8".into()))?;
        self.read(&text, &kind)
    }

    /// Reads the body of a response with status 200.
    fn read(&self, text: &str, kind: &str) -> Result<Answer, Error> {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            let kind = if kind.is_empty() { "of no type" } else { kind };
            return Err(self.malformed(format!("is {}, not JSON: {}", self.shown(kind), self.shown(text))));
        };
        if let Some(error) = value.get("error").filter(|e| !e.is_null()) {
            let code = error.get("code").and_then(|c| c.as_u64().or_else(|| c.as_str()?.parse().ok()));
            return Err(self.refused(code.map_or(400, |c| c.min(999) as u16), text, None));
        }
        let choice = &value["choices"][0];
        let message = &choice["message"];
        let content = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect(),
            _ => choice["text"].as_str().unwrap_or_default().to_string(),
        };
        let cut = choice["finish_reason"] == "length";
        if content.trim().is_empty() && !cut {
            let why = choice["finish_reason"].as_str().unwrap_or("none");
            return Err(self.malformed(format!("has no text (finish reason: {})", self.shown(why))));
        }
        let count = |name: &str| value["usage"][name].as_u64();
        let usage = match (count("prompt_tokens"), count("completion_tokens")) {
            (Some(input), Some(output)) => Some(Usage { input, output }),
            _ => None,
        };
        let model = value["model"].as_str().filter(|m| !m.is_empty()).map(|m| self.shown(m));
        Ok(Answer { text: self.endpoint.key.scrub(&content), model, usage, cut })
    }

    /// What a server wrote, without the key, on one line of some length.
    fn shown(&self, text: &str) -> String {
        let clean: String = text.chars().take(2000).map(|c| if c.is_control() { ' ' } else { c }).collect();
        let clean = self.endpoint.key.scrub(&clean);
        let words: Vec<&str> = clean.split_whitespace().collect();
        let line = words.join(" ");
        if line.chars().count() > 200 { line.chars().take(200).chain("...".chars()).collect() } else { line }
    }

    fn malformed(&self, what: String) -> Error {
        let message = format!("the answer of {} {what}", self.url);
        Error::new(Kind::Malformed, message, "check that the URL is that of an OpenAI-compatible endpoint")
    }

    /// The error of a status, or of an error object in a response with status 200.
    fn refused(&self, status: u16, text: &str, after: Option<Duration>) -> Error {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        let field = |name: &str| value["error"][name].as_str().unwrap_or_default();
        let said = match &value["error"] {
            Value::String(text) => text.as_str(),
            Value::Object(_) if !field("message").is_empty() => field("message"),
            _ => text,
        };
        let words = format!("{} {}", field("type"), field("code")).to_ascii_lowercase();
        let spent = words.contains("quota") || words.contains("billing");
        let busy = words.contains("rate_limit") || words.contains("overload");
        let kind = match status {
            _ if spent => Kind::Refused,
            _ if busy => Kind::Busy,
            408 | 425 | 429 | 503 | 529 => Kind::Busy,
            500.. => Kind::Server,
            _ => Kind::Refused,
        };
        let hint = match status {
            _ if spent => "the account has no credit left",
            401 | 403 => "check the key in the environment variable that you named",
            404 => "check the URL (it mostly ends with /v1) and the name of the model",
            _ if kind == Kind::Busy => "ask for fewer calls a minute",
            _ if kind == Kind::Server => "the server failed; try again later",
            _ => "check the name of the model and the extra fields",
        };
        let mut error = Error::new(kind, format!("{} answered {status}: {}", self.url, self.shown(said)), hint);
        error.after = after;
        error
    }

    fn failed(&self, error: ureq::Error) -> Error {
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) | ureq::Error::HostNotFound => {
                self.unreachable("it cannot be found or does not accept connections")
            }
            ureq::Error::Timeout(_) => self.late(),
            ureq::Error::Io(error) => match error.kind() {
                std::io::ErrorKind::ConnectionRefused => self.unreachable("nothing listens there"),
                std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => self.late(),
                _ => self.interrupted(error),
            },
            ureq::Error::ConnectionFailed => self.unreachable("the connection failed"),
            ureq::Error::Protocol(error) => self.malformed(format!("is not HTTP: {}", self.shown(&error.to_string()))),
            other => Error::new(
                Kind::Unreachable,
                format!("{} cannot be called: {}", self.url, self.shown(&other.to_string())),
                "check the URL",
            ),
        }
    }

    fn unreachable(&self, why: &str) -> Error {
        Error::new(Kind::Unreachable, format!("{} is not reached: {why}", self.url), "check the URL and the server")
    }

    fn interrupted(&self, error: std::io::Error) -> Error {
        if error
            .get_ref()
            .and_then(|e| e.downcast_ref::<ureq::Error>())
            .is_some_and(|e| matches!(e, ureq::Error::Timeout(_)))
            || error.kind() == std::io::ErrorKind::TimedOut
        {
            return self.late();
        }
        Error::new(
            Kind::Dropped,
            format!("the connection to {} ended before the answer did", self.url),
            "try again; if it happens often, check the server's memory",
        )
    }
}

/// The text of a body: UTF-8, or what the type or a byte order mark says.
fn decode(bytes: &[u8], kind: &str) -> Option<String> {
    let charset = kind
        .to_ascii_lowercase()
        .split(';')
        .find_map(|part| part.trim().strip_prefix("charset=").map(|name| name.trim_matches('"').to_string()));
    let wide = |order: fn([u8; 2]) -> u16, bytes: &[u8]| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|c| order([c[0], c[1]])).collect();
        String::from_utf16(&units).ok()
    };
    match (bytes, charset.as_deref()) {
        ([0xFF, 0xFE, rest @ ..], _) => wide(u16::from_le_bytes, rest),
        ([0xFE, 0xFF, rest @ ..], _) => wide(u16::from_be_bytes, rest),
        ([0xEF, 0xBB, 0xBF, rest @ ..], _) => String::from_utf8(rest.to_vec()).ok(),
        (_, Some("iso-8859-1" | "latin1" | "us-ascii")) => {
            // Many servers say so and send UTF-8.
            Some(String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| bytes.iter().map(|b| *b as char).collect()))
        }
        (_, Some("utf-16le" | "utf-16")) => wide(u16::from_le_bytes, bytes),
        (_, Some("utf-16be")) => wide(u16::from_be_bytes, bytes),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    }
}
