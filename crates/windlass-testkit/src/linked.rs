//! Transfers over emulated links.

use serde_json::Value;

use super::schema::checked;
use super::{program, skipped, told, windlass};

/// Returns the report of `windlass send` over an emulated link with `peer` at the far end.
///
/// Returns `None` and reports the test as skipped if no link can be made.
pub fn sent(test: &str, link: &str, peer: &str, send: &str) -> Option<Value> {
    let mut command = windlass();
    command.args(["link", "--peer", peer]).args(link.split_whitespace());
    if !link.contains("--report") {
        command.args(["--report", "/dev/null"]);
    }
    command
        .arg("--")
        .arg(program())
        .args(["send", "192.0.2.2", "--json"])
        .args(send.split_whitespace());
    let (stdout, stderr, code) = told(&command.output().unwrap());
    if code != 0 && stdout.is_empty() {
        skipped(test, stderr.lines().next().unwrap_or("no link can be made"));
        return None;
    }
    assert_eq!(code, 0, "{stderr}");
    Some(checked("send", &stdout))
}
