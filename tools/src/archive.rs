//! Unpacks archives of unknown origin.
//!
//! An archive that could write outside of the target, or fill the disk or memory, is refused as a
//! whole: the caller removes the files unpacked so far. Names are checked before anything is
//! written, and links are created last, so that nothing is written through one.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{OpenOptionsExt, symlink},
    },
    path::{Component, Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use tar::EntryType;

/// The limits on the size of an unpacked archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnpackLimits {
    /// Files, directories and links.
    pub entries: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of all files for each byte of the archive, looked at beyond `ratio_from` bytes.
    pub ratio: u64,
    /// See `ratio`.
    pub ratio_from: u64,
}

impl Default for UnpackLimits {
    fn default() -> UnpackLimits {
        UnpackLimits { entries: 200_000, bytes: 4 << 30, ratio: 100, ratio_from: 128 << 20 }
    }
}

/// Why an archive is not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It could do harm.
    #[error("unpack {archive}: refused: {entry}: {reason}")]
    Refused {
        /// The archive.
        archive: PathBuf,
        /// The name of what is refused, neutralised for printing.
        entry: String,
        /// The reason for the refusal.
        reason: &'static str,
    },
    /// It is larger than allowed.
    #[error("unpack {archive}: refused: it holds more than {limit} {what}")]
    TooLarge {
        /// The archive.
        archive: PathBuf,
        /// The limit that is passed.
        limit: u64,
        /// The unit of the limit.
        what: &'static str,
    },
    /// Its name ends in nothing that is known.
    #[error(
        "unpack {archive}: unknown kind of archive (.tar.gz, .tgz, .tar, .zip and .whl are known)"
    )]
    Unknown {
        /// The archive.
        archive: PathBuf,
    },
    /// It is damaged, or cannot be read or written.
    #[error("unpack {archive}: {}", crate::workspace::explain(.source))]
    Io {
        /// The archive.
        archive: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Unpacks `archive` into the empty directory `into`.
///
/// # Errors
/// When it is refused, damaged, or cannot be written; then `into` holds a part that is to be thrown
/// away.
pub fn unpack(archive: &Path, into: &Path, limits: &UnpackLimits) -> Result<(), ArchiveError> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let io_error = |source| ArchiveError::Io { archive: archive.to_path_buf(), source };
    let file = File::open(archive).map_err(io_error)?;
    let size = file.metadata().map_err(io_error)?.len();
    let mut unpacking =
        Unpacking { archive, into, limits: *limits, size, entries: 0, bytes: 0, links: Vec::new() };
    if name.ends_with(".tar.gz") || name.ends_with(".tgz") {
        unpacking.tar(MultiGzDecoder::new(io::BufReader::new(file)))?;
    } else if name.ends_with(".tar") {
        unpacking.tar(io::BufReader::new(file))?;
    } else if name.ends_with(".zip") || name.ends_with(".whl") {
        unpacking.zip(file)?;
    } else {
        return Err(ArchiveError::Unknown { archive: archive.to_path_buf() });
    }
    unpacking.make_links()
}

/// Longest extended header that is read; it holds one entry's names.
const HEADER_BYTES: u64 = 1 << 20;
const TARGET_BYTES: u64 = 4096;

struct Unpacking<'a> {
    archive: &'a Path,
    into: &'a Path,
    limits: UnpackLimits,
    /// Of the archive itself.
    size: u64,
    entries: u64,
    bytes: u64,
    links: Vec<(PathBuf, PathBuf)>,
}

impl Unpacking<'_> {
    fn tar(&mut self, reader: impl Read) -> Result<(), ArchiveError> {
        // Headers for tools alone can repeat without end; as raw entries they are counted, and
        // their size is looked at before they are read.
        let reader = Metered { reader, left: self.limits.bytes.saturating_add(HEADER_BYTES) };
        let mut archive = tar::Archive::new(reader);
        let mut long_name: Option<Vec<u8>> = None;
        let mut long_target: Option<Vec<u8>> = None;
        for entry in archive.entries().map_err(|error| self.io(error))?.raw(true) {
            let mut entry = entry.map_err(|error| self.io(error))?;
            self.count_entry()?;
            let kind = entry.header().entry_type();
            let own_name = entry.header().path_bytes().into_owned();
            match kind {
                EntryType::GNULongName | EntryType::GNULongLink => {
                    let mut text = self.read_small(&mut entry, &own_name, HEADER_BYTES)?;
                    while text.last() == Some(&0) {
                        text.pop();
                    }
                    let place = match kind {
                        EntryType::GNULongName => &mut long_name,
                        _ => &mut long_target,
                    };
                    *place = Some(text);
                    continue;
                }
                EntryType::XHeader => {
                    let text = self.read_small(&mut entry, &own_name, HEADER_BYTES)?;
                    for (key, value) in pax_records(&text) {
                        match key {
                            b"path" => long_name = Some(value.to_vec()),
                            b"linkpath" => long_target = Some(value.to_vec()),
                            // Only files of 8 GB and more need it.
                            b"size" => {
                                return Err(self.refused(&own_name, "file with an extended size"));
                            }
                            _ => {}
                        }
                    }
                    continue;
                }
                EntryType::XGlobalHeader => continue,
                _ => {}
            }
            let name = long_name.take().unwrap_or(own_name);
            let target = long_target
                .take()
                .or_else(|| entry.header().link_name_bytes().map(|target| target.into_owned()));
            let path = self.checked(&name)?;
            match kind {
                EntryType::Directory => self.directory(&name, &path)?,
                // Old archives mark a directory by its name alone.
                EntryType::Regular if name.ends_with(b"/") => self.directory(&name, &path)?,
                EntryType::Regular | EntryType::Continuous => {
                    let executable = entry.header().mode().unwrap_or(0o644) & 0o111 != 0;
                    self.file(&name, &path, executable, &mut entry)?;
                }
                EntryType::Symlink => self.link(&name, path, target.unwrap_or_default())?,
                EntryType::Link => return Err(self.refused(&name, "hard link")),
                EntryType::Char | EntryType::Block | EntryType::Fifo => {
                    return Err(self.refused(&name, "device or pipe"));
                }
                _ => return Err(self.refused(&name, "unknown kind of entry")),
            }
        }
        Ok(())
    }

    fn zip(&mut self, file: File) -> Result<(), ArchiveError> {
        const KIND: u32 = 0o170_000;
        let damaged = |error: zip::result::ZipError| io::Error::other(error);
        let mut archive = zip::ZipArchive::new(io::BufReader::new(file))
            .map_err(|error| self.io(damaged(error)))?;
        for index in 0..archive.len() {
            self.count_entry()?;
            let mut entry = archive.by_index(index).map_err(|error| self.io(damaged(error)))?;
            let name = entry.name().as_bytes().to_vec();
            let path = self.checked(&name)?;
            let mode = entry.unix_mode().unwrap_or(0);
            match mode & KIND {
                0o120_000 => {
                    let target = self.read_small(&mut entry, &name, TARGET_BYTES)?;
                    self.link(&name, path, target)?;
                }
                0o040_000 => self.directory(&name, &path)?,
                0 | 0o100_000 if entry.is_dir() => self.directory(&name, &path)?,
                0 | 0o100_000 => self.file(&name, &path, mode & 0o111 != 0, &mut entry)?,
                _ => return Err(self.refused(&name, "device or pipe")),
            }
        }
        Ok(())
    }

    fn directory(&self, name: &[u8], path: &Path) -> Result<(), ArchiveError> {
        let place = self.into.join(path);
        match fs::create_dir_all(&place) {
            Ok(()) => Ok(()),
            Err(error) if is_clash(&error) => Err(self.refused(name, "file and directory in one")),
            Err(error) => Err(self.io(error)),
        }
    }

    fn file(
        &mut self,
        name: &[u8],
        path: &Path,
        executable: bool,
        source: &mut dyn Read,
    ) -> Result<(), ArchiveError> {
        if path.as_os_str().is_empty() {
            return Err(self.refused(name, "file without a name"));
        }
        let place = self.into.join(path);
        if let Some(parent) = path.parent() {
            self.directory(name, parent)?;
        }
        let mut options = File::options();
        options.write(true).create(true).truncate(true).custom_flags(libc::O_NOFOLLOW);
        let mut file = match options.mode(if executable { 0o755 } else { 0o644 }).open(place) {
            Ok(file) => file,
            Err(error) if is_clash(&error) => {
                return Err(self.refused(name, "file and directory in one"));
            }
            Err(error) => return Err(self.io(error)),
        };
        let mut buffer = [0; 64 * 1024];
        loop {
            let count = match source.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.io(error)),
            };
            self.count_bytes(count as u64)?;
            file.write_all(&buffer[..count]).map_err(|error| self.io(error))?;
        }
    }

    fn link(&mut self, name: &[u8], path: PathBuf, target: Vec<u8>) -> Result<(), ArchiveError> {
        let target = PathBuf::from(std::ffi::OsString::from_vec(target));
        if !leads_inside(&path, &target) {
            return Err(self.refused(name, "link out of the archive"));
        }
        if path.as_os_str().is_empty() || target.as_os_str().is_empty() {
            return Err(self.refused(name, "link without a name or target"));
        }
        self.links.push((path, target));
        Ok(())
    }

    /// Makes the links, after everything else, and none below another.
    fn make_links(&mut self) -> Result<(), ArchiveError> {
        let links = std::mem::take(&mut self.links);
        let root = self.into.canonicalize().map_err(|error| self.io(error))?;
        for (path, target) in &links {
            let name = path.as_os_str().as_bytes();
            let parent = path.parent().unwrap_or(Path::new(""));
            self.directory(name, parent)?;
            let parent = root.join(parent);
            if parent.canonicalize().map_err(|error| self.io(error))? != parent {
                return Err(self.refused(name, "link below a link"));
            }
            match symlink(target, root.join(path)) {
                Ok(()) => {}
                Err(error) if is_clash(&error) => {
                    return Err(self.refused(name, "link in the place of something else"));
                }
                Err(error) => return Err(self.io(error)),
            }
        }
        Ok(())
    }

    /// The relative path that a name stands for.
    fn checked(&self, name: &[u8]) -> Result<PathBuf, ArchiveError> {
        if name.iter().any(|&byte| byte == 0 || byte == b'\\') {
            return Err(self.refused(name, "name with a zero byte or backslash"));
        }
        let mut path = PathBuf::new();
        for component in Path::new(std::ffi::OsStr::from_bytes(name)).components() {
            match component {
                Component::Normal(part) => path.push(part),
                Component::CurDir => {}
                Component::ParentDir => return Err(self.refused(name, "path with `..`")),
                Component::RootDir | Component::Prefix(_) => {
                    return Err(self.refused(name, "absolute path"));
                }
            }
        }
        Ok(path)
    }

    fn read_small(
        &mut self,
        source: &mut dyn Read,
        name: &[u8],
        limit: u64,
    ) -> Result<Vec<u8>, ArchiveError> {
        let mut text = Vec::new();
        source.take(limit + 1).read_to_end(&mut text).map_err(|error| self.io(error))?;
        if text.len() as u64 > limit {
            return Err(self.refused(name, "overlong header or link"));
        }
        self.count_bytes(text.len() as u64)?;
        Ok(text)
    }

    fn count_entry(&mut self) -> Result<(), ArchiveError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(self.too_large(self.limits.entries, "entries"));
        }
        Ok(())
    }

    fn count_bytes(&mut self, count: u64) -> Result<(), ArchiveError> {
        self.bytes += count;
        if self.bytes > self.limits.bytes {
            return Err(self.too_large(self.limits.bytes, "bytes"));
        }
        let ratio = self.bytes / self.size.max(1);
        if self.bytes > self.limits.ratio_from && ratio > self.limits.ratio {
            return Err(self.too_large(self.limits.ratio, "bytes for each of its own"));
        }
        Ok(())
    }

    fn refused(&self, name: &[u8], reason: &'static str) -> ArchiveError {
        let entry = String::from_utf8_lossy(name).escape_debug().take(200).collect();
        ArchiveError::Refused { archive: self.archive.to_path_buf(), entry, reason }
    }

    fn too_large(&self, limit: u64, what: &'static str) -> ArchiveError {
        ArchiveError::TooLarge { archive: self.archive.to_path_buf(), limit, what }
    }

    fn io(&self, source: io::Error) -> ArchiveError {
        ArchiveError::Io { archive: self.archive.to_path_buf(), source }
    }
}

/// Returns true if a link at the relative `path` has a target below the root. Assumes that no
/// parent of `path` is a link and that all other links lead inside too. `..` is allowed only at the
/// beginning of a target: after a name it could follow a link.
pub(crate) fn leads_inside(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count() as i64 - 1;
    let mut descended = false;
    for component in target.components() {
        match component {
            Component::Normal(_) => descended = true,
            Component::CurDir => {}
            Component::ParentDir if !descended && depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// A reader that fails if a stream exceeds the limits of an archive, even in parts of it that are
/// skipped.
struct Metered<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::other("it holds more bytes than an archive may"))?;
        Ok(count)
    }
}

/// The records `LENGTH KEY=VALUE\n` of an extended header, up to the first that is malformed.
fn pax_records(mut text: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut records = Vec::new();
    loop {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let length = std::str::from_utf8(&text[..digits]).ok().and_then(|text| text.parse().ok());
        let Some(length @ 1..) = length else { return records };
        let record: Option<&[u8]> = text.get(digits + 1..length);
        let Some((b'\n', record)) = record.and_then(<[u8]>::split_last) else { return records };
        let Some(equals) = record.iter().position(|&byte| byte == b'=') else { return records };
        records.push((&record[..equals], &record[equals + 1..]));
        text = &text[length..];
    }
}

/// Returns true if the error means that another kind of entry is in the way.
fn is_clash(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | IsADirectory | NotADirectory)
        || error.raw_os_error() == Some(libc::ELOOP)
}
