//! Settings: the keys, the origin of each value, and the one result that a run records.
//!
//! Layers are merged key by key, the last wins: the embedded defaults, the user's file, `--config`
//! files, `--set`, flags. The defaults are complete, so they also list all keys. No file of a
//! target repository is ever read, and nothing here reads the environment.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

mod scaffold;
mod settings;

pub use scaffold::{Scaffold, scaffolds};

pub use settings::{
    AnswerForm, BenchSettings, CommandSettings, ContextSettings, EnvironmentSettings, FixSettings,
    GistSettings, GraphSettings, Minimize, ModelSettings, Opening, ProtocolChoice, RankedBy,
    ReferenceSettings, SandboxKind, SandboxSettings, SessionLimits, Settings, Strategy, ToolCalls,
    WriterSettings,
};

/// The embedded defaults.
pub const DEFAULTS: &str = include_str!("../../../configs/default.toml");

/// Merged settings, each with its origin.
#[derive(Debug, Clone)]
pub struct Config {
    table: Table,
    origins: BTreeMap<String, String>,
}

/// Why settings cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file system refused.
    #[error("read settings {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A layer is no TOML.
    #[error("settings of {origin}: {reason}")]
    Syntax {
        /// The layer.
        origin: String,
        /// The reason, and its place.
        reason: String,
    },
    /// A key that is not among the defaults.
    #[error("settings of {origin}: unknown key {key} ({hint})")]
    UnknownKey {
        /// The layer.
        origin: String,
        /// The key, dotted.
        key: String,
        /// The known key that looks most like it, or where all are.
        hint: String,
    },
    /// A value that the key cannot hold.
    #[error("settings of {origin}: {key}: {reason}")]
    Value {
        /// The layer.
        origin: String,
        /// The key, dotted.
        key: String,
        /// The reason.
        reason: String,
    },
    /// `--set` without `=`.
    #[error("setting {text:?} has no value (write key=value)")]
    NoValue {
        /// The argument.
        text: String,
    },
}

impl Config {
    /// The embedded defaults alone.
    pub fn defaults() -> Self {
        let table: Table = DEFAULTS.parse().expect("configs/default.toml is checked by a test");
        let origins = flatten(&table).into_iter().map(|(key, _)| (key, "default".to_owned()));
        Self { origins: origins.collect(), table }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// The file is unreadable or no TOML, or has a key or value that there is not.
    pub fn file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let origin = path.display().to_string();
        let table: Table = text.parse().map_err(|error: toml::de::Error| ConfigError::Syntax {
            origin: origin.clone(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        self.layer(&table, &origin)
    }

    /// Adds `key=value`, where the value is TOML, or else a string as it stands.
    ///
    /// # Errors
    /// There is no `=`, or no such key or value.
    pub fn set(&mut self, text: &str) -> Result<(), ConfigError> {
        let (key, value) =
            text.split_once('=').ok_or_else(|| ConfigError::NoValue { text: text.to_owned() })?;
        let parsed = format!("v = {value}").parse::<Table>().ok();
        let parsed = parsed.and_then(|mut table| table.remove("v"));
        let value = match (self.get(key.trim()), parsed) {
            (_, Some(Value::String(text))) => Value::String(text),
            // A version such as 3.10 is no number where text is asked for.
            (Some(Value::String(_)), _) | (_, None) => Value::String(value.trim().to_owned()),
            (_, Some(other)) => other,
        };
        self.put(key.trim(), value, &format!("--set {text}"))
    }

    /// Sets one key on behalf of a flag.
    ///
    /// # Errors
    /// There is no such key, or it cannot hold the value.
    pub fn flag(
        &mut self,
        flag: &str,
        key: &str,
        value: impl Into<Value>,
    ) -> Result<(), ConfigError> {
        self.put(key, value.into(), flag)
    }

    /// Keys, values and origins, sorted.
    pub fn entries(&self) -> Vec<(String, Value, &str)> {
        let mut entries: Vec<_> = flatten(&self.table)
            .into_iter()
            .map(|(key, value)| {
                let origin = self.origins.get(&key).map_or("default", String::as_str);
                (key, value.clone(), origin)
            })
            .collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries
    }

    /// The typed result.
    ///
    /// # Errors
    /// A value is out of range.
    pub fn settings(&self) -> Result<Settings, ConfigError> {
        let settings: Settings =
            Value::Table(self.table.clone()).try_into().map_err(|error| self.misfit(&error))?;
        settings.check().map_err(|(key, reason)| ConfigError::Value {
            origin: self.origins.get(key).cloned().unwrap_or_default(),
            key: key.to_owned(),
            reason,
        })?;
        Ok(settings)
    }

    /// Puts the settings of the scaffold that is chosen below all but the defaults.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn apply_scaffold(&mut self) -> Result<(), ConfigError> {
        let text = |key: &str| self.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = match (text("writer.scaffold").as_str(), text("writer.model").as_str()) {
            ("auto", "offline") => "offline".to_owned(),
            ("auto", _) => "repomaster".to_owned(),
            (name, _) => name.to_owned(),
        };
        let known = scaffolds();
        let Some(scaffold) = known.iter().find(|scaffold| scaffold.name == name) else {
            let names: Vec<_> = known.iter().map(|scaffold| scaffold.name.as_str()).collect();
            return Err(ConfigError::Value {
                origin: self.origins.get("writer.scaffold").cloned().unwrap_or_default(),
                key: "writer.scaffold".to_owned(),
                reason: format!("no scaffold {name:?} (there are {})", names.join(", ")),
            });
        };
        let origin = format!("scaffold {name}");
        for (key, value) in flatten(&scaffold.settings) {
            if self.origins.get(&key).is_none_or(|origin| origin == "default") {
                self.put(&key, value.clone(), &origin)?;
            }
        }
        let set = Value::String(name);
        let origin = self.origins.get("writer.scaffold").cloned().unwrap_or_default();
        self.put("writer.scaffold", set, &origin)
    }

    /// A value that has the right type and is still none of those allowed.
    fn misfit(&self, error: &toml::de::Error) -> ConfigError {
        let text = error.to_string();
        let (reason, place) = text.trim_end().split_once('\n').unwrap_or((text.trim_end(), ""));
        let key = place.trim().trim_start_matches("in ").trim_matches('`').to_owned();
        let origin = self.origins.get(&key).cloned().unwrap_or_else(|| "all layers".to_owned());
        ConfigError::Value { origin, key, reason: reason.to_owned() }
    }

    fn get(&self, key: &str) -> Option<&Value> {
        let mut parts = key.split('.');
        let first = parts.next().and_then(|part| self.table.get(part));
        parts.fold(first, |value, part| value.and_then(|value| value.get(part)))
    }

    fn layer(&mut self, table: &Table, origin: &str) -> Result<(), ConfigError> {
        flatten(table)
            .into_iter()
            .try_for_each(|(key, value)| self.put(&key, value.clone(), origin))
    }

    fn put(&mut self, key: &str, value: Value, origin: &str) -> Result<(), ConfigError> {
        let origins = &self.origins;
        let unknown = || ConfigError::UnknownKey {
            origin: origin.to_owned(),
            key: key.to_owned(),
            hint: hint(key, origins.keys()),
        };
        if !origins.contains_key(key) {
            return Err(unknown());
        }
        let mut parts = key.split('.');
        let slot = parts.next().and_then(|part| self.table.get_mut(part));
        let slot = parts.fold(slot, |slot, part| slot.and_then(|value| value.get_mut(part)));
        let slot = slot.ok_or_else(unknown)?;
        *slot = fitting(slot, value).map_err(|reason| ConfigError::Value {
            origin: origin.to_owned(),
            key: key.to_owned(),
            reason,
        })?;
        self.origins.insert(key.to_owned(), origin.to_owned());
        Ok(())
    }
}

/// A value as the type of the one that it replaces.
fn fitting(old: &Value, new: Value) -> Result<Value, String> {
    match (old, new) {
        (Value::Float(_), Value::Integer(number)) => Ok(Value::Float(number as f64)),
        (old, new) if old.same_type(&new) => Ok(new),
        (old, new) => Err(format!("expected {}, found {} {new}", old.type_str(), new.type_str())),
    }
}

/// Dotted keys and their values; a table without entries is no key.
fn flatten(table: &Table) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                found.extend(flatten(inner).into_iter().map(|(k, v)| (format!("{key}.{k}"), v)));
            }
            value => found.push((key.clone(), value)),
        }
    }
    found
}

/// From where on a name looks like another.
const LIKE: f64 = 0.8;

fn hint<'a>(key: &str, known: impl Iterator<Item = &'a String>) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let closeness = |other: &str| {
        // A right name in the wrong section is as near as a slip of the pen in the right one.
        strsim::jaro_winkler(key, other).max(strsim::jaro_winkler(&last(key), &last(other)))
    };
    let near = known.filter(|other| closeness(other) > LIKE);
    match near.max_by(|a, b| closeness(a).total_cmp(&closeness(b))) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "`gistify config` lists all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies a file's text and `--set`s; gives the entry of `key` with its origin, or the error.
    fn resolve(file: &str, sets: &[&str], key: &str) -> Result<String, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mine.toml");
        fs::write(&path, file).unwrap();
        let mut config = Config::defaults();
        let resolved = config
            .file(&path)
            .and_then(|()| sets.iter().try_for_each(|set| config.set(set)))
            .and_then(|()| config.settings().map(drop));
        let shown = resolved.map(|()| {
            let entries = config.entries();
            let (_, value, origin) = entries.iter().find(|entry| entry.0 == key).unwrap();
            format!("{value} from {origin}")
        });
        let path = path.display().to_string();
        shown
            .map(|text| text.replace(&path, "FILE"))
            .map_err(|e| e.to_string().replace(&path, "FILE"))
    }

    #[track_caller]
    fn check(file: &str, sets: &[&str], key: &str, expected: &str) {
        let resolved = resolve(file, sets, key).unwrap_or_else(|error| error);
        assert_eq!(resolved.lines().next().unwrap_or_default(), expected);
    }

    #[test]
    fn the_last_layer_wins() {
        check("", &[], "session.steps", "50 from default");
        check("[session]\nsteps = 7", &[], "session.steps", "7 from FILE");
        let sets = ["session.steps=8", "session.steps = 9"];
        check("[session]\nsteps = 7", &sets, "session.steps", "9 from --set session.steps = 9");
    }

    #[test]
    fn values_are_toml_or_else_text() {
        check("", &["session.seconds=3"], "session.seconds", "3.0 from --set session.seconds=3");
        check("", &["gist.place=root"], "gist.place", "\"root\" from --set gist.place=root");
        let set = "environment.python=3.10";
        check("", &[set], "environment.python", "\"3.10\" from --set environment.python=3.10");
        let set = "writer.tools=[\"slice\"]";
        check("", &[set], "writer.tools", "[\"slice\"] from --set writer.tools=[\"slice\"]");
    }

    #[test]
    fn unknown_keys_name_the_nearest() {
        let expected = "settings of FILE: unknown key session.stesp (did you mean session.steps?)";
        check("[session]\nstesp = 7", &[], "", expected);
        let expected =
            "settings of --set nosuch.key=7: unknown key nosuch.key (`gistify config` lists all)";
        check("", &["nosuch.key=7"], "", expected);
        let expected = "settings of --set steps=7: unknown key steps (did you mean session.steps?)";
        check("", &["steps=7"], "", expected);
    }

    #[test]
    fn wrong_values_name_the_key() {
        check(
            "[session]\nsteps = \"many\"",
            &[],
            "",
            "settings of FILE: session.steps: expected integer, found string \"many\"",
        );
        check(
            "",
            &["command.seconds=nan"],
            "",
            "settings of --set command.seconds=nan: command.seconds: NaN is out of range (it has to be \
             above 0)",
        );
        check(
            "",
            &["session.steps"],
            "",
            "setting \"session.steps\" has no value (write key=value)",
        );
        check(
            "",
            &["gist.place=attic"],
            "",
            "settings of --set gist.place=attic: gist.place: unknown variant `attic`, expected `beside_test` or `root`",
        );
    }

    #[test]
    fn files_that_are_none_say_so() {
        let error = Config::defaults().file(Path::new("/no/such.toml")).unwrap_err().to_string();
        assert_eq!(error, "read settings /no/such.toml: No such file or directory (os error 2)");
        check("[session", &[], "", "settings of FILE: TOML parse error at line 1, column 9");
    }

    #[test]
    fn scaffolds_stand_below_what_the_user_sets() {
        for scaffold in scaffolds() {
            let mut config = Config::defaults();
            config.set(&format!("writer.scaffold={}", scaffold.name)).unwrap();
            config.set("writer.opening=none").unwrap();
            config.apply_scaffold().unwrap();
            let settings = config.settings().unwrap();
            assert_eq!(settings.writer.opening, Opening::None, "{}", scaffold.name);
            assert_eq!(settings.writer.tools.last().map(String::as_str), Some("submit"));
            assert!(!scaffold.description.is_empty());
        }
        let mut config = Config::defaults();
        config.set("writer.scaffold=repomastr").unwrap();
        let error = config.apply_scaffold().unwrap_err().to_string();
        assert!(error.contains("no scaffold \"repomastr\" (there are ablation-base, "), "{error}");
    }

    #[test]
    fn every_default_is_explained() {
        let mut comment = false;
        for line in DEFAULTS.lines() {
            let key = line.contains(" = ") && !line.starts_with('#');
            assert!(!key || comment, "configs/default.toml does not explain: {line}");
            comment = line.starts_with('#');
        }
        assert!(Config::defaults().settings().is_ok());
    }
}
