//! Every trajectory that these tests leave is one to the validator of the format as well.

use super::*;

/// Validates each file named on the command line.
const VALIDATE: &str = "
import sys
from atif import Trajectory
for path in sys.argv[1:]:
    with open(path) as file:
        Trajectory.model_validate_json(file.read())
";

/// Validates all trajectories below a directory.
pub fn validate(home: &Path) {
    if !wanted() {
        return;
    }
    let Some(python) = packages() else { return };
    let mut exported = Vec::new();
    for path in below(home) {
        // What a test made unreadable, or cut before its first line, cannot be exported.
        let Ok(records) = gistify::read_trajectory(&path) else { continue };
        let Some(whole) = gistify::atif(&records) else { continue };
        let into = path.with_extension("atif.json");
        fs::write(&into, whole.to_string()).unwrap();
        exported.push(into);
    }
    if exported.is_empty() {
        return;
    }
    let output = Command::new(python).args(["-c", VALIDATE]).args(&exported).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "atif refuses a trajectory of {exported:?}: {told}");
    eprintln!("atif accepts {} trajectories", exported.len());
}

fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        match kind {
            Ok(kind) if kind.is_dir() => found.extend(below(&path)),
            Ok(kind) if kind.is_file() && entry.file_name() == "trajectory.jsonl" => {
                found.push(path);
            }
            _ => {}
        }
    }
    found
}
