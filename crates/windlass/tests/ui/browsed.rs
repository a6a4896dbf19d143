//! The pages in a browser.

use serde_json::{Value, json};
use windlass_base::{Rate, Span};

use crate::Ui;
use crate::serving::WindlassServer;
use windlass_testkit::devtools::{Browser, serious_faults};
use windlass_testkit::has;

/// Width of a telephone, in pixels.
const NARROW: u32 = 360;

/// Script that finds elements wider than the window.
const TOO_WIDE: &str = "document.documentElement.scrollWidth > innerWidth ? \
    [...document.querySelectorAll('body *')].filter((one) => \
      one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 90)) \
    : []";

/// The page as it is on a telephone and a desk, in light and dark, without a serious fault.
pub(crate) fn looks_well(browser: &mut Browser, test: &str, what: &str) {
    let mut grounds = Vec::new();
    for dark in [false, true] {
        browser.look(NARROW, dark);
        assert_eq!(browser.eval(TOO_WIDE), json!([]), "{what} is too wide");
        browser.look(1_200, dark);
        grounds.push(browser.text("getComputedStyle(document.body).backgroundColor"));
        if let Some(faults) = serious_faults(browser, test) {
            assert_eq!(faults, Vec::<String>::new(), "{what}, dark: {dark}");
        }
    }
    assert_ne!(grounds[0], grounds[1], "{what}: light and dark");
    browser.look(1_200, false);
}

/// Nothing but our own was asked for, and nothing was complained of.
pub(crate) fn kept_to_itself(browser: &Browser, ui: &Ui) {
    let strangers: Vec<String> =
        browser.asked().into_iter().filter(|one| !one.starts_with(&ui.address)).collect();
    assert_eq!(strangers, Vec::<String>::new());
    assert!(browser.asked().len() > 10, "{:?}", browser.asked());
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_run_that_is_started_by_keys_gives_a_graph_and_a_verdict() {
    let test = "a_run_that_is_started_by_keys_gives_a_graph_and_a_verdict";
    if !has("chromium", test) {
        return;
    }
    let serving = WindlassServer::start(&[]);
    let ui = Ui::start();
    let mut browser = Browser::start(ui.folder.path());
    browser.open(&ui.address);
    looks_well(&mut browser, test, "the form");
    // By the keyboard alone: from field to field, and Enter on the button.
    let focus = |browser: &mut Browser, id: &str| {
        for _ in 0..40 {
            if browser.text("document.activeElement.id || document.activeElement.className") == id {
                let outline = browser.text("getComputedStyle(document.activeElement).outlineStyle");
                assert_ne!(outline, "none", "the focus on {id} is seen");
                return;
            }
            browser.press("Tab");
        }
        panic!("no key leads to {id}");
    };
    focus(&mut browser, "host");
    browser.types(&format!("127.0.0.1:{}", serving.port));
    focus(&mut browser, "time");
    browser.eval("document.activeElement.select()");
    browser.types("2s");
    focus(&mut browser, "windows");
    browser.types("64k");
    focus(&mut browser, "go");
    browser.follow(|browser| browser.press("Enter"));
    browser.until("document.querySelector('#live > div').dataset.over === 'true'");
    browser.until("document.getElementById('status').textContent.startsWith('Done: ')");
    assert_eq!(browser.eval("document.getElementById('stop').hidden"), true);
    looks_well(&mut browser, test, "the result");
    let seen = browser.text("document.querySelector('main').innerText").replace('\u{a0}', " ");
    let run = ui.runs("show last");
    let record = &run["records"][0]["record"];
    for told in stored(&run) {
        assert!(seen.contains(&told), "{told:?} is in the store, and not in the page: {seen}");
    }
    // A point and a stretch of the band for each interval of the sender, in each of two widths.
    let sent = record["intervals"].as_array().unwrap().iter();
    let sent: Vec<&Value> = sent.filter(|one| one["role"] == "sender").collect();
    assert!(!sent.is_empty(), "{record:#}");
    let count = |what: &str| format!("document.querySelectorAll('.plot{what}').length");
    assert_eq!(browser.eval(&count("[aria-labelledby^=rate] .dot")), 2 * sent.len());
    assert_eq!(browser.eval(&count(" .band")), 2 * sent.len());
    // Below it what the kernel tells, over the same time.
    assert_eq!(browser.eval(&count("[aria-labelledby^=rtt] .dot")), 2 * sent.len());
    assert!(browser.eval(&count("[aria-labelledby^=windows] .dot")).as_u64().unwrap() > 0);
    for (place, one) in sent.iter().enumerate() {
        let rate = Rate::from_bytes_per_second(one["bytes_per_second"].as_f64().unwrap());
        let title = format!("document.querySelectorAll('.plot .dot title')[{place}].textContent");
        let title = browser.text(&title).replace('\u{a0}', " ");
        assert!(title.contains(&format!(": {rate} = {}, held by ", rate.in_bits())), "{title}");
    }
    // The page of the run says the same, and so does another where it is compared.
    let id = run["id"].as_str().unwrap();
    browser.follow(|browser| {
        browser.eval("document.querySelector('#live a').click()");
    });
    let shown = browser.text("document.querySelector('main').innerText").replace('\u{a0}', " ");
    for told in stored(&run) {
        assert!(shown.contains(&told), "{told:?}: {shown}");
    }
    assert!(shown.contains(id), "{shown}");
    // One that would go on for minutes is drawn while it runs, and stopped.
    browser.open(&ui.address);
    focus(&mut browser, "host");
    browser.types(&format!("127.0.0.1:{}", serving.port));
    focus(&mut browser, "time");
    browser.eval("document.activeElement.select()");
    browser.types("9min");
    browser.follow(|browser| browser.press("Enter"));
    browser.until("document.querySelectorAll('.plot .dot').length > 0");
    assert_eq!(browser.eval("document.querySelector('#live > div').dataset.over"), "false");
    assert_eq!(browser.text("document.getElementById('status').textContent"), "Measuring.");
    focus(&mut browser, "halt");
    browser.follow(|browser| browser.press("Space"));
    browser.until("document.querySelector('#live > div').dataset.over === 'true'");
    let seen = browser.text("document.querySelector('main').innerText");
    assert!(seen.contains("was stopped before its end"), "{seen}");
    assert_eq!(browser.eval("document.querySelectorAll('.verdict').length"), 1);
    kept_to_itself(&browser, &ui);
}

/// Returns the texts of a stored run that its page must contain.
fn stored(run: &Value) -> Vec<String> {
    let way = &run["records"][0]["record"]["directions"][0];
    let (verdict, number) = (&way["verdict"], |at: &str| way.pointer(at).and_then(Value::as_f64));
    let text = |at: &str| verdict[at].as_str().unwrap().to_owned();
    let rate = |at: &str| Rate::from_bytes_per_second(number(at).unwrap()).to_string();
    let span = |at: &str| Span::from_seconds(number(at).unwrap()).to_string();
    let mut all = vec![
        rate("/receiver/bytes_per_second"),
        span("/kernel/mean_rtt_seconds"),
        span("/kernel/min_rtt_seconds"),
        text("limit"),
        text("confidence"),
        text("sentence"),
    ];
    // It stands beside what a law predicts.
    if !verdict["law"].is_null() {
        all.push(rate("/verdict/measured_bytes_per_second"));
    }
    for (list, key) in [("evidence", "shows"), ("remedies", "action")] {
        let list = verdict[list].as_array().unwrap().iter();
        all.extend(list.map(|one| one[key].as_str().unwrap().to_owned()));
    }
    all
}

#[test]
fn what_is_played_with_is_shown_kept_and_compared() {
    let test = "what_is_played_with_is_shown_kept_and_compared";
    if !has("chromium", test) {
        return;
    }
    let ui = Ui::start();
    for bytes in ["100kB", "200kB"] {
        let form = format!("scenario=print-servers/netgear-ps101&bytes={bytes}");
        ui.over(&ui.started("/play/lab", &form));
    }
    let mut browser = Browser::start(ui.folder.path());
    browser.open(&format!("{}play", ui.address));
    looks_well(&mut browser, test, "the page to play with");
    // A path of one's own.
    browser.eval("document.getElementById('path').value = 'own'");
    for (id, value) in [("rate", "20mbit"), ("rtt", "10ms"), ("queue", "32k")] {
        browser.eval(&format!("document.getElementById('{id}').focus()"));
        browser.types(value);
    }
    browser.follow(|browser| {
        browser.eval("document.querySelectorAll('button.go')[1].click()");
    });
    browser.until("document.querySelector('#live > div').dataset.over === 'true'");
    browser.until("document.querySelectorAll('.plot .dot').length > 4");
    looks_well(&mut browser, test, "a sweep");
    let seen = browser.text("document.querySelector('main').innerText");
    let swept = ui.runs("show last");
    let record = &swept["records"][0]["record"];
    let set = &record["directions"][0]["recommendation"];
    for told in [&record["summary"][0], &set["reason"], &record["path"]["title"]] {
        let told = told.as_str().unwrap();
        assert!(seen.contains(told), "{told:?}: {seen}");
    }
    // The list, the devices and two of them side by side.
    browser.open(&format!("{}runs?command=lab", ui.address));
    looks_well(&mut browser, test, "the list");
    let listed = ui.runs("list --command lab");
    assert_eq!(browser.eval("document.querySelectorAll('tbody tr').length"), 2);
    let chosen = "document.querySelectorAll(':checked[name=run]').length";
    for _ in 0..40 {
        if browser.eval("document.activeElement.type") == "checkbox" {
            browser.press("Space");
        }
        if browser.eval(chosen) == 2 {
            break;
        }
        browser.press("Tab");
    }
    assert_eq!(browser.eval(chosen), 2);
    browser.follow(|browser| {
        browser.eval("document.querySelectorAll('main button')[1].click()");
    });
    looks_well(&mut browser, test, "runs side by side");
    let seen = browser.text("document.querySelector('main').innerText").replace('\u{a0}', " ");
    let ids: Vec<&str> =
        listed["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    let compared = ui.runs(&format!("compare {} {}", ids[0], ids[1]));
    assert!(!seen.contains("min-rtt") && !seen.contains("ack-latency"), "names, not keys: {seen}");
    let figures = compared["figures"].as_array().unwrap();
    assert!(figures.len() >= 3, "{figures:#?}");
    for figure in figures.iter().filter(|one| one["name"] == "rate") {
        for group in figure["groups"].as_array().unwrap() {
            let rate = Rate::from_bytes_per_second(group["median"].as_f64().unwrap());
            let both = format!("{rate} = {}", rate.in_bits());
            assert!(seen.contains(&both), "{both}: {seen}");
        }
    }
    browser.open(&format!("{}runs/{}", ui.address, ids[0]));
    looks_well(&mut browser, test, "devices");
    let seen = browser.text("document.querySelector('main').innerText");
    let run = ui.runs(&format!("show {}", ids[0]));
    let verdict = &run["records"][0]["record"]["rows"][0]["verdict"];
    assert!(seen.contains(verdict["sentence"].as_str().unwrap()), "{seen}");
    kept_to_itself(&browser, &ui);
}

/// Two tests are drawn over each other, one is made again, and one becomes a report.
#[test]
fn runs_lie_over_each_other_and_lead_on() {
    let test = "runs_lie_over_each_other_and_lead_on";
    if !has("chromium", test) {
        return;
    }
    let serving = WindlassServer::start(&[]);
    let ui = Ui::start();
    let form = format!("host=127.0.0.1:{}&protocol=windlass&way=there&time=2s", serving.port);
    ui.over(&ui.started("/measure", &format!("{form}&windows=64k&tag=small")));
    ui.over(&ui.started("/measure", &form));
    let mut browser = Browser::start(ui.folder.path());
    let last = ui.runs("show last");
    let id = last["id"].as_str().unwrap();
    browser.open(&format!("{}runs/{id}", ui.address));
    looks_well(&mut browser, test, "a run");
    let seen = browser.text("document.querySelector('main').innerText");
    assert!(seen.contains("base RTT") && !seen.contains("min-rtt"), "{seen}");
    browser.follow(|browser| {
        browser.eval("[...document.querySelectorAll('.buttons a')][0].click()");
    });
    assert_eq!(browser.text("document.querySelector('h1').innerText"), "Runs side by side");
    looks_well(&mut browser, test, "runs over each other");
    let lines = "document.querySelectorAll('.plot.broad polyline').length";
    assert_eq!(browser.eval(lines), 2);
    let names = browser.text("document.querySelector('.plot.broad').textContent");
    assert!(names.contains(", small"), "{names}");
    // Repeated with its tag and its window.
    let first = ui.runs("list --tag small")["runs"][0]["id"].as_str().unwrap().to_owned();
    let job = ui.started(&format!("/runs/{first}/again"), "x=");
    ui.over(&job);
    let again = ui.runs("list --tag small");
    assert_eq!(again["runs"].as_array().unwrap().len(), 2, "{again:#}");
    let arguments = &ui.runs("show last")["arguments"];
    assert_eq!(*arguments, ui.runs(&format!("show {first}"))["arguments"]);
    // A report on it.
    browser.open(&format!("{}runs/{first}", ui.address));
    browser.follow(|browser| {
        browser.eval("document.querySelectorAll('.buttons form button')[1].click()");
    });
    browser.until("location.pathname.includes('/reports/')");
    browser.until("document.querySelectorAll('.plot').length > 0");
    looks_well(&mut browser, test, "a report on a run");
    assert_eq!(crate::status(&ui.post("/runs/aaaaaaaaaa/again", "x=")), 404);
    assert_eq!(crate::status(&ui.ask("POST", &format!("/runs/{first}/again"), "", "x=")), 403);
    kept_to_itself(&browser, &ui);
}

#[test]
fn without_a_script_a_run_is_shown_as_well() {
    let ui = Ui::start();
    let job = ui.started("/play/lab", "scenario=small-stacks");
    let running = ui.page(&job);
    let is_over = running.contains("data-over=\"true\"");
    assert!(is_over || running.contains("<noscript><meta http-equiv=\"refresh\""), "{running}");
    ui.over(&job);
    let page = ui.page(&job);
    assert!(page.contains("class=\"verdict\"") && !page.contains("http-equiv"), "{page}");
}
