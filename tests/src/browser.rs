//! A real browser for tests of pages: Chromium without a window, spoken to over a pipe (Chrome `DevTools` protocol), so
//! that there is no port, no driver, and nothing in the page that tests need.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::model::skip;

/// Names under which it may be on the path.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    last: u64,
    complaints: Vec<String>,
    loads: u64,
    /// What it remembers, until it is dropped.
    _profile: tempfile::TempDir,
}

impl Browser {
    /// The browser that `DSHLOG_CHROMIUM` names, else one on the path. When there is none it says so on stderr.
    ///
    /// # Panics
    /// When there is one, and it does not start.
    pub fn find() -> Option<Self> {
        let named = std::env::var_os("DSHLOG_CHROMIUM").map(PathBuf::from);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = || {
            std::env::split_paths(&path)
                .flat_map(|folder| NAMES.map(|name| folder.join(name)))
                .find(|program| program.is_file())
        };
        let program = if cfg!(unix) { named.or_else(on_path) } else { None };
        if program.is_none() {
            skip("no browser (DSHLOG_CHROMIUM, or chromium on the path)");
        }
        Some(Self::start(&program?))
    }

    fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().expect("a temporary folder can be made");
        // The browser reads from 3 and writes to 4; a shell puts the pipes there.
        let mut process = Command::new("/bin/sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null", "sh"])
            .arg(program)
            .args(["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-extensions"])
            .args(["--disable-dev-shm-usage", "--window-size=1280,900"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let to = process.stdin.take().expect("it is piped");
        let from = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut browser = Browser {
            process,
            to,
            from,
            session: None,
            last: 0,
            complaints: Vec::new(),
            loads: 0,
            _profile: profile,
        };
        let made = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": made["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Load a file, and wait until it is there.
    ///
    /// # Panics
    /// When the browser is gone.
    pub fn open(&mut self, page: &Path) {
        self.complaints.clear();
        let before = self.loads;
        let url = format!("file://{}", page.display());
        self.call("Page.navigate", &json!({ "url": url }));
        while self.loads == before {
            let message = self.read();
            self.note(&message);
        }
    }

    /// Press and release a key, such as `/` or `Enter`.
    pub fn key(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            key if key.chars().count() == 1 => key,
            _ => "",
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            self.call("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key, "text": text }));
        }
    }

    /// Write into what has the focus.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// The value of an expression in the page.
    ///
    /// # Panics
    /// When it throws.
    pub fn value(&mut self, expression: &str) -> Value {
        let ask = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &ask);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The page on paper.
    ///
    /// # Panics
    /// When the browser is gone.
    pub fn print(&mut self) -> String {
        let printed = self.call("Page.printToPDF", &json!({}));
        printed["data"].as_str().unwrap_or_default().to_owned()
    }

    /// What the page complained of since it was opened: errors, warnings, anything that it wanted from elsewhere.
    pub fn complaints(&mut self) -> Vec<String> {
        // Whatever it had to say comes before the answer to this.
        self.value("0");
        self.complaints.clone()
    }

    /// Ask, and wait for the answer.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let message = self.read();
            if message["id"] == json!(id) {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("the browser speaks");
        assert_eq!(bytes.pop(), Some(0), "the browser is gone");
        serde_json::from_slice(&bytes).expect("the browser speaks JSON")
    }

    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Page.loadEventFired" => self.loads += 1,
            "Runtime.exceptionThrown" => self.complaints.push(params["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" | "Log.entryAdded" | "Page.javascriptDialogOpening" => {
                self.complaints.push(params.to_string());
            }
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                if !url.starts_with("file:") && !url.starts_with("data:") {
                    self.complaints.push(format!("fetched {url}"));
                }
            }
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its children end with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
