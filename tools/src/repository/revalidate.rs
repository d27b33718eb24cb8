//! Answers that are stored with their tag (RFC 9110, section 13.1.2): the next request asks only whether they still
//! hold, which servers do not count towards their limits.
//!
//! Only successful answers with an `ETag` are stored. A stored one is never given out unasked.

use std::{fs, path::Path};

use reqwest::{
    StatusCode, Url,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use serde::{Deserialize, Serialize};

use super::{
    RepositoryError,
    download::{Downloader, HttpAnswer, without_secrets},
    read,
};
use crate::cache::{Cache, CacheKind, key};

/// A stored answer, without its body.
#[derive(Debug, Serialize, Deserialize)]
struct StoredHead {
    format: u32,
    tag: String,
    /// The headers in [`KEPT`] that it had.
    headers: Vec<(String, String)>,
}

const FORMAT: u32 = 1;
const HEAD: &str = "head.json";
const BODY: &str = "body";
/// The headers that say how to read a body and where it continues.
const KEPT: [HeaderName; 2] = [header::CONTENT_TYPE, header::LINK];

impl Downloader {
    /// The same as [`Downloader::answer`], with the stored answer where the server says that it still holds (304).
    ///
    /// # Errors
    /// There is no whole answer, the cache cannot be used, or the user stopped it.
    pub fn revalidated(
        &self,
        cache: &Cache,
        url: &Url,
        headers: &HeaderMap,
        largest: u64,
    ) -> Result<HttpAnswer, RepositoryError> {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let label = without_secrets(url);
        let entry = key(&label, &["answer", url.as_str(), accept.unwrap_or_default()]);
        let stored = cache.find(CacheKind::Answer, &entry)?.and_then(|content| stored(&content));
        let mut headers = headers.clone();
        if let Some((tag, _)) = &stored {
            headers.insert(header::IF_NONE_MATCH, tag.clone());
        }
        let answer = self.answer(url, &headers, largest)?;
        if let (StatusCode::NOT_MODIFIED, Some((_, stored))) = (answer.status, stored) {
            return Ok(stored);
        }
        if answer.status == StatusCode::OK && answer.headers.contains_key(header::ETAG) {
            // Another process may be reading the old answer; then that one stays.
            if cache.remove(CacheKind::Answer, &entry)? {
                cache
                    .get_or_make(CacheKind::Answer, &entry, &label, |into| store(into, &answer))?;
            }
        }
        Ok(answer)
    }
}

/// The tag and the answer in a directory; `None` where they cannot be read.
fn stored(content: &Path) -> Option<(HeaderValue, HttpAnswer)> {
    let head: StoredHead = serde_json::from_slice(&fs::read(content.join(HEAD)).ok()?).ok()?;
    if head.format != FORMAT {
        return None;
    }
    let headers = head.headers.iter().map(|(name, value)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
    });
    let headers = headers.collect::<Option<HeaderMap>>()?;
    let body = fs::read(content.join(BODY)).ok()?;
    let tag = HeaderValue::try_from(head.tag).ok()?;
    Some((tag, HttpAnswer { status: StatusCode::OK, headers, body }))
}

fn store(into: &Path, answer: &HttpAnswer) -> Result<(), RepositoryError> {
    let text = |name: &HeaderName| Some(answer.headers.get(name)?.to_str().ok()?.to_owned());
    let head = StoredHead {
        format: FORMAT,
        tag: text(&header::ETAG).unwrap_or_default(),
        headers: KEPT
            .iter()
            .filter_map(|name| Some((name.as_str().to_owned(), text(name)?)))
            .collect(),
    };
    let write = |name: &str, bytes: &[u8]| {
        let path = into.join(name);
        fs::write(&path, bytes).map_err(|source| read((path, source)))
    };
    let head = serde_json::to_vec(&head).map_err(|error| read((into.join(HEAD), error.into())))?;
    write(HEAD, &head)?;
    write(BODY, &answer.body)
}
