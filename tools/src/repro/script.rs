//! The form of a repro: how it runs by itself, its head, and the block of PEP 723 that names what it needs.

use std::collections::BTreeSet;

use graph::{Gist, GistLine, LineOrigin, MAIN_HEAD, imported_modules};

use super::{NAME, options};
use crate::{
    command::{Command, CommandProgram, quote},
    environment::Inventory,
    session::Session,
};

/// The way in which a repro is run.
#[derive(Debug, Clone)]
pub(super) struct ReproForm {
    /// Variables that have to be set before the interpreter starts.
    variables: Vec<(String, String)>,
    /// Options of the interpreter.
    options: Vec<String>,
    runner: ReproRunner,
}

/// The program that runs a repro.
#[derive(Debug, Clone)]
enum ReproRunner {
    /// `python FILE`: the file does all by itself.
    Program,
    /// pytest runs it; as a program it runs pytest on itself.
    Pytest {
        /// Options of pytest.
        args: Vec<String>,
        /// Options in the place of the configuration, in groups of which each goes as a whole.
        configuration: Vec<Vec<String>>,
        /// Distributions whose plugins it needs.
        plugins: Vec<String>,
    },
    /// unittest runs it; as a program it runs unittest on itself.
    Unittest,
}

/// The contents of a repro's head.
#[derive(Debug, Clone, Default)]
pub struct ReproHead {
    /// The end of the run.
    pub expected: String,
    /// The project, and its version where that is known.
    pub project: String,
    /// The origin of its source, and the revision.
    pub source: String,
    /// The version of the interpreter.
    pub python: (u8, u8, u8),
    /// The command.
    pub command: String,
    /// The packages that the file needs, pinned.
    pub requires: Vec<String>,
    /// The name of the file.
    pub file: String,
}

impl ReproForm {
    /// The form in which a gist of a command is run.
    pub(super) fn of(command: &Command) -> Self {
        let runner = match command.program() {
            CommandProgram::Pytest | CommandProgram::PytestModule => {
                let args = super::options(command);
                ReproRunner::Pytest { args, configuration: Vec::new(), plugins: Vec::new() }
            }
            CommandProgram::Module(name) if name == "unittest" => ReproRunner::Unittest,
            CommandProgram::Module(_) | CommandProgram::Script(_) | CommandProgram::Console(_) => {
                ReproRunner::Program
            }
        };
        let options = command.interpreter_options().to_vec();
        Self { variables: Vec::new(), options, runner }
    }

    /// The form of the same file as a program.
    pub(super) fn as_program(&self) -> Self {
        Self { runner: ReproRunner::Program, ..self.clone() }
    }

    /// The same form with the variables of the command, which its gist no longer has to set.
    pub(super) fn with_variables(&self, command: &Command) -> Self {
        Self { variables: command.variables().to_vec(), ..self.clone() }
    }

    /// Returns true if pytest runs the file.
    pub(super) fn is_pytest(&self) -> bool {
        matches!(self.runner, ReproRunner::Pytest { .. })
    }

    /// The distributions whose plugins the file needs.
    pub(super) fn plugins(&self) -> &[String] {
        match &self.runner {
            ReproRunner::Pytest { plugins, .. } => plugins,
            ReproRunner::Program | ReproRunner::Unittest => &[],
        }
    }

    /// Sets these distributions, where pytest runs the file.
    pub(super) fn set_plugins(&mut self, names: Vec<String>) {
        if let ReproRunner::Pytest { plugins, .. } = &mut self.runner {
            *plugins = names;
        }
    }

    /// The options that stand in the place of pytest's configuration.
    pub(super) fn configuration(&self) -> &[Vec<String>] {
        match &self.runner {
            ReproRunner::Pytest { configuration, .. } => configuration,
            ReproRunner::Program | ReproRunner::Unittest => &[],
        }
    }

    /// The same form with other such options.
    pub(super) fn with_configuration(&self, groups: Vec<Vec<String>>) -> Self {
        let mut form = self.clone();
        if let ReproRunner::Pytest { configuration, .. } = &mut form.runner {
            *configuration = groups;
        }
        form
    }

    /// The commands by which a reader runs a file.
    fn run_lines(&self, file: &str, needs_packages: bool) -> String {
        let file = quote(file);
        let variables = self.variables.iter();
        let variables: String =
            variables.map(|(name, value)| format!("{name}={} ", quote(value))).collect();
        let options: String = self.options.iter().map(|word| quote(word) + " ").collect();
        let installed = if needs_packages { ", with the dependencies below installed" } else { "" };
        match options.is_empty() {
            true => format!("{variables}uv run {file}  (or {variables}python {file}{installed})"),
            false => format!("{variables}python {options}{file}{installed}"),
        }
    }

    /// A gist with what the command line gave to it: variables and, for a program, its arguments.
    pub(super) fn prepared(&self, gist: &Gist, command: &Command) -> Gist {
        let mut given = Vec::new();
        if !command.variables().is_empty() && self.variables.is_empty() {
            let pairs = command.variables().iter();
            let pairs = pairs.map(|(name, value)| format!("{}: {}", text(name), text(value)));
            let pairs = pairs.collect::<Vec<_>>().join(", ");
            given.push(format!("__import__(\"os\").environ.update({{{pairs}}})"));
            if command.variables().iter().any(|(name, _)| name == "TZ") {
                // The C library read the old one when the interpreter started.
                given.push("__import__(\"time\").tzset()".to_owned());
            }
        }
        let args = options(command);
        if matches!(self.runner, ReproRunner::Program) && !args.is_empty() {
            let list = args.iter().map(|arg| text(arg)).collect::<Vec<_>>().join(", ");
            given.push(format!("__import__(\"sys\").argv[1:] = [{list}]"));
        }
        let at = behind_futures(gist);
        let glue = given.into_iter().map(|line| (line, glue("what the command line gives")));
        let lines = gist.text.lines().map(str::to_owned).zip(gist.lines.iter().cloned());
        let lines: Vec<_> = lines.collect();
        let all = lines[..at].iter().cloned().chain(glue).chain(lines[at..].iter().cloned());
        of_lines(all)
    }

    /// Names of the distributions that a gist needs in this form: those that it imports, its runner and plugins. With
    /// `every_plugin` all plugins that the environment has.
    pub(super) fn packages(
        &self,
        inventory: &Inventory,
        gist: &Gist,
        every_plugin: bool,
    ) -> BTreeSet<String> {
        let modules = imported_modules(&gist.text);
        let mut names = inventory.owners_of(&modules);
        if self.is_pytest() {
            names.insert("pytest".to_owned());
            names.extend(self.plugins().iter().cloned());
            let all = inventory.distributions().iter();
            let more = all.filter(|one| every_plugin && one.plugin && !one.editable);
            names.extend(more.map(|one| one.name.clone()));
        }
        names
    }

    /// The command that runs the file.
    pub(super) fn command(&self, session: &Session) -> Command {
        let variables = self.variables.iter();
        let mut words: Vec<String> =
            variables.map(|(name, value)| format!("{name}={value}")).collect();
        words.push("python".to_owned());
        words.extend(self.options.iter().cloned());
        match &self.runner {
            ReproRunner::Program => words.push(NAME.to_owned()),
            ReproRunner::Pytest { args, configuration, .. } => {
                words.extend(["-m".to_owned(), "pytest".to_owned()]);
                words.extend(configuration.iter().flatten().chain(args).cloned());
                words.push(NAME.to_owned());
            }
            ReproRunner::Unittest => {
                words.extend(["-m".to_owned(), "unittest".to_owned(), NAME.to_owned()]);
            }
        }
        Command::from_words(words).unwrap_or_else(|_| session.command.clone())
    }

    /// A gist with the lines by which it runs itself.
    pub(super) fn with_main(&self, gist: &Gist) -> Gist {
        let is_imported = |name: &str| {
            let line = format!("import {name}");
            gist.text.lines().any(|one| one == line)
        };
        let mut main = vec![String::new(), String::new(), MAIN_HEAD.to_owned()];
        match &self.runner {
            ReproRunner::Program => return gist.clone(),
            ReproRunner::Pytest { args, configuration, .. } => {
                if !is_imported("pytest") {
                    main.extend(["    import pytest".to_owned(), String::new()]);
                }
                let args = configuration.iter().flatten().chain(args);
                let args: String = args.map(|arg| format!(", {}", text(arg))).collect();
                main.push(format!("    raise SystemExit(pytest.main([__file__{args}]))"));
            }
            ReproRunner::Unittest => {
                if !is_imported("unittest") {
                    main.extend(["    import unittest".to_owned(), String::new()]);
                }
                main.push("    unittest.main()".to_owned());
            }
        }
        let main = main.into_iter().map(|line| (line, glue("the file runs itself")));
        let lines = gist.text.lines().map(str::to_owned).zip(gist.lines.iter().cloned());
        of_lines(lines.chain(main))
    }
}

/// A gist behind its head: the expected failure, where it comes from, how it is run, and the block of PEP 723.
pub(super) fn headed(gist: &Gist, form: &ReproForm, head: &ReproHead) -> Gist {
    let (major, minor, micro) = head.python;
    let run = form.run_lines(&one_line(&head.file), !head.requires.is_empty());
    let mut lines = vec![
        format!("# Expected: {}", one_line(&head.expected)),
        format!("# Project:  {}", one_line(&head.project)),
        format!("# Source:   {}", one_line(&head.source)),
        format!("# Command:  {}", one_line(&head.command)),
        format!("# Python:   {major}.{minor}.{micro}"),
        format!("# Run it:   {}", one_line(&run)),
        String::new(),
        "# /// script".to_owned(),
        format!("# requires-python = \"=={major}.{minor}.*\""),
    ];
    if head.requires.is_empty() {
        lines.push("# dependencies = []".to_owned());
    } else {
        lines.push("# dependencies = [".to_owned());
        lines.extend(head.requires.iter().map(|one| format!("#     \"{one}\",")));
        lines.push("# ]".to_owned());
    }
    lines.extend(["# ///".to_owned(), String::new()]);
    // An error's message may read like a declaration; the first one counts.
    if graph::declared_encoding(lines.join("\n").as_bytes()).is_some() {
        lines.insert(0, "# -*- coding: utf-8 -*-".to_owned());
    }
    let head = lines.into_iter().map(|line| (line, glue(HEAD_REASON)));
    let rest = gist.text.lines().map(str::to_owned).zip(gist.lines.iter().cloned());
    of_lines(head.chain(rest))
}

/// The reason for each line of a head.
const HEAD_REASON: &str = "the head of a repro";

/// Returns true for a line of a head.
pub(super) fn is_of_head(line: &GistLine) -> bool {
    matches!(&line.origin, LineOrigin::Glue(reason) if reason == HEAD_REASON)
}

/// A text in one line of printable letters, cut where it is long.
fn one_line(text: &str) -> String {
    const SHOWN: usize = 200;
    let first = text.lines().next().unwrap_or_default();
    let shown = first.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if first.len() < text.trim_end().len() || first.chars().count() > SHOWN {
        return format!("{shown} ...");
    }
    shown
}

/// A text as Python writes it.
fn text(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

/// Lines up to the first that may have other statements before it.
fn behind_futures(gist: &Gist) -> usize {
    let last =
        gist.text.lines().enumerate().filter(|(_, line)| line.starts_with("from __future__"));
    last.last().map_or(0, |(at, _)| at + 1)
}

fn glue(reason: &str) -> GistLine {
    GistLine { origin: LineOrigin::Glue(reason.to_owned()), adapted: false }
}

fn of_lines(lines: impl Iterator<Item = (String, GistLine)>) -> Gist {
    let mut gist = Gist::default();
    for (text, line) in lines {
        gist.text.push_str(&text);
        gist.text.push('\n');
        gist.lines.push(line);
    }
    gist
}
