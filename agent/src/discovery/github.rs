//! Searches repositories by GitHub's REST API, or any server that has the same form: `search/repositories` and
//! `repos/OWNER/NAME/readme`.
//!
//! It obeys rate limits, follows pages, and asks by stored tags whether an answer still holds. A token goes to the
//! API's own origin alone. Answers are foreign: names, pages and addresses of clones are checked before they are used.

use std::{
    thread,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{
    HeaderMap, HeaderValue,
    header::{self, HeaderName},
};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tools::{Cache, Downloader, HttpAnswer, Interrupt, RepositoryError};

use super::{
    rate_limit::{Admission, admission},
    search_log::SearchLog,
    source::{FoundRepository, ReadmeText, RepositorySource, SearchSourceError},
};

/// The address of an API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiAddress(Url);

impl ApiAddress {
    /// The public API of GitHub.
    pub const PUBLIC: &'static str = "https://api.github.com";

    /// Checks an address.
    ///
    /// # Errors
    /// It is no http address, or has a password, a query or a fragment in it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| format!("{text}: {reason} (as in {})", Self::PUBLIC);
        let with_slash = format!("{}/", text.trim_end_matches('/'));
        let url = Url::parse(&with_slash).map_err(|_| wrong("no http address"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("no http address"));
        }
        let plain = url.username().is_empty() && url.password().is_none();
        if !plain || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("it has more than a host and a path"));
        }
        Ok(Self(url))
    }

    /// Returns true if what is sent there can be read by others: plain http to another machine.
    pub fn is_open(&self) -> bool {
        let loopback = ["localhost", "127.0.0.1", "[::1]"];
        self.0.scheme() == "http" && !loopback.contains(&self.0.host_str().unwrap_or_default())
    }
}

/// A search by an API.
pub struct GithubSearch<'a> {
    /// The API.
    pub api: ApiAddress,
    /// The token of the user, where there is one.
    pub token: Option<SecretString>,
    /// The HTTP client.
    pub downloader: Downloader,
    /// Holds answers with tags.
    pub cache: &'a Cache,
    /// The longest pause for a rate limit.
    pub patience: Duration,
    /// Ends pauses.
    pub interrupt: &'a Interrupt,
    /// Receives pauses and what is left out.
    pub log: &'a SearchLog<'a>,
}

/// Pauses for one request.
const PAUSES: u32 = 4;
const TICK: Duration = Duration::from_millis(50);
/// The largest answer; a page of 100 repositories has about 600 KiB.
const LARGEST: u64 = 16 << 20;
/// Repositories of a page at most.
const PAGE: usize = 100;
const VERSION: &str = "2022-11-28";

#[derive(Debug, Deserialize)]
struct SearchPage {
    #[serde(default)]
    incomplete_results: bool,
    items: Vec<SearchItem>,
}

#[derive(Debug, Deserialize)]
struct SearchItem {
    full_name: String,
    #[serde(default)]
    html_url: Option<String>,
    #[serde(default)]
    clone_url: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    stargazers_count: Option<u64>,
    #[serde(default)]
    topics: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ReadmeFile {
    content: String,
    encoding: String,
}

impl GithubSearch<'_> {
    /// Gets an answer; `None` where there is nothing at the address.
    fn get(&self, url: &Url) -> Result<Option<HttpAnswer>, SearchSourceError> {
        let headers = self.headers();
        let mut attempt = 0;
        loop {
            let answer = self.downloader.revalidated(self.cache, url, &headers, LARGEST);
            let answer = answer.map_err(|error| match error {
                RepositoryError::Interrupted => SearchSourceError::Interrupted,
                error => SearchSourceError::Transport(error),
            })?;
            match admission(&answer, attempt) {
                Admission::Answered => return Ok(Some(answer)),
                Admission::Missing => return Ok(None),
                Admission::Refused(reason) => {
                    return Err(SearchSourceError::Refused { url: url.to_string(), reason });
                }
                Admission::Wait(pause) if pause > self.patience || attempt >= PAUSES => {
                    let seconds = pause.as_secs_f64().ceil() as u64;
                    return Err(SearchSourceError::RateLimited { url: url.to_string(), seconds });
                }
                Admission::Wait(pause) => {
                    let shown = pause.as_secs_f64().ceil();
                    self.log.line(format!("waiting {shown} s: the rate limit of {}", self.label()));
                    self.wait(pause)?;
                    attempt += 1;
                }
            }
        }
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([
            (header::ACCEPT, HeaderValue::from_static("application/vnd.github+json")),
            (HeaderName::from_static("x-github-api-version"), HeaderValue::from_static(VERSION)),
        ]);
        let token = self.token.as_ref().map(|token| format!("Bearer {}", token.expose_secret()));
        if let Some(mut value) = token.and_then(|text| HeaderValue::try_from(text).ok()) {
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        headers
    }

    fn wait(&self, pause: Duration) -> Result<(), SearchSourceError> {
        let end = Instant::now() + pause;
        while Instant::now() < end {
            if self.interrupt.is_triggered() {
                return Err(SearchSourceError::Interrupted);
            }
            thread::sleep(TICK.min(end.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }

    fn address(&self, path: &str) -> Result<Url, SearchSourceError> {
        self.api.0.join(path).map_err(|error| SearchSourceError::Malformed {
            url: self.label(),
            reason: error.to_string(),
        })
    }

    /// The next page that an answer names, on the same server.
    fn next_page(&self, headers: &HeaderMap) -> Option<Url> {
        let links = headers.get(header::LINK)?.to_str().ok()?;
        let url = Url::parse(next_link(links)?).ok()?;
        (url.origin() == self.api.0.origin()).then_some(url)
    }
}

impl RepositorySource for GithubSearch<'_> {
    fn label(&self) -> String {
        self.api.0.as_str().trim_end_matches('/').to_owned()
    }

    fn search(&self, query: &str, most: usize) -> Result<Vec<FoundRepository>, SearchSourceError> {
        let mut url = self.address("search/repositories")?;
        let page = most.clamp(1, PAGE).to_string();
        url.query_pairs_mut().append_pair("q", query).append_pair("per_page", &page);
        let mut found = Vec::new();
        let mut next = Some(url);
        while let Some(url) = next.take()
            && found.len() < most
        {
            let malformed = |reason: &str| SearchSourceError::Malformed {
                url: url.to_string(),
                reason: reason.to_owned(),
            };
            let answer = self.get(&url)?.ok_or_else(|| malformed("it has no search"))?;
            let page: SearchPage = serde_json::from_slice(&answer.body)
                .map_err(|error| malformed(&format!("no answer to a search: {error}")))?;
            if page.incomplete_results {
                self.log.line(format!("the server ended the search for {query:?} early"));
            }
            // A server whose pages are empty and go on would be asked for ever.
            let is_empty = page.items.is_empty();
            for item in page.items {
                match repository(item, &self.api.0) {
                    Ok(repository) => found.push(repository),
                    Err(reason) => self.log.line(format!("left out {reason}")),
                }
            }
            next = self.next_page(&answer.headers).filter(|_| !is_empty);
        }
        found.truncate(most);
        Ok(found)
    }

    fn readme(&self, repository: &FoundRepository) -> Result<ReadmeText, SearchSourceError> {
        let url = self.address(&format!("repos/{}/readme", repository.name))?;
        match self.get(&url) {
            Ok(None) => Ok(ReadmeText::Missing),
            Ok(Some(answer)) => Ok(readme_of(&answer.body)),
            Err(SearchSourceError::Interrupted) => Err(SearchSourceError::Interrupted),
            Err(error) => Ok(ReadmeText::Unavailable(error.to_string())),
        }
    }
}

/// A repository of an answer; the reason where its name or addresses are not to be used.
fn repository(item: SearchItem, api: &Url) -> Result<FoundRepository, String> {
    let part = |part: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && !part.chars().all(|c| c == '.') && part.chars().all(plain)
    };
    match item.full_name.split_once('/') {
        Some((owner, name)) if part(owner) && part(name) => {}
        _ => return Err(format!("{:?}: no name of a repository", item.full_name)),
    }
    let allowed = |text: &str| {
        let url = Url::parse(text).ok()?;
        // An answer by https leads to no plain http, and to no file of this machine.
        let scheme = url.scheme() == "https" || url.scheme() == "http" && api.scheme() == "http";
        let plain = url.username().is_empty() && url.password().is_none();
        (scheme && plain).then(|| text.trim_end_matches('/').to_owned())
    };
    let page = item.html_url.as_deref().and_then(allowed);
    let clone = item.clone_url.as_deref().and_then(allowed).or_else(|| page.clone());
    let mut description = item.description.unwrap_or_default();
    if !item.topics.is_empty() {
        description = format!("{description} [{}]", item.topics.join(", ")).trim().to_owned();
    }
    Ok(FoundRepository {
        url: page.or_else(|| clone.clone()).unwrap_or_default(),
        name: item.full_name,
        place: clone.map(|url| format!("{url}@HEAD")),
        stars: item.stargazers_count,
        description,
        readme: None,
    })
}

/// A README in the API's own form, or as it is.
fn readme_of(body: &[u8]) -> ReadmeText {
    let Ok(file) = serde_json::from_slice::<ReadmeFile>(body) else {
        return ReadmeText::Text(String::from_utf8_lossy(body).into_owned());
    };
    if file.encoding != "base64" {
        let reason = format!("its encoding is {:?}: it is too large", file.encoding);
        return ReadmeText::Unavailable(reason);
    }
    let packed: String = file.content.split_whitespace().collect();
    match BASE64_STANDARD.decode(packed) {
        Ok(bytes) => ReadmeText::Text(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => ReadmeText::Unavailable(format!("it is no base64: {error}")),
    }
}

/// The address with `rel="next"` in a `Link` header (RFC 8288).
fn next_link(links: &str) -> Option<&str> {
    links.split(',').find_map(|link| {
        let (address, parameters) = link.split_once('>')?;
        let is_next =
            parameters.split(';').any(|one| matches!(one.trim(), "rel=\"next\"" | "rel=next"));
        is_next.then_some(address.trim().strip_prefix('<')?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_apis_are_checked() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let found = ApiAddress::parse(text);
            let found = found.as_ref().map(|api| api.0.as_str()).map_err(String::as_str);
            match expected {
                Ok(url) => assert_eq!(found, Ok(url)),
                Err(reason) => assert!(found.unwrap_err().contains(reason), "{text}"),
            }
        };
        check("https://api.github.com", Ok("https://api.github.com/"));
        check("https://x.example/api/v3/", Ok("https://x.example/api/v3/"));
        check("restore photos", Err("no http address (as in https://api.github.com)"));
        check("file:///etc", Err("no http address"));
        check("https://me:pw@x.example", Err("it has more than a host and a path"));
        check("https://x.example/?q=1", Err("it has more than a host and a path"));
        let is_open = |text: &str| ApiAddress::parse(text).unwrap().is_open();
        assert!(is_open("http://x.example"));
        assert!(!is_open("http://127.0.0.1:80") && !is_open("https://x.example"));
    }

    #[test]
    fn answers_name_repositories_and_nothing_else() {
        let api = Url::parse("https://api.x.example/").unwrap();
        let place = |name: &str, page: &str, clone: &str| {
            let item =
                serde_json::json!({ "full_name": name, "html_url": page, "clone_url": clone });
            let found = repository(serde_json::from_value(item).unwrap(), &api)?;
            Ok::<_, String>((found.url, found.place))
        };
        let page = "https://x.example/a/b";
        let at = |url: &str| Some(format!("{url}@HEAD"));
        assert_eq!(
            place("a/b", page, "https://x.example/a/b.git"),
            Ok((page.to_owned(), at("https://x.example/a/b.git")))
        );
        // Files of this machine, and addresses that are less safe than the API's, are none.
        for clone in
            ["file:///home/me", "/home/me", "http://x.example/a/b", "https://u:p@x.example/a"]
        {
            assert_eq!(place("a/b", page, clone), Ok((page.to_owned(), at(page))), "{clone}");
            assert_eq!(place("a/b", clone, clone), Ok((String::new(), None)), "{clone}");
        }
        for name in ["a", "a/b/c", "../b", "a/..", "a/b?x", "a/", "a b/c"] {
            assert!(place(name, page, page).is_err(), "{name}");
        }
    }

    #[test]
    fn readmes_and_links_are_read() {
        let text = |text: &str| ReadmeText::Text(text.to_owned());
        assert_eq!(
            readme_of(br#"{"content": "IyBB\nCg==\n", "encoding": "base64"}"#),
            text("# A\n")
        );
        assert_eq!(readme_of(b"# A\n"), text("# A\n"));
        let large = readme_of(br#"{"content": "", "encoding": "none"}"#);
        assert!(matches!(large, ReadmeText::Unavailable(_)));
        assert_eq!(
            next_link(r#"<https://x/1>; rel="prev", <https://x/3>; rel="next""#),
            Some("https://x/3")
        );
        assert_eq!(next_link(r#"<https://x/1>; rel="last""#), None);
    }
}
