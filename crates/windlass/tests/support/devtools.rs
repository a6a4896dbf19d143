//! Chromium, driven by its `DevTools` protocol over a pipe: no port is opened for it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Maximum time of any action of a browser; only a busy machine takes long.
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
    /// Starts it, with its profile in a folder.
    pub fn start(folder: &Path) -> Self {
        // It reads from descriptor 3 and writes to 4, and a shell can lay them so.
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

    /// Calls a method, and gives what it returns.
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

    fn hear(&mut self) -> Value {
        self.from.recv_timeout(PATIENCE).expect("the browser says something")
    }

    /// Opens an address, and waits until the page is there.
    pub fn open(&mut self, address: &str) {
        let before = self.count("Page.loadEventFired");
        let opened = self.call("Page.navigate", &json!({"url": address}));
        assert_eq!(opened["errorText"], Value::Null, "{address}");
        self.loaded(before);
    }

    /// Waits until a page is there, more than so many before.
    fn loaded(&mut self, before: usize) {
        while self.count("Page.loadEventFired") <= before {
            let event = self.hear();
            self.events.push(event);
        }
    }

    /// Does what leads to another page, and waits for that.
    pub fn follow(&mut self, act: impl FnOnce(&mut Self)) {
        let before = self.count("Page.loadEventFired");
        act(self);
        self.loaded(before);
    }

    fn count(&self, method: &str) -> usize {
        self.events.iter().filter(|event| event["method"] == method).count()
    }

    /// Returns the value of a piece of JavaScript in the page; a promise is awaited.
    pub fn eval(&mut self, script: &str) -> Value {
        let asked = json!({"expression": script, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", &asked);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{script}");
        answer["result"]["value"].clone()
    }

    /// A text of it.
    pub fn text(&mut self, script: &str) -> String {
        self.eval(script).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until a piece of JavaScript comes to something true.
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

    /// Sets the width of the window in pixels, and the dark or light scheme.
    pub fn look(&mut self, width: u32, dark: bool) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let value = if dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.call("Emulation.setEmulatedMedia", &media);
    }

    /// Types text where the focus is.
    pub fn types(&mut self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Presses a key, as `Tab`, `Enter`, or `Space`.
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

    /// The addresses that it asked for since it was started.
    pub fn asked(&self) -> Vec<String> {
        let asked = self.events.iter().filter(|one| one["method"] == "Network.requestWillBeSent");
        asked.map(|one| one["params"]["request"]["url"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends with its pipe, and so do its own children.
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

/// Returns axe-core's findings in the open page: seriously broken rules with their elements.
/// Without axe-core there are none, and the test says that it is skipped.
pub fn serious_faults(browser: &mut Browser, test: &str) -> Option<Vec<String>> {
    let file = super::repository("target/axe-core/package/axe.min.js");
    let Ok(script) = std::fs::read_to_string(file) else {
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
