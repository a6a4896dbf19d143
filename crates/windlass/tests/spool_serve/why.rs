//! Times of jobs by their parts, as the server reports them.

use std::io::Read;
use std::net::TcpListener;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::client::{get, print};
use super::server::Spool;
use super::some_bytes;
use windlass_testkit::schema::checked;
use windlass_testkit::{told, windlass};

/// Time for which the device keeps the connection after the data.
const KEEPS: Duration = Duration::from_millis(300);

/// A device that takes all at once and says so later. It tells that it has the data.
fn late(told: Sender<()>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read_to_end(&mut Vec::new());
            let _ = told.send(());
            // What is measured: no event comes of it.
            thread::sleep(KEEPS);
        }
    });
    port
}

fn why(spool: &Spool, words: &[&str]) -> Value {
    let server = format!("127.0.0.1:{}", spool.ipp);
    let mut command = windlass();
    command.args(["spool", "why"]).args(words).args(["--server", &server, "--json"]);
    let (stdout, stderr, code) = told(&command.output().unwrap());
    assert_eq!(code, 0, "{words:?}: {stderr}");
    checked("spool-why", &stdout)
}

#[test]
fn the_time_of_a_job_has_its_parts_and_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, has_data) = channel();
    let device = format!("late=socket://127.0.0.1:{}", late(sender));
    let more = ["--stopped", "--printer", &device, "--printer", "gone=socket://127.0.0.1:1"];
    let spool = Spool::start(&folder.path().join("spool"), &more);
    for name in ["one", "two", "three"] {
        print(spool.ipp, "late", name, &some_bytes(1, 200_000));
    }
    let third = why(&spool, &["3"]);
    assert_eq!((&third["before"], &third["printer_state"]), (&2.into(), &"stopped".into()));
    let server = format!("127.0.0.1:{}", spool.ipp);
    let start = ["spool", "start", "late", "gone", "--server", &server];
    assert!(windlass().args(start).output().unwrap().status.success());
    has_data.recv_timeout(super::server::PATIENCE).unwrap();
    spool.wait_counts("late", "completed", 3);
    let first = why(&spool, &["1"]);
    let job = &first["jobs"][0];
    let seconds = |part: &str| job[format!("{part}_seconds")].as_f64().unwrap();
    // On a busy machine it is known a while later that the device has all: until then it is sent.
    let had = seconds("sending") + seconds("answering");
    assert!(had >= KEEPS.as_secs_f64() * 0.99, "{first}");
    let parts = seconds("connecting") + seconds("sending") + seconds("answering");
    // Each is told by the millisecond.
    assert!(parts <= seconds("attempt") + 0.003, "{first}");
    assert_eq!(job["attempts"], 1);
    assert!(job["limit"]["bytes_per_second"].as_f64().unwrap() > 0.0, "{first}");
    // On a machine that starves its processes the longest may be another.
    let longest = ["connecting", "sending", "answering"]
        .into_iter()
        .max_by(|one, other| seconds(one).total_cmp(&seconds(other)));
    assert_eq!(first["parts"][0]["part"].as_str(), longest, "{first}");
    // Behind the first two: both kept the device.
    let waited = why(&spool, &["3"])["jobs"][0]["queued_seconds"].as_f64().unwrap();
    assert!(waited >= 2.0 * KEEPS.as_secs_f64() * 0.99, "{waited}");
    let all = why(&spool, &["late"]);
    assert_eq!(all["jobs"].as_array().unwrap().len(), 3);
    assert_eq!(all["waiting"], 0);
    let parts = all["parts"].as_array().unwrap().iter();
    let parts: Vec<f64> = parts.map(|one| one["seconds"].as_f64().unwrap()).collect();
    assert!(parts.is_sorted_by(|one, next| one >= next), "{all}");
    let limits = all["limits"].as_array().unwrap();
    assert_eq!(limits.iter().map(|one| one["jobs"].as_u64().unwrap()).sum::<u64>(), 3, "{all}");
    // Of a device that is not there the reason stands in its own words.
    let id = print(spool.ipp, "gone", "lost", b"1");
    spool.says("gone");
    let lost = why(&spool, &[&id.to_string()]);
    assert_eq!(lost["jobs"][0]["connecting_seconds"], Value::Null, "{lost}");
    assert!(lost["jobs"][0]["message"].as_str().unwrap().contains("cannot connect"), "{lost}");
    let (_, metrics) = get(spool.ipp, "/metrics");
    let part = |part: &str| -> f64 {
        let name = "windlass_spool_device_seconds_total";
        let metric = format!("{name}{{printer=\"late\",part=\"{part}\"}}");
        let line = metrics.lines().find(|line| line.starts_with(&metric)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(part("sending") + part("answering") >= 3.0 * KEEPS.as_secs_f64() * 0.99, "{metrics}");
    assert!(part("answering") > 0.0, "{metrics}");
    assert_eq!(spool.stop().code, Some(0));
}
