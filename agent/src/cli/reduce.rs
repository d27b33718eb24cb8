//! `gistify reduce`: proposes smaller Python files to a program that decides which of them are
//! interesting, by the protocol of Shrink Ray's `--reduce-with`.
//!
//! The protocol is a line of JSON each way: `{"content": BASE64, "interesting": BOOL}` comes in,
//! for the first file and for each answer; `{"content": BASE64}` goes out for a question, `{"idle":
//! true}` when nothing more can be removed (shrinkray 26.9, `reducers/protocol.py`). Nothing is
//! executed here.

use std::io::{BufRead, Write};

use base64::{Engine, prelude::BASE64_STANDARD};
use clap::Args;
use graph::{Gist, GistLine, LineOrigin, Reduction};
use serde::Deserialize;
use serde_json::json;

use super::{Exit, Failure, OrExit};

#[derive(Debug, Args)]
pub struct Reduce {}

/// A message of the program that decides.
#[derive(Debug, Deserialize)]
struct Feedback {
    content: String,
    interesting: bool,
}

impl Reduce {
    pub fn act(self) -> Result<Exit, Failure> {
        let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
        Dialogue { input: input.lines(), output }.hold()?;
        Ok(Exit::Success)
    }
}

/// An exchange of messages up to the end of the input.
struct Dialogue<I, O> {
    input: I,
    output: O,
}

impl<I: Iterator<Item = std::io::Result<String>>, O: Write> Dialogue<I, O> {
    fn hold(&mut self) -> Result<(), Failure> {
        let mut next = self.hear()?;
        while let Some((content, interesting)) = next.take() {
            // Only a file of interest is one to work on.
            next = match interesting {
                true => self.reduce(&content)?,
                false => self.hear()?,
            };
        }
        Ok(())
    }

    /// Reduces a file until nothing more can be removed or another file arrives; returns that file.
    fn reduce(&mut self, content: &[u8]) -> Result<Option<(Vec<u8>, bool)>, Failure> {
        if let Ok(text) = std::str::from_utf8(content) {
            let keeps_none_whole = |_: &GistLine, _: Option<&str>| false;
            let mut reduction = Reduction::new(unplaced(text), &keeps_none_whole);
            while let Some(proposal) = reduction.propose() {
                let question = proposal.text.as_bytes();
                self.say(&json!({ "content": BASE64_STANDARD.encode(question) }))?;
                match self.hear()? {
                    Some((answer, true)) if answer == question => reduction.accept(),
                    Some((answer, false)) if answer == question => reduction.reject(),
                    other => return Ok(other),
                }
            }
        }
        self.say(&json!({ "idle": true }))?;
        self.hear()
    }

    fn hear(&mut self) -> Result<Option<(Vec<u8>, bool)>, Failure> {
        let Some(line) = self.input.next() else { return Ok(None) };
        let line = line.or_exit(Exit::Infrastructure)?;
        let wrong = |error: String| Failure::new(Exit::Input, format!("read a message: {error}"));
        let feedback: Feedback =
            serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
        let content =
            BASE64_STANDARD.decode(feedback.content).map_err(|error| wrong(error.to_string()))?;
        Ok(Some((content, feedback.interesting)))
    }

    fn say(&mut self, message: &serde_json::Value) -> Result<(), Failure> {
        writeln!(self.output, "{message}").or_exit(Exit::Infrastructure)?;
        self.output.flush().or_exit(Exit::Infrastructure)
    }
}

/// A file as a gist whose lines come from nowhere.
fn unplaced(text: &str) -> Gist {
    let line = GistLine {
        origin: LineOrigin::Glue("of a file without origins".to_owned()),
        adapted: false,
    };
    Gist { text: text.to_owned(), lines: vec![line; text.lines().count()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reduces a file for a program that finds texts of interest; returns the last of these.
    fn reduced(text: &str, interesting: impl Fn(&str) -> bool) -> String {
        let (ask, questions) = std::sync::mpsc::channel::<String>();
        let (answer, answers) = std::sync::mpsc::channel::<std::io::Result<String>>();
        let message = |text: &str, interesting: bool| {
            json!({ "content": BASE64_STANDARD.encode(text), "interesting": interesting })
                .to_string()
        };
        answer.send(Ok(message(text, true))).unwrap();
        let worker = std::thread::spawn(move || {
            Dialogue { input: answers.into_iter(), output: LineSender(ask, Vec::new()) }
                .hold()
                .unwrap();
        });
        let mut best = text.to_owned();
        for line in questions {
            let said: serde_json::Value = serde_json::from_str(&line).unwrap();
            if said["idle"] == true {
                break;
            }
            let asked = BASE64_STANDARD.decode(said["content"].as_str().unwrap()).unwrap();
            let asked = String::from_utf8(asked).unwrap();
            let verdict = interesting(&asked);
            answer.send(Ok(message(&asked, verdict))).unwrap();
            if verdict {
                best = asked;
            }
        }
        drop(answer);
        worker.join().unwrap();
        best
    }

    struct LineSender(std::sync::mpsc::Sender<String>, Vec<u8>);

    impl Write for LineSender {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1.extend_from_slice(bytes);
            while let Some(end) = self.1.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.1.drain(..=end).collect();
                let _ = self.0.send(String::from_utf8(line).unwrap());
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn proposes_until_nothing_more_can_go() {
        let check = |text: &str, needed: &str, expected: &str| {
            assert_eq!(reduced(text, |text| text.contains(needed)), expected, "{text}");
        };
        check("import a\nx = 1\nraise ValueError(x)\ny = 2\n", "raise", "raise ValueError(x)\n");
        check("def f():\n    a = 1\n    return a\nf()\n", "return", "def f():\n    return a\n");
        // What is no Python is left as it is.
        check("int main() { return 0; }\n", "return", "int main() { return 0; }\n");
    }
}
