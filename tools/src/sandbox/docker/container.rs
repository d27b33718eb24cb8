//! Builds the description of a container: its first process, its mounts and its limits.

use std::{collections::HashMap, path::Path};

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType, ResourcesUlimits,
};

use super::{
    super::{
        Network, Request,
        image::user,
        view::{MEMORY_FILES, NOTHING, SandboxView, Seen, memory_bytes},
    },
    Engine, LABEL,
};

/// The first process of a container. It starts the program, tells the time that it took, and ends
/// everything when the other end of its standard input is gone, which is this process.
const FIRST: &str = r#"exec 3>&2 2>/dev/null 5<&0 </dev/null
( cat <&5 >/dev/null; kill -KILL -1 ) 3>&- >/dev/null &
exec 5<&-
"$@" 2>&3 3>&-
code=$?
{ printf '\n%s\n' "$0"; times; } >&3
exit $code"#;

/// The first process, and the two that wait for our end.
const OWN_PROCESSES: u64 = 3;

impl Engine {
    pub(super) fn container(
        &self,
        request: &Request,
        view: &SandboxView,
        image: String,
        mark: &str,
    ) -> ContainerCreateBody {
        let limits = &request.limits;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut words = vec!["/bin/sh".to_owned(), "-c".to_owned(), FIRST.to_owned()];
        words.extend([mark.to_owned(), text(&request.program)]);
        words.extend(request.args.iter().map(|arg| arg.to_string_lossy().into_owned()));
        let size = memory_bytes(request);
        let memory = format!("rw,exec,nosuid,nodev,size={size},nr_inodes={MEMORY_FILES},mode=1777");
        let mut mounts = Vec::new();
        let mut in_memory = HashMap::new();
        let asked = |place: &Path| {
            request.readable.iter().chain(&request.writable).any(|path| place == path)
        };
        for (place, seen) in view {
            match seen {
                // An image has the system's files itself.
                Seen::ReadOnly
                    if self.options.image.is_some()
                        && (!asked(place) || self.held.contains(place)) => {}
                Seen::ReadOnly | Seen::Writable => mounts.push(Mount {
                    source: Some(text(&place.canonicalize().unwrap_or_else(|_| place.clone()))),
                    target: Some(text(place)),
                    typ: Some(MountType::BIND),
                    read_only: Some(*seen == Seen::ReadOnly),
                    ..Mount::default()
                }),
                Seen::Memory => {
                    in_memory.insert(text(place), memory.clone());
                }
                Seen::Hidden if self.options.image.is_some() => {}
                Seen::Hidden => mounts.push(Mount {
                    source: Some(NOTHING.to_owned()),
                    target: Some(text(place)),
                    typ: Some(MountType::BIND),
                    read_only: Some(true),
                    ..Mount::default()
                }),
                Seen::Link(_) | Seen::Text(_) => {}
            }
        }
        let ulimit = |name: &str, value: u64| {
            let value = Some(i64::try_from(value).unwrap_or(i64::MAX));
            ResourcesUlimits { name: Some(name.to_owned()), soft: value, hard: value }
        };
        let (memory, processes) = (limits.memory as i64, limits.processes + OWN_PROCESSES);
        let (user, group) = user();
        let network = match request.network {
            Network::Loopback => "none",
            Network::Host => "host",
        };
        let own = request.network == Network::Loopback;
        ContainerCreateBody {
            image: Some(image),
            // Whatever an image would start is not what is asked for.
            entrypoint: Some(words),
            cmd: Some(Vec::new()),
            env: Some(request.env.iter().map(|(name, value)| format!("{name}={value}")).collect()),
            working_dir: Some(text(&request.cwd)),
            user: Some(format!("{user}:{group}")),
            hostname: own.then(|| "sandbox".to_owned()),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            open_stdin: Some(true),
            stdin_once: Some(true),
            labels: Some(HashMap::from([(LABEL.to_owned(), self.owner.clone())])),
            host_config: Some(HostConfig {
                network_mode: Some(network.to_owned()),
                extra_hosts: own.then(|| vec!["sandbox:127.0.0.1".to_owned()]),
                readonly_rootfs: Some(true),
                mounts: Some(mounts),
                tmpfs: Some(in_memory),
                ipc_mode: Some("none".to_owned()),
                cap_drop: Some(vec!["ALL".to_owned()]),
                security_opt: Some(vec![
                    "no-new-privileges".to_owned(),
                    format!("seccomp={}", self.profile),
                ]),
                pids_limit: Some(i64::try_from(processes).unwrap_or(i64::MAX)),
                memory: Some(memory),
                memory_swap: Some(memory),
                oom_score_adj: Some(500),
                ulimits: Some(vec![
                    ulimit("core", 0),
                    ulimit("cpu", limits.cpu.as_secs() + 2),
                    ulimit("fsize", limits.file),
                    ulimit("nofile", 4096),
                ]),
                log_config: Some(HostConfigLogConfig {
                    typ: Some("none".to_owned()),
                    config: None,
                }),
                runtime: self.options.runtime.clone(),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        }
    }
}
