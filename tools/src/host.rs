//! The facts about the user's machine that the command line passes down: the places of programs,
//! and the access to the network.
//!
//! This crate reads no environment variable itself; it uses only these facts.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The user's machine, as far as finding programs and packages needs it.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// Directories in which programs are looked for, in order.
    pub path: Vec<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Directories with interpreters that the user names: of programs, of one installation, or with one in each
    /// subdirectory.
    pub pythons: Vec<PathBuf>,
    /// The versions that pyenv selects, where its variable names them.
    pub pyenv_version: Option<String>,
    /// Variables that say how packages are downloaded: those of pip and uv, certificates, proxies.
    pub network: BTreeMap<String, String>,
}

impl Host {
    /// Takes what matters out of a process's environment variables.
    pub fn from_variables(variables: impl IntoIterator<Item = (String, String)>) -> Host {
        let mut host = Host::default();
        for (name, value) in variables {
            match name.as_str() {
                "PATH" => host.path = std::env::split_paths(&value).collect(),
                "HOME" if !value.is_empty() => host.home = Some(PathBuf::from(value)),
                "PYENV_VERSION" if !value.is_empty() => host.pyenv_version = Some(value),
                _ if is_about_network(&name) => {
                    host.network.insert(name, value);
                }
                _ => {}
            }
        }
        host
    }

    /// The first program of this name on the path.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let mut candidates = self.path.iter().filter(|entry| entry.is_absolute());
        candidates.find_map(|entry| Some(entry.join(name)).filter(|path| is_executable(path)))
    }

    /// A network variable, in upper or lower case; empty ones are unset.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let lower = name.to_lowercase();
        let value = self.network.get(name).or_else(|| self.network.get(&lower))?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns the variables for package indexes and network access, without those for the place
    /// and the way of an installation.
    pub(crate) fn download_variables(&self) -> BTreeMap<String, String> {
        const INSTALLER: [&str; 22] = [
            "PIP_CERT",
            "PIP_CLIENT_CERT",
            "PIP_DEFAULT_TIMEOUT",
            "PIP_EXTRA_INDEX_URL",
            "PIP_FIND_LINKS",
            "PIP_INDEX_URL",
            "PIP_NO_INDEX",
            "PIP_PROXY",
            "PIP_RETRIES",
            "PIP_TIMEOUT",
            "PIP_TRUSTED_HOST",
            "UV_DEFAULT_INDEX",
            "UV_EXTRA_INDEX_URL",
            "UV_FIND_LINKS",
            "UV_HTTP_TIMEOUT",
            "UV_INDEX",
            "UV_INDEX_STRATEGY",
            "UV_INDEX_URL",
            "UV_INSECURE_HOST",
            "UV_NATIVE_TLS",
            "UV_OFFLINE",
            "UV_SYSTEM_CERTS",
        ];
        let wanted = |name: &str| {
            let upper = name.to_uppercase();
            let installer = upper.starts_with("PIP_") || upper.starts_with("UV_");
            !installer || INSTALLER.contains(&upper.as_str()) || upper.starts_with("UV_INDEX_")
        };
        let variables = self.network.iter().filter(|(name, _)| wanted(name));
        variables.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Files and directories that the network variables name.
    pub(crate) fn named_paths(&self) -> Vec<PathBuf> {
        let words = self.network.values().flat_map(|value| value.split_whitespace());
        let paths = words.map(|word| Path::new(word.strip_prefix("file://").unwrap_or(word)));
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| path.is_absolute() && path.components().count() > 1 && path.exists())
            .map(Path::to_path_buf)
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

/// Returns true if the path is an executable file.
pub(crate) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn is_about_network(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "NETRC",
    ];
    let upper = name.to_uppercase();
    upper.starts_with("PIP_") || upper.starts_with("UV_") || NAMES.contains(&upper.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_matters() {
        let variables = [
            ("PATH", "/usr/bin:relative:/bin"),
            ("HOME", "/home/me"),
            ("PIP_CERT", "/"),
            ("PIP_FIND_LINKS", "file:///usr /no/such/place http://x/y"),
            ("https_proxy", "http://proxy:1"),
            ("SECRET", "x"),
        ];
        let host = Host::from_variables(variables.map(|(name, value)| (name.into(), value.into())));
        assert_eq!(host.home, Some(PathBuf::from("/home/me")));
        assert_eq!(host.network.len(), 3);
        assert_eq!(host.variable("HTTPS_PROXY"), Some("http://proxy:1"));
        assert_eq!(host.variable("NO_PROXY"), None);
        assert_eq!(host.named_paths(), [PathBuf::from("/usr")]);
        assert!(host.find("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(host.find("no-such-program"), None);
    }
}
