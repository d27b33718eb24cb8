//! The one policy of repetition: which failures are worth another attempt, and how long to wait.

use std::{
    future::Future,
    time::{Duration, SystemTime},
};

use backon::{ExponentialBuilder, Retryable};
use http::HeaderMap;

use super::ModelError;
use crate::config::ModelSettings;

/// Why an exchange gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeFailure {
    /// Another attempt may help.
    #[error("{message}")]
    Again {
        /// The failure.
        message: String,
        /// The pause that the provider requests.
        after: Option<Duration>,
    },
    /// The quota is used up; time alone does not help.
    #[error("{0}")]
    Quota(String),
    /// The conversation does not fit the model's window.
    #[error("{0}")]
    TooLong(String),
    /// The provider will not answer this.
    #[error("{0}")]
    Refused(String),
}

impl ExchangeFailure {
    /// Worth another attempt, when does not matter.
    pub fn again(message: String) -> Self {
        Self::Again { message, after: None }
    }
}

impl From<ExchangeFailure> for ModelError {
    fn from(failure: ExchangeFailure) -> Self {
        match failure {
            ExchangeFailure::Again { message, .. } | ExchangeFailure::Refused(message) => {
                Self::Failed(message)
            }
            ExchangeFailure::Quota(message) => Self::Paused(message),
            ExchangeFailure::TooLong(message) => Self::TooLong(message),
        }
    }
}

/// Tries until it works, or until it is no use.
///
/// # Errors
/// The last failure.
pub async fn persist<T, F, Attempt>(
    settings: &ModelSettings,
    attempt: F,
) -> Result<T, ExchangeFailure>
where
    F: FnMut() -> Attempt,
    Attempt: Future<Output = Result<T, ExchangeFailure>>,
{
    let longest = Duration::from_secs_f64(settings.wait_seconds);
    let policy = ExponentialBuilder::new()
        .with_min_delay(Duration::from_secs_f64(settings.pause_seconds).min(longest))
        .with_max_delay(longest)
        .with_max_times(settings.retries)
        .with_jitter();
    attempt
        .retry(policy)
        .when(|failure| matches!(failure, ExchangeFailure::Again { .. }))
        .adjust(|failure, pause| match (failure, pause) {
            // No pause means that the attempts are used up.
            (ExchangeFailure::Again { after: Some(after), .. }, Some(_)) => {
                Some((*after).min(longest))
            }
            (_, pause) => pause.map(|pause| pause.min(longest)),
        })
        .await
}

/// Returns the pause that a provider requests: in seconds, in milliseconds, or as a date (RFC 9110,
/// section 10.2.3). Seconds may have a fraction. Returns `None` for any other text. A date in the
/// past gives no pause.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds.clamp(0.0, 1e9)).ok();
    if let Some(milliseconds) = text("retry-after-ms").and_then(number) {
        return seconds(milliseconds / 1000.0);
    }
    let value = text("retry-after")?;
    number(value).and_then(seconds).or_else(|| {
        let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
        Some(SystemTime::from(date).duration_since(SystemTime::now()).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &'static str, value: &str, expected: Option<u64>) {
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static(name),
            http::HeaderValue::from_str(value).unwrap(),
        )]);
        assert_eq!(retry_after(&headers).map(|after| after.as_secs()), expected, "{value}");
    }

    #[test]
    fn d05_retry_after_is_read_in_every_form() {
        check("retry-after", "7", Some(7));
        check("retry-after", " 2.5 ", Some(2));
        check("retry-after", "-3", Some(0));
        check("retry-after", "1000000000", Some(1_000_000_000));
        check("retry-after", "1e300", Some(1_000_000_000));
        check("retry-after", "nan", None);
        check("retry-after", "soon", None);
        check("retry-after-ms", "3000", Some(3));
        check("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(0));
        let in_a_day = retry_after(&HeaderMap::from_iter([(
            http::header::RETRY_AFTER,
            http::HeaderValue::from_static("Tue, 31 Dec 2199 23:59:59 GMT"),
        )]));
        assert!(in_a_day.is_some_and(|after| after > Duration::from_secs(86_400)));
    }
}
