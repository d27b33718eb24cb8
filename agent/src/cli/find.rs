//! `gistify find`: searches repositories for a task in words, and opens the best.
//!
//! No search is sent without `--api`; a catalogue is read from disk.

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::{ArgGroup, Args};
use graph::{BuildOptions, GraphCache};
use secrecy::SecretString;
use tools::{Downloader, Sandbox};

use super::{
    Exit, Failure, OrExit,
    destination::check_file,
    flags::Flags,
    graphs::walking,
    progress::ProgressLine,
    repoexec::prompts,
    surroundings::{Surroundings, of_repository},
};
use crate::{
    discovery::{
        Analyst, AnalystError, ApiAddress, Catalogue, FindError, FindLimits, FindReport, FindSpec,
        FoundRepository, GithubSearch, ModelAnalyst, RepositorySource, RuleAnalyst, SearchLog,
        SearchSourceError, Validation, find,
    },
    model::ModelSupply,
    prompt::Prompts,
    record::replace,
};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("place").required(true).args(["api", "source"]))]
pub struct Find {
    /// The task, in words.
    task: String,
    /// Search by GitHub's REST API, or by a server that has the same form [default URL: https://api.github.com].
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = ApiAddress::PUBLIC)]
    api: Option<String>,
    /// Search a local catalogue: a file with one JSON object a line (name, url or path, stars, description, readme).
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,
    /// The environment variable that has the API's token [default: GITHUB_TOKEN for GitHub's own API, none for others].
    #[arg(long, value_name = "NAME", requires = "api")]
    token_variable: Option<String>,
    /// The model that decides in each phase: PROVIDER/MODEL or command/PROGRAM [default: none, decided by rule].
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Search by this query first; can be given more than once.
    #[arg(long = "query", value_name = "TEXT")]
    queries: Vec<String>,
    /// Repositories that the queries may give, all together.
    #[arg(long, value_name = "N", default_value_t = 30)]
    proposals: usize,
    /// Repositories whose READMEs are read.
    #[arg(long, value_name = "N", default_value_t = 5)]
    browse: usize,
    /// Repositories that are opened and mapped; with 0 none is.
    #[arg(long, value_name = "N", default_value_t = 3)]
    validate: usize,
    /// The longest pause for a rate limit.
    #[arg(long, value_name = "SECONDS", default_value_t = 90)]
    wait: u64,
    /// Tokens of each README that a model is shown.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    readme_tokens: usize,
    /// Write the result there too, as JSON.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that exists.
    #[arg(long)]
    force: bool,
}

/// The variable of a token for GitHub's own API.
const TOKEN: &str = "GITHUB_TOKEN";

impl Find {
    /// The settings that its flags stand for.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.text("--model", "writer.model", self.model.as_deref());
        flags
    }

    pub fn act(self, around: &Surroundings) -> Result<Exit, Failure> {
        if self.task.trim().is_empty() {
            return Err(Failure::new(Exit::Usage, "the task is empty"));
        }
        self.output.as_deref().map_or(Ok(()), |path| check_file(path, self.force))?;
        let progress = ProgressLine::new(around.talk);
        let heard = |text: &str| progress.line(text);
        let log = SearchLog::new(&heard);
        let source = self.source(around, &log)?;
        let prompts = prompts(around)?;
        let mut analyst = self.analyst(around, &prompts, &log)?;
        let sandbox = around.sandbox()?;
        let validate = |found: &FoundRepository, keywords: &[String]| {
            validation(around, &*sandbox, &progress, found, keywords)
        };
        let spec = FindSpec {
            task: self.task.trim(),
            queries: &self.queries,
            source: &*source,
            validate: &validate,
            limits: FindLimits {
                proposals: self.proposals.max(1),
                browsed: self.browse.max(1),
                validated: self.validate,
            },
            log: &log,
            interrupt: &around.interrupt,
        };
        let report = find(&spec, &mut *analyst);
        progress.clear();
        let report = report.map_err(of_find)?;
        self.write(around, &report)?;
        Ok(if report.is_solved() { Exit::Success } else { Exit::NotFaithful })
    }

    fn source<'a>(
        &self,
        around: &'a Surroundings,
        log: &'a SearchLog<'a>,
    ) -> Result<Box<dyn RepositorySource + 'a>, Failure> {
        let Some(api) = &self.api else {
            let path = self.source.as_deref().expect("the parser requires one of both");
            let catalogue = Catalogue::read(path).map_err(|error| of_find(error.into()))?;
            return Ok(Box::new(catalogue));
        };
        let usage = |message: String| Failure::new(Exit::Usage, format!("--api {message}"));
        let address = ApiAddress::parse(api).map_err(usage)?;
        let token = self.token(around, &address)?;
        let downloader = Downloader::of_host(&around.host, &around.interrupt);
        Ok(Box::new(GithubSearch {
            api: address,
            token,
            downloader: downloader.map_err(of_repository)?,
            cache: around.store()?,
            patience: Duration::from_secs(self.wait),
            interrupt: &around.interrupt,
            log,
        }))
    }

    /// The token for an API. GitHub's own goes to no other server unless the user names its variable.
    fn token(
        &self,
        around: &Surroundings,
        address: &ApiAddress,
    ) -> Result<Option<SecretString>, Failure> {
        let public = ApiAddress::parse(ApiAddress::PUBLIC).is_ok_and(|public| public == *address);
        let token = match &self.token_variable {
            None if public => around.variable(TOKEN),
            None => None,
            Some(name) => Some(around.variable(name).ok_or_else(|| {
                Failure::new(Exit::Usage, format!("--token-variable {name}: it is not set"))
            })?),
        };
        if token.is_some() && address.is_open() {
            let message = "--token-variable: a token is not sent over plain http";
            return Err(Failure::new(Exit::Usage, message));
        }
        let token = token.map(|token| token.trim().to_owned());
        if token.as_deref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err(Failure::new(Exit::Usage, "the token has characters that no token has"));
        }
        Ok(token.map(SecretString::from))
    }

    fn analyst<'a>(
        &self,
        around: &Surroundings,
        prompts: &'a Arc<Prompts>,
        log: &'a SearchLog<'a>,
    ) -> Result<Box<dyn Analyst + 'a>, Failure> {
        if around.settings.writer.model == "offline" {
            return Ok(Box::new(RuleAnalyst));
        }
        let supply = ModelSupply::new(&around.settings, Arc::clone(prompts), &around.access());
        let supply = supply.or_exit(Exit::Usage)?;
        // Exchanges are kept beside the result, where there is one.
        let record = match &self.output {
            Some(output) if around.settings.model.record => {
                let record = output.with_extension("exchanges");
                std::fs::create_dir_all(&record).or_exit(Exit::Input)?;
                record
            }
            _ if around.settings.model.record => {
                let message =
                    "model.record: name a file for the result (-o), which they lie beside";
                return Err(Failure::new(Exit::Usage, message));
            }
            _ => around.scratch()?,
        };
        let (model, _) = supply.open(&record).or_exit(Exit::Usage)?;
        let analyst = ModelAnalyst::new(model, supply.spent(), prompts, log, self.readme_tokens);
        Ok(Box::new(analyst.or_exit(Exit::Infrastructure)?))
    }

    fn write(&self, around: &Surroundings, report: &FindReport) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(report).or_exit(Exit::Infrastructure)?;
        if let Some(path) = &self.output {
            replace(path, format!("{json}\n").as_bytes()).or_exit(Exit::Input)?;
        }
        match around.json {
            true => println!("{json}"),
            false => print!("{}", report.text()),
        }
        Ok(())
    }
}

/// Opens a repository as every command does, and maps it.
fn validation(
    around: &Surroundings,
    sandbox: &dyn Sandbox,
    progress: &ProgressLine,
    found: &FoundRepository,
    keywords: &[String],
) -> Validation {
    let Some(place) = &found.place else {
        return Validation::failed("the source has no address of it".to_owned());
    };
    let cache = GraphCache::new(around.cache.join("graphs"));
    match around.repository(place, sandbox, progress) {
        Ok(repository) => {
            let walk = walking(around, &repository);
            let options = BuildOptions { walk, ..BuildOptions::default() };
            Validation::of_repository(&repository, &cache, &options, keywords)
        }
        Err(failure) => Validation::failed(failure.message()),
    }
}

fn of_find(error: FindError) -> Failure {
    let exit = match error {
        FindError::Source(SearchSourceError::Transport(error)) => return of_repository(error),
        FindError::Interrupted | FindError::Source(SearchSourceError::Interrupted) => {
            Exit::Interrupted
        }
        FindError::Source(SearchSourceError::Catalogue { .. }) => Exit::Input,
        FindError::Source(_) => Exit::Environment,
        FindError::Analyst(AnalystError::Prompt(_)) | FindError::NoQuery => Exit::Usage,
        FindError::Analyst(AnalystError::Model(_)) => Exit::Infrastructure,
    };
    Failure { exit, error: error.into() }
}
