//! A package index: which files a project has, and which of them stands for a release.
//!
//! It speaks the simple repository API, as JSON (PEP 691) or as HTML (PEP 503). Where the index is
//! comes from the user's pip: its settings, or its own default.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    str::FromStr,
};

use pep508_rs::pep440_rs::Version;
use reqwest::Url;
use serde::Deserialize;

use super::{
    RepositoryError,
    download::{Downloader, named_certificates, without_secrets},
};
use crate::{
    host::Host,
    pip::{self, PipError, PipSettings},
    progress::Progress,
    sandbox::{Interrupt, Sandbox},
};

/// The indexes that the user's pip asks, in order.
#[derive(Debug, Clone)]
pub(super) struct PackageIndexes {
    urls: Vec<Url>,
    downloader: Downloader,
}

/// A file of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexFile {
    pub(super) name: String,
    pub(super) url: Url,
    pub(super) sha256: Option<String>,
    pub(super) yanked: bool,
}

/// The kind of a distribution file, parsed from its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileKind {
    Sdist,
    /// Its tags: interpreter, ABI and platform, each with alternatives.
    Wheel {
        pythons: Vec<String>,
        abis: Vec<String>,
        platforms: Vec<String>,
    },
}

const JSON: &str = "application/vnd.pypi.simple.v1+json";
const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, \
                      application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

impl PackageIndexes {
    /// The index that the user's settings name.
    pub(super) fn of(
        host: &Host,
        sandbox: &dyn Sandbox,
        interrupt: &Interrupt,
    ) -> Result<PackageIndexes, RepositoryError> {
        let settings = pip_settings(host, sandbox)?;
        let failed = |reason: String| RepositoryError::Settings { reason };
        if settings.no_index {
            return Err(failed("pip is told to use no index".to_owned()));
        }
        let mut urls = Vec::new();
        for text in [&settings.index].into_iter().chain(&settings.more) {
            let text = format!("{}/", text.trim_end_matches('/'));
            let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            urls.push(url.ok_or_else(|| failed("pip's index is no http address".to_owned()))?);
        }
        let mut certificates = named_certificates(host);
        if !settings.certificates.is_empty() {
            certificates.push(PathBuf::from(&settings.certificates));
        }
        certificates.sort();
        certificates.dedup();
        let proxy = Some(settings.proxy.as_str()).filter(|proxy| !proxy.is_empty());
        let downloader = Downloader::new(host, &certificates, proxy, interrupt)?;
        Ok(PackageIndexes { urls, downloader })
    }

    /// All files of a project, from the first index that knows it.
    pub(super) fn files(&self, project: &str) -> Result<Vec<IndexFile>, RepositoryError> {
        for index in &self.urls {
            let url = index.join(&format!("{}/", normal_name(project)));
            let url =
                url.map_err(|error| RepositoryError::Settings { reason: error.to_string() })?;
            let Some(page) = self.downloader.page(&url, ACCEPT)? else { continue };
            let files = if page.content_type.starts_with(JSON) {
                files_of_json(&page.text, &page.url)
            } else {
                Some(files_of_html(&page.text, &page.url))
            };
            let reason = "the index's answer is not understood".to_owned();
            let mut files = files
                .ok_or_else(|| RepositoryError::Network { url: without_secrets(&url), reason })?;
            for file in &mut files {
                lend_credentials(index, &mut file.url);
            }
            return Ok(files);
        }
        Err(RepositoryError::NoProject {
            project: project.to_owned(),
            indexes: self.urls.iter().map(without_secrets).collect::<Vec<_>>().join(", "),
        })
    }

    /// Downloads a file and checks it; gives its checksum.
    pub(super) fn download(
        &self,
        file: &IndexFile,
        into: &Path,
        progress: &dyn Fn(Progress<'_>),
    ) -> Result<String, RepositoryError> {
        let Some(downloaded) = self.downloader.file(&file.url, into, progress)? else {
            let url = without_secrets(&file.url);
            return Err(RepositoryError::Network { url, reason: "not found".to_owned() });
        };
        if let Some(expected) = &file.sha256
            && *expected != downloaded.sha256
        {
            return Err(RepositoryError::Checksum {
                file: file.name.clone(),
                expected: expected.clone(),
                found: downloaded.sha256,
            });
        }
        Ok(downloaded.sha256)
    }
}

/// The name by which an index knows a project (PEP 503).
pub fn normal_name(project: &str) -> String {
    let mut name = String::new();
    for char in project.chars() {
        if matches!(char, '-' | '_' | '.') {
            if !name.ends_with('-') {
                name.push('-');
            }
        } else {
            name.extend(char.to_lowercase());
        }
    }
    name
}

/// The version and kind of a project's file; `None` for files of other kinds.
pub(super) fn parse_file_name(project: &str, name: &str) -> Option<(Version, FileKind)> {
    let project = normal_name(project);
    if let Some(stem) = name.strip_suffix(".whl") {
        let fields: Vec<&str> = stem.split('-').collect();
        let (version, tags) = match fields.as_slice() {
            [own, version, tags @ ..] if normal_name(own) == project => (version, tags),
            _ => return None,
        };
        let [python, abi, platform] = tags.get(tags.len().checked_sub(3)?..)? else { return None };
        let list = |tag: &str| tag.split('.').map(str::to_owned).collect();
        let kind =
            FileKind::Wheel { pythons: list(python), abis: list(abi), platforms: list(platform) };
        return Some((Version::from_str(version).ok()?, kind));
    }
    let stem = [".tar.gz", ".tgz", ".zip"].iter().find_map(|end| name.strip_suffix(end))?;
    let mut dashes = stem.match_indices('-').map(|(at, _)| (&stem[..at], &stem[at + 1..]));
    let version = dashes.find_map(|(own, version)| {
        (normal_name(own) == project).then(|| Version::from_str(version).ok()).flatten()
    })?;
    Some((version, FileKind::Sdist))
}

impl FileKind {
    /// Returns true if this version of CPython on this machine can use the file; always true for an
    /// sdist.
    pub(super) fn fits(&self, (major, minor): (u8, u8)) -> bool {
        let FileKind::Wheel { pythons, abis, platforms } = self else { return true };
        let own = format!("cp{major}{minor}");
        let python = pythons.iter().any(|tag| {
            *tag == own
                || *tag == format!("py{major}")
                || *tag == format!("py{major}{minor}")
                || abis.iter().any(|abi| abi == "abi3") && is_older(tag, major, minor)
        });
        let abi = abis.iter().any(|abi| *abi == own || abi == "abi3" || abi == "none");
        python && abi && platforms.iter().any(|platform| is_ours(platform))
    }

    /// Returns true for a wheel for any machine and any Python 3.
    pub(super) fn is_pure(&self) -> bool {
        match self {
            FileKind::Sdist => false,
            FileKind::Wheel { abis, platforms, .. } => {
                abis.iter().any(|abi| abi == "none") && platforms.iter().any(|tag| tag == "any")
            }
        }
    }
}

fn is_older(tag: &str, major: u8, minor: u8) -> bool {
    let tag = tag.strip_prefix("cp").and_then(|tag| tag.strip_prefix(&major.to_string()));
    tag.and_then(|tag| tag.parse::<u8>().ok()).is_some_and(|tag| tag <= minor)
}

/// Returns true if a platform tag matches this machine.
fn is_ours(platform: &str) -> bool {
    let machine = std::env::consts::ARCH;
    if platform == "any" {
        return true;
    }
    match std::env::consts::OS {
        "linux" if cfg!(target_env = "musl") => {
            platform.starts_with("musllinux_") && platform.ends_with(machine)
        }
        "linux" => {
            let family = platform.starts_with("manylinux") || platform.starts_with("linux_");
            family && platform.ends_with(&format!("_{machine}"))
        }
        "macos" => {
            let machine = if machine == "aarch64" { "arm64" } else { machine };
            platform.starts_with("macosx_")
                && (platform.ends_with(machine) || platform.ends_with("universal2"))
        }
        _ => false,
    }
}

fn files_of_json(text: &str, base: &Url) -> Option<Vec<IndexFile>> {
    #[derive(Deserialize)]
    struct Answer {
        files: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        filename: String,
        url: String,
        #[serde(default)]
        hashes: BTreeMap<String, String>,
        /// `false`, `true` or the reason.
        #[serde(default)]
        yanked: serde_json::Value,
    }
    let answer: Answer = serde_json::from_str(text).ok()?;
    let files = answer.files.into_iter().filter_map(|entry| {
        Some(IndexFile {
            url: base.join(&entry.url).ok()?,
            sha256: entry.hashes.get("sha256").map(|hash| hash.to_lowercase()),
            yanked: !matches!(
                entry.yanked,
                serde_json::Value::Bool(false) | serde_json::Value::Null
            ),
            name: plain_name(&entry.filename)?,
        })
    });
    Some(files.collect())
}

/// The links of a page. Attributes are all that matters, so this is no parser of HTML.
fn files_of_html(text: &str, base: &Url) -> Vec<IndexFile> {
    let mut files = Vec::new();
    for part in text.split("<a").skip(1) {
        if !part.starts_with(char::is_whitespace) {
            continue;
        }
        let Some(end) = part.find('>') else { continue };
        let attributes = &part[..end];
        let Some(href) = attribute(attributes, "href") else { continue };
        let Ok(mut url) = base.join(&href) else { continue };
        let sha256 = url.fragment().and_then(|text| text.strip_prefix("sha256="));
        let sha256 = sha256.map(str::to_lowercase);
        url.set_fragment(None);
        let name = url.path_segments().and_then(|mut segments| segments.next_back());
        let Some(name) = name.and_then(|name| plain_name(&name.replace("%2B", "+"))) else {
            continue;
        };
        let yanked = attributes.contains("data-yanked");
        files.push(IndexFile { name, url, sha256, yanked });
    }
    files
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let rest = &attributes[attributes.find(&format!("{name}="))? + name.len() + 1..];
    let quote = rest.chars().next()?;
    let value = match quote {
        '"' | '\'' => rest[1..].split(quote).next()?,
        _ => rest.split_whitespace().next()?,
    };
    Some(value.replace("&#43;", "+").replace("&amp;", "&"))
}

/// A name that is one plain component of a path.
fn plain_name(name: &str) -> Option<String> {
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    plain.then(|| name.to_owned())
}

/// Files often stand on the index's own server, and need the same password there.
fn lend_credentials(index: &Url, file: &mut Url) {
    if index.origin() == file.origin() && file.username().is_empty() {
        let _ = file.set_username(index.username());
        let _ = file.set_password(index.password());
    }
}

/// Returns the index settings of the user's pip.
fn pip_settings(host: &Host, sandbox: &dyn Sandbox) -> Result<PipSettings, RepositoryError> {
    pip::settings(host, sandbox).map_err(|error| match error {
        PipError::Interrupted => RepositoryError::Interrupted,
        PipError::Sandbox(error) => error.into(),
        PipError::Unknown => {
            let reason = "no interpreter has a pip, which knows it (or set PIP_INDEX_URL)";
            RepositoryError::Settings { reason: reason.to_owned() }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Url {
        Url::parse("https://me:secret@index.example/simple/a-b/").unwrap()
    }

    #[test]
    fn names_are_normalised() {
        for name in ["A.b", "a_B", "a--b", "a-._b"] {
            assert_eq!(normal_name(name), "a-b");
        }
    }

    #[test]
    fn file_names_say_version_and_kind() {
        let check = |name: &str, expected: Option<&str>| {
            let found = parse_file_name("a.b", name);
            let found = found.map(|(version, kind)| match kind {
                FileKind::Sdist => format!("{version} sdist"),
                FileKind::Wheel { pythons, abis, platforms } => {
                    format!("{version} {pythons:?} {abis:?} {platforms:?}").replace('"', "")
                }
            });
            assert_eq!(found.as_deref(), expected, "{name}");
        };
        check("a_b-1.0.tar.gz", Some("1.0 sdist"));
        check("A.B-1.0rc1.zip", Some("1.0rc1 sdist"));
        check("a-b-2.tgz", Some("2 sdist"));
        check("a_b-1.0-py2.py3-none-any.whl", Some("1.0 [py2, py3] [none] [any]"));
        check(
            "a_b-1.0-1x-cp311-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            Some("1.0 [cp311] [abi3] [manylinux_2_17_x86_64, manylinux2014_x86_64]"),
        );
        for other in ["a_c-1.0.tar.gz", "a_b-1.0.exe", "a_b-x.tar.gz", "a_b-1.0-any.whl", "a.whl"] {
            check(other, None);
        }
    }

    #[test]
    fn wheels_fit_or_not() {
        let machine = std::env::consts::ARCH;
        let fits = |tags: &str, version| {
            let name = format!("a-1-{}.whl", tags.replace("ARCH", machine));
            parse_file_name("a", &name).unwrap().1.fits(version)
        };
        assert!(fits("py3-none-any", (3, 11)));
        assert!(fits("py2.py3-none-any", (3, 9)));
        assert!(!fits("py2-none-any", (3, 9)));
        if cfg!(all(target_os = "linux", target_env = "gnu")) {
            assert!(fits("cp311-cp311-manylinux_2_17_ARCH", (3, 11)));
            assert!(!fits("cp311-cp311-manylinux_2_17_ARCH", (3, 12)));
            assert!(fits("cp39-abi3-manylinux2014_ARCH", (3, 12)));
            assert!(!fits("cp312-abi3-manylinux2014_ARCH", (3, 11)));
            assert!(!fits("cp311-cp311t-manylinux_2_17_ARCH", (3, 11)));
            assert!(!fits("cp311-cp311-musllinux_1_1_ARCH", (3, 11)));
            assert!(!fits("cp311-cp311-win_amd64", (3, 11)));
        }
    }

    #[test]
    fn both_forms_of_an_index_say_the_same() {
        let json = r#"{"files": [
            {"filename": "a_b-1.0.tar.gz", "url": "../../f/a_b-1.0.tar.gz",
             "hashes": {"sha256": "AB"}, "yanked": false},
            {"filename": "a_b-1.1+x.tar.gz", "url": "https://else.example/a_b-1.1%2Bx.tar.gz",
             "hashes": {}, "yanked": "broken"},
            {"filename": "../evil.tar.gz", "url": "evil.tar.gz"}
        ]}"#;
        let html = r#"<!DOCTYPE html><html><body><abbr>x</abbr>
            <a href="../../f/a_b-1.0.tar.gz#sha256=AB" data-requires-python="&gt;=3">a</a>
            <a data-yanked="broken" href='https://else.example/a_b-1.1%2Bx.tar.gz'>b</a>
            <a name="x">c</a></body></html>"#;
        let mut from_json = files_of_json(json, &base()).unwrap();
        let from_html = files_of_html(html, &base());
        assert_eq!(from_json, from_html);
        let seen: Vec<_> = from_json
            .iter_mut()
            .map(|file| {
                lend_credentials(&base(), &mut file.url);
                (file.name.as_str(), file.url.as_str(), file.sha256.as_deref(), file.yanked)
            })
            .collect();
        assert_eq!(
            seen,
            [
                (
                    "a_b-1.0.tar.gz",
                    "https://me:secret@index.example/f/a_b-1.0.tar.gz",
                    Some("ab"),
                    false
                ),
                ("a_b-1.1+x.tar.gz", "https://else.example/a_b-1.1%2Bx.tar.gz", None, true),
            ]
        );
        assert_eq!(without_secrets(&base()), "https://index.example/simple/a-b/");
        assert_eq!(files_of_json("no json", &base()), None);
    }
}
