//! `gistify callers`, `callees`, `path`, `deps`, `refs`, `outline` and `search`: questions to the graphs of
//! a repository.

use clap::Args;
use graph::{OutlineItem, Texts, Tier};
use tools::{Relation, SearchKind, relation, search};

use super::{
    Exit, Failure, OrExit,
    graphs::{RepositoryFlags, walking},
    progress::{ProgressLine, printable},
    surroundings::Surroundings,
};

/// A definition of a repository.
#[derive(Debug, Args)]
pub struct RelatedCommand {
    #[command(flatten)]
    pub source: RepositoryFlags,
    /// A dotted name or a unique ending of one, `path::Class::method`, or the path of a module.
    name: String,
    /// Number of steps to follow.
    #[arg(short, long, default_value_t = 1)]
    depth: u32,
    /// Leave out what only shares a name.
    #[arg(long)]
    certain: bool,
}

impl RelatedCommand {
    pub fn act(self, around: &Surroundings, kind: Relation) -> Result<Exit, Failure> {
        let asked = RelationQuery {
            kind,
            of: &self.name,
            to: None,
            depth: self.depth,
            certain: self.certain,
        };
        asked.act(around, &self.source)
    }
}

#[derive(Debug, Args)]
pub struct PathBetween {
    #[command(flatten)]
    pub source: RepositoryFlags,
    /// The definition at which the chain of calls starts.
    from: String,
    /// The definition at which it ends.
    to: String,
}

impl PathBetween {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let to = Some(self.to.as_str());
        let asked =
            RelationQuery { kind: Relation::Path, of: &self.from, to, depth: 0, certain: false };
        asked.act(around, &self.source)
    }
}

#[derive(Debug, Args)]
pub struct Deps {
    #[command(flatten)]
    pub source: RepositoryFlags,
    /// A definition, or a module by its path or name.
    name: String,
    /// Number of steps to follow.
    #[arg(short, long, default_value_t = 1)]
    depth: u32,
    /// Print dependents instead of dependencies.
    #[arg(long)]
    reverse: bool,
}

impl Deps {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let kind = if self.reverse { Relation::Dependents } else { Relation::Dependencies };
        let asked =
            RelationQuery { kind, of: &self.name, to: None, depth: self.depth, certain: true };
        asked.act(around, &self.source)
    }
}

#[derive(Debug, Args)]
pub struct Refs {
    #[command(flatten)]
    pub source: RepositoryFlags,
    /// A definition.
    name: String,
    /// All lines around its own that are this many steps away, along definitions and uses.
    #[arg(long, value_name = "N")]
    hops: Option<u32>,
    /// Along each chain of lines first, in the place of nearest first.
    #[arg(long, requires = "hops")]
    depth_first: bool,
}

impl Refs {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let kind = match (self.hops, self.depth_first) {
            (None, _) => Relation::References,
            (_, false) => Relation::Lines,
            (_, true) => Relation::Chains,
        };
        let depth = self.hops.unwrap_or(1);
        let asked = RelationQuery { kind, of: &self.name, to: None, depth, certain: true };
        asked.act(around, &self.source)
    }
}

struct RelationQuery<'a> {
    kind: Relation,
    of: &'a str,
    to: Option<&'a str>,
    depth: u32,
    certain: bool,
}

impl RelationQuery<'_> {
    fn act(&self, around: &Surroundings, source: &RepositoryFlags) -> Result<Exit, Failure> {
        let (_, graph) = source.open(around)?;
        let answers =
            relation(&graph, self.kind, self.of, self.to, self.depth).or_exit(Exit::Input)?;
        let mut found = answers.related;
        found.retain(|related| !self.certain || related.tier == Tier::Certain);
        if around.json {
            println!("{}", serde_json::to_string(&found).or_exit(Exit::Infrastructure)?);
            return Ok(Exit::Success);
        }
        for related in &found {
            let (path, name) = (printable(&related.path), printable(&related.name));
            let doubt = if related.tier == Tier::Possible { " (possible)" } else { "" };
            println!("{:2}  {name}  {path}:{}{doubt}", related.depth, related.line);
        }
        if answers.not_followed > 0 && !self.certain {
            let said = format!(
                "call sites that were not followed: {} (what they name fits too many definitions)",
                answers.not_followed
            );
            ProgressLine::new(around.talk).line(&said);
        }
        if found.is_empty() {
            let said = match self.to {
                Some(to) => format!("no chain of calls leads from {} to {to}", self.of),
                None => format!("nothing was found for {}", self.of),
            };
            ProgressLine::new(around.talk).line(&printable(&said));
        }
        Ok(Exit::Success)
    }
}

#[derive(Debug, Args)]
pub struct OutlineCommand {
    #[command(flatten)]
    pub source: RepositoryFlags,
    /// A file, relative to the repository.
    file: String,
}

impl OutlineCommand {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let (repository, graph) = self.source.open(around)?;
        let Some(module) = graph.modules.iter().find(|module| module.path == self.file) else {
            let skipped = graph.skipped.iter().find(|skipped| skipped.path == self.file);
            let message = match skipped {
                Some(skipped) => format!("{} was left out: {}", self.file, skipped.reason),
                None => format!("no module {} (paths are relative to the repository)", self.file),
            };
            return Err(Failure::new(Exit::Input, message));
        };
        let texts = Texts::new(&repository.root, walking(around, &repository));
        let mut items = graph::outline(&texts.of(&self.file));
        // What does not parse has its place among the rest.
        items.extend(module.errors.iter().map(|(line, message)| OutlineItem {
            depth: 0,
            kind: "error".to_owned(),
            name: String::new(),
            line: *line,
            end_line: *line,
            signature: format!("syntax error: {message}"),
        }));
        items.sort_by_key(|item| (item.line, item.depth));
        if around.json {
            println!("{}", serde_json::to_string(&items).or_exit(Exit::Infrastructure)?);
            return Ok(Exit::Success);
        }
        for item in items {
            let indent = "  ".repeat(item.depth as usize);
            println!("{:5}-{:<5} {indent}{}", item.line, item.end_line, printable(&item.signature));
        }
        Ok(Exit::Success)
    }
}

#[derive(Debug, Args)]
pub struct Search {
    #[command(flatten)]
    pub source: RepositoryFlags,
    /// The pattern to search for: a text, in any case, unless another kind is given.
    pattern: String,
    /// The pattern is a regular expression.
    #[arg(long, group = "kind")]
    regex: bool,
    /// The pattern is a part of a definition's name.
    #[arg(long, group = "kind")]
    symbol: bool,
    /// The pattern is a tree-sitter query.
    #[arg(long, group = "kind")]
    query: bool,
    /// Only in files whose path begins with this.
    #[arg(long, default_value = "", value_name = "PATH")]
    under: String,
    /// Number of hits to list.
    #[arg(short, long, default_value_t = 100)]
    limit: usize,
}

impl Search {
    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        let (repository, graph) = self.source.open(around)?;
        let texts = Texts::new(&repository.root, walking(around, &repository));
        let kind = match (self.regex, self.symbol, self.query) {
            (true, ..) => SearchKind::Regex,
            (_, true, _) => SearchKind::Symbol,
            (.., true) => SearchKind::Query,
            _ => SearchKind::Keyword,
        };
        let found = search(&graph, &texts, kind, &self.pattern, &self.under, self.limit)
            .or_exit(Exit::Usage)?;
        if around.json {
            println!("{}", serde_json::to_string(&found).or_exit(Exit::Infrastructure)?);
            return Ok(Exit::Success);
        }
        for hit in &found.hits {
            println!("{}:{}: {}", printable(&hit.path), hit.line, printable(&hit.text));
        }
        if found.left_out > 0 {
            println!("{} more (raise --limit)", found.left_out);
        }
        if found.unread > 0 {
            println!("{} files left out (the query took too long there)", found.unread);
        }
        Ok(Exit::Success)
    }
}
