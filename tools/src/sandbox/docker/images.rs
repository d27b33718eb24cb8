//! Images: of the links and texts of a view, and of whole environments.

use std::{
    fs,
    io::{self, Read, Seek},
    path::{Path, PathBuf},
    time::Duration,
};

use bollard::{Docker, query_parameters::CreateImageOptionsBuilder};
use futures_util::StreamExt;

use super::{
    super::{
        Limits, Network, Request, Sandbox, SandboxError, Status, image,
        image::root_of,
        view::{SandboxView, view},
    },
    DockerSandbox, Engine, unavailable,
};

const REPOSITORY: &str = "gistify-sandbox";

/// Images of environments, and their label for the paths that they hold.
const ENVIRONMENTS: &str = "gistify-environment";

const HOLDS: &str = "gistify.holds";

const CHUNK: usize = 1 << 20;

impl DockerSandbox {
    /// Creates an image of the files that an environment reads and of this machine's programs and
    /// libraries, so that it can run without them; returns its name. The paths must reveal nothing
    /// that programs of the environment may not see.
    ///
    /// # Errors
    /// A file cannot be read, or the engine rejects the image.
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
}

impl Engine {
    /// An image with the links and texts of a view, imported where it is not there yet.
    pub(super) async fn image_of(
        &self,
        view: &SandboxView,
    ) -> Result<String, bollard::errors::Error> {
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
    pub(super) async fn import(
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
        hidden: Vec::new(),
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

/// Returns the files of this machine that an image contains, if the image is one of ours.
pub(super) async fn held(docker: &Docker, image: &str) -> Result<Vec<PathBuf>, SandboxError> {
    let found = docker.inspect_image(image).await.map_err(|error| {
        unavailable(&format!("image {image}: {error} (make one with `gistify image`, or pull it)"))
    })?;
    let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
    let held = labels.get(HOLDS).map(|held| held.split(':').map(PathBuf::from).collect());
    Ok(held.unwrap_or_default())
}
