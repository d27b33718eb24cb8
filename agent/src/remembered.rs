//! Caches texts that depend only on a repository and the settings, from one session to the next.
//!
//! An unreadable or incomplete text is made again; a text that cannot be stored is made every time.
//! A key names all inputs of a text, this build of the program included.

use std::{env, fs, path::Path, sync::LazyLock};

use crate::record::replace;

/// The version of the program, with the size and the time of its file: builds of one version may differ.
static BUILD: LazyLock<String> = LazyLock::new(|| {
    let file = env::current_exe().and_then(fs::metadata);
    let built = file.and_then(|file| Ok(format!("{} {:?}", file.len(), file.modified()?)));
    format!("{} {}", env!("CARGO_PKG_VERSION"), built.unwrap_or_default())
});

/// Returns the text of a key: the stored one, or a new one, which is then stored.
pub fn remembered(directory: &Path, key: &str, make: impl FnOnce() -> String) -> String {
    let key = format!("{}\n{key}", *BUILD);
    let path = directory.join(format!("{}.opening", blake3::hash(key.as_bytes()).to_hex()));
    if let Some(text) = fs::read_to_string(&path).ok().and_then(|kept| whole(&kept)) {
        return text;
    }
    let text = make();
    let kept = format!("{}\n{text}", blake3::hash(text.as_bytes()).to_hex());
    // Whoever cannot write here has lost nothing but time.
    let _ = fs::create_dir_all(directory).map(|()| replace(&path, kept.as_bytes()));
    text
}

/// The text of a file whose first line is the hash of the others.
fn whole(kept: &str) -> Option<String> {
    let (hash, text) = kept.split_once('\n')?;
    (blake3::hash(text.as_bytes()).to_hex().as_str() == hash).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d02_what_is_not_whole_is_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let told = |text: &str| remembered(directory.path(), "key", || text.to_owned());
        assert_eq!(told("first, of two\nlines"), "first, of two\nlines");
        assert_eq!(told("second"), "first, of two\nlines");
        let file = fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
        let kept = fs::read(&file).unwrap();
        for end in 0..kept.len() {
            fs::write(&file, &kept[..end]).unwrap();
            assert_eq!(told("third"), "third", "cut at {end}");
        }
        assert_eq!(remembered(directory.path(), "other", || "fourth".to_owned()), "fourth");
        assert_eq!(remembered(Path::new("/proc/none"), "key", || "fifth".to_owned()), "fifth");
    }
}
