//! When a session has to end although nobody ended it.

use std::{future::Future, time::Duration};

use serde_json::Value;
use tools::Session;

use crate::{
    config::SessionLimits,
    model::{ModelError, Spent},
    outcome::Outcome,
    trajectory::Trajectory,
};

/// The session goes on, or it ended.
pub type Step = Result<(), Outcome>;

/// Checks that another step may begin.
///
/// # Errors
/// The outcome, if a limit is reached.
pub fn check(
    limits: &SessionLimits,
    trajectory: &Trajectory,
    session: &Session,
    spent: &Spent,
) -> Step {
    if trajectory.steps() >= limits.steps {
        Err(Outcome::StepLimit)
    } else if trajectory.usage().total() >= limits.tokens {
        Err(Outcome::TokenLimit)
    } else if limits.cost > 0.0 && trajectory.cost().unwrap_or(0.0) >= limits.cost {
        Err(Outcome::CostLimit)
    } else {
        spent.check()?;
        check_time(session)
    }
}

/// Says in the last reply of a turn how many steps are left: now and then, and each time when they are few.
pub fn count_down(
    limits: &SessionLimits,
    trajectory: &Trajectory,
    is_last: bool,
    value: &mut Value,
) {
    const FEW: usize = 10;
    let left = limits.steps.saturating_sub(trajectory.steps());
    if let Some(fields) = value.as_object_mut()
        && is_last
        && limits.steps > FEW
        && (left <= FEW || left.is_multiple_of(FEW))
    {
        fields.insert("steps_left".to_owned(), left.into());
    }
}

/// Checks that the user and the clock allow the session to continue.
///
/// # Errors
/// The outcome, if they do not.
pub fn check_time(session: &Session) -> Step {
    if session.interrupt.is_triggered() {
        Err(Outcome::Interrupted)
    } else if session.interrupt.now() >= session.deadline {
        Err(Outcome::TimeLimit)
    } else {
        Ok(())
    }
}

/// Waits for a model, but no longer than the session lasts.
///
/// # Errors
/// The outcome, where the session is over or the model gives no answer.
pub async fn within<T>(
    session: &Session,
    answer: impl Future<Output = Result<T, ModelError>>,
) -> Result<T, Outcome> {
    tokio::select! {
        biased;
        answer = answer => Ok(answer?),
        outcome = over(session) => Err(outcome),
    }
}

/// Waits until the session has to end.
async fn over(session: &Session) -> Outcome {
    loop {
        if let Err(outcome) = check_time(session) {
            return outcome;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
