//! Debian's Chromium under a test's control, over its DevTools protocol on a pair of pipes.
//!
//! Pipes need no port and no driver program, and the browser ends with them. Each [`Tab`] has a
//! profile of its own, so tests share one process and no state.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::{Command as StdCommand, Stdio},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, Command},
    sync::{Mutex as AsyncMutex, oneshot},
};

use crate::server::processes::Janitor;

/// axe reads the API's page, by far the longest, for half a minute on a busy machine.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);
/// Two cores may build and serve at the same time.
const WAIT_LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(40);
/// Chromium's answer to an expression for a page that is no longer there.
const NO_PAGE: &str = "Cannot find context";
/// The protocol's pipe is on descriptors 3 and 4; ours are standard input and output.
const LAUNCH: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#;
const FLAGS: [&str; 14] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-default-apps",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--lang=en-US",
    "--remote-debugging-pipe",
];
/// Collects violations of a content security policy, from the first line of every page on.
const WATCH_POLICY: &str = "globalThis.blocked = []; document.addEventListener('securitypolicyviolation', \
     (event) => blocked.push(event.violatedDirective + ' ' + event.blockedURI));";

/// A running browser. Dropping it ends it.
pub struct Browser {
    wire: Arc<Wire>,
    _process: Child,
    _profile: Janitor,
}

/// One page of a browser, in a profile of its own unless opened beside another.
pub struct Tab {
    wire: Arc<Wire>,
    session: String,
    context: String,
}

struct Event {
    session: String,
    method: String,
    params: Value,
}

struct Wire {
    input: AsyncMutex<ChildStdin>,
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    events: Mutex<Vec<Event>>,
}

impl Browser {
    pub async fn start() -> Self {
        let program = tokio::task::spawn_blocking(|| installed("chromium")).await.unwrap();
        let folder =
            std::env::temp_dir().join(format!("gateway-browser-{:08x}", rand::random::<u32>()));
        std::fs::create_dir(&folder).unwrap();
        let profile = Janitor::of(&folder, &[]);
        let mut process = Command::new("bash")
            .args(["-c", LAUNCH, "browser"])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", folder.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        let wire = Arc::new(Wire {
            input: AsyncMutex::new(process.stdin.take().unwrap()),
            next: AtomicU64::new(1),
            waiting: Mutex::default(),
            events: Mutex::default(),
        });
        let reader = wire.clone();
        tokio::spawn(async move {
            let mut output = BufReader::new(output);
            let mut message = Vec::new();
            while output.read_until(0, &mut message).await.is_ok_and(|read| read > 0) {
                message.pop();
                reader.take(&message);
                message.clear();
            }
        });
        Self { wire, _process: process, _profile: profile }
    }

    /// A phone of 360 px, with touch.
    pub async fn phone(&self) -> Tab {
        self.tab(360).await
    }

    /// A window of 1280 px.
    pub async fn desktop(&self) -> Tab {
        self.tab(1280).await
    }

    async fn tab(&self, width: u32) -> Tab {
        let context = self.wire.call("", "Target.createBrowserContext", json!({})).await;
        let context = context["browserContextId"].as_str().unwrap().to_owned();
        Tab::open_in(&self.wire, context, width).await
    }
}

impl Wire {
    fn take(&self, message: &[u8]) {
        let message: Value = serde_json::from_slice(message).unwrap();
        if let Some(id) = message["id"].as_u64() {
            if let Some(waiting) = self.waiting.lock().unwrap().remove(&id) {
                let _ = waiting.send(message);
            }
            return;
        }
        let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
        let (session, method) = (text("sessionId"), text("method"));
        self.events.lock().unwrap().push(Event {
            session,
            method,
            params: message["params"].clone(),
        });
    }

    async fn call(&self, session: &str, method: &str, params: Value) -> Value {
        self.try_call(session, method, params)
            .await
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    async fn try_call(&self, session: &str, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().unwrap().insert(id, sender);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if !session.is_empty() {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.lock().await.write_all(&bytes).await.map_err(|error| error.to_string())?;
        let answer = tokio::time::timeout(ANSWER_LIMIT, answer).await;
        let answer = answer.map_err(|_| "no answer from the browser".to_owned())?;
        let answer = answer.map_err(|_| "the browser has ended".to_owned())?;
        match answer.get("error") {
            Some(error) => Err(error.to_string()),
            None => Ok(answer["result"].clone()),
        }
    }
}

impl Tab {
    async fn open_in(wire: &Arc<Wire>, context: String, width: u32) -> Self {
        let target = json!({ "url": "about:blank", "browserContextId": context });
        let target = wire.call("", "Target.createTarget", target).await["targetId"].clone();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = wire.call("", "Target.attachToTarget", attach).await;
        let session = session["sessionId"].as_str().unwrap().to_owned();
        let tab = Self { wire: wire.clone(), session, context };
        for domain in ["Page", "Runtime", "Network", "Log"] {
            tab.call(&format!("{domain}.enable"), json!({})).await;
        }
        let watch = json!({ "source": WATCH_POLICY });
        tab.call("Page.addScriptToEvaluateOnNewDocument", watch).await;
        tab.resize(width).await;
        tab
    }

    /// A second tab of the same buyer.
    pub async fn beside(&self) -> Self {
        Self::open_in(&self.wire, self.context.clone(), 360).await
    }

    /// Makes it the visible tab; the others are hidden.
    pub async fn front(&self) {
        self.call("Page.bringToFront", json!({})).await;
    }

    /// `light` or `dark`, as the buyer's device is set.
    pub async fn scheme(&self, scheme: &str) {
        // Without movement, so that no picture is taken halfway.
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    pub async fn resize(&self, width: u32) {
        self.resize_to(width, json!(if width < 600 { 740 } else { 900 })).await;
    }

    async fn resize_to(&self, width: u32, height: Value) {
        let mobile = width < 600;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": if mobile { 2 } else { 1 }, "mobile": mobile });
        self.call("Emulation.setDeviceMetricsOverride", metrics).await;
        self.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": mobile })).await;
    }

    pub async fn call(&self, method: &str, params: Value) -> Value {
        self.wire.call(&self.session, method, params).await
    }

    /// Opens a page and waits until it is loaded. The document before it may still be loading and
    /// say so late, so it is marked and waited out.
    pub async fn open(&self, url: &str) {
        let _ = self.try_eval("window.isLeft = true").await;
        let opened = self.call("Page.navigate", json!({ "url": url })).await;
        assert!(opened.get("errorText").is_none(), "{url}: {opened}");
        let loaded = "!window.isLeft && document.readyState === 'complete'";
        self.until("the page is loaded", async || self.try_eval(loaded).await == Ok(json!(true)))
            .await;
    }

    /// Evaluates `expression`; a promise is awaited.
    pub async fn eval(&self, expression: &str) -> Value {
        self.try_eval(expression).await.unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// The same inside the frame that comes from `origin`. A frame that is going to another page
    /// may have lost its old one when the expression arrives, which is then tried in the new one.
    pub async fn eval_in(&self, origin: &str, expression: &str) -> Value {
        let started = Instant::now();
        loop {
            let frames = self.events("Runtime.executionContextCreated");
            let frame = frames.iter().rfind(|event| event["context"]["origin"] == origin);
            let context =
                frame.unwrap_or_else(|| panic!("no frame of {origin}"))["context"]["id"].clone();
            let params = json!({
                "expression": expression, "contextId": context, "awaitPromise": true, "returnByValue": true,
            });
            match self.wire.try_call(&self.session, "Runtime.evaluate", params).await {
                Ok(result) => {
                    assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
                    return result["result"]["value"].clone();
                }
                Err(error) if error.contains(NO_PAGE) && started.elapsed() < WAIT_LIMIT => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => panic!("{expression}: {error}"),
            }
        }
    }

    async fn try_eval(&self, expression: &str) -> Result<Value, String> {
        let params =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.wire.try_call(&self.session, "Runtime.evaluate", params).await?;
        match result.get("exceptionDetails") {
            Some(details) => Err(details.to_string()),
            None => Ok(result["result"]["value"].clone()),
        }
    }

    /// Waits until `condition` holds on a page whose HTML has arrived: the browser shows a long
    /// page in pieces, and the element that a test waits for may be in the first.
    pub async fn shows(&self, condition: &str) {
        let whole = format!("document.readyState !== 'loading' && ({condition})");
        // A page that is being replaced cannot be evaluated.
        self.until(condition, async || self.try_eval(&whole).await == Ok(json!(true))).await;
    }

    /// Presses "stay" as soon as it shows, on this page and on those that the tab opens later: a
    /// page that leaves by itself can be looked at for as long as it takes.
    pub async fn stays(&self) {
        let press = "new MutationObserver(() => document.querySelector('#leaving:not([hidden]) #stay')?.click())\
                     .observe(document, { subtree: true, childList: true, attributes: true })";
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": press })).await;
        self.eval(&format!("{press}; true")).await;
    }

    /// Waits for a phase of the checkout.
    pub async fn phase(&self, name: &str) {
        self.shows(&format!("document.querySelector('#checkout')?.dataset.phase === '{name}'"))
            .await;
    }

    /// Waits for at least `count` responses from addresses with this ending.
    pub async fn until_answers(&self, ending: &str, count: usize) {
        let what = format!("{count} answers of {ending}");
        self.until(&what, async || self.answers(ending).len() >= count).await;
    }

    /// Lets the page have a permission that a buyer would be asked for.
    pub async fn allow(&self, permission: &str) {
        let params = json!({ "permissions": [permission], "browserContextId": self.context });
        self.wire.call("", "Browser.grantPermissions", params).await;
    }

    async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let started = Instant::now();
        while !holds().await {
            if started.elapsed() > WAIT_LIMIT {
                let page = self.try_eval("location.href + '\\n' + document.body.innerText").await;
                panic!("not within {WAIT_LIMIT:?}: {what}; the page: {page:?}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    pub async fn text(&self, selector: &str) -> String {
        let text =
            self.eval(&format!("document.querySelector({selector:?}).textContent.trim()")).await;
        text.as_str().unwrap().to_owned()
    }

    pub async fn has(&self, selector: &str) -> bool {
        self.eval(&format!("document.querySelector({selector:?}) !== null")).await == json!(true)
    }

    /// Position of an element: its middle in the window, and its box on the page.
    async fn place(&self, selector: &str) -> Value {
        self.eval(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); \
             e.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const r = e.getBoundingClientRect(); \
             if (!r.width || !r.height) throw new Error('it cannot be seen'); \
             return {{ middle: {{ x: r.x + r.width / 2, y: r.y + r.height / 2 }}, \
             box: {{ x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height }} }}; }})()"
        ))
        .await
    }

    /// Clicks on an element with the mouse: an element that covers it gets the click.
    pub async fn click(&self, selector: &str) {
        self.front().await;
        self.shows(&format!("document.querySelector({selector:?}) !== null")).await;
        let middle = self.place(selector).await["middle"].clone();
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": middle["x"], "y": middle["y"], "button": "left", "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", event).await;
        }
    }

    pub async fn write(&self, text: &str) {
        self.call("Input.insertText", json!({ "text": text })).await;
    }

    /// A key by its name, such as `Tab`, `Enter` or ` `.
    pub async fn press(&self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            " " => (32, " "),
            "ArrowDown" => (40, ""),
            "/" => (191, "/"),
            "?" => (191, "?"),
            other => panic!("{other} is not among the keys"),
        };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({
                "type": kind, "key": key, "windowsVirtualKeyCode": code, "text": if kind == "keyDown" { text } else { "" },
            });
            self.call("Input.dispatchKeyEvent", event).await;
        }
    }

    /// Takes a picture of the whole page, in `.run/screenshots`.
    ///
    /// The window is made as high as the page, so that elements fixed to its edge are at the end of
    /// the page.
    pub async fn picture(&self, name: &str, width: u32) {
        self.front().await;
        let size = self.call("Page.getLayoutMetrics", json!({})).await["cssContentSize"].clone();
        self.resize_to(width, size["height"].clone()).await;
        self.keep(&format!("{name}-{width}")).await;
        self.resize(width).await;
    }

    /// The same of what the window shows, for pages that are higher than a picture can be.
    pub async fn view(&self, name: &str, width: u32) {
        self.front().await;
        self.keep(&format!("{name}-{width}")).await;
    }

    async fn keep(&self, name: &str) {
        let png = self.capture(json!({ "format": "png" })).await;
        let folder = root().join(".run/screenshots");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), png).unwrap();
    }

    async fn capture(&self, what: Value) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", what).await;
        BASE64.decode(shot["data"].as_str().unwrap()).unwrap()
    }

    /// Reads the QR code in an element from the screen.
    pub async fn read_qr(&self, selector: &str) -> String {
        self.front().await;
        let mut clip = self.place(selector).await["box"].clone();
        clip["scale"] = json!(2);
        let shot = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        decode_qr(&self.capture(shot).await)
    }

    /// Findings of axe-core, one per line.
    pub async fn inaccessible(&self) -> Vec<String> {
        self.axe(
            "{ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }",
        )
        .await
    }

    /// The findings that depend on colours alone.
    pub async fn illegible(&self) -> Vec<String> {
        self.axe("{ runOnly: { type: 'rule', values: ['color-contrast'] } }").await
    }

    async fn axe(&self, options: &str) -> Vec<String> {
        if self.eval("typeof axe").await == "undefined" {
            let axe = tokio::task::spawn_blocking(|| installed("axe")).await.unwrap();
            let axe = std::fs::read_to_string(axe).unwrap();
            self.eval(&format!("{axe}; true")).await;
        }
        let run = format!(
            "axe.run(document, {options}).then((found) => found.violations.flatMap((rule) => \
             rule.nodes.map((node) => rule.id + ': ' + node.target + ' ' + node.failureSummary)))"
        );
        serde_json::from_value(self.eval(&run).await).unwrap()
    }

    /// Violations of the page's policy, and every error that it wrote to the console.
    pub async fn complaints(&self) -> Vec<String> {
        let mut found: Vec<String> =
            serde_json::from_value(self.eval("globalThis.blocked").await).unwrap();
        found.extend(self.events("Log.entryAdded").into_iter().filter_map(|event| {
            let entry = &event["entry"];
            // The console also reports responses with an error status, which are expected here.
            (entry["level"] == "error" && entry["source"] != "network")
                .then(|| entry["text"].to_string())
        }));
        found.extend(self.events("Runtime.exceptionThrown").iter().map(ToString::to_string));
        found.extend(self.events("Page.javascriptDialogOpening").iter().map(ToString::to_string));
        found
    }

    /// The addresses of all requests so far.
    pub fn requests(&self) -> Vec<String> {
        let sent = self.events("Network.requestWillBeSent");
        sent.iter().map(|event| event["request"]["url"].as_str().unwrap().to_owned()).collect()
    }

    /// The statuses of all responses from addresses whose path has this ending.
    pub fn answers(&self, ending: &str) -> Vec<u64> {
        let received = self.events("Network.responseReceived");
        let ours = received.iter().map(|event| &event["response"]);
        let ours =
            ours.filter(|answer| answer["url"].as_str().is_some_and(|url| ends_with(url, ending)));
        ours.filter_map(|answer| answer["status"].as_u64()).collect()
    }

    /// Bytes that came over the wire so far, headers included.
    pub fn bytes_received(&self) -> u64 {
        let finished = self.events("Network.loadingFinished");
        finished.iter().filter_map(|event| event["encodedDataLength"].as_u64()).sum()
    }

    fn events(&self, method: &str) -> Vec<Value> {
        let events = self.wire.events.lock().unwrap();
        let ours =
            events.iter().filter(|event| event.session == self.session && event.method == method);
        ours.map(|event| event.params.clone()).collect()
    }
}

/// The one QR code in a picture.
fn decode_qr(png: &[u8]) -> String {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let (width, height) = (info.width as usize, info.height as usize);
    let channels = info.color_type.samples();
    let grey = |x: usize, y: usize| pixels[(y * width + x) * channels];
    let mut image = rqrr::PreparedImage::prepare_from_greyscale(width, height, grey);
    let codes = image.detect_grids();
    assert_eq!(codes.len(), 1, "one code in the picture");
    codes[0].decode().unwrap().1
}

/// Path that `scripts/browser.sh` finds or installs; run once per process.
fn installed(what: &'static str) -> PathBuf {
    static FOUND: OnceLock<Mutex<HashMap<&'static str, PathBuf>>> = OnceLock::new();
    let mut found = FOUND.get_or_init(Mutex::default).lock().unwrap();
    let find = || {
        let mut script = StdCommand::new(root().join("scripts/browser.sh"));
        let output = script.arg(what).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "scripts/browser.sh {what} found nothing");
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    };
    found.entry(what).or_insert_with(find).clone()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn ends_with(url: &str, ending: &str) -> bool {
    url.split('?').next().is_some_and(|path| path.ends_with(ending))
}
