//! The cache: entries are whole or not there, made once, and stay while they are used.

use std::{
    fs,
    path::Path,
    sync::{
        Barrier,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use gistify_tools::{Cache, CacheError, CacheKind, Interrupt, Prune};

const KIND: CacheKind = CacheKind::Artifact;

fn open(root: &Path) -> Cache {
    Cache::open(root, Interrupt::new()).unwrap()
}

fn make(cache: &Cache, key: &str, text: &str) -> String {
    let content = cache.get_or_make(KIND, key, "a label", |content| -> Result<(), CacheError> {
        fs::write(content.join("file"), text).unwrap();
        Ok(())
    });
    fs::read_to_string(content.unwrap().join("file")).unwrap()
}

fn keys(cache: &Cache) -> Vec<String> {
    cache.list().unwrap().into_iter().map(|entry| entry.key).collect()
}

#[test]
fn an_entry_is_made_once() {
    let temporary = tempfile::tempdir().unwrap();
    let made = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                // As different processes have it: each its own cache.
                let cache = open(temporary.path());
                let content = cache
                    .get_or_make(KIND, "key", "", |content| -> Result<(), CacheError> {
                        made.fetch_add(1, Ordering::SeqCst);
                        thread::sleep(Duration::from_millis(100));
                        fs::write(content.join("file"), "x").unwrap();
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(fs::read_to_string(content.join("file")).unwrap(), "x");
            });
        }
    });
    assert_eq!(made.load(Ordering::SeqCst), 1);
}

#[test]
fn whoever_waited_for_an_entry_does_not_wait_until_it_is_let_go() {
    let temporary = tempfile::tempdir().unwrap();
    // One for two threads of a process, and one for another process; all live until the end.
    let (one, other) = (open(temporary.path()), open(temporary.path()));
    let barrier = Barrier::new(3);
    thread::scope(|scope| {
        for cache in [&one, &one, &other] {
            scope.spawn(|| {
                barrier.wait();
                let made = |content: &Path| -> Result<(), CacheError> {
                    thread::sleep(Duration::from_millis(200));
                    fs::write(content.join("file"), "x").unwrap();
                    Ok(())
                };
                assert!(cache.get_or_make(KIND, "key", "", made).unwrap().join("file").exists());
            });
        }
    });
}

#[test]
fn a_failed_or_partial_entry_is_not_there() {
    let temporary = tempfile::tempdir().unwrap();
    let cache = open(temporary.path());
    let failed = cache.get_or_make(KIND, "key", "", |content| {
        fs::write(content.join("part"), "x").unwrap();
        Err(CacheError::Interrupted { path: content.to_path_buf() })
    });
    assert!(matches!(failed, Err(CacheError::Interrupted { .. })));
    assert_eq!(cache.find(KIND, "key").unwrap(), None);
    assert_eq!(keys(&cache), [""; 0]);

    let part = temporary.path().join("artifacts/key/content");
    fs::create_dir_all(&part).unwrap();
    fs::write(part.join("part"), "x").unwrap();
    assert_eq!(cache.find(KIND, "key").unwrap(), None);
    assert!(!cache.list().unwrap()[0].complete);
    assert_eq!(make(&cache, "key", "whole"), "whole");
    assert!(!part.join("part").exists());
    assert!(cache.list().unwrap()[0].complete);
}

#[test]
fn pruning_takes_what_nobody_uses() {
    let temporary = tempfile::tempdir().unwrap();
    for key in ["a", "b", "c"] {
        make(&open(temporary.path()), key, &"x".repeat(10_000));
        thread::sleep(Duration::from_millis(20));
    }
    let user = open(temporary.path());
    assert_eq!(make(&user, "b", "not made again").len(), 10_000);
    let cache = open(temporary.path());
    let list = cache.list().unwrap();
    assert_eq!(keys(&cache), ["a", "b", "c"]);
    assert!(list.iter().all(|entry| entry.bytes >= 10_000 && entry.label == "a label"));

    let prune = |rules: Prune| {
        let pruned = cache.prune(&rules).unwrap();
        let keys = |list: Vec<gistify_tools::CacheEntry>| -> Vec<String> {
            list.into_iter().map(|entry| entry.key).collect()
        };
        (keys(pruned.removed), keys(pruned.in_use))
    };
    let none = (vec![], vec![]);
    assert_eq!(prune(Prune::default()), none);
    let other = Prune {
        unused_for: Some(Duration::ZERO),
        kinds: vec![CacheKind::Environment],
        ..Prune::default()
    };
    assert_eq!(prune(other), none);
    assert_eq!(
        prune(Prune { unused_for: Some(Duration::from_secs(3600)), ..Prune::default() }),
        none
    );
    // `b` was used last, so `a` is the oldest.
    let total: u64 = list.iter().map(|entry| entry.bytes).sum();
    let (removed, _) = prune(Prune { max_bytes: Some(total - 1), ..Prune::default() });
    assert_eq!(removed, ["a"]);
    let all = Prune { unused_for: Some(Duration::ZERO), ..Prune::default() };
    assert_eq!(prune(all.clone()), (vec!["c".to_owned()], vec!["b".to_owned()]));
    drop(user);
    assert_eq!(prune(all), (vec!["b".to_owned()], vec![]));
    assert_eq!(keys(&cache), [""; 0]);
}

#[test]
fn waiting_ends_with_an_interruption() {
    let temporary = tempfile::tempdir().unwrap();
    let interrupt = Interrupt::new();
    let cache = Cache::open(temporary.path(), interrupt.clone()).unwrap();
    open(temporary.path())
        .get_or_make(KIND, "key", "", |_| -> Result<(), CacheError> {
            interrupt.trigger();
            let waited =
                cache.get_or_make(KIND, "key", "", |_| -> Result<(), CacheError> { Ok(()) });
            assert!(matches!(waited, Err(CacheError::Interrupted { .. })));
            Ok(())
        })
        .unwrap();
}

#[test]
fn says_why_it_cannot_be_used() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Cache::open(&file.join("cache"), Interrupt::new()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("use cache {}", file.display())), "{error}");
    let root = temporary.path().join("cache");
    drop(open(&root));
    fs::write(root.join("format"), "99\n").unwrap();
    let error = Cache::open(&root, Interrupt::new()).unwrap_err().to_string();
    assert!(error.contains("it has format 99, this program writes 1"), "{error}");
}
