//! What all workers share: the rate of requests, the pause that a provider asked for, the caps on
//! everything together, and that a quota is used up.

use std::{
    num::NonZeroU32,
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use crate::{message::Answer, outcome::Outcome};

/// The rate of requests over all workers.
#[derive(Debug)]
pub struct Pace {
    limiter: Option<DefaultDirectRateLimiter>,
    held: Mutex<Option<Instant>>,
}

impl Pace {
    /// So many requests a minute, evenly spread; 0 for no bound.
    pub fn new(per_minute: u32) -> Self {
        // Without a burst no minute has more requests than allowed, wherever it begins.
        let quota = NonZeroU32::new(per_minute)
            .map(|rate| Quota::per_minute(rate).allow_burst(NonZeroU32::MIN));
        Self { limiter: quota.map(RateLimiter::direct), held: Mutex::new(None) }
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

    /// Lets nobody send anything for a while: what one worker is told holds for all.
    pub fn hold(&self, time: Duration) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let until = Instant::now() + time;
        *held = Some(held.map_or(until, |old| old.max(until)));
    }
}

/// What all sessions together took, and may take.
#[derive(Debug, Default)]
pub struct Spent {
    so_far: Mutex<(u64, f64)>,
    exhausted: OnceLock<String>,
    tokens: u64,
    cost: f64,
}

impl Spent {
    /// Nothing spent yet, of so many tokens and US dollars; 0 for no bound.
    pub fn new(tokens: u64, cost: f64) -> Self {
        Self { tokens, cost, ..Self::default() }
    }

    /// Adds an answer.
    pub fn add(&self, answer: &Answer) {
        self.took(answer.usage.total(), answer.cost.unwrap_or(0.0));
    }

    /// Adds tokens and US dollars.
    pub fn took(&self, tokens: u64, cost: f64) {
        let mut spent = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        spent.0 = spent.0.saturating_add(tokens);
        spent.1 += cost;
    }

    /// Remembers that the provider's quota is used up: no session needs to be told again.
    pub fn exhaust(&self, message: &str) {
        // The first of several to be told says it for all.
        let _ = self.exhausted.set(message.to_owned());
    }

    /// Whether more may be spent.
    ///
    /// # Errors
    /// The outcome, where a cap is reached or the quota is used up.
    pub fn check(&self) -> Result<(), Outcome> {
        if let Some(message) = self.exhausted.get() {
            return Err(Outcome::Paused { message: message.clone() });
        }
        let (tokens, cost) = *self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        if self.tokens > 0 && tokens >= self.tokens {
            Err(Outcome::TokenLimit)
        } else if self.cost > 0.0 && cost >= self.cost {
            Err(Outcome::CostLimit)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Usage;

    #[test]
    fn caps_hold_over_all_sessions() {
        let usage = Usage { input: 60, ..Usage::default() };
        let answer = Answer { usage, cost: Some(0.25), ..Answer::default() };
        let check = |tokens, cost, expected: &[Result<(), Outcome>]| {
            let spent = Spent::new(tokens, cost);
            for expected in expected {
                spent.add(&answer);
                assert_eq!(spent.check(), *expected);
            }
        };
        check(0, 0.0, &[Ok(()), Ok(())]);
        check(100, 0.0, &[Ok(()), Err(Outcome::TokenLimit)]);
        check(0, 0.5, &[Ok(()), Err(Outcome::CostLimit)]);
    }
}
