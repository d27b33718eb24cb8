//! A release on a package index: which file stands for it, downloaded and unpacked in the cache.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    str::FromStr,
};

use graph::Pythons;
use pep508_rs::pep440_rs::Version;
use serde::{Deserialize, Serialize};

use super::{
    Artifact, OpenOptions, RepositoryError,
    index::{FileKind, IndexFile, PackageIndexes, normal_name, parse_file_name},
    read, scratch,
};
use crate::{
    archive::{UnpackLimits, unpack},
    cache::{CacheKind, key},
    environment::{find_interpreters, probe},
    progress::Progress,
    snapshot::{EntryKind, Snapshot},
};

/// The file chosen for a release, as the cache stores it.
#[derive(Serialize, Deserialize)]
struct Choice {
    format: u32,
    artifact: Artifact,
}

const CHOICE_FORMAT: u32 = 1;
const CHOICE_FILE: &str = "choice.json";

/// Returns the root of a release; without a version, of the newest one. The index is queried only
/// for facts that the cache lacks.
pub(super) fn unpacked(
    project: &str,
    version: Option<&Version>,
    options: &OpenOptions<'_>,
) -> Result<PathBuf, RepositoryError> {
    let artifact = chosen(project, version, options)?;
    root_of(&artifact, || Listing::of(project, options)?.with_file(&artifact.file), options)
}

/// The file that stands for a release; without a version, for the newest one.
pub(super) fn chosen(
    project: &str,
    version: Option<&Version>,
    options: &OpenOptions<'_>,
) -> Result<Artifact, RepositoryError> {
    match (options.artifact, version) {
        (Some(artifact), _) => {
            Ok(Artifact { file: artifact.file.clone(), sha256: artifact.sha256.to_lowercase() })
        }
        (None, Some(version)) => known_choice(project, version, options),
        (None, None) => {
            // Only the index knows which release is the newest.
            let listing = Listing::of(project, options)?;
            listing.choose(&listing.newest()?, options)
        }
    }
}

/// The file that stands for a release, from the cache where it is known.
fn known_choice(
    project: &str,
    version: &Version,
    options: &OpenOptions<'_>,
) -> Result<Artifact, RepositoryError> {
    let python = options.python.map(|(major, minor)| format!("{major}.{minor}"));
    let name = format!("{}-{version}", normal_name(project));
    let entry = key(&name, &["release", &name, python.as_deref().unwrap_or_default()]);
    if options.refresh {
        options.cache.remove(CacheKind::Release, &entry)?;
    }
    let label = format!("{project}=={version}");
    let content = options.cache.get_or_make(CacheKind::Release, &entry, &label, |into| {
        let artifact = Listing::of(project, options)?.choose(version, options)?;
        let path = into.join(CHOICE_FILE);
        let choice = Choice { format: CHOICE_FORMAT, artifact };
        let text = serde_json::to_vec(&choice).map_err(|error| read((path.clone(), error.into())));
        fs::write(&path, text?).map_err(|source| read((path, source)))
    })?;
    let path = content.join(CHOICE_FILE);
    let text = fs::read(&path).map_err(|source| read((path.clone(), source)))?;
    let choice: Choice =
        serde_json::from_slice(&text).map_err(|error| read((path, error.into())))?;
    Ok(choice.artifact)
}

/// The releases of a project from one to another; see [`super::Repository::releases`].
pub(super) fn between(
    project: &str,
    ends: [&str; 2],
    options: &OpenOptions<'_>,
) -> Result<Vec<String>, RepositoryError> {
    let listing = Listing::of(project, options)?;
    let files = listing.files.iter();
    let known =
        files.filter_map(|file| Some((parse_file_name(project, &file.name)?.0, file.yanked)));
    let known: Vec<(Version, bool)> = known.collect();
    let end = |text: &str| {
        let found = Version::from_str(text).ok();
        found.filter(|version| known.iter().any(|(one, _)| one == version)).ok_or_else(|| {
            let reason = "the index has no sdist and no wheel of it".to_owned();
            RepositoryError::NoRelease { release: format!("{project}=={text}"), reason }
        })
    };
    let [first, last] = [end(ends[0])?, end(ends[1])?];
    let (low, high) = if first <= last { (&first, &last) } else { (&last, &first) };
    let counts = |(version, yanked): &(Version, bool)| {
        let is_end = version == low || version == high;
        is_end || !*yanked && !version.any_prerelease() && low < version && version < high
    };
    let versions: BTreeSet<&Version> =
        known.iter().filter(|one| counts(one)).map(|(version, _)| version).collect();
    let mut versions: Vec<String> = versions.into_iter().map(ToString::to_string).collect();
    if first > last {
        versions.reverse();
    }
    if versions.len() < 2 {
        let reason = "two different releases are needed".to_owned();
        return Err(RepositoryError::NoRelease { release: format!("{project}=={first}"), reason });
    }
    Ok(versions)
}

/// The files of a project in an index.
struct Listing<'a> {
    project: &'a str,
    index: PackageIndexes,
    files: Vec<IndexFile>,
}

impl<'a> Listing<'a> {
    fn of(project: &'a str, options: &OpenOptions<'_>) -> Result<Listing<'a>, RepositoryError> {
        let index = PackageIndexes::of(options.host, options.sandbox, options.interrupt)?;
        let files = index.files(project)?;
        Ok(Listing { project, index, files })
    }

    /// One file, and the index that has it.
    fn with_file(self, name: &str) -> Result<(PackageIndexes, IndexFile), RepositoryError> {
        match self.files.into_iter().find(|file| file.name == name) {
            Some(file) => Ok((self.index, file)),
            None => Err(RepositoryError::NoRelease {
                release: self.project.to_owned(),
                reason: format!("the index has no file {}", name.escape_debug()),
            }),
        }
    }

    /// The newest release that is not withdrawn; a preliminary one only where there is no other.
    fn newest(&self) -> Result<Version, RepositoryError> {
        let versions = self.files.iter().filter(|file| !file.yanked);
        let versions =
            versions.filter_map(|file| Some(parse_file_name(self.project, &file.name)?.0));
        let newest = versions.max_by_key(|version| (!version.any_prerelease(), version.clone()));
        newest.ok_or_else(|| RepositoryError::NoRelease {
            release: self.project.to_owned(),
            reason: "the index has no sdist and no wheel of it".to_owned(),
        })
    }

    /// Chooses the file that stands for a release; to see which one has tests, it is unpacked.
    fn choose(
        &self,
        version: &Version,
        options: &OpenOptions<'_>,
    ) -> Result<Artifact, RepositoryError> {
        let of_release = self.files.iter().filter_map(|file| {
            let (found, kind) = parse_file_name(self.project, &file.name)?;
            (found == *version).then_some((kind, file))
        });
        let (sdists, wheels): (Vec<_>, Vec<_>) =
            of_release.partition(|(kind, _)| *kind == FileKind::Sdist);
        // `.tar.gz` sorts before `.zip`.
        let sdist = sdists.into_iter().map(|(_, file)| file).min_by_key(|file| &file.name);
        let compiled = !wheels.is_empty() && !wheels.iter().any(|(kind, _)| kind.is_pure());
        let pythons = match options.python {
            Some(python) => vec![python],
            None if compiled => usable_pythons(options),
            None => vec![Pythons::SUPPORTED.newest()],
        };
        let fitting = |python: &(u8, u8)| wheels.iter().find(|(kind, _)| kind.fits(*python));
        let wheel = pythons.iter().find_map(fitting).map(|(_, file)| *file);
        // Without its compiled modules a repository does not run.
        let order = if compiled { [wheel, sdist] } else { [sdist, wheel] };
        let mut last = None;
        for file in order.into_iter().flatten() {
            let artifact = self.artifact(file, options)?;
            let source = || Ok((self.index.clone(), file.clone()));
            if has_tests(&root_of(&artifact, source, options)?) {
                return Ok(artifact);
            }
            let is_sdist = sdist.is_some_and(|sdist| sdist.name == file.name);
            last = Some(artifact).filter(|_| is_sdist || last.is_none()).or(last);
        }
        last.ok_or_else(|| {
            let newest = self.newest().map(|newest| format!(" (the newest is {newest})"));
            let newest = newest.unwrap_or_default();
            RepositoryError::NoRelease {
                release: format!("{}=={version}", self.project),
                reason: format!("the index has no sdist and no fitting wheel of it{newest}"),
            }
        })
    }

    /// A file with its checksum, which not every index tells.
    fn artifact(
        &self,
        file: &IndexFile,
        options: &OpenOptions<'_>,
    ) -> Result<Artifact, RepositoryError> {
        let sha256 = match &file.sha256 {
            Some(sha256) => sha256.clone(),
            None => {
                let scratch = scratch(options.cache)?;
                self.index.download(file, &scratch.path().join(&file.name), options.progress)?
            }
        };
        Ok(Artifact { file: file.name.clone(), sha256 })
    }
}

/// The root of a file's unpacked contents; `source` says where to download it.
fn root_of(
    artifact: &Artifact,
    source: impl FnOnce() -> Result<(PackageIndexes, IndexFile), RepositoryError>,
    options: &OpenOptions<'_>,
) -> Result<PathBuf, RepositoryError> {
    let cache = options.cache;
    let name = key(&artifact.file, &["unpacked", &artifact.file, &artifact.sha256]);
    let content = cache.get_or_make(CacheKind::Repository, &name, &artifact.file, |into| {
        let archive = archive_of(artifact, source, options)?;
        (options.progress)(Progress::Step(&format!("unpacking {}", artifact.file)));
        Ok::<(), RepositoryError>(unpack(&archive, into, &UnpackLimits::default())?)
    })?;
    // An sdist has everything in one directory.
    let mut entries = fs::read_dir(&content).map_err(|source| read((content.clone(), source)))?;
    match (entries.next(), entries.next()) {
        (Some(Ok(only)), None) if !artifact.file.ends_with(".whl") && only.path().is_dir() => {
            Ok(only.path())
        }
        _ => Ok(content),
    }
}

/// A downloaded file, whose checksum was found right.
fn archive_of(
    artifact: &Artifact,
    source: impl FnOnce() -> Result<(PackageIndexes, IndexFile), RepositoryError>,
    options: &OpenOptions<'_>,
) -> Result<PathBuf, RepositoryError> {
    let is_plain =
        Path::new(&artifact.file).file_name().is_some_and(|name| *name == *artifact.file);
    if !is_plain {
        let spec = artifact.file.escape_debug().to_string();
        return Err(RepositoryError::Malformed { spec, reason: "no name of a file".to_owned() });
    }
    let name = key(&artifact.file, &["file", &artifact.file, &artifact.sha256]);
    let content =
        options.cache.get_or_make(CacheKind::Artifact, &name, &artifact.file, |into| {
            let (index, file) = source()?;
            let checked = |found: &str| match *found == artifact.sha256 {
                true => Ok(()),
                false => Err(RepositoryError::Checksum {
                    file: artifact.file.clone(),
                    expected: artifact.sha256.clone(),
                    found: found.to_owned(),
                }),
            };
            if let Some(promised) = &file.sha256 {
                checked(promised)?;
            }
            (options.progress)(Progress::Step(&format!("downloading {}", artifact.file)));
            checked(&index.download(&file, &into.join(&artifact.file), options.progress)?)
        })?;
    Ok(content.join(&artifact.file))
}

/// The versions of this machine's interpreters, the newest first.
fn usable_pythons(options: &OpenOptions<'_>) -> Vec<(u8, u8)> {
    let found = find_interpreters(options.host);
    let probes = found.iter().filter_map(|python| probe(python, options.sandbox).ok());
    let mut versions: Vec<(u8, u8)> =
        probes.map(|probe| (probe.version.0, probe.version.1)).collect();
    versions.sort_unstable();
    versions.dedup();
    versions.reverse();
    versions
}

/// Returns true if a repository has a test file, by the names that pytest and unittest look for.
fn has_tests(root: &Path) -> bool {
    let Ok(snapshot) = Snapshot::of(root) else { return false };
    snapshot.entries.iter().any(|entry| {
        let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
        matches!(entry.kind, EntryKind::File { .. })
            && name.ends_with(".py")
            && (name.starts_with("test_") || name == "tests.py" || name.ends_with("_test.py"))
    })
}
