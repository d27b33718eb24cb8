//! The rules by which GitHub limits requests, as a function of one answer.
//!
//! A primary limit is exceeded where `x-ratelimit-remaining` is 0: then `x-ratelimit-reset` has the end, in seconds
//! since the epoch. A secondary limit has `retry-after`, or nothing: then a minute at least is to be waited, and
//! longer each time. Both come with 403 or 429 (docs.github.com, "Rate limits for the REST API").

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode, header};
use jiff::fmt::rfc2822::DateTimeParser;
use tools::HttpAnswer;

use crate::model::{retry_after, said};

/// The meaning of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// It has what was asked for.
    Answered,
    /// There is nothing at this address.
    Missing,
    /// The same request may be sent after this time.
    Wait(Duration),
    /// The same request will be refused again.
    Refused(String),
}

/// The pause of a secondary limit that names none.
const SECONDARY: Duration = Duration::from_secs(60);

/// Returns the meaning of an answer to the request after `attempt` others that were to wait.
pub fn admission(answer: &HttpAnswer, attempt: u32) -> Admission {
    let status = answer.status;
    if status.is_success() {
        return Admission::Answered;
    }
    if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
        return Admission::Missing;
    }
    let message = said(&String::from_utf8_lossy(&answer.body));
    let limited = matches!(status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS);
    if limited {
        if let Some(after) = retry_after(&answer.headers) {
            return Admission::Wait(after);
        }
        if number(&answer.headers, "x-ratelimit-remaining") == Some(0)
            && let Some(reset) = number(&answer.headers, "x-ratelimit-reset")
        {
            let left = reset.saturating_sub(now(&answer.headers)).max(1);
            return Admission::Wait(Duration::from_secs(left));
        }
        let lower = message.to_lowercase();
        let named = lower.contains("rate limit") || lower.contains("abuse detection");
        if named || status == StatusCode::TOO_MANY_REQUESTS {
            return Admission::Wait(SECONDARY * 2_u32.pow(attempt.min(8)));
        }
    }
    Admission::Refused(format!("{status}: {message}"))
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// Seconds since the epoch by the server's clock, by ours where it gives no date.
fn now(headers: &HeaderMap) -> u64 {
    let text = headers.get(header::DATE).and_then(|value| value.to_str().ok());
    let date = text.and_then(|text| DateTimeParser::new().parse_timestamp(text).ok());
    let date = date.map_or_else(SystemTime::now, SystemTime::from);
    date.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[track_caller]
    fn check(
        status: u16,
        headers: &[(&'static str, &'static str)],
        body: &str,
        expected: Admission,
    ) {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let answer = HttpAnswer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: headers.collect(),
            body: body.as_bytes().to_vec(),
        };
        assert_eq!(admission(&answer, 1), expected, "{status} {body}");
    }

    #[test]
    fn answers_say_when_to_ask_again() {
        let wait = |seconds| Admission::Wait(Duration::from_secs(seconds));
        let refused = |text: &str| Admission::Refused(text.to_owned());
        check(200, &[], "{}", Admission::Answered);
        check(404, &[], "", Admission::Missing);
        check(403, &[("retry-after", "7")], "", wait(7));
        check(429, &[("retry-after", "7"), ("x-ratelimit-remaining", "0")], "", wait(7));
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let reset = [date, ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "784111820")];
        check(403, &reset, "", wait(43));
        let past = [date, ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "784111000")];
        check(429, &past, "", wait(1));
        let secondary = r#"{"message": "A secondary rate limit was exceeded"}"#;
        check(403, &[("x-ratelimit-remaining", "12")], secondary, wait(120));
        check(429, &[], "", wait(120));
        check(403, &[], r#"{"message": "Forbidden"}"#, refused("403 Forbidden: Forbidden"));
        check(
            401,
            &[],
            r#"{"message": "Bad credentials"}"#,
            refused("401 Unauthorized: Bad credentials"),
        );
        check(422, &[("retry-after", "7")], "", refused("422 Unprocessable Entity: "));
    }
}
