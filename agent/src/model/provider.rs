//! The providers: the address of a model, its protocol and its key.
//!
//! The table is data: `configs/models/providers.toml` and a file of the user's. The command line
//! passes down keys and addresses from the environment; nothing here reads it, and no key is ever
//! printed or stored.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use toml::{Table, Value};

/// The embedded table.
const PROVIDERS: &str = include_str!("../../../configs/models/providers.toml");

/// One provider.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The protocol that it speaks.
    pub protocol: Protocol,
    /// The base address of its interface.
    pub base_url: String,
    /// The environment variable that replaces the address.
    #[serde(default)]
    pub base_url_variable: String,
    /// The environment variable that holds the key.
    #[serde(default)]
    pub key_variable: String,
    /// `bearer`, or the header that takes the key as it is.
    #[serde(default = "bearer")]
    pub key_header: String,
    /// The name under which it takes the bound on written tokens.
    #[serde(default = "max_tokens")]
    pub output_limit: String,
    /// True if its models call tools through the protocol.
    #[serde(default = "yes")]
    pub tool_calls: bool,
    /// True if it expects a model's reasoning back with the next request.
    #[serde(default)]
    pub returns_reasoning: bool,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// The protocol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// OpenAI's chat completions.
    OpenaiChat,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Anthropic's messages.
    Anthropic,
}

/// Environment variables that name keys and addresses; their values are never shown.
#[derive(Debug, Clone, Default)]
pub struct Credentials(BTreeMap<String, SecretString>);

/// Why a provider cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The file system refused.
    #[error("read providers {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file that is no table of providers.
    #[error("providers {path}: {reason}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// There is no provider of this name.
    #[error("no provider {name:?} (there are {known})")]
    Unknown {
        /// The requested name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// It wants a key, and there is none.
    #[error("provider {name} wants a key (set {variable} in the environment or in {file})")]
    NoKey {
        /// The provider.
        name: String,
        /// The variable.
        variable: String,
        /// The user's own file of variables.
        file: &'static str,
    },
    /// It has no address, or one that is none.
    #[error("provider {name}: {reason}")]
    Address {
        /// The provider.
        name: String,
        /// The reason.
        reason: String,
    },
}

/// The user's file of variables, as messages name it.
pub const KEY_FILE: &str = "~/.config/gistify/.env";

impl Credentials {
    /// Variables from the environment and from the user's own file; the first of a name wins.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut all = BTreeMap::new();
        for (name, value) in variables {
            if !value.trim().is_empty() {
                all.entry(name).or_insert_with(|| SecretString::from(value.trim().to_owned()));
            }
        }
        Self(all)
    }

    /// The variables of a file of lines `NAME=value`, as shells and their kin write them.
    pub fn parse(text: &str) -> Vec<(String, String)> {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| {
                let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
                let value = value.trim();
                let quoted = ['"', '\''].into_iter().find_map(|quote| {
                    value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote))
                });
                Some((name.trim().to_owned(), quoted.unwrap_or(value).to_owned()))
            })
            .collect()
    }

    /// A variable's value.
    pub fn get(&self, name: &str) -> Option<&SecretString> {
        self.0.get(name)
    }
}

impl Provider {
    /// A provider by its name, with its address as the environment has it.
    ///
    /// # Errors
    /// There is none of this name, or its address is unusable.
    pub fn named(
        name: &str,
        more: Option<&Path>,
        credentials: &Credentials,
    ) -> Result<Self, ProviderError> {
        let mut table: Table =
            PROVIDERS.parse().expect("configs/models/providers.toml is checked by a test");
        if let Some(path) = more {
            merge(&mut table, read(path)?);
        }
        let known = || table.keys().cloned().collect::<Vec<_>>().join(", ");
        let entry = table
            .get(name)
            .ok_or_else(|| ProviderError::Unknown { name: name.to_owned(), known: known() })?;
        let mut provider: Self = entry.clone().try_into().map_err(|error: toml::de::Error| {
            let path = more.unwrap_or(Path::new("providers.toml")).to_owned();
            ProviderError::Syntax { path, reason: format!("{name}: {}", error.message()) }
        })?;
        if let Some(url) = credentials.get(&provider.base_url_variable) {
            url.expose_secret().clone_into(&mut provider.base_url);
        }
        let address = |reason: String| ProviderError::Address { name: name.to_owned(), reason };
        provider.base_url.truncate(provider.base_url.trim_end_matches('/').len());
        if provider.base_url.is_empty() {
            let variable = &provider.base_url_variable;
            return Err(address(format!("it has no address (set {variable})")));
        }
        let url = reqwest::Url::parse(&provider.base_url)
            .map_err(|error| address(format!("its address is not a URL: {error}")))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(address("its address holds a password (use key_variable)".to_owned()));
        }
        Ok(provider)
    }

    /// Its key; none where it wants none, or where it is a server of one's own without one.
    ///
    /// # Errors
    /// It wants a key, and there is none.
    pub fn key(
        &self,
        name: &str,
        credentials: &Credentials,
    ) -> Result<Option<SecretString>, ProviderError> {
        match credentials.get(&self.key_variable) {
            Some(key) => Ok(Some(key.clone())),
            None if self.key_variable.is_empty() || self.is_local() => Ok(None),
            None => Err(ProviderError::NoKey {
                name: name.to_owned(),
                variable: self.key_variable.clone(),
                file: KEY_FILE,
            }),
        }
    }

    fn is_local(&self) -> bool {
        let url = reqwest::Url::parse(&self.base_url).ok();
        let host = url.as_ref().and_then(|url| url.host_str()).unwrap_or_default();
        matches!(host, "localhost" | "[::1]") || host.starts_with("127.")
    }
}

fn read(path: &Path) -> Result<Table, ProviderError> {
    let text = fs::read_to_string(path)
        .map_err(|source| ProviderError::Read { path: path.to_owned(), source })?;
    text.parse().map_err(|error: toml::de::Error| ProviderError::Syntax {
        path: path.to_owned(),
        reason: error.to_string().trim_end().to_owned(),
    })
}

fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

fn bearer() -> String {
    "bearer".to_owned()
}

fn max_tokens() -> String {
    "max_tokens".to_owned()
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, variables: &[(&str, &str)], expected: &str) {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let credentials = Credentials::new(variables);
        let found = Provider::named(name, None, &credentials).and_then(|provider| {
            let key = provider.key(name, &credentials)?;
            let key = key.map_or("no key", |_| "a key");
            Ok(format!("{} with {key}", provider.base_url))
        });
        assert_eq!(found.unwrap_or_else(|error| error.to_string()), expected);
    }

    #[test]
    fn every_provider_can_be_had() {
        let table: Table = PROVIDERS.parse().unwrap();
        for (name, entry) in table {
            assert!(entry.try_into::<Provider>().is_ok(), "{name}");
        }
    }

    #[test]
    fn the_environment_has_keys_and_addresses() {
        let key = ("OPENAI_API_KEY", "canary");
        check("openai", &[key], "https://api.openai.com/v1 with a key");
        let url = ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1/");
        check("openai", &[url], "http://127.0.0.1:1/v1 with no key");
        check("ollama", &[], "http://127.0.0.1:11434/v1 with no key");
    }

    #[test]
    fn what_is_missing_is_named() {
        let wanted = "provider openai wants a key (set OPENAI_API_KEY in the environment or in \
                      ~/.config/gistify/.env)";
        check("openai", &[("OPENAI_API_KEY", " ")], wanted);
        check("azure", &[], "provider azure: it has no address (set AZURE_OPENAI_BASE_URL)");
        let url = ("OPENAI_BASE_URL", "http://me:canary@127.0.0.1/");
        let refused = "provider openai: its address holds a password (use key_variable)";
        check("openai", &[url], refused);
        let unknown = Provider::named("opnai", None, &Credentials::default()).unwrap_err();
        assert!(unknown.to_string().starts_with("no provider \"opnai\" (there are anthropic, "));
    }

    #[test]
    fn files_of_variables_are_read_as_shells_write_them() {
        let text = "# mine\nexport A=1\nB = 'two words'\nC=\"3\"\nnothing\n";
        let expected = [("A", "1"), ("B", "two words"), ("C", "3")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(Credentials::parse(text), expected);
    }

    #[test]
    fn l02_credentials_are_never_shown() {
        let credentials = Credentials::new([("A".to_owned(), "canary".to_owned())]);
        assert!(!format!("{credentials:?}").contains("canary"));
    }
}
