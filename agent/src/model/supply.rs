//! Creates models from their names in the settings, and the state that they share.
//!
//! One supply serves all workers of a process, and supplies share the rate of requests and the
//! account of spending. Each session has its own model.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use secrecy::SecretString;
use serde_json::{Map, Value};

use super::{
    Model, ModelError, ModelRequest, Offline, Pending,
    anthropic::Anthropic,
    assemble::truncated,
    command::CommandModel,
    connection::Connection,
    filed::Filed,
    human::{Ask, Human},
    openai::{Embeddings, OpenAiChat, OpenAiResponses},
    pace::{Caps, Pace, Spent},
    prices::Price,
    provider::{Credentials, Protocol, Provider, ProviderError},
    tape::Tape,
    textual::{Calling, Textual},
    wire::Wire,
};
use crate::{
    config::{AnswerForm, ModelSettings, ProtocolChoice, RankedBy, Settings, ToolCalls},
    prompt::Prompts,
    ranking::SimilarityMeasure,
};

/// The name of a session's exchanges in the directory of its record.
pub const EXCHANGES: &str = "exchanges.jsonl";

/// Gives out models.
pub struct ModelSupply {
    name: String,
    settings: ModelSettings,
    parameters: Map<String, Value>,
    kind: Kind,
    embeddings: Option<Provided>,
    answer: AnswerForm,
    price: Option<Price>,
    embedding_price: Option<Price>,
    /// Texts that are embedded for one question at most.
    embedded_texts: usize,
    pace: Arc<Pace>,
    spent: Arc<Spent>,
    prompts: Arc<Prompts>,
}

enum Kind {
    Offline,
    Human(Ask),
    Command(Vec<String>),
    Provided(Provided),
}

/// A model of a provider.
struct Provided {
    provider: Box<Provider>,
    model: String,
    key: Option<SecretString>,
}

impl Provided {
    /// By `provider/model`.
    fn named(
        provider: &str,
        model: &str,
        settings: &ModelSettings,
        credentials: &Credentials,
    ) -> Result<Self, ProviderError> {
        let named = provider;
        let mut provider =
            Provider::named(named, file(&settings.providers).as_deref(), credentials)?;
        match settings.protocol {
            ProtocolChoice::Auto => {}
            ProtocolChoice::OpenaiChat => provider.protocol = Protocol::OpenaiChat,
            ProtocolChoice::OpenaiResponses => provider.protocol = Protocol::OpenaiResponses,
            ProtocolChoice::Anthropic => provider.protocol = Protocol::Anthropic,
        }
        // What was recorded is played without asking anyone.
        let key = match file(&settings.replay) {
            Some(_) => None,
            None => provider.key(named, credentials)?,
        };
        Ok(Self { provider: Box::new(provider), model: model.to_owned(), key })
    }
}

/// The resources that come from the surroundings of the process only.
#[derive(Clone)]
pub struct Access {
    /// Keys and addresses.
    pub credentials: Credentials,
    /// The user's terminal.
    pub ask: Ask,
    /// The directory in which graphs of repositories are kept, where any is.
    pub graphs: Option<PathBuf>,
    /// The user's machine, for what only its git knows.
    pub host: Option<tools::Host>,
}

/// Why settings give no model.
#[derive(Debug, thiserror::Error)]
pub enum SupplyError {
    /// The name is none.
    #[error("no model {name:?} (there are offline, human, command/PROGRAM and PROVIDER/MODEL)")]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// There is no such provider, or it cannot be asked.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// A setting that does not fit.
    #[error("{0}")]
    Settings(String),
}

/// The refusal of a cap on the cost of a model without a price.
fn unpriced(name: &str) -> SupplyError {
    SupplyError::Settings(format!(
        "model {name} is unpriced, so no cap on cost can hold (give its price in a file named by model.prices)"
    ))
}

impl ModelSupply {
    /// The supply of one model.
    ///
    /// # Errors
    /// There is no such model, or no key for it.
    pub fn new(
        settings: &Settings,
        prompts: Arc<Prompts>,
        access: &Access,
    ) -> Result<Self, SupplyError> {
        let name = settings.writer.model.as_str();
        let capped = settings.session.cost > 0.0 || settings.model.total_cost > 0.0;
        let answer = settings.writer.answer;
        let embedded_texts = match settings.context.embedded_texts {
            0 => usize::MAX,
            most => most,
        };
        let embeddings = match settings.context.ranking {
            RankedBy::Words => None,
            RankedBy::Embeddings => Some(settings.context.embeddings.as_str()),
        };
        let settings = &settings.model;
        let credentials = &access.credentials;
        let kind = match name.split_once('/') {
            None if name == "offline" => Kind::Offline,
            None if name == "human" => Kind::Human(Arc::clone(&access.ask)),
            Some(("command", line)) => match shlex::split(line) {
                Some(words) if !words.is_empty() => Kind::Command(words),
                _ => {
                    return Err(SupplyError::Settings(format!(
                        "command {line:?} is empty or has an open quote"
                    )));
                }
            },
            Some((provider, model)) if !model.is_empty() => {
                Kind::Provided(Provided::named(provider, model, settings, credentials)?)
            }
            _ => return Err(SupplyError::Unknown { name: name.to_owned() }),
        };
        let price_of = |name: &str| {
            Price::of(name, file(&settings.prices).as_deref()).map_err(SupplyError::Settings)
        };
        let embedding_price = embeddings.map(price_of).transpose()?.flatten();
        if capped
            && embedding_price.is_none()
            && let Some(name) = embeddings
        {
            return Err(unpriced(name));
        }
        let embeddings = match embeddings.map(|name| (name, name.split_once('/'))) {
            None => None,
            Some((_, Some((provider, model)))) if !model.is_empty() => {
                Some(Provided::named(provider, model, settings, credentials)?)
            }
            Some((name, _)) => return Err(SupplyError::Unknown { name: name.to_owned() }),
        };
        let price = match &kind {
            Kind::Provided(_) => price_of(name)?,
            _ => None,
        };
        if capped && price.is_none() && matches!(kind, Kind::Provided(_) | Kind::Command(_)) {
            return Err(unpriced(name));
        }
        let parameters = parameters(&settings.parameters)?;
        let caps = match kind {
            Kind::Offline => Caps::default(),
            _ => Caps::of(settings),
        };
        Ok(Self {
            name: name.to_owned(),
            settings: settings.clone(),
            parameters,
            kind,
            embeddings,
            answer,
            price,
            embedding_price,
            embedded_texts,
            pace: Arc::new(Pace::new(settings.requests_per_minute)),
            spent: Arc::new(Spent::new(caps)),
            prompts,
        })
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes part in the rate and the caps of other supplies, which share theirs, and in the pauses and the
    /// quota of one with the same provider.
    pub fn share<'a>(&mut self, others: impl Iterator<Item = &'a Self>) {
        let provider = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        let own = provider(&self.name);
        // The offline model takes nothing that is bounded.
        let bounded = |supply: &Self| !matches!(supply.kind, Kind::Offline);
        let mut others = others.filter(|other| bounded(other) && bounded(self)).peekable();
        let first = others.peek().copied();
        if let Some(same) = others.find(|other| provider(&other.name) == own) {
            self.pace = Arc::clone(&same.pace);
            self.spent = Arc::clone(&same.spent);
        } else if let Some(other) = first {
            self.pace = Arc::new(other.pace.beside());
            self.spent = Arc::new(other.spent.beside());
        }
    }

    /// Returns the account of all sessions so far.
    pub fn spent(&self) -> Arc<Spent> {
        Arc::clone(&self.spent)
    }

    /// A model for one session, whose record is in this directory, and how that session orders texts.
    ///
    /// # Errors
    /// Its exchanges cannot be recorded or played, or the system refuses a client.
    pub fn open(&self, record: &Path) -> Result<(Box<dyn Model>, SimilarityMeasure), SupplyError> {
        let asks = matches!(self.kind, Kind::Provided(_)) || self.embeddings.is_some();
        let tape = if asks { self.tape(record).map_err(SupplyError::Settings)? } else { Tape::Off };
        // One record for all that a session asks, in the order in which it does.
        let tape = Arc::new(tape);
        let ranking = match &self.embeddings {
            None => SimilarityMeasure::Words,
            Some(provided) => {
                let connection = self.connection(provided, &tape)?;
                let (spent, price) = (Arc::clone(&self.spent), self.embedding_price);
                let embeddings = Box::new(Embeddings::new(connection, spent, price));
                SimilarityMeasure::Meaning { embeddings, most: self.embedded_texts }
            }
        };
        Ok((self.model(&tape)?, ranking))
    }

    fn model(&self, tape: &Arc<Tape>) -> Result<Box<dyn Model>, SupplyError> {
        let calling = |provider: Calling| match self.settings.tool_calls {
            ToolCalls::Protocol => Calling::Protocol,
            ToolCalls::Text => Calling::Text,
            ToolCalls::Auto => provider,
        };
        let textual = |model: Box<dyn Model>, calling| -> Box<dyn Model> {
            Box::new(Textual::new(model, calling, Arc::clone(&self.prompts)))
        };
        let model: Box<dyn Model> = match &self.kind {
            Kind::Offline => return Ok(Box::new(Offline)),
            Kind::Human(ask) => Box::new(Human::new(Arc::clone(ask))),
            Kind::Command(words) => {
                let (name, settings) = (self.name.clone(), self.settings.clone());
                let model = CommandModel::new(name, words.clone(), settings);
                textual(Box::new(model), calling(Calling::Protocol))
            }
            Kind::Provided(provided) => {
                let connection = self.connection(provided, tape)?;
                let provider = &connection.provider;
                let theirs = if provider.tool_calls { Calling::Probe } else { Calling::Text };
                let spoken: Box<dyn Model> = match provider.protocol {
                    Protocol::OpenaiChat => Box::new(OpenAiChat::new(connection)),
                    Protocol::OpenaiResponses => Box::new(OpenAiResponses::new(connection)),
                    Protocol::Anthropic => Box::new(Anthropic::new(connection)),
                };
                textual(spoken, calling(theirs))
            }
        };
        let model = match self.answer {
            AnswerForm::Calls => model,
            AnswerForm::File => Box::new(Filed::new(model, Arc::clone(&self.prompts))),
        };
        let (price, spent) = (self.price, Arc::clone(&self.spent));
        let provided = matches!(self.kind, Kind::Provided(_));
        Ok(Box::new(Counted { model, price, spent, provided, most: 0 }))
    }

    fn connection(&self, provided: &Provided, tape: &Arc<Tape>) -> Result<Connection, SupplyError> {
        let Provided { provider, model, key } = provided;
        let (pace, tape) = (Arc::clone(&self.pace), Arc::clone(tape));
        let wire =
            Wire::new(&self.settings, pace, tape, key.clone()).map_err(SupplyError::Settings)?;
        Ok(Connection {
            name: self.name.clone(),
            model: model.clone(),
            provider: provider.as_ref().clone(),
            settings: self.settings.clone(),
            parameters: self.parameters.clone(),
            key: key.clone(),
            wire: Arc::new(wire),
        })
    }

    fn tape(&self, record: &Path) -> Result<Tape, String> {
        if self.settings.replay != Path::new("") {
            Tape::play(&self.settings.replay)
        } else if self.settings.record {
            Tape::record(&record.join(EXCHANGES))
        } else {
            Ok(Tape::Off)
        }
    }
}

/// Adds the price to each answer, and updates the account of all sessions.
struct Counted {
    model: Box<dyn Model>,
    price: Option<Price>,
    spent: Arc<Spent>,
    provided: bool,
    /// Tokens that it ever read at once.
    most: u64,
}

impl Model for Counted {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn answer<'a>(&'a mut self, request: ModelRequest<'a>) -> Pending<'a> {
        Box::pin(async move {
            let answer = self.model.answer(request).await;
            if let Err(ModelError::Paused(message)) = &answer {
                self.spent.exhaust(message);
            }
            let mut answer = answer?;
            // What a program says of its tokens is its own affair.
            if self.provided
                && let Some(message) = truncated(&answer, request, self.most)
            {
                return Err(ModelError::TooLong(message));
            }
            self.most = self.most.max(answer.usage.input);
            answer.cost = self.price.map(|price| price.cost(answer.usage));
            self.spent.add(&answer);
            Ok(answer)
        })
    }
}

/// A path that is set.
fn file(path: &Path) -> Option<PathBuf> {
    (path != Path::new("")).then(|| path.to_owned())
}

fn parameters(text: &str) -> Result<Map<String, Value>, SupplyError> {
    match text.trim() {
        "" => Ok(Map::new()),
        text => serde_json::from_str(text).map_err(|error| {
            SupplyError::Settings(format!("model.parameters is no JSON object: {error}"))
        }),
    }
}
