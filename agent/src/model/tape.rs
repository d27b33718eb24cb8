//! Records exchanges: sent and received bytes, one JSON line each.
//!
//! A tape that plays answers from its record and opens no socket. A request that differs from the
//! recorded one is a failure, since the record then no longer applies. Headers, and with them keys,
//! are never on it.

use std::{
    collections::VecDeque,
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
    path::Path,
    sync::Mutex,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{retry::ExchangeFailure, wire::Received};

/// Version of the persisted form; a reader refuses any other.
const TAPE_VERSION: u32 = 1;

/// The destination or the source of recorded exchanges.
#[derive(Debug, Default)]
pub enum Tape {
    /// Nothing is recorded.
    #[default]
    Off,
    /// Each exchange is appended.
    Record(Mutex<File>),
    /// Each exchange is taken from the record.
    Play(Mutex<VecDeque<Exchange>>),
}

/// One exchange. Bodies are text wherever they are UTF-8, which all of ours are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    version: u32,
    request: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<String>,
    /// A body that is no UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<Vec<u8>>,
}

impl Tape {
    /// A tape that records into a new file.
    ///
    /// # Errors
    /// The file exists or cannot be made.
    pub fn record(path: &Path) -> Result<Self, String> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file = file.map_err(|error| format!("write {}: {error}", path.display()))?;
        Ok(Self::Record(Mutex::new(file)))
    }

    /// A tape that plays a file.
    ///
    /// # Errors
    /// The file cannot be read or is no record of this version.
    pub fn play(path: &Path) -> Result<Self, String> {
        let failed = |reason: String| format!("read {}: {reason}", path.display());
        let file = File::open(path).map_err(|error| failed(error.to_string()))?;
        let mut exchanges = VecDeque::new();
        for line in BufReader::new(file).lines() {
            let line = line.map_err(|error| failed(error.to_string()))?;
            let exchange: Exchange =
                serde_json::from_str(&line).map_err(|error| failed(error.to_string()))?;
            if exchange.version != TAPE_VERSION {
                return Err(failed(format!(
                    "version {} (this program reads {TAPE_VERSION})",
                    exchange.version
                )));
            }
            exchanges.push_back(exchange);
        }
        Ok(Self::Play(Mutex::new(exchanges)))
    }

    /// The recorded answer to a request; `None` where it has to be asked for.
    pub fn next(&self, request: &[u8]) -> Option<Result<Received, ExchangeFailure>> {
        let Self::Play(exchanges) = self else { return None };
        let mut exchanges = exchanges.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(exchange) = exchanges.pop_front() else {
            return Some(Err(ExchangeFailure::Refused(
                "the record of exchanges is at its end".to_owned(),
            )));
        };
        if exchange.request.as_bytes() != request {
            let same = exchange.request.bytes().zip(request).take_while(|(a, b)| a == *b).count();
            let message = format!("the request differs from the recorded one at byte {same}");
            return Some(Err(ExchangeFailure::Refused(message)));
        }
        let body = exchange.response.map(String::into_bytes).or(exchange.bytes);
        Some(Ok(Received { kind: exchange.kind, body: body.unwrap_or_default() }))
    }

    /// Adds an exchange.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, request: &[u8], received: &Received) -> Result<(), String> {
        let Self::Record(file) = self else { return Ok(()) };
        let text = String::from_utf8(received.body.clone());
        let (response, bytes) = match text {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(error.into_bytes())),
        };
        let exchange = Exchange {
            version: TAPE_VERSION,
            request: String::from_utf8_lossy(request).into_owned(),
            kind: received.kind.clone(),
            response,
            bytes,
        };
        let mut line = serde_json::to_vec(&exchange).map_err(|error| error.to_string())?;
        line.push(b'\n');
        let mut file = file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        file.write_all(&line).map_err(|error| format!("write exchanges: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_played_byte_for_byte() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("exchanges.jsonl");
        let kept = |body: &[u8]| Received { kind: "a/b".to_owned(), body: body.to_vec() };
        let tape = Tape::record(&path).unwrap();
        tape.keep(b"one", &kept(b"text")).unwrap();
        tape.keep(b"two", &kept(b"\xff\n")).unwrap();
        let tape = Tape::play(&path).unwrap();
        assert_eq!(tape.next(b"one"), Some(Ok(kept(b"text"))));
        assert_eq!(tape.next(b"two"), Some(Ok(kept(b"\xff\n"))));
        let end = ExchangeFailure::Refused("the record of exchanges is at its end".to_owned());
        assert_eq!(tape.next(b"three"), Some(Err(end)));
        let tape = Tape::play(&path).unwrap();
        let differs = "the request differs from the recorded one at byte 1";
        assert_eq!(tape.next(b"our"), Some(Err(ExchangeFailure::Refused(differs.to_owned()))));
    }
}
