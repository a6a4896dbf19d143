//! Chromium, driven through its `DevTools` protocol over a pipe, without a network port.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Maximum time of any action of a browser; only a busy machine needs long.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    last: u64,
    /// Events that the browser sent without a request.
    events: Vec<Value>,
}

impl Browser {
    /// Starts a browser with its profile in a folder.
    pub fn start(folder: &Path) -> Self {
        // Chromium reads from descriptor 3 and writes to descriptor 4; the shell connects both.
        let script = "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", "--headless", "--no-sandbox", "--disable-gpu"]);
        command.args(["--remote-debugging-pipe", "--no-first-run", "--disable-extensions"]);
        command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
        let (to, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (give, from) = channel();
        thread::spawn(move || {
            for message in BufReader::new(out).split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).unwrap_or_default();
                if give.send(message).is_err() {
                    return;
                }
            }
        });
        let session = String::new();
        let mut browser = Self { child, to, from, session, last: 0, events: Vec::new() };
        let page = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let target = json!({"targetId": page["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", &target);
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Calls a method of the protocol, and returns its result.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(&[message.to_string().as_bytes(), b"\0"].concat()).unwrap();
        loop {
            let answer = self.hear();
            if answer["id"] == id {
                assert_eq!(answer["error"], Value::Null, "{method}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Waits for the next message of the browser, and returns this message.
    fn hear(&mut self) -> Value {
        self.from.recv_timeout(PATIENCE).expect("the browser says something")
    }

    /// Opens an address, and waits until the page is loaded.
    pub fn open(&mut self, address: &str) {
        let before = self.count("Page.loadEventFired");
        let opened = self.call("Page.navigate", &json!({"url": address}));
        assert_eq!(opened["errorText"], Value::Null, "{address}");
        self.loaded(before);
    }

    /// Waits until more than `before` pages are loaded.
    fn loaded(&mut self, before: usize) {
        while self.count("Page.loadEventFired") <= before {
            let event = self.hear();
            self.events.push(event);
        }
    }

    /// Runs an action that leads to another page, and waits until that page is loaded.
    pub fn follow(&mut self, act: impl FnOnce(&mut Self)) {
        let before = self.count("Page.loadEventFired");
        act(self);
        self.loaded(before);
    }

    /// Returns the number of recorded events of a method.
    fn count(&self, method: &str) -> usize {
        self.events.iter().filter(|event| event["method"] == method).count()
    }

    /// Evaluates a JavaScript expression in the page, and returns its value. A promise is awaited.
    pub fn eval(&mut self, script: &str) -> Value {
        let asked = json!({"expression": script, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", &asked);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{script}");
        answer["result"]["value"].clone()
    }

    /// Returns the text that a JavaScript expression evaluates to; empty if the value is not a
    /// string.
    pub fn text(&mut self, script: &str) -> String {
        self.eval(script).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until a JavaScript expression evaluates to true.
    pub fn until(&mut self, script: &str) {
        let since = Instant::now();
        while self.eval(script) != json!(true) {
            assert!(
                since.elapsed() < PATIENCE,
                "never {script}: {}",
                self.text("document.body.innerText")
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sets the width of the window in pixels, and the dark or light colour scheme.
    pub fn look(&mut self, width: u32, dark: bool) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let value = if dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.call("Emulation.setEmulatedMedia", &media);
    }

    /// Types text into the focused element.
    pub fn types(&mut self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Presses a key: `Tab`, `Enter` or `Space`.
    pub fn press(&mut self, key: &str) {
        let (code, text, number) = match key {
            "Tab" => ("Tab", "", 9),
            "Enter" => ("Enter", "\r", 13),
            _ => ("Space", " ", 32),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": if code == "Space" { " " } else { code },
                "code": code, "windowsVirtualKeyCode": number});
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Returns the console output and the errors since the start.
    pub fn complaints(&self) -> Vec<String> {
        let said = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
        let said = self.events.iter().filter(|one| said.iter().any(|said| one["method"] == *said));
        said.map(ToString::to_string).collect()
    }

    /// Returns the addresses that the browser requested since its start.
    pub fn asked(&self) -> Vec<String> {
        let asked = self.events.iter().filter(|one| one["method"] == "Network.requestWillBeSent");
        asked.map(|one| one["params"]["request"]["url"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The method `Browser.close` ends the browser and its child processes.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(20) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the serious and critical violations that axe-core finds in the open page, each rule with
/// its elements.
///
/// Returns `None` and reports the test as skipped if axe-core is missing.
pub fn serious_faults(browser: &mut Browser, test: &str) -> Option<Vec<String>> {
    let lib = std::fs::read_dir(super::repository("target/python/lib"));
    let folders = lib.into_iter().flatten().flatten().map(|folder| folder.path());
    let file = "site-packages/axe_playwright_python/axe.min.js";
    let mut scripts = folders.filter_map(|at| std::fs::read_to_string(at.join(file)).ok());
    let Some(script) = scripts.next() else {
        super::skipped(test, "axe-core is not installed");
        return None;
    };
    browser.eval(&format!("{script}; true"));
    let found = browser.eval(
        "axe.run(document, { resultTypes: ['violations'] }).then((found) => JSON.stringify(
           found.violations.filter((one) => ['serious', 'critical'].includes(one.impact))
             .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' | ')}`)))",
    );
    let found: Vec<String> = serde_json::from_str(found.as_str().unwrap()).unwrap();
    Some(found)
}
