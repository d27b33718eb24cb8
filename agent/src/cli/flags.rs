//! Flags that stand for settings: the last layer of them.

use std::path::Path;

use crate::config::{Config, ConfigError};

/// Flags that were given: name, key and value.
#[derive(Debug, Default)]
pub struct Flags(Vec<(&'static str, &'static str, toml::Value)>);

impl Flags {
    /// A flag that takes text.
    pub fn text(&mut self, flag: &'static str, key: &'static str, value: Option<&str>) {
        self.0.extend(value.map(|value| (flag, key, value.into())));
    }

    /// A flag that takes a path.
    pub fn path(&mut self, flag: &'static str, key: &'static str, value: Option<&Path>) {
        self.text(flag, key, value.and_then(Path::to_str));
    }

    /// A flag that takes a number.
    pub fn number(&mut self, flag: &'static str, key: &'static str, value: Option<u32>) {
        self.0.extend(value.map(|value| (flag, key, value.into())));
    }

    /// A flag without a value.
    pub fn switch(&mut self, flag: &'static str, key: &'static str, is_given: bool) {
        self.0.extend(is_given.then(|| (flag, key, true.into())));
    }

    /// A flag that takes names, apart by commas; none where it was not given.
    pub fn names(&mut self, flag: &'static str, key: &'static str, names: &[String]) {
        if !names.is_empty() {
            let names = names.iter().map(|name| toml::Value::from(name.as_str()));
            self.0.push((flag, key, names.collect::<Vec<_>>().into()));
        }
    }

    /// Puts them on top of other settings.
    ///
    /// # Errors
    /// A value that the setting cannot hold.
    pub fn apply(self, config: &mut Config) -> Result<(), ConfigError> {
        self.0.into_iter().try_for_each(|(flag, key, value)| config.flag(flag, key, value))
    }
}
