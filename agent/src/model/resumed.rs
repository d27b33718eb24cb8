//! A model that repeats recorded answers and then switches to another model. It resumes or replays
//! a session.
//!
//! The tools are deterministic, so that the same answers lead to the same state; no request is sent
//! until then.

use std::collections::VecDeque;

use super::{Model, ModelError, ModelRequest, Pending};
use crate::message::Answer;

/// Answers from a record, then from a model.
pub struct Resumed {
    answers: VecDeque<Answer>,
    then: Option<Box<dyn Model>>,
    name: String,
}

impl Resumed {
    /// Repeats answers; without a model to hand over to it fails after the last one.
    pub fn new(name: &str, answers: Vec<Answer>, then: Option<Box<dyn Model>>) -> Self {
        Self { answers: answers.into(), then, name: name.to_owned() }
    }
}

impl Model for Resumed {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer<'a>(&'a mut self, request: ModelRequest<'a>) -> Pending<'a> {
        match (self.answers.pop_front(), &mut self.then) {
            (Some(answer), _) => Box::pin(std::future::ready(Ok(answer))),
            (None, Some(model)) => model.answer(request),
            (None, None) => {
                let end = "the record is at its end".to_owned();
                Box::pin(std::future::ready(Err(ModelError::Failed(end))))
            }
        }
    }
}
