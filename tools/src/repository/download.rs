//! Downloads files from a package index, and answers of other servers: certificates, proxies, retries, checksums.
//!
//! It opens sockets on a separate thread, so that waiting for a server never delays an interrupt,
//! and so that any context can use it.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use reqwest::{
    NoProxy, Proxy, StatusCode, Url,
    blocking::{Client, Response},
    header::{self, HeaderMap},
};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use sha2::{Digest, Sha256};

use super::RepositoryError;
use crate::{host::Host, progress::Progress, sandbox::Interrupt};

/// The HTTP client.
#[derive(Debug, Clone)]
pub struct Downloader {
    client: Client,
    interrupt: Interrupt,
}

/// An answer of a server, also a refusal.
#[derive(Debug, Clone)]
pub struct HttpAnswer {
    /// Its status, which is no failure of the server itself (5xx).
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its whole body.
    pub body: Vec<u8>,
}

/// A file that was downloaded.
#[derive(Debug)]
pub(super) struct Downloaded {
    pub(super) sha256: String,
}

/// A page that was downloaded.
#[derive(Debug)]
pub(super) struct Page {
    /// The final address, after redirects.
    pub(super) url: Url,
    pub(super) content_type: String,
    pub(super) text: String,
}

/// Attempts at one address.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest time that a server may ask us to wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
const CONNECT: Duration = Duration::from_secs(15);
/// Without a byte for this long a download has failed.
const STALL: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(50);
const HINT: &str = " (is there a network? proxies are taken from HTTPS_PROXY, certificates from \
                    PIP_CERT)";
const LARGEST_PAGE: u64 = 256 << 20;
const LARGEST_FILE: u64 = 4 << 30;

impl Downloader {
    /// A client with the certificates and proxies of the user's network variables.
    ///
    /// # Errors
    /// A certificate cannot be read, or a proxy's address is malformed.
    pub fn of_host(host: &Host, interrupt: &Interrupt) -> Result<Downloader, RepositoryError> {
        Downloader::new(host, &named_certificates(host), None, interrupt)
    }

    /// A client with the system's certificates and those in `certificates`.
    pub(super) fn new(
        host: &Host,
        certificates: &[PathBuf],
        proxy: Option<&str>,
        interrupt: &Interrupt,
    ) -> Result<Downloader, RepositoryError> {
        let failed = |reason: String| RepositoryError::Settings { reason };
        // The provider is given here, not installed for the whole process.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(error.to_string()))?
            .with_root_certificates(roots(certificates)?)
            .with_no_client_auth();
        let mut builder = Client::builder()
            .user_agent(concat!("gistify/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls)
            .connect_timeout(CONNECT)
            .timeout(STALL)
            .no_proxy();
        let exceptions = host.variable("NO_PROXY").and_then(NoProxy::from_string);
        type MakeProxy = fn(&str) -> reqwest::Result<Proxy>;
        let proxies: [(Option<&str>, MakeProxy); 4] = [
            (proxy, |url| Proxy::all(url)),
            (host.variable("HTTPS_PROXY"), |url| Proxy::https(url)),
            (host.variable("HTTP_PROXY"), |url| Proxy::http(url)),
            (host.variable("ALL_PROXY"), |url| Proxy::all(url)),
        ];
        for (url, make) in proxies {
            let Some(url) = url else { continue };
            let proxy = make(url).map_err(|_| failed("the proxy's address is malformed".into()))?;
            builder = builder.proxy(proxy.no_proxy(exceptions.clone()));
        }
        let client = builder.build().map_err(|error| failed(error.to_string()))?;
        Ok(Downloader { client, interrupt: interrupt.clone() })
    }

    /// Gets a page of text. `None` where the server says that there is none.
    pub(super) fn page(&self, url: &Url, accept: &str) -> Result<Option<Page>, RepositoryError> {
        let accept = accept.to_owned();
        self.attempt(url, move |client, url| {
            let request = client.get(url.clone()).header(header::ACCEPT, accept.as_str());
            let response = checked(request.send()?)?;
            let content_type = response.headers().get(header::CONTENT_TYPE);
            let content_type = content_type.and_then(|value| value.to_str().ok());
            let content_type = content_type.unwrap_or_default().to_owned();
            let url = response.url().clone();
            let mut bytes = Vec::new();
            response.take(LARGEST_PAGE).read_to_end(&mut bytes)?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Ok(Page { url, content_type, text })
        })
    }

    /// Gets an answer of at most `largest` bytes with these headers. Failures of the server (5xx) and of the way
    /// there are tried again, refusals are answers.
    ///
    /// # Errors
    /// There is no whole answer, or the user stopped it.
    pub fn answer(
        &self,
        url: &Url,
        headers: &HeaderMap,
        largest: u64,
    ) -> Result<HttpAnswer, RepositoryError> {
        let headers = headers.clone();
        let answer = self.attempt(url, move |client, url| {
            let response = client.get(url.clone()).headers(headers.clone()).send()?;
            if response.status().is_server_error() {
                return Err(refusal(&response));
            }
            let (status, headers) = (response.status(), response.headers().clone());
            let mut body = Vec::new();
            response.take(largest.saturating_add(1)).read_to_end(&mut body)?;
            if body.len() as u64 > largest {
                return Err(Failure::Other(format!("the answer is larger than {largest} bytes")));
            }
            Ok(HttpAnswer { status, headers, body })
        })?;
        let missing = || RepositoryError::Network {
            url: without_secrets(url),
            reason: Failure::Missing.reason(),
        };
        answer.ok_or_else(missing)
    }

    /// Gets a file. `None` where the server says that there is none.
    pub(super) fn file(
        &self,
        url: &Url,
        into: &Path,
        progress: &dyn Fn(Progress<'_>),
    ) -> Result<Option<Downloaded>, RepositoryError> {
        let path = into.to_path_buf();
        let name = into.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (sender, receiver) = mpsc::channel();
        let report = move |done, total| {
            let _ = sender.send((done, total));
        };
        let watched = || {
            if let Some((done, total)) = receiver.try_iter().last() {
                progress(Progress::Bytes { name: &name, done, total });
            }
        };
        self.attempt_watched(url, watched, move |client, url| {
            let response = checked(client.get(url.clone()).send()?)?;
            save(response, &path, &report)
        })
    }

    fn attempt<T: Send + 'static>(
        &self,
        url: &Url,
        work: impl Fn(&Client, &Url) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Option<T>, RepositoryError> {
        self.attempt_watched(url, || {}, work)
    }

    /// Does `work` on a thread of its own, a few times where that may help, and calls `watch` now
    /// and then.
    fn attempt_watched<T: Send + 'static>(
        &self,
        url: &Url,
        watch: impl Fn(),
        work: impl Fn(&Client, &Url) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Option<T>, RepositoryError> {
        if self.interrupt.is_triggered() {
            return Err(RepositoryError::Interrupted);
        }
        let (sender, receiver) = mpsc::channel();
        let (client, address) = (self.client.clone(), url.clone());
        // After an interruption the thread is left alone; it ends with its next answer.
        thread::spawn(move || {
            for attempt in 1.. {
                let result = work(&client, &address);
                let retry = match &result {
                    Err(failure) if attempt < ATTEMPTS => failure.pause(attempt),
                    _ => None,
                };
                match retry {
                    Some(pause) => thread::sleep(pause),
                    None => {
                        let _ = sender.send(result);
                        return;
                    }
                }
            }
        });
        let result = loop {
            match receiver.recv_timeout(TICK) {
                Ok(result) => break result,
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(Failure::Other("the download ended without an answer".into()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.interrupt.is_triggered() {
                return Err(RepositoryError::Interrupted);
            }
            watch();
        };
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Failure::Missing) => Ok(None),
            Err(failure) => {
                let reason = failure.reason();
                Err(RepositoryError::Network { url: without_secrets(url), reason })
            }
        }
    }
}

/// Existing certificate files and directories that the network variables name.
pub(super) fn named_certificates(host: &Host) -> Vec<PathBuf> {
    let variables = ["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];
    let named = variables.iter().filter_map(|name| host.variable(name)).map(PathBuf::from);
    // pip fails when the file that it is told is missing; the others are often left over.
    named.filter(|path| path.exists()).collect()
}

/// An address without user name, password and query.
pub(super) fn without_secrets(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// Why one attempt failed.
#[derive(Debug)]
enum Failure {
    /// There is nothing at this address.
    Missing,
    /// The server refuses or fails, and may request a pause.
    Status(StatusCode, Option<Duration>),
    /// It was not reached, or the answer was cut.
    Transport(reqwest::Error),
    /// The answer was cut, or cannot be saved.
    Io(io::Error),
    Other(String),
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Failure {
        Failure::Transport(error.without_url())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

impl Failure {
    /// Returns the pause before another attempt, or `None` if another attempt would not help.
    fn pause(&self, attempt: u32) -> Option<Duration> {
        let usual = FIRST_PAUSE * 2_u32.pow(attempt.saturating_sub(1).min(6));
        match self {
            Failure::Status(status, asked)
                if status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS =>
            {
                Some(asked.unwrap_or(usual).min(LONGEST_PAUSE))
            }
            Failure::Transport(_) => Some(usual),
            // Reading an answer fails with an error of the transport inside.
            Failure::Io(error) if error.raw_os_error().is_none() => Some(usual),
            Failure::Missing | Failure::Status(..) | Failure::Io(_) | Failure::Other(_) => None,
        }
    }

    fn reason(&self) -> String {
        match self {
            Failure::Missing => "not found".to_owned(),
            Failure::Status(status, _) => format!("the server answers {status}"),
            Failure::Transport(error) => format!("{}{HINT}", innermost(error)),
            Failure::Io(error) => match error.get_ref() {
                Some(inner) => format!("{}{HINT}", innermost(inner)),
                None => crate::workspace::explain(error),
            },
            Failure::Other(reason) => reason.clone(),
        }
    }
}

/// The last cause in a chain: the one that says something.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

fn checked(response: Response) -> Result<Response, Failure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
        return Err(Failure::Missing);
    }
    Err(refusal(&response))
}

/// The failure behind an unsuccessful status.
fn refusal(response: &Response) -> Failure {
    let asked = response.headers().get(header::RETRY_AFTER);
    let asked = asked.and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
    Failure::Status(response.status(), asked.map(Duration::from_secs))
}

/// Writes an answer into a file, from its beginning.
fn save(
    mut response: Response,
    path: &Path,
    report: &impl Fn(u64, Option<u64>),
) -> Result<Downloaded, Failure> {
    let total = response.content_length();
    let mut file = File::create(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    let mut done = 0;
    let mut reported = Instant::now();
    loop {
        let count = match response.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        done += count as u64;
        if done > LARGEST_FILE {
            return Err(Failure::Other(format!("it is larger than {LARGEST_FILE} bytes")));
        }
        hasher.update(&buffer[..count]);
        file.write_all(&buffer[..count])?;
        if reported.elapsed() > TICK {
            report(done, total);
            reported = Instant::now();
        }
    }
    if total.is_some_and(|total| total != done) {
        return Err(io::Error::other("the answer was cut").into());
    }
    let sha256 = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Downloaded { sha256 })
}

/// The system's certificates and those in the given files; directories hold one in each file.
fn roots(certificates: &[PathBuf]) -> Result<rustls::RootCertStore, RepositoryError> {
    let mut store = rustls::RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for path in certificates {
        let failed = |reason: String| RepositoryError::Settings {
            reason: format!("read certificates {}: {reason}", path.display()),
        };
        let files: Vec<PathBuf> = if path.is_dir() {
            let entries = path.read_dir().map_err(|error| failed(error.to_string()))?;
            entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect()
        } else {
            vec![path.clone()]
        };
        for file in files {
            let found = CertificateDer::pem_file_iter(&file);
            let found = found.map_err(|error| failed(error.to_string()))?;
            store.add_parsable_certificates(found.flatten());
        }
    }
    Ok(store)
}
