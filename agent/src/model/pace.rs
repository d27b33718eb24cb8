//! Keeps the state that all workers share: the rate of requests, and the limits on all sessions
//! together. For each provider it keeps the requested pause and the exhausted quota.

use std::{
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use crate::{config::ModelSettings, message::Answer, outcome::Outcome};

/// The rate of requests over all workers.
#[derive(Debug)]
pub struct Pace {
    limiter: Option<Arc<DefaultDirectRateLimiter>>,
    held: Mutex<Option<Instant>>,
}

impl Pace {
    /// So many requests a minute, evenly spread; 0 for no bound.
    pub fn new(per_minute: u32) -> Self {
        // Without a burst no minute has more requests than allowed, wherever it begins.
        let quota = NonZeroU32::new(per_minute)
            .map(|rate| Quota::per_minute(rate).allow_burst(NonZeroU32::MIN));
        let limiter = quota.map(|quota| Arc::new(RateLimiter::direct(quota)));
        Self { limiter, held: Mutex::new(None) }
    }

    /// Returns the same rate for another provider, without this one's pause.
    pub fn beside(&self) -> Self {
        Self { limiter: self.limiter.clone(), held: Mutex::new(None) }
    }

    /// Waits until the next request may be sent.
    pub async fn turn(&self) {
        loop {
            if let Some(limiter) = &self.limiter {
                limiter.until_ready().await;
            }
            let until = *self.held.lock().unwrap_or_else(PoisonError::into_inner);
            match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                Some(_) | None => return,
            }
        }
    }

    /// Pauses all requests for a while: a provider's request for a pause holds for all workers.
    pub fn hold(&self, time: Duration) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + time;
        *held = Some(held.map_or(until, |old| old.max(until)));
    }
}

/// The account of all sessions together, with its limits.
#[derive(Debug, Default)]
pub struct Spent {
    account: Arc<Account>,
    exhausted: OnceLock<String>,
}

#[derive(Debug, Default)]
struct Account {
    caps: Caps,
    taken: Mutex<Taken>,
    /// When the first session asked whether it may begin.
    began: OnceLock<Instant>,
}

/// Bounds on all sessions together; 0 for none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caps {
    /// Answers.
    pub steps: u64,
    /// Tokens, read and written.
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
    /// Wall-clock seconds since the first step.
    pub seconds: f64,
}

impl Caps {
    /// Returns the limits of the settings.
    pub fn of(settings: &ModelSettings) -> Self {
        Self {
            steps: settings.total_steps,
            tokens: settings.total_tokens,
            cost: settings.total_cost,
            seconds: settings.total_seconds,
        }
    }
}

#[derive(Debug, Default)]
struct Taken {
    steps: u64,
    tokens: u64,
    cost: f64,
}

impl Spent {
    /// Nothing spent yet.
    pub fn new(caps: Caps) -> Self {
        let account = Arc::new(Account { caps, ..Account::default() });
        Self { account, exhausted: OnceLock::new() }
    }

    /// The same account, for another provider: its quota is its own.
    pub fn beside(&self) -> Self {
        Self { account: Arc::clone(&self.account), exhausted: OnceLock::new() }
    }

    /// Adds an answer.
    pub fn add(&self, answer: &Answer) {
        self.took(answer.usage.total(), answer.cost.unwrap_or(0.0));
        self.taken().steps += 1;
    }

    /// Adds tokens and US dollars.
    pub fn took(&self, tokens: u64, cost: f64) {
        let mut taken = self.taken();
        taken.tokens = taken.tokens.saturating_add(tokens);
        taken.cost += cost;
    }

    /// Remembers that the provider's quota is used up: no session needs to be told again.
    pub fn exhaust(&self, message: &str) {
        // The first of several to be told says it for all.
        let _ = self.exhausted.set(message.to_owned());
    }

    /// Checks that the limits allow more.
    ///
    /// # Errors
    /// The outcome, if a limit is reached or the quota is used up.
    pub fn check(&self) -> Result<(), Outcome> {
        if let Some(message) = self.exhausted.get() {
            return Err(Outcome::Paused { message: message.clone() });
        }
        let Account { caps, began, .. } = &*self.account;
        let seconds = began.get_or_init(Instant::now).elapsed().as_secs_f64();
        let taken = self.taken();
        if caps.steps > 0 && taken.steps >= caps.steps {
            Err(Outcome::StepLimit)
        } else if caps.tokens > 0 && taken.tokens >= caps.tokens {
            Err(Outcome::TokenLimit)
        } else if caps.cost > 0.0 && taken.cost >= caps.cost {
            Err(Outcome::CostLimit)
        } else if caps.seconds > 0.0 && seconds >= caps.seconds {
            Err(Outcome::TimeLimit)
        } else {
            Ok(())
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.account.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::TokenUsage;

    #[test]
    fn caps_hold_over_all_sessions() {
        let usage = TokenUsage { input: 60, ..TokenUsage::default() };
        let answer = Answer { usage, cost: Some(0.25), ..Answer::default() };
        let check = |caps: Caps, expected: &[Result<(), Outcome>]| {
            let spent = Spent::new(caps);
            // Another provider's answers count as well, its quota does not.
            let other = spent.beside();
            other.exhaust("no money");
            for (spent_by, expected) in [&other, &spent].into_iter().zip(expected) {
                spent_by.add(&answer);
                assert_eq!(spent.check(), *expected);
            }
        };
        let none = Caps::default();
        check(none, &[Ok(()), Ok(())]);
        check(Caps { steps: 2, ..none }, &[Ok(()), Err(Outcome::StepLimit)]);
        check(Caps { tokens: 100, ..none }, &[Ok(()), Err(Outcome::TokenLimit)]);
        check(Caps { cost: 0.5, ..none }, &[Ok(()), Err(Outcome::CostLimit)]);
        check(Caps { seconds: 1e-9, ..none }, &[Err(Outcome::TimeLimit)]);
        check(Caps { seconds: 1e9, ..none }, &[Ok(()), Ok(())]);
    }
}
