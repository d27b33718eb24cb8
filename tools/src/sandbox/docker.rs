//! Runs requests in containers of a Docker engine, one container for each.
//!
//! A container shows the files that the local sandbox shows, because both use one `SandboxView`. The same
//! request has the same result in both. An engine on another machine cannot show these files
//! and is refused.

mod container;
mod images;
mod orphans;
mod used;

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{MetadataExt, lchown},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use bollard::{
    Docker,
    container::LogOutput,
    query_parameters::{
        AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, InspectContainerOptions,
        KillContainerOptions, RemoveContainerOptionsBuilder, StartContainerOptions,
    },
};
use futures_util::StreamExt;
use tokio::runtime::Runtime;

use self::{
    images::held,
    orphans::owner,
    used::{ContainerUsage, UsageWatch, take_times},
};
use super::{
    Captured, Finished, Interrupt, Limits, Network, Promise, Request, Sandbox, SandboxError,
    Status,
    capture::StreamCapture,
    disk::Disk,
    filter,
    image::user,
    status_of_code,
    view::{SandboxView, view},
};

/// The address of the engine, and the image and runtime of containers.
#[derive(Debug, Clone, Default)]
pub struct DockerOptions {
    /// The engine's address, as `DOCKER_HOST` has it; else the usual socket.
    pub host: Option<String>,
    /// The image that supplies the system's files; without one, a container shows this machine's.
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
    /// `None` only during `drop`.
    runtime: Option<Runtime>,
    options: DockerOptions,
    interrupt: Interrupt,
    /// Tells containers of this process from those of others.
    owner: String,
    profile: String,
    /// The files of this machine that the configured image contains.
    held: Vec<PathBuf>,
    /// Locked while an image is searched for and built.
    images: tokio::sync::Mutex<()>,
}

/// Names of containers are an engine's, which several sandboxes of one process may share.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// On every container; its value names the process that made it.
const LABEL: &str = "gistify.owner";
const TICK: Duration = Duration::from_millis(50);
/// The longest time for a killed container to end.
const GRACE: Duration = Duration::from_secs(20);

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
            hidden: Vec::new(),
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
            "there is no network besides a private loopback",
            "dangerous system calls are refused",
            "the kernel limits the number of processes",
            "the kernel limits the total memory",
            "the disk space of a run is limited",
            "the number of files in memory is limited",
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
        // The caller may be in a tokio runtime, where `block_on` panics, so the request runs as a task of ours.
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
        view: &SandboxView,
        started: Instant,
    ) -> Result<Finished, bollard::errors::Error> {
        let image = match &self.options.image {
            Some(image) => image.clone(),
            None => self.image_of(view).await?,
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // A process id is not unique: ids are reused, and other pid namespaces have the same ones.
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
        let mut stdout = StreamCapture::new(limits.output);
        // What our first process tells at the end comes after what the program wrote.
        let mut stderr = StreamCapture::new(limits.output.saturating_add(1024));
        let mut stopped: Option<(Status, Instant)> = None;
        let mut disk = Disk::of(request);
        // A usage request takes the engine a second. A separate task makes it, so that the streams are read meanwhile.
        let told = Arc::new(Mutex::new(ContainerUsage::default()));
        let looking =
            tokio::spawn(ContainerUsage::look(self.docker.clone(), name.to_owned(), told.clone()));
        let _looking = UsageWatch(looking);
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
}

/// Makes the program's user the owner of all writable files, if this process is root.
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
