//! A headless Chromium, driven by the W3C's WebDriver protocol.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

/// A browser with one window; both end with it.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts one of this size, dark or light; nothing where there is none, which is said.
    pub fn start(width: u32, height: u32, dark: bool) -> Option<Self> {
        let driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut driver) = driver else {
            eprintln!("skipped: no chromedriver on this machine");
            return None;
        };
        let said = BufReader::new(driver.stdout.take().unwrap());
        let port = said.lines().map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let mut browser = Self { driver, port: port?, session: String::new() };
        let mut arguments = vec![
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            format!("--window-size={width},{height}"),
        ];
        if dark {
            arguments.push("--blink-settings=preferredColorScheme=0".to_owned());
        }
        let asked = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments }, "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let made = browser.ask("POST", "", &asked);
        match made["sessionId"].as_str() {
            Some(session) => browser.session = format!("/{session}"),
            None => {
                eprintln!("skipped: no chromium on this machine: {made}");
                return None;
            }
        }
        Some(browser)
    }

    pub fn open(&self, address: &str) {
        let answer = self.ask("POST", "/url", &json!({ "url": address }));
        assert!(answer.is_null(), "{address}: {answer}");
    }

    /// Returns the result of a script.
    pub fn run(&self, script: &str) -> Value {
        let answer = self.ask("POST", "/execute/sync", &json!({ "script": script, "args": [] }));
        assert!(answer.get("error").is_none(), "{script}: {answer}");
        answer
    }

    /// Waits until a script returns what is not false or null.
    pub fn wait(&self, script: &str) -> Value {
        // Not a matter of speed: what has not come by then never does.
        for _ in 0..3_000 {
            let found = self.run(script);
            if found != Value::Bool(false) && !found.is_null() {
                return found;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let shown = self.run("return [location.hash, document.body.innerText.slice(0, 2000)]");
        panic!("{script}: {shown}: {:?}", self.complaints());
    }

    /// Presses keys, as a user at the page does.
    pub fn press(&self, keys: &str) {
        let actions = keys.chars().flat_map(|key| {
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        });
        let actions: Vec<Value> = actions.collect();
        let body = json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] });
        self.ask("POST", "/actions", &body);
    }

    /// Returns the page's console messages at level SEVERE.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.ask("POST", "/se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().cloned().unwrap_or_default();
        let severe = entries.iter().filter(|entry| entry["level"] == "SEVERE");
        severe.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Saves a picture where GISTIFY_TEST_SCREENSHOTS names a directory.
    pub fn picture(&self, name: &str) {
        let Some(directory) = std::env::var_os("GISTIFY_TEST_SCREENSHOTS") else { return };
        let answer = self.ask("GET", "/screenshot", &Value::Null);
        let path = Path::new(&directory).join(format!("{name}.png"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(path, base64(answer.as_str().unwrap_or_default())).unwrap();
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let (session, length) = (&self.session, text.len());
        write!(
            stream,
            "{method} /session{session}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: \
             application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        )
        .unwrap();
        // It keeps the connection open, whatever it is told.
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).unwrap();
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body).unwrap();
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        answer["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            self.ask("DELETE", "", &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => u32::from(c - b'A'),
        b'a'..=b'z' => u32::from(c - b'a') + 26,
        b'0'..=b'9' => u32::from(c - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|c| *c != b'=').collect();
    let mut out = Vec::new();
    for chunk in digits.chunks(4) {
        let bits = chunk.iter().fold(0, |bits, c| bits << 6 | value(*c)) << (6 * (4 - chunk.len()));
        let bytes = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
        out.extend(&bytes[..chunk.len() - 1]);
    }
    out
}
