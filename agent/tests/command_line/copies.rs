//! Copies of a repository: what a command does to its own, nobody else sees.

use super::*;

#[test]
fn a_command_that_writes_to_every_file_changes_no_source() {
    const WRITING: &str = "\
#- pkg/__init__.py
from pathlib import Path
def files():
    return sorted(path for path in Path.cwd().rglob('*') if path.is_file())
def spoil(path):
    if not path.name.endswith('.py'):
        assert 'spoilt' not in path.read_text()
    with open(path, 'a') as file:
        file.write('# spoilt\\n')
#- data/one.txt
one
#- data/deep/two.txt
two
#- tests/test_files.py
import os, shutil
from pathlib import Path
from pkg import files, spoil
def test_files():
    data = [path.name for path in files() if path.suffix == '.txt']
    assert data == ['two.txt', 'one.txt'], data
    assert not Path('left').exists() and oct(os.stat('data').st_mode)[-3:] != '700'
    for path in files():
        spoil(path)
    Path('left').mkdir()
    os.chmod('data', 0o700)
    os.rename('data/deep', 'data/moved')
";
    let Some(python) = python() else { return };
    let user = User::new();
    let root = user.repository("writing", WRITING);
    let hashes = |root: &Path| {
        let mut pending = vec![root.to_path_buf()];
        let mut found = Vec::new();
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => pending.push(path),
                    false => found.push((path.clone(), read(&path))),
                }
            }
        }
        found.sort();
        found
    };
    let before = hashes(&root);
    let command = ["--", "pytest", "tests/test_files.py"];
    let args = [&["run", "writing", "--python", &python][..], &command].concat();
    let ran = user.gistify(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(hashes(&root), before);
    assert_eq!(user.leftovers(), Vec::<PathBuf>::new());
}
