//! A query by windlass and by tshark, each with `DuckDB`: for each service its connections,
//! segments with data, retransmitted segments, and the median ACK latency.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use super::captures::Capture;
use super::common::{Part, bytes_in, in_turn, median};
use super::done;
use super::program::windlass;

const OF_TABLES: &str = "select service_port, count(*), sum(losses_segments), \
    sum(losses_retransmissions), round(median(ack_latency_seconds_p50), 6) \
    from read_parquet('{}/connections.parquet') group by 1 order by 1";

const OF_FIELDS: &str = "with packets as (select \"tcp.stream\" as stream, \
    least(\"tcp.srcport\"::int, \"tcp.dstport\"::int) as port, \"tcp.len\" as len, \
    \"tcp.analysis.retransmission\" as again, \"tcp.analysis.ack_rtt\" as rtt \
    from read_csv('{}', header = true, all_varchar = true)) \
    select port, count(distinct stream), count(*) filter (len::int > 0), \
    count(again), round(median(rtt::double), 6) from packets group by 1 order by 1";

const FIELDS: [&str; 6] = [
    "tcp.stream",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.len",
    "tcp.analysis.retransmission",
    "tcp.analysis.ack_rtt",
];

enum Way {
    Tables,
    Fields,
}

/// A Python that has `DuckDB`, where there is one.
pub(super) fn python() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python3");
    [own, "python3".into()].into_iter().find(|python| {
        let mut asked = Command::new(python);
        asked.args(["-c", "import duckdb"]).stderr(Stdio::null()).stdin(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    })
}

/// Returns whether tshark is installed.
pub(super) fn has_tshark() -> bool {
    let mut asked = Command::new("tshark");
    asked.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

/// Returns the result of the query.
fn asked(python: &Path, query: &str) -> Result<String> {
    let script = "import duckdb, sys\nfor row in duckdb.sql(sys.argv[1]).fetchall(): print(*row)";
    let output = Command::new(python).args(["-c", script, query]).stdin(Stdio::null()).output()?;
    let wrong = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "DuckDB has failed: {wrong}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Both ways, in turn.
pub(super) fn compare(capture: &Capture, python: &Path, runs: usize) -> Result<Part> {
    let out = tempfile::tempdir()?;
    let (tables, fields) = (out.path().join("tables"), out.path().join("fields.csv"));
    let mut answers = [String::new(), String::new()];
    let ways = [Way::Tables, Way::Fields];
    let once = |way: &Way| -> Result<(f64, f64)> {
        let began = Instant::now();
        let (query, at) = match way {
            Way::Tables => {
                let mut command = windlass();
                command.args(["explain", "--force", "--parquet"]).arg(&tables);
                done(command.arg(&capture.path))?;
                (OF_TABLES, &tables)
            }
            Way::Fields => {
                let mut command = Command::new("tshark");
                command.arg("-r").arg(&capture.path).args(["-T", "fields", "-E", "header=y"]);
                command.args(["-E", "separator=,", "-E", "occurrence=f"]);
                command.args(FIELDS.iter().flat_map(|field| ["-e", field]));
                command.stdin(Stdio::null()).stderr(Stdio::null());
                let status = command.stdout(File::create(&fields)?).status()?;
                ensure!(status.success(), "tshark has failed");
                (OF_FIELDS, &fields)
            }
        };
        let written = began.elapsed().as_secs_f64();
        let answer = asked(python, &query.replace("{}", &at.display().to_string()))?;
        answers[usize::from(matches!(way, Way::Fields))] = answer;
        Ok((written, began.elapsed().as_secs_f64()))
    };
    let times = in_turn(runs, &ways, once)?;
    let about = format!("{}, medians of {runs}", capture.about());
    let columns = ["way", "until written", "until answered", "× windlass", "MB written"];
    let mut part = Part::new("peers", about, &columns);
    let mut first = None;
    for ((words, at), times) in
        [("explain --parquet, DuckDB", &tables), ("tshark, DuckDB", &fields)].into_iter().zip(times)
    {
        let written = median(times.iter().map(|(written, _)| *written)).context("no runs")?;
        let all = median(times.iter().map(|(_, all)| *all)).context("no runs")?;
        let to = *first.get_or_insert(all);
        part.row([
            words.to_owned(),
            format!("{written:.2} s"),
            format!("{all:.2} s"),
            format!("{:.1}", all / to),
            format!("{:.2}", bytes_in(at)? as f64 / 1e6),
        ]);
    }
    for (who, answer) in ["windlass", "tshark"].iter().zip(&answers) {
        let rows: Vec<&str> = answer.lines().collect();
        part.note(format!(
            "{who} answers (port, connections, segments, sent again, median ACK latency): {}",
            rows.join("; ")
        ));
    }
    Ok(part)
}
