//! Executes the five phases of a search in order. Decisions are the analyst's, requests the source's.

use tools::Interrupt;

use super::{
    analyst::{Analyst, AnalystError, BrowsedRepository, RepositoryJudgement, SearchJudgement},
    intent::TaskIntent,
    mapping::Validation,
    report::{FindReport, REPORT_VERSION, RankedRepository, StarCount, recommendation},
    search_log::{SearchLog, SearchPhase},
    source::{FoundRepository, ReadmeText, RepositorySource, SearchSourceError},
};

/// Bounds on a search.
#[derive(Debug, Clone, Copy)]
pub struct FindLimits {
    /// The most repositories that all queries together may propose.
    pub proposals: usize,
    /// The most repositories whose READMEs are read.
    pub browsed: usize,
    /// The number of validations without a problem after which no more repositories are opened.
    pub validated: usize,
}

/// The inputs of a search.
pub struct FindSpec<'a> {
    /// The task in words.
    pub task: &'a str,
    /// Queries of the user, before those of the analyst.
    pub queries: &'a [String],
    /// The source of repositories.
    pub source: &'a dyn RepositorySource,
    /// Opens a repository and maps it, looking for keywords.
    pub validate: &'a dyn Fn(&FoundRepository, &[String]) -> Validation,
    /// Bounds.
    pub limits: FindLimits,
    /// Receives each step.
    pub log: &'a SearchLog<'a>,
    /// Ends the search.
    pub interrupt: &'a Interrupt,
}

/// An error that ends a search without a report.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The source gives no answer.
    #[error(transparent)]
    Source(#[from] SearchSourceError),
    /// The analyst gives no answer.
    #[error(transparent)]
    Analyst(#[from] AnalystError),
    /// There is nothing to search by.
    #[error("the task has no word to search by (add a query with --query)")]
    NoQuery,
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// Searches repositories for `spec.task` and returns them ranked.
///
/// # Errors
/// The source or the analyst fails, there is no query, or the user interrupts. An unavailable README or a
/// repository that does not open is no error: the search continues.
pub fn find(spec: &FindSpec<'_>, analyst: &mut dyn Analyst) -> Result<FindReport, FindError> {
    let log = spec.log;
    log.begin(SearchPhase::TaskDefinition);
    log.line(format!("task: {}", spec.task));
    let task = analyst.define(spec.task)?;
    for criterion in &task.criteria {
        log.line(format!("criterion: {criterion}"));
    }

    spec.proceed(SearchPhase::IntentAnalysis)?;
    let intent = analyst.intent(&task)?.with_queries(spec.queries);
    log.line(format!("entities: {}", listed(&intent.entities)));
    log.line(format!("keywords: {}", listed(&intent.keywords)));
    log.line(format!("queries: {}", listed(&intent.queries)));
    if intent.queries.is_empty() {
        return Err(FindError::NoQuery);
    }

    spec.proceed(SearchPhase::Searching)?;
    let found = spec.search(&intent)?;
    let chosen = match found.as_slice() {
        [] => Vec::new(),
        found => analyst.choose(&intent, found, spec.limits.browsed)?,
    };

    spec.proceed(SearchPhase::Browsing)?;
    let mut browsed = Vec::new();
    for at in chosen {
        spec.check()?;
        browsed.push(spec.browse(&found[at])?);
    }
    if !browsed.is_empty() {
        analyst.brief(&mut browsed)?;
    }

    spec.proceed(SearchPhase::Analysing)?;
    let judged = match browsed.as_slice() {
        [] => SearchJudgement { repositories: Vec::new(), recommendation: String::new() },
        browsed => analyst.judge(&task, &intent, browsed)?,
    };
    let judged_first =
        judged.repositories.first().map(|one| (one.name.clone(), one.can_solve_task));
    let mut repositories = spec.validated(judged.repositories, &browsed, &intent)?;
    // The sort is stable: repositories that cannot solve the task move behind the others.
    repositories.sort_by_key(|one| !one.can_solve_task);
    for (rank, one) in (1..).zip(&mut repositories) {
        one.rank = rank;
        log.line(format!("{rank}. {}: {}", one.name, one.reason));
    }
    let own = judged.recommendation;
    // The analyst's text is used only if its first repository is still first, with the same verdict.
    let first = repositories.first().map(|one| (one.name.clone(), one.can_solve_task));
    let stays = !own.is_empty() && first == judged_first;
    Ok(FindReport {
        version: REPORT_VERSION,
        task: spec.task.to_owned(),
        source: spec.source.label(),
        analyst: analyst.name().to_owned(),
        criteria: task.criteria,
        intent,
        proposals: found.len(),
        recommendation: if stays { own } else { recommendation(&repositories) },
        repositories,
        effort: analyst.effort(),
        log: log.phases(),
    })
}

impl FindSpec<'_> {
    fn check(&self) -> Result<(), FindError> {
        match self.interrupt.is_triggered() {
            true => Err(FindError::Interrupted),
            false => Ok(()),
        }
    }

    fn proceed(&self, phase: SearchPhase) -> Result<(), FindError> {
        self.check()?;
        self.log.begin(phase);
        Ok(())
    }

    /// The repositories of the queries, none twice, until there are enough. A query that is refused is left out
    /// where another has an answer.
    fn search(&self, intent: &TaskIntent) -> Result<Vec<FoundRepository>, FindError> {
        let most = self.limits.proposals;
        let mut all: Vec<FoundRepository> = Vec::new();
        let mut failure = None;
        let mut answered = false;
        for query in &intent.queries {
            if all.len() >= most {
                break;
            }
            self.check()?;
            match self.source.search(query, most) {
                Ok(found) => {
                    answered = true;
                    self.log.line(format!("query: {query:?}: {} repositories", found.len()));
                    for one in found {
                        let same =
                            |other: &FoundRepository| other.name.eq_ignore_ascii_case(&one.name);
                        if !all.iter().any(same) && all.len() < most {
                            all.push(one);
                        }
                    }
                }
                Err(SearchSourceError::Interrupted) => return Err(FindError::Interrupted),
                Err(error) => {
                    self.log.line(format!("query: {query:?}: {error}"));
                    // The next query would meet the same limit, or the same silence.
                    let ends = !matches!(error, SearchSourceError::Refused { .. });
                    failure = Some(error);
                    if ends {
                        break;
                    }
                }
            }
        }
        match failure {
            Some(error) if !answered => Err(error.into()),
            _ => Ok(all),
        }
    }

    fn browse(&self, found: &FoundRepository) -> Result<BrowsedRepository, FindError> {
        let readme = self.source.readme(found).map_err(|error| match error {
            SearchSourceError::Interrupted => FindError::Interrupted,
            error => error.into(),
        })?;
        let stars = StarCount(found.stars);
        let what = match &readme {
            ReadmeText::Text(text) => format!("{} characters", text.chars().count()),
            ReadmeText::Missing => "there is none".to_owned(),
            ReadmeText::Unavailable(reason) => format!("not given: {reason}"),
        };
        self.log.line(format!("browsing: README of {} ({stars} stars): {what}", found.url));
        Ok(BrowsedRepository { found: found.clone(), readme, brief: String::new() })
    }

    /// Opens and maps the best ones, until as many as wanted serve, or twice as many were tried.
    fn validated(
        &self,
        judged: Vec<RepositoryJudgement>,
        browsed: &[BrowsedRepository],
        intent: &TaskIntent,
    ) -> Result<Vec<RankedRepository>, FindError> {
        let (mut tried, mut good) = (0, 0);
        let mut all = Vec::new();
        for judgement in judged {
            let Some(one) = browsed.iter().find(|one| one.found.name == judgement.name) else {
                continue;
            };
            let wanted = good < self.limits.validated && tried < 2 * self.limits.validated;
            let validation = match judgement.can_solve_task && wanted {
                true => {
                    self.check()?;
                    tried += 1;
                    Some((self.validate)(&one.found, &intent.keywords))
                }
                false => None,
            };
            // An interrupted validation has a problem too; it must not be recorded as one.
            self.check()?;
            if let Some(validation) = &validation {
                self.log.line(format!("validating {}: {}", one.found.name, validation.summary()));
                good += usize::from(validation.problem.is_none());
            }
            all.push(RankedRepository::new(one, judgement, validation));
        }
        Ok(all)
    }
}

fn listed(texts: &[String]) -> String {
    match texts {
        [] => "none".to_owned(),
        texts => texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", "),
    }
}
