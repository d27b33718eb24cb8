//! Runs requests in containers of a Docker engine, each in one of its own.
//!
//! A container shows what the local sandbox shows, by the same view of this machine's files, so the
//! same request does the same in both. What an engine does not share with this machine cannot be shown
//! to it: an engine elsewhere is refused, not served with less.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::{self, Read, Seek},
    os::unix::fs::{MetadataExt, lchown},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    time::{Duration, Instant, SystemTime},
};

use bollard::{
    Docker,
    container::LogOutput,
    models::{
        ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType, ResourcesUlimits,
    },
    query_parameters::{
        AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, CreateImageOptionsBuilder,
        EventsOptionsBuilder, InspectContainerOptions, KillContainerOptions,
        ListContainersOptionsBuilder, RemoveContainerOptionsBuilder, StartContainerOptions,
        StatsOptionsBuilder,
    },
};
use futures_util::StreamExt;
use tokio::runtime::Runtime;

use super::{
    Captured, Finished, Interrupt, Limits, Network, Promise, Request, Sandbox, SandboxError,
    Status,
    capture::Capture,
    disk::Disk,
    filter, image,
    image::{root_of, user},
    status_of_code,
    view::{MEMORY_FILES, Seen, View, memory_bytes, view},
};

/// Where the engine is, and what containers are made of.
#[derive(Debug, Clone, Default)]
pub struct DockerOptions {
    /// The engine's address, as `DOCKER_HOST` has it; else the usual socket.
    pub host: Option<String>,
    /// An image with the system's files; else this machine's own are shown.
    pub image: Option<String>,
    /// Another runtime than the engine's own, such as `runsc`.
    pub runtime: Option<String>,
}

/// Runs requests in containers.
#[derive(Debug, Clone)]
pub struct DockerSandbox(Arc<Engine>);

#[derive(Debug)]
struct Engine {
    docker: Docker,
    /// Until it is dropped.
    runtime: Option<Runtime>,
    options: DockerOptions,
    interrupt: Interrupt,
    /// Tells containers of this process from those of others.
    owner: String,
    profile: String,
    /// What the image of the options holds of this machine's files.
    held: Vec<PathBuf>,
    /// Held while an image is looked for and made.
    images: tokio::sync::Mutex<()>,
}

/// Names of containers are an engine's, which several sandboxes of one process may share.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// On every container; its value names the process that made it.
const LABEL: &str = "gistify.owner";
const REPOSITORY: &str = "gistify-sandbox";
/// Images of environments, and their label for the paths that they hold.
const ENVIRONMENTS: &str = "gistify-environment";
const HOLDS: &str = "gistify.holds";
const CHUNK: usize = 1 << 20;
const TICK: Duration = Duration::from_millis(50);
/// Containers of other boots that ended so long ago are nobody's.
const LONG_AGO: Duration = Duration::from_secs(3600);
/// How long a killed container may take to end.
const GRACE: Duration = Duration::from_secs(20);

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

impl DockerSandbox {
    /// A sandbox by an engine; removes the containers that processes of this machine left there. A
    /// program is run in a container to see that it can be, with a file in `scratch`.
    ///
    /// # Errors
    /// When no engine answers, or it cannot run containers with this machine's files.
    pub fn connect(
        options: DockerOptions,
        scratch: &Path,
        interrupt: Interrupt,
    ) -> Result<DockerSandbox, SandboxError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| unavailable(&error))?;
        let docker = runtime
            .block_on(async {
                let docker = match &options.host {
                    Some(host) => Docker::connect_with_host(host)?,
                    None => Docker::connect_with_unix_defaults()?,
                };
                docker.negotiate_version().await
            })
            .map_err(|error| {
                unavailable(&format!(
                    "no engine answers: {error} (start one, or name one by DOCKER_HOST)"
                ))
            })?;
        let held = match &options.image {
            Some(image) => runtime.block_on(held(&docker, image))?,
            None => Vec::new(),
        };
        let engine = Engine {
            docker,
            held,
            runtime: Some(runtime),
            options,
            interrupt,
            owner: owner(std::process::id()).unwrap_or_default(),
            profile: filter::profile().to_string(),
            images: tokio::sync::Mutex::new(()),
        };
        engine.executor().block_on(engine.reap()).map_err(|error| unavailable(&error))?;
        let sandbox = DockerSandbox(Arc::new(engine));
        sandbox.try_out(scratch)?;
        Ok(sandbox)
    }

    /// Makes an image of what an environment reads and of the programs and libraries of this machine, so
    /// that it can run without them; gives its name. The paths must tell nothing that programs of the
    /// environment may not see.
    ///
    /// # Errors
    /// A file cannot be read, or the engine does not take the image.
    pub fn make_image(&self, readable: &[PathBuf], scratch: &Path) -> Result<String, SandboxError> {
        let request = looking(readable);
        let finished = self.run(&request)?;
        let printed = finished.stdout.text();
        if finished.status != Status::Exited(0) || finished.stdout.dropped > 0 {
            let reason = format!("{:?} {}", finished.status, finished.stderr.text().trim());
            return Err(unavailable(&format!("look for libraries: {reason}")));
        }
        let failed = |error: io::Error| unavailable(&format!("make an image: {error}"));
        let mut paths = readable.to_vec();
        paths.extend(image::needed(&printed).map(Path::to_path_buf));
        let nothing = Request { readable: Vec::new(), ..request };
        let view = view(&nothing).map_err(failed)?;
        let mut file = tempfile::tempfile_in(scratch).map_err(failed)?;
        let tag = image::write(&paths, &view, &file).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let held: Option<Vec<&str>> = readable.iter().map(|path| path.to_str()).collect();
        let held =
            held.filter(|held| !held.iter().any(|path| path.contains([':', '"', '\\', '$'])));
        let held = held.ok_or_else(|| unavailable(&"a path cannot be told to an engine"))?;
        let label = format!("LABEL {HOLDS}=\"{}\"", held.join(":"));
        self.0.executor().block_on(self.0.import(file, &tag, &label)).map_err(|e| unavailable(&e))
    }

    fn try_out(&self, scratch: &Path) -> Result<(), SandboxError> {
        let place = tempfile::tempdir_in(scratch).map_err(|error| unavailable(&error))?;
        let place = place.path().canonicalize().map_err(|error| unavailable(&error))?;
        let text = self.0.owner.clone();
        fs::write(place.join("file"), &text).map_err(|error| unavailable(&error))?;
        let finished = self.run(&Request {
            program: PathBuf::from("/bin/cat"),
            args: vec!["file".into()],
            cwd: place.clone(),
            env: BTreeMap::new(),
            readable: vec![],
            writable: vec![place],
            network: Network::Loopback,
            limits: Limits {
                wall: Duration::from_secs(60),
                cpu: Duration::from_secs(10),
                memory: 256 << 20,
                processes: 8,
                output: 4096,
                file: 4096,
                disk: 1 << 20,
            },
        })?;
        match finished.stdout.text() == text {
            true => Ok(()),
            false => Err(unavailable(&format!(
                "the engine does not see the files of this machine: {:?} {}",
                finished.status,
                finished.stderr.text().trim()
            ))),
        }
    }
}

impl Sandbox for DockerSandbox {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn promises(&self) -> Vec<Promise> {
        [
            "other files, processes and sockets are hidden",
            "there is no network but a loopback of its own",
            "dangerous system calls are refused",
            "the kernel refuses too many processes",
            "the kernel limits the memory of all processes together",
            "what a run may hold on disk is limited, all its files together",
            "files in memory are limited in number",
        ]
        .map(|what| Promise { what, holds: true })
        .to_vec()
    }

    fn run(&self, request: &Request) -> Result<Finished, SandboxError> {
        let started = self.0.interrupt.now();
        let start =
            |source: io::Error| SandboxError::Start { program: request.program.clone(), source };
        if self.0.interrupt.is_triggered() {
            return Ok(interrupted());
        }
        for (what, path) in [("no program", &request.program), ("enter", &request.cwd)] {
            if !path.is_absolute() || !path.exists() {
                let reason = format!("{what} {}: No such file or directory", path.display());
                return Err(start(io::Error::new(io::ErrorKind::NotFound, reason)));
            }
        }
        let view = view(request).map_err(start)?;
        give_away(&request.writable).map_err(start)?;
        let io_error = |reason: String| SandboxError::Io {
            program: request.program.clone(),
            source: io::Error::other(reason),
        };
        // Whoever asks may be in a runtime of its own, where none can be waited for.
        let (tell, told) = mpsc::channel();
        let (engine, wanted) = (self.0.clone(), request.clone());
        self.0.executor().spawn(async move {
            let _ = tell.send(engine.run(&wanted, &view, started).await);
        });
        let ran = told.recv().map_err(|_| io_error("the run was lost".to_owned()))?;
        ran.map_err(|error| io_error(error.to_string()))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Engine {
    fn executor(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until the drop")
    }

    async fn run(
        &self,
        request: &Request,
        view: &View,
        started: Instant,
    ) -> Result<Finished, bollard::errors::Error> {
        let image = match &self.options.image {
            Some(image) => image.clone(),
            None => self.image_of(view).await?,
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Numbers of processes come again, and in other namespaces at the same time.
        let owner = blake3::hash(self.owner.as_bytes()).to_hex();
        let name = format!("gistify-{}-{number}", &owner[..16]);
        let mark = format!("{name}-{owner}");
        let body = self.container(request, view, image, &mark);
        let options = CreateContainerOptionsBuilder::new().name(&name).build();
        self.docker.create_container(Some(options), body).await?;
        let ran = self.watch(&name, &mark, request, started).await;
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        let removed = self.docker.remove_container(&name, Some(options)).await;
        let finished = ran?;
        removed?;
        Ok(finished)
    }

    /// Starts a container and sees it to its end.
    async fn watch(
        &self,
        name: &str,
        mark: &str,
        request: &Request,
        started: Instant,
    ) -> Result<Finished, bollard::errors::Error> {
        let options = AttachContainerOptionsBuilder::new();
        let options = options.stream(true).stdin(true).stdout(true).stderr(true).build();
        let mut attached = self.docker.attach_container(name, Some(options)).await?;
        self.docker.start_container(name, None::<StartContainerOptions>).await?;
        let limits = &request.limits;
        let mut stdout = Capture::new(limits.output);
        // What our first process tells at the end comes after what the program wrote.
        let mut stderr = Capture::new(limits.output.saturating_add(1024));
        let mut stopped: Option<(Status, Instant)> = None;
        let mut disk = Disk::of(request);
        // Asking the engine takes it a second, in which the streams would fill up.
        let told = Arc::new(Mutex::new(Used::default()));
        let looking = tokio::spawn(Used::look(self.docker.clone(), name.to_owned(), told.clone()));
        let _looking = Looking(looking);
        loop {
            match tokio::time::timeout(TICK, attached.output.next()).await {
                Ok(None | Some(Err(_))) => break,
                Ok(Some(Ok(LogOutput::StdErr { message }))) => stderr.push(&message),
                Ok(Some(Ok(other))) => stdout.push(&other.into_bytes()),
                Err(_) => {}
            }
            let now = self.interrupt.now();
            if let Some((_, since)) = stopped {
                if now.duration_since(since) > GRACE {
                    break;
                }
                continue;
            }
            let used = told.lock().map(|used| *used).unwrap_or_default();
            let reason = if self.interrupt.is_triggered() {
                Some(Status::Interrupted)
            } else if now.duration_since(started) >= limits.wall || used.cpu > limits.cpu {
                Some(Status::TimedOut)
            } else if used.out_of_memory {
                Some(Status::OutOfMemory)
            } else if disk.is_over() {
                Some(Status::Signaled(libc::SIGXFSZ))
            } else {
                None
            };
            if let Some(status) = reason {
                stopped = Some((status, now));
                // It may have ended by itself just now.
                let _ = self.docker.kill_container(name, None::<KillContainerOptions>).await;
            }
        }
        let mut used = told.lock().map(|used| *used).unwrap_or_default();
        let wall = self.interrupt.now().saturating_duration_since(started);
        let state = self.docker.inspect_container(name, None::<InspectContainerOptions>).await?;
        let state = state.state.unwrap_or_default();
        let mut stderr = stderr.finish();
        if let Some(cpu) = take_times(&mut stderr, mark) {
            used.cpu = used.cpu.max(cpu);
        }
        let status = match stopped {
            Some((status, _)) => status,
            None if used.out_of_memory || state.oom_killed == Some(true) => Status::OutOfMemory,
            None if used.cpu > limits.cpu => Status::TimedOut,
            None => status_of_code(state.exit_code.unwrap_or(0) as i32),
        };
        let stdout = stdout.finish();
        Ok(Finished { status, stdout, stderr, wall, cpu: used.cpu, max_rss: used.memory })
    }

    fn container(
        &self,
        request: &Request,
        view: &View,
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

    /// An image with the links and texts of a view, imported where it is not there yet.
    async fn image_of(&self, view: &View) -> Result<String, bollard::errors::Error> {
        let archive = root_of(view)?;
        let tag = blake3::hash(&archive).to_hex()[..16].to_owned();
        let name = format!("{REPOSITORY}:{tag}");
        let _one_at_a_time = self.images.lock().await;
        if self.docker.inspect_image(&name).await.is_ok() {
            return Ok(name);
        }
        let options =
            CreateImageOptionsBuilder::new().from_src("-").repo(REPOSITORY).tag(&tag).build();
        let body = bollard::body_full(archive.into());
        let mut told = Box::pin(self.docker.create_image(Some(options), Some(body), None));
        while let Some(step) = told.next().await {
            step?;
        }
        Ok(name)
    }

    /// Imports an archive as an image with a label, where it is not there yet.
    async fn import(
        &self,
        file: fs::File,
        tag: &str,
        label: &str,
    ) -> Result<String, bollard::errors::Error> {
        let name = format!("{ENVIRONMENTS}:{tag}");
        if self.docker.inspect_image(&name).await.is_ok() {
            return Ok(name);
        }
        let chunks = futures_util::stream::unfold(file, |mut file| async move {
            let mut chunk = vec![0; CHUNK];
            // What cannot be read ends the archive, which the engine then refuses.
            let count = file.read(&mut chunk).unwrap_or(0);
            chunk.truncate(count);
            (count > 0).then_some((chunk, file))
        });
        let body = bollard::body_stream(chunks.map(Into::into));
        let options = CreateImageOptionsBuilder::new();
        let options = options.from_src("-").repo(ENVIRONMENTS).tag(tag);
        let options = options.changes(vec![label.to_owned()]).build();
        let mut told = Box::pin(self.docker.create_image(Some(options), Some(body), None));
        while let Some(step) = told.next().await {
            step?;
        }
        Ok(name)
    }

    /// Removes the containers whose processes are gone: those of this boot whose process is no more, and
    /// those of other boots that ended long ago. One that runs may belong to another machine, and one that
    /// was made just now may be about to.
    async fn reap(&self) -> Result<(), bollard::errors::Error> {
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

/// What a container used, as far as the engine told.
#[derive(Debug, Default, Clone, Copy)]
struct Used {
    cpu: Duration,
    memory: u64,
    out_of_memory: bool,
}

/// A task that ends with what it is for.
struct Looking(tokio::task::JoinHandle<()>);

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Used {
    /// Asks again and again until it is stopped.
    async fn look(docker: Docker, name: String, told: Arc<Mutex<Used>>) {
        let filters =
            HashMap::from([("container", vec![name.clone()]), ("event", vec!["oom".into()])]);
        let options = EventsOptionsBuilder::new().filters(&filters).build();
        let mut killed = Box::pin(docker.events(Some(options)));
        let options = StatsOptionsBuilder::new().stream(true).build();
        let mut stats = Box::pin(docker.stats(&name, Some(options)));
        loop {
            let (event, stats) = tokio::select! {
                event = killed.next() => (event, None),
                stats = stats.next() => (None, stats),
            };
            let Ok(mut used) = told.lock() else { return };
            match (event, stats) {
                (Some(Ok(_)), _) => used.out_of_memory = true,
                (_, Some(Ok(stats))) => {
                    let cpu = stats.cpu_stats.and_then(|cpu| cpu.cpu_usage?.total_usage);
                    used.cpu = used.cpu.max(Duration::from_nanos(cpu.unwrap_or(0)));
                    let memory = stats.memory_stats.unwrap_or_default();
                    let memory = memory.max_usage.or(memory.usage).unwrap_or(0);
                    used.memory = used.memory.max(memory);
                }
                // The container or the engine is gone; so are the streams.
                _ => return,
            }
        }
    }
}

/// Takes what our first process told at the end of a stream off it: the time of its children.
fn take_times(stderr: &mut Captured, mark: &str) -> Option<Duration> {
    let mark = format!("\n{mark}\n");
    let at = stderr.bytes.windows(mark.len()).rposition(|window| window == mark.as_bytes())?;
    let times = String::from_utf8_lossy(&stderr.bytes[at + mark.len()..]).into_owned();
    stderr.bytes.truncate(at);
    stderr.gap = stderr.gap.min(at);
    let seconds = |word: &str| {
        let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let children = times.lines().nth(1)?.split_whitespace().filter_map(seconds).sum::<f64>();
    Duration::try_from_secs_f64(children).ok()
}

/// Makes the program's user the owner of what it may write, where that is another.
fn give_away(writable: &[PathBuf]) -> io::Result<()> {
    let (user, group) = user();
    let mut pending = writable.to_vec();
    while let Some(path) = pending.pop() {
        let there = match path.symlink_metadata() {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } == 0 && there.uid() != user {
            lchown(&path, Some(user), Some(group))?;
        }
        if there.is_dir() {
            for entry in fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        }
    }
    Ok(())
}

/// A look for what an environment needs of the system.
fn looking(readable: &[PathBuf]) -> Request {
    let mut args: Vec<std::ffi::OsString> = vec!["-c".into(), image::LOOK.into(), "sh".into()];
    args.extend(readable.iter().map(|path| path.clone().into_os_string()));
    let variables = [("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"), ("LC_ALL", "C")];
    Request {
        program: PathBuf::from("/bin/sh"),
        args,
        cwd: PathBuf::from("/"),
        env: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        readable: readable.to_vec(),
        writable: vec![],
        network: Network::Loopback,
        limits: Limits {
            wall: Duration::from_secs(600),
            cpu: Duration::from_secs(600),
            memory: 1 << 30,
            processes: 64,
            output: 64 << 20,
            file: 1 << 20,
            disk: 1 << 20,
        },
    }
}

/// What an image holds of this machine's files, where it is one of ours.
async fn held(docker: &Docker, image: &str) -> Result<Vec<PathBuf>, SandboxError> {
    let found = docker.inspect_image(image).await.map_err(|error| {
        unavailable(&format!("image {image}: {error} (make one with `gistify image`, or pull it)"))
    })?;
    let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
    let held = labels.get(HOLDS).map(|held| held.split(':').map(PathBuf::from).collect());
    Ok(held.unwrap_or_default())
}

/// Whether nobody waits for a container any more: `made_by` and `own` are [owners](owner), `living` tells
/// who has a process's number now.
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
fn owner(pid: u32) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Field 22 of proc(5): when it was started.
    let started = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?;
    Some(format!("{} {pid} {started}", boot.trim()))
}

fn interrupted() -> Finished {
    Finished {
        status: Status::Interrupted,
        stdout: Captured::default(),
        stderr: Captured::default(),
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        max_rss: 0,
    }
}

fn unavailable(reason: &dyn std::fmt::Display) -> SandboxError {
    SandboxError::Unavailable { program: PathBuf::from("docker"), reason: reason.to_string() }
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
