//! Reads the indexes of the user's pip. This program names no index: pip's settings and its default
//! decide where packages come from.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use serde::Deserialize;

use crate::{
    environment::{find_interpreters, link_chain},
    host::Host,
    sandbox::{Limits, Network, Request, Sandbox, SandboxError, Status},
};

/// The settings of the user's pip.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct PipSettings {
    pub(crate) index: String,
    /// Indexes that are asked beside the first.
    pub(crate) more: Vec<String>,
    /// Pages and directories with files.
    pub(crate) links: Vec<String>,
    /// Hosts that need no certificate.
    pub(crate) trusted: Vec<String>,
    pub(crate) no_index: bool,
    pub(crate) certificates: String,
    pub(crate) proxy: String,
}

/// Why the settings are not known.
#[derive(Debug)]
pub(crate) enum PipError {
    /// No interpreter has a pip that says.
    Unknown,
    Interrupted,
    Sandbox(SandboxError),
}

impl From<SandboxError> for PipError {
    fn from(error: SandboxError) -> PipError {
        PipError::Sandbox(error)
    }
}

/// Reads the settings off the variables, else asks pip with any interpreter that has it.
pub(crate) fn settings(host: &Host, sandbox: &dyn Sandbox) -> Result<PipSettings, PipError> {
    if let Some(index) = host.variable("PIP_INDEX_URL") {
        let text = |name| host.variable(name).unwrap_or_default().to_owned();
        let list = |name| text(name).split_whitespace().map(str::to_owned).collect();
        return Ok(PipSettings {
            index: index.to_owned(),
            more: list("PIP_EXTRA_INDEX_URL"),
            links: list("PIP_FIND_LINKS"),
            trusted: list("PIP_TRUSTED_HOST"),
            no_index: host
                .variable("PIP_NO_INDEX")
                .is_some_and(|value| !matches!(value, "0" | "false")),
            certificates: text("PIP_CERT"),
            proxy: text("PIP_PROXY"),
        });
    }
    let mut readable = host.named_paths();
    let mut env = host.download_variables();
    env.insert("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
    if let Some(home) = &host.home {
        env.insert("HOME".to_owned(), home.display().to_string());
        let files = [".config/pip", ".pip"].map(|path| home.join(path));
        readable.extend(files.into_iter().filter(|path| path.exists()));
    }
    for python in find_interpreters(host) {
        let mut readable = readable.clone();
        readable.extend(link_chain(&python));
        let finished = sandbox.run(&Request {
            program: python,
            args: ["-I", "-B", "-c", include_str!("pip_settings.py")].map(OsString::from).into(),
            cwd: PathBuf::from("/"),
            env: env.clone(),
            readable,
            writable: vec![],
            hidden: Vec::new(),
            network: Network::Loopback,
            limits: Limits {
                wall: Duration::from_secs(60),
                cpu: Duration::from_secs(30),
                memory: 1 << 30,
                processes: 32,
                output: 1 << 20,
                file: 1 << 20,
                disk: 16 << 30,
            },
        })?;
        match finished.status {
            Status::Interrupted => return Err(PipError::Interrupted),
            Status::Exited(0) => {
                if let Ok(settings) = serde_json::from_slice(&finished.stdout.bytes) {
                    return Ok(settings);
                }
            }
            // This one has no pip, or an old one.
            Status::Exited(_) | Status::Signaled(_) | Status::TimedOut | Status::OutOfMemory => {}
        }
    }
    Err(PipError::Unknown)
}
