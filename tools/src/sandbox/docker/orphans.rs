//! Containers that outlived the processes that made them.

use std::{
    collections::HashMap,
    fs,
    time::{Duration, SystemTime},
};

use bollard::query_parameters::{ListContainersOptionsBuilder, RemoveContainerOptionsBuilder};

use super::{Engine, LABEL};

/// Containers of other boots that ended so long ago are nobody's.
const LONG_AGO: Duration = Duration::from_secs(3600);

impl Engine {
    /// Removes the containers whose processes are gone: those of this boot whose process is no more, and
    /// those of other boots that ended long ago. One that runs may belong to another machine, and one that
    /// was made just now may be about to.
    pub(super) async fn reap(&self) -> Result<(), bollard::errors::Error> {
        let filters = HashMap::from([("label", vec![LABEL])]);
        let options = ListContainersOptionsBuilder::new().all(true).filters(&filters).build();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = now.as_secs();
        for container in self.docker.list_containers(Some(options)).await? {
            let labels = container.labels.unwrap_or_default();
            let (Some(name), Some(made_by)) = (container.id, labels.get(LABEL)) else { continue };
            use bollard::models::ContainerSummaryStateEnum::{CREATED, DEAD, EXITED};
            let runs = !matches!(container.state, Some(CREATED | EXITED | DEAD));
            let made = container.created.and_then(|made| u64::try_from(made).ok()).unwrap_or(now);
            let age = Duration::from_secs(now.saturating_sub(made));
            if !is_orphan(made_by, &self.owner, owner, runs, age) {
                continue;
            }
            let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
            // Somebody else may be at it too.
            let _ = self.docker.remove_container(&name, Some(options)).await;
        }
        Ok(())
    }
}

/// Returns true if no process waits for a container any more. `made_by` and `own` are
/// [owners](owner); `living` returns the current owner of a process id.
fn is_orphan(
    made_by: &str,
    own: &str,
    living: impl Fn(u32) -> Option<String>,
    runs: bool,
    age: Duration,
) -> bool {
    let mut parts = made_by.split(' ');
    let same_boot = parts.next() == own.split(' ').next();
    let pid = parts.next().and_then(|pid| pid.parse().ok());
    match same_boot {
        true => pid.and_then(living).as_deref() != Some(made_by),
        false => !runs && age > LONG_AGO,
    }
}

/// A process of this machine, told from all others that ever had its number.
pub(super) fn owner(pid: u32) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Field 22 of proc(5): when it was started.
    let started = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?;
    Some(format!("{} {pid} {started}", boot.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orphans_of_this_boot_and_of_earlier_ones() {
        let living = |pid: u32| (pid == 7).then(|| "boot 7 100".to_owned());
        let (now, before) = (Duration::from_secs(60), Duration::from_secs(7200));
        for (made_by, runs, age, expected) in [
            ("boot 7 100", true, before, false),
            ("boot 7 100", false, before, false),
            // The number is another process's now.
            ("boot 7 99", true, now, true),
            ("boot 8 100", true, now, true),
            // Ended with the machine, or with another that runs now.
            ("other 7 100", false, before, true),
            ("other 7 100", false, now, false),
            ("other 7 100", true, before, false),
            ("", false, before, true),
        ] {
            let found = is_orphan(made_by, "boot 9 200", living, runs, age);
            assert_eq!(found, expected, "{made_by} {runs} {age:?}");
        }
    }
}
