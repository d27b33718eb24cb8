//! Archives that strangers made: good ones are unpacked, bad ones are refused and write nothing
//! outside of their directory (S23).

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use gistify_tools::{UnpackLimits, unpack};
use tar::{EntryType, Header};
use zip::write::SimpleFileOptions;

/// One entry of an archive to be made: name, kind, and text or target.
type Entry<'a> = (&'a str, EntryType, &'a str);

const FILE: EntryType = EntryType::Regular;
const LINK: EntryType = EntryType::Symlink;
const DIRECTORY: EntryType = EntryType::Directory;

/// Builds an archive byte by byte: the usual builders refuse the names that are wanted here.
fn tar_gz(path: &Path, entries: &[Entry]) {
    let file = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
    let mut builder = tar::Builder::new(file);
    for &(name, kind, text) in entries {
        let mut header = Header::new_ustar();
        let bytes = &mut header.as_old_mut().name;
        bytes[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
        header.set_entry_type(kind);
        header.set_mode(if name.ends_with(".sh") { 0o755 } else { 0o644 });
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        let text = if is_link {
            header.as_old_mut().linkname[..text.len()].copy_from_slice(text.as_bytes());
            ""
        } else {
            text
        };
        header.set_size(text.len() as u64);
        header.set_cksum();
        builder.append(&header, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap();
}

fn zip(path: &Path, entries: &[Entry]) {
    let mut writer = zip::ZipWriter::new(fs::File::create(path).unwrap());
    for &(name, kind, text) in entries {
        let mode = if name.ends_with(".sh") { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default().unix_permissions(mode);
        match kind {
            EntryType::Directory => writer.add_directory(name, options).unwrap(),
            EntryType::Symlink => writer.add_symlink(name, text, options).unwrap(),
            _ => {
                writer.start_file(name, options).unwrap();
                writer.write_all(text.as_bytes()).unwrap();
            }
        }
    }
    writer.finish().unwrap();
}

/// Unpacks in a nested directory, and checks the directories around it afterwards.
fn try_unpack(archive: &Path, limits: &UnpackLimits) -> (PathBuf, Result<(), String>) {
    let base = archive.parent().unwrap();
    let into = base.join("a/b/into");
    let _ = fs::remove_dir_all(base.join("a"));
    fs::create_dir_all(&into).unwrap();
    let result = unpack(archive, &into, limits).map_err(|error| error.to_string());
    for (directory, only) in [(base.join("a"), "b"), (base.join("a/b"), "into")] {
        let names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, [only], "something was written outside");
    }
    (into, result)
}

/// Relative path and text of each file; links with their target.
fn contents(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(path) = pending.pop() {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if path.is_symlink() {
            found.push(format!("{name} -> {}", fs::read_link(&path).unwrap().display()));
        } else if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let executable = path.metadata().unwrap().permissions().mode() & 0o111 != 0;
            let mark = if executable { "*" } else { "" };
            found.push(format!("{name}{mark}: {}", fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    found
}

fn check(entries: &[Entry], expected: Result<&[&str], &str>) {
    let temporary = tempfile::tempdir().unwrap();
    type Build = fn(&Path, &[Entry]);
    let builders: [(&str, Build); 2] = [("x.tar.gz", tar_gz), ("x.whl", zip)];
    for (name, build) in builders {
        let only_tar =
            |kind| !matches!(kind, EntryType::Regular | EntryType::Directory | EntryType::Symlink);
        if name == "x.whl" && entries.iter().any(|entry| only_tar(entry.1)) {
            continue;
        }
        let archive = temporary.path().join(name);
        build(&archive, entries);
        let (into, result) = try_unpack(&archive, &UnpackLimits::default());
        match expected {
            Ok(files) => {
                assert_eq!(result, Ok(()), "{name} {entries:?}");
                assert_eq!(contents(&into), files, "{name} {entries:?}");
            }
            Err(reason) => {
                let error = result.expect_err(&format!("{name} {entries:?}"));
                let start = format!("unpack {}: refused: ", archive.display());
                assert!(error.starts_with(&start) && error.ends_with(reason), "{error}");
            }
        }
    }
}

#[test]
fn good_archives_are_unpacked() {
    check(&[], Ok(&[]));
    check(
        &[
            ("p-1/", DIRECTORY, ""),
            ("p-1/a.py", FILE, "x = 1\n"),
            ("p-1/deep/er/b.sh", FILE, "true\n"),
            ("./p-1/./c.txt", FILE, ""),
            ("p-1/link.py", LINK, "a.py"),
            ("p-1/deep/up.py", LINK, "../a.py"),
            ("p-1/dangling", LINK, "nothing/here"),
        ],
        Ok(&[
            "p-1/a.py: x = 1\n",
            "p-1/c.txt: ",
            "p-1/dangling -> nothing/here",
            "p-1/deep/er/b.sh*: true\n",
            "p-1/deep/up.py -> ../a.py",
            "p-1/link.py -> a.py",
        ]),
    );
}

#[test]
fn long_names_are_unpacked() {
    let temporary = tempfile::tempdir().unwrap();
    let long = format!("p-1/{}/{}.py", "d".repeat(150), "f".repeat(150));
    for gnu in [true, false] {
        let archive = temporary.path().join("x.tar.gz");
        let file = GzEncoder::new(fs::File::create(&archive).unwrap(), Compression::fast());
        let mut builder = tar::Builder::new(file);
        if !gnu {
            let record = |key: &str, value: &str| {
                let text = format!(" {key}={value}\n");
                let length = text.len() + 3;
                format!("{length}{text}")
            };
            let text = record("path", &long);
            let mut header = Header::new_ustar();
            header.set_entry_type(EntryType::XHeader);
            header.set_size(text.len() as u64);
            header.set_cksum();
            builder.append(&header, text.as_bytes()).unwrap();
        }
        let mut header = Header::new_gnu();
        header.set_size(1);
        let name = if gnu { long.as_str() } else { "short" };
        builder.append_data(&mut header, name, &b"1"[..]).unwrap();
        builder.into_inner().unwrap().finish().unwrap();
        let (into, result) = try_unpack(&archive, &UnpackLimits::default());
        assert_eq!(result, Ok(()));
        assert_eq!(contents(&into), [format!("{long}: 1")]);
    }
}

#[test]
fn s23_paths_that_lead_out() {
    check(&[("../x", FILE, "")], Err("../x: path with `..`"));
    check(&[("p/../../x", FILE, "")], Err("path with `..`"));
    check(&[("p/..", DIRECTORY, "")], Err("path with `..`"));
    check(&[("/tmp/x", FILE, "")], Err("/tmp/x: absolute path"));
    check(&[("p\\..\\x", FILE, "")], Err("name with a zero byte or backslash"));
    check(&[("a", FILE, ""), ("a/b", FILE, "")], Err("file and directory in one"));
    check(&[("a/b", FILE, ""), ("a", FILE, "")], Err("file and directory in one"));
}

#[test]
fn s23_links_that_lead_out() {
    let out = "link out of the archive";
    check(&[("l", LINK, "/etc/passwd")], Err(out));
    check(&[("l", LINK, "../x")], Err(out));
    check(&[("p/l", LINK, "../../x")], Err(out));
    check(&[("p/l", LINK, "q/../../../x")], Err(out));
    // Each is harmless alone: the second leaves through the first.
    check(&[("p/x", LINK, "../q"), ("q/f", FILE, ""), ("p/l", LINK, "x/../../y")], Err(out));
    check(&[("l", LINK, "d"), ("d/f", FILE, ""), ("l/m", LINK, "f")], Err("link below a link"));
    check(
        &[("l", LINK, "d"), ("d/f", FILE, ""), ("l/g", FILE, "")],
        Err("link in the place of something else"),
    );
    check(&[("f", FILE, ""), ("h", EntryType::Link, "f")], Err("h: hard link"));
    check(&[("h", EntryType::Link, "/etc/passwd")], Err("hard link"));
}

#[test]
fn s23_devices() {
    for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo] {
        check(&[("dev", kind, "")], Err("dev: device or pipe"));
    }
    check(&[("sparse", EntryType::GNUSparse, "")], Err("unknown kind of entry"));
}

#[test]
fn names_are_neutralised() {
    check(&[("../\u{1b}]52;c;x\u{7}", FILE, "")], Err("../\\u{1b}]52;c;x\\u{7}: path with `..`"));
}

/// A stream of zeros with an archive's header in front.
fn bomb(path: &Path, bytes: u64) {
    let mut file = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
    let mut header = Header::new_ustar();
    header.set_path("zeros").unwrap();
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_cksum();
    file.write_all(header.as_bytes()).unwrap();
    io::copy(&mut io::repeat(0).take(bytes), &mut file).unwrap();
    file.finish().unwrap();
}

#[test]
fn s23_bombs() {
    let temporary = tempfile::tempdir().unwrap();
    let archive = temporary.path().join("x.tar.gz");
    let limits = UnpackLimits { entries: 10, bytes: 8 << 20, ratio: 10, ratio_from: 1 << 20 };
    let refused = |limits: &UnpackLimits, expected: &str| {
        let (into, result) = try_unpack(&archive, limits);
        assert_eq!(result, Err(format!("unpack {}: {expected}", archive.display())));
        let written: u64 =
            fs::read_dir(into).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
        assert!(written <= 9 << 20, "{written}");
    };
    bomb(&archive, 64 << 20);
    refused(&limits, "refused: it holds more than 10 bytes for each of its own");
    refused(
        &UnpackLimits { ratio: 10_000, ..limits },
        &format!("refused: it holds more than {} bytes", 8 << 20),
    );
    let many: Vec<String> = (0..11).map(|number| format!("f{number}")).collect();
    let many: Vec<Entry> = many.iter().map(|name| (name.as_str(), FILE, "")).collect();
    tar_gz(&archive, &many);
    refused(&limits, "refused: it holds more than 10 entries");
    // Headers that only say something about the next entry.
    let headers = vec![("h", EntryType::XGlobalHeader, ""); 11];
    tar_gz(&archive, &headers);
    refused(&limits, "refused: it holds more than 10 entries");
    let text = "x".repeat(2 << 20);
    tar_gz(&archive, &[("l", EntryType::GNULongName, &text)]);
    refused(&limits, "refused: l: overlong header or link");
    tar_gz(&archive, &[("g", EntryType::XGlobalHeader, &"x".repeat(16 << 20))]);
    refused(&limits, "it holds more bytes than an archive may");
    let zipped = temporary.path().join("x.zip");
    let zeros = "\0".repeat(4 << 20);
    zip(&zipped, &[("zeros", FILE, &zeros)]);
    let (_, result) = try_unpack(&zipped, &limits);
    assert!(result.unwrap_err().ends_with("10 bytes for each of its own"));
}

#[test]
fn damaged_archives_are_errors() {
    let temporary = tempfile::tempdir().unwrap();
    let good = temporary.path().join("x.tar.gz");
    tar_gz(&good, &[("p/a.py", FILE, "x = 1\n"), ("p/b.py", FILE, &"y = 2\n".repeat(1000))]);
    let bytes = fs::read(&good).unwrap();
    let cut = temporary.path().join("cut.tar.gz");
    for length in (0..bytes.len()).step_by(7) {
        fs::write(&cut, &bytes[..length]).unwrap();
        let _ = try_unpack(&cut, &UnpackLimits::default());
    }
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    assert!(try_unpack(&cut, &UnpackLimits::default()).1.is_err());
    for name in ["x.zip", "x.whl", "x.tgz"] {
        let archive = temporary.path().join(name);
        fs::write(&archive, b"no archive").unwrap();
        let error = try_unpack(&archive, &UnpackLimits::default()).1.unwrap_err();
        assert!(error.starts_with(&format!("unpack {}: ", archive.display())), "{error}");
    }
    let archive = temporary.path().join("x.rar");
    fs::write(&archive, b"").unwrap();
    assert!(try_unpack(&archive, &UnpackLimits::default()).1.unwrap_err().contains("unknown kind"));
}
