//! Conversations put to a model, several at once, and its answers in the order of the questions.
//!
//! Each worker has a model of its own; all share the supply's rate and caps. An answer that does not come is data.

use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use tools::Interrupt;

use crate::{
    message::{Answer, Message},
    model::{ModelRequest, ModelSupply, SupplyError},
};

/// The inputs of the questions to a model.
pub struct AskingSpec<'a> {
    /// The source of models.
    pub supply: &'a ModelSupply,
    /// The directory for recorded exchanges, with a directory for each worker below it.
    pub record: &'a Path,
    /// Questions at once.
    pub workers: usize,
    /// Set when nothing more is to be asked.
    pub interrupt: &'a Interrupt,
    /// Hears each answer with the number of its question.
    pub heard: &'a (dyn Fn(usize, &ModelAnswer) + Sync),
}

/// The answer of a model, or the reason why there is none.
pub type ModelAnswer = Result<Answer, String>;

/// Asks all questions. Those that an interrupt left open have no answer.
///
/// # Errors
/// The model cannot be asked at all.
pub fn ask_all(
    spec: &AskingSpec<'_>,
    questions: &[Vec<Message>],
) -> Result<Vec<Option<ModelAnswer>>, SupplyError> {
    let answers: Vec<Mutex<Option<ModelAnswer>>> =
        questions.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<SupplyError>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for worker in 0..spec.workers.clamp(1, questions.len().max(1)) {
            let (answers, next, failed) = (&answers, &next, &failed);
            scope.spawn(move || {
                let work = || -> Result<(), SupplyError> {
                    let refused = |error: std::io::Error| SupplyError::Settings(error.to_string());
                    let runtime =
                        tokio::runtime::Builder::new_current_thread().enable_all().build();
                    let runtime = runtime.map_err(refused)?;
                    let record = spec.record.join(format!("worker-{worker}"));
                    std::fs::create_dir_all(&record).map_err(refused)?;
                    let (mut model, _) = spec.supply.open(&record)?;
                    while !spec.interrupt.is_triggered() {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(messages) = questions.get(at) else { break };
                        let request = ModelRequest { messages, tools: &[] };
                        let answer = runtime.block_on(model.answer(request));
                        let asked = answer.map_err(|error| error.to_string());
                        (spec.heard)(at, &asked);
                        *answers[at].lock().expect("no worker panics") = Some(asked);
                    }
                    Ok(())
                };
                if let Err(error) = work() {
                    failed.lock().expect("no worker panics").get_or_insert(error);
                }
            });
        }
    });
    if let Some(error) = failed.into_inner().expect("no worker panics") {
        return Err(error);
    }
    Ok(answers.into_iter().map(|one| one.into_inner().expect("no worker panics")).collect())
}
