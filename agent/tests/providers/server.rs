//! A loopback server that does what a provider does, on good days and on bad ones.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// The reaction of the server to one request.
#[derive(Clone)]
pub enum Does {
    /// Answers with a status, headers and a body.
    Answer(u16, &'static str, String),
    /// Answers with bytes.
    Bytes(&'static str, Vec<u8>),
    /// Promises more than it sends.
    Cut(String),
    /// Sends a part and then nothing more.
    Silence(String),
    /// Sends a byte, waits so long, sends the next.
    Dribble(String, Duration),
    /// Sends so many bytes, under a status.
    Flood(u16, usize),
}

/// A request as it came, with the time.
#[derive(Clone)]
pub struct Seen {
    pub head: String,
    pub body: String,
    pub at: Instant,
}

pub struct Server {
    pub address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Serves one behaviour after the other, then the last one forever.
    pub fn start(behaviours: Vec<Does>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (behaviours, all) = (behaviours.clone(), Arc::clone(&all));
                thread::spawn(move || serve(stream.unwrap(), &behaviours, &all));
            }
        });
        Self { address, seen }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, behaviours: &[Does], all: &Mutex<Vec<Seen>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    // Some look first whether anybody is there.
    if !head.starts_with("POST ") {
        let _ =
            stream.write_all(b"HTTP/1.1 404 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        return;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let does = {
        let mut all = all.lock().unwrap();
        let at = all.len().min(behaviours.len() - 1);
        all.push(Seen { head, body, at: Instant::now() });
        &behaviours[at]
    };
    let head = |status: u16, headers: &str, length: usize| {
        format!(
            "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
        )
    };
    // The client may have gone, which is what some of the tests are about.
    let _ = match does {
        Does::Answer(status, headers, body) => {
            stream.write_all((head(*status, headers, body.len()) + body).as_bytes())
        }
        Does::Bytes(headers, body) => stream
            .write_all(head(200, headers, body.len()).as_bytes())
            .and_then(|()| stream.write_all(body)),
        Does::Cut(body) => stream.write_all((head(200, EVENTS, body.len() + 1) + body).as_bytes()),
        Does::Silence(body) => {
            let sent = stream.write_all((head(200, EVENTS, body.len() + 1) + body).as_bytes());
            let _ = stream.read(&mut [0]);
            sent
        }
        Does::Dribble(body, pause) => {
            let sent = stream.write_all(head(200, EVENTS, body.len()).as_bytes());
            sent.and_then(|()| {
                body.bytes().try_for_each(|byte| {
                    thread::sleep(*pause);
                    stream.write_all(&[byte])
                })
            })
        }
        Does::Flood(status, bytes) => {
            let block = vec![b' '; 1 << 20];
            let sent = stream.write_all(head(*status, EVENTS, *bytes).as_bytes());
            sent.and_then(|()| (0..bytes / block.len()).try_for_each(|_| stream.write_all(&block)))
        }
    };
}

pub const EVENTS: &str = "content-type: text/event-stream\r\n";
pub const JSON: &str = "content-type: application/json\r\n";

/// Events as chat completions send them.
pub fn events(chunks: &[Value]) -> String {
    let chunks = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    chunks.collect::<String>() + "data: [DONE]\n\n"
}

pub fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta }] })
}

pub fn finish(reason: &str) -> Value {
    json!({
        "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "prompt_tokens_details": { "cached_tokens": 60 },
        },
    })
}
