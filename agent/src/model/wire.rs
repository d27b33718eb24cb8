//! One exchange with a provider: sends, reads the whole answer within limits, and classifies a
//! failure. It is the only opener of sockets among the models.
//!
//! It knows status codes and bodies, and not their content. Keys are removed from every body before
//! any other code sees it.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use http::{HeaderMap, StatusCode, header};
use reqwest::{Client, Request, Response};
use secrecy::{ExposeSecret, SecretString};

use super::{
    pace::Pace,
    retry::{ExchangeFailure, retry_after},
    tape::Tape,
};
use crate::config::ModelSettings;

/// The way to one provider, for one session.
#[derive(Debug)]
pub struct Wire {
    client: Client,
    pace: Arc<Pace>,
    tape: Arc<Tape>,
    key: Option<SecretString>,
    bounds: Bounds,
}

/// Bounds on one exchange.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    silence: Duration,
    whole: Duration,
    wait: Duration,
    bytes: usize,
}

/// A body and its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The media type, without parameters.
    pub kind: String,
    /// All of it.
    pub body: Vec<u8>,
}

/// Bytes of an error's body that are shown.
const SHOWN: usize = 600;
/// Bytes of an error's body that are read.
const ERROR_BYTES: usize = 64 << 10;

impl Wire {
    /// A way that obeys the settings.
    ///
    /// # Errors
    /// The system has no certificates to trust, or refuses a client.
    pub fn new(
        settings: &ModelSettings,
        pace: Arc<Pace>,
        tape: Arc<Tape>,
        key: Option<SecretString>,
    ) -> Result<Self, String> {
        let seconds = Duration::from_secs_f64;
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        // The provider of cryptography is given here, not installed for the whole process.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = Client::builder()
            .user_agent(concat!("gistify/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls)
            .connect_timeout(seconds(settings.silence_seconds))
            // A redirection would take the key to wherever it leads.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| error.to_string())?;
        let bounds = Bounds {
            silence: seconds(settings.silence_seconds),
            whole: seconds(settings.request_seconds),
            wait: seconds(settings.wait_seconds),
            bytes: usize::try_from(settings.answer_mib.saturating_mul(1 << 20))
                .unwrap_or(usize::MAX),
        };
        Ok(Self { client, pace, tape, key, bounds })
    }

    /// The HTTP client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Sends a request once and reads the whole answer.
    ///
    /// # Errors
    /// A failure that says whether another attempt may help.
    pub async fn exchange(&self, request: Request) -> Result<Received, ExchangeFailure> {
        let sent = request.body().and_then(|body| body.as_bytes()).unwrap_or_default().to_vec();
        if let Some(recorded) = self.tape.next(&sent) {
            return recorded;
        }
        self.pace.turn().await;
        let answered = tokio::time::timeout(self.bounds.whole, self.attempt(request)).await;
        let received = answered.unwrap_or_else(|_| {
            Err(ExchangeFailure::again(format!("no whole answer within {:?}", self.bounds.whole)))
        });
        if let Err(ExchangeFailure::Again { after: Some(after), .. }) = &received {
            self.pace.hold((*after).min(self.bounds.wait));
        }
        if let Ok(received) = &received {
            self.tape.keep(&sent, received).map_err(ExchangeFailure::Refused)?;
        }
        received
    }

    async fn attempt(&self, request: Request) -> Result<Received, ExchangeFailure> {
        let sending = tokio::time::timeout(self.bounds.silence, self.client.execute(request));
        let response = match sending.await {
            Err(_) => return Err(self.silent()),
            // The address may hold what must not be shown.
            Ok(Err(error)) => return Err(ExchangeFailure::again(chain(&error.without_url()))),
            Ok(Ok(response)) => response,
        };
        let (status, headers) = (response.status(), response.headers().clone());
        if !status.is_success() {
            let body = self.read(response, ERROR_BYTES).await.unwrap_or_else(|_| Vec::new());
            return Err(refused(status, &headers, &body));
        }
        let body = self.read(response, self.bounds.bytes).await?;
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        let start: Vec<u8> =
            body.iter().copied().skip_while(u8::is_ascii_whitespace).take(1).collect();
        if kind == "text/html" || start == b"<" {
            return Err(ExchangeFailure::again(
                "a page of HTML came in the place of an answer".to_owned(),
            ));
        }
        Ok(Received { kind: kind.to_owned(), body })
    }

    /// Reads a body to its end, and the key out of it.
    async fn read(&self, response: Response, most: usize) -> Result<Vec<u8>, ExchangeFailure> {
        let mut chunks = response.bytes_stream();
        let mut body = Vec::new();
        loop {
            match tokio::time::timeout(self.bounds.silence, chunks.next()).await {
                Err(_) => return Err(self.silent()),
                Ok(None) => return Ok(self.without_key(body)),
                Ok(Some(Err(error))) => {
                    return Err(ExchangeFailure::again(chain(&error.without_url())));
                }
                Ok(Some(Ok(chunk))) if body.len() + chunk.len() > most => {
                    let message = format!("the answer is larger than {most} bytes");
                    return Err(ExchangeFailure::Refused(message));
                }
                Ok(Some(Ok(chunk))) => body.extend_from_slice(&chunk),
            }
        }
    }

    fn silent(&self) -> ExchangeFailure {
        ExchangeFailure::again(format!("nothing came for {:?}", self.bounds.silence))
    }

    fn without_key(&self, body: Vec<u8>) -> Vec<u8> {
        let Some(key) = self.key.as_ref().map(|key| key.expose_secret().as_bytes()) else {
            return body;
        };
        if !body.windows(key.len().max(1)).any(|window| window == key) {
            return body;
        }
        let mut clean = Vec::with_capacity(body.len());
        let mut rest = body.as_slice();
        while let Some(at) = rest.windows(key.len()).position(|window| window == key) {
            clean.extend_from_slice(&rest[..at]);
            clean.extend_from_slice(b"[key]");
            rest = &rest[at + key.len()..];
        }
        clean.extend_from_slice(rest);
        clean
    }
}

/// Returns the failure behind an unsuccessful response.
fn refused(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> ExchangeFailure {
    let text = String::from_utf8_lossy(body);
    let message = format!("{status}: {}", said(&text));
    let code = status.as_u16();
    let lower = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if code == 402 || (code == 429 || code == 403) && has(&QUOTA) {
        return ExchangeFailure::Quota(message);
    }
    if (code == 400 || code == 413 || code == 422) && has(&TOO_LONG) {
        return ExchangeFailure::TooLong(message);
    }
    match code {
        408 | 409 | 425 | 429 | 500..=599 => {
            ExchangeFailure::Again { message, after: retry_after(headers) }
        }
        _ => ExchangeFailure::Refused(message),
    }
}

/// Returns the failure behind an error that came instead of an answer, or within one.
pub fn failure_of_error(error: &serde_json::Value) -> ExchangeFailure {
    let text = serde_json::json!({ "error": error }).to_string();
    let message = said(&text);
    let lower = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&QUOTA) {
        ExchangeFailure::Quota(message)
    } else if has(&TOO_LONG) {
        ExchangeFailure::TooLong(message)
    } else {
        ExchangeFailure::again(message)
    }
}

/// The phrases by which providers report a quota that time alone does not restore.
const QUOTA: [&str; 5] = [
    "insufficient_quota",
    "quota_exceeded",
    "billing",
    "credit balance",
    "budget has been exceeded",
];
/// The phrases by which providers report a conversation that does not fit.
const TOO_LONG: [&str; 4] =
    ["context_length_exceeded", "context length", "context window", "prompt is too long"];

/// The message of an error's body, in whatever form it came, on one line.
pub fn said(body: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let message = json.as_ref().and_then(|json| {
        let error = json.get("error").unwrap_or(json);
        error.get("message").or_else(|| error.get("detail")).unwrap_or(error).as_str()
    });
    let text = match message {
        Some(message) => message,
        None if body.trim_start().starts_with('<') => "a page of HTML",
        None => body,
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut end = text.len().min(SHOWN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match text.len() - end {
        0 => text,
        cut => format!("{} [{cut} bytes more]", &text[..end]),
    }
}

/// An error with its causes, which have the part of interest.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
