//! Programs that people use.

use serde_json::json;

use crate::draw::Draw;
use crate::plan::Plan;
use crate::situation::Situation;

const IDLE: &str = "application/sender-idle";

const fn of(
    name: &'static str,
    program: &'static str,
    truth: &'static str,
    plan: fn(&mut Draw) -> Plan,
) -> Situation {
    Situation { name, truth, program, plan }
}

pub(crate) const ALL: &[Situation] = &[
    of("curl-upload-limited", "curl", IDLE, curl_upload_limited),
    of("nginx-limit-rate", "nginx+curl", IDLE, nginx_limit_rate),
    of("rsync-bwlimit", "rsync", IDLE, |draw| rsync_bwlimit(draw, true)),
    of("rsync-bwlimit-download", "rsync", IDLE, |draw| rsync_bwlimit(draw, false)),
    of("iperf3-bitrate", "iperf3", IDLE, iperf3_bitrate),
    of(
        "curl-download-limited",
        "nginx+curl",
        "@(application/receiver-limited|zero-window/*)",
        curl_download_limited,
    ),
    of("nginx-over-queue", "nginx+curl", "path-capacity/queue", nginx_over_queue),
    of("rsync-over-queue", "rsync", "path-capacity/queue", rsync_over_queue),
    of("nginx-short", "nginx+curl", "congestion-window/slow-start", nginx_short),
    of("iperf3-window", "iperf3", "receiver-window/path-rtt", iperf3_window),
    of(
        "nginx-lossy",
        "nginx+curl",
        "@(loss/fast-recovery|congestion-window/after-loss)",
        nginx_lossy,
    ),
    of("curl-many-files", "nginx+curl", "application/awaits-answer", curl_many_files),
    of("wget-limited", "nginx+wget", "@(application/receiver-limited|zero-window/*)", wget_limited),
    of("iperf3-over-queue", "iperf3", "path-capacity/queue", iperf3_over_queue),
    of("sftp-download", "sftp+sshd", "application/awaits-answer", |draw| sftp(draw, false)),
    of("ssh-to-dropbear", "ssh+dropbear", "application/awaits-answer", ssh_to_dropbear),
    of("sftp-requests", "sftp+sshd", "application/awaits-answer", |draw| sftp(draw, true)),
];

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// A path that a program of this rate does not fill.
fn ample(draw: &mut Draw, rate: f64) -> Plan {
    let line = (rate * draw.scaled(2.5, 10.0)).clamp(0.3e6, 12.5e6);
    let rtt = draw.scaled(0.001, 0.1);
    Plan::new(draw, line, rtt)
}

/// The label of a program that keeps its pace, as far as one sees from outside.
fn keeps_pace(plan: Plan, rate: f64) -> Plan {
    plan.must("rate", 0.75 * rate, 1.25 * rate)
        .must("nothing_unsent", 0.75, 1.0)
        .must("window", 0.0, 0.1)
        .must("lost_data", 0.0, 0.002)
        .must("line_share", 0.0, 0.65)
}

fn curl_upload_limited(draw: &mut Draw) -> Plan {
    let rate = draw.scaled(60e3, 3e6);
    let bytes = rate * draw.between(2.0, 4.5);
    let plan = ample(draw, rate);
    let line =
        format!("curl -s -H Expect: --limit-rate {rate:.0} -T WORKdata http://192.0.2.2:7000/data");
    let plan = plan.sends_by(&words(&line)).receives(json!({ "is": "stores" })).upload(true);
    keeps_pace(plan.files(true, json!({ "WORKdata": bytes as u64 })), rate)
}

/// A download by curl from nginx.
fn download(plan: Plan, bytes: f64, limit_rate: f64, curl: &str) -> Plan {
    download_times(plan, bytes, limit_rate, curl, "")
}

/// Returns the transfer times, with a range of curl's after the address.
fn download_times(plan: Plan, bytes: f64, limit_rate: f64, curl: &str, range: &str) -> Plan {
    let limit =
        if limit_rate > 0.0 { format!("limit_rate {limit_rate:.0};") } else { String::new() };
    let server = format!(
        "daemon off; master_process off; pid WORKpid; error_log stderr crit; user root; \
         events {{ }} http {{ access_log off; client_body_temp_path WORKb; proxy_temp_path WORKp; \
         fastcgi_temp_path WORKf; uwsgi_temp_path WORKu; scgi_temp_path WORKs; sendfile on; \
         server {{ listen 7000; root WORK; {limit} }} }}"
    );
    let client = format!("curl -s {curl} -o /dev/null http://192.0.2.2:7000/data{range}");
    plan.sends_by(&words("nginx -p WORK -c WORKnginx.conf"))
        .receives_by(&words(&client))
        .upload(false)
        .files(true, json!({ "WORKdata": bytes as u64, "WORKnginx.conf": server }))
}

fn nginx_limit_rate(draw: &mut Draw) -> Plan {
    let rate = draw.scaled(60e3, 3e6);
    let bytes = rate * draw.between(2.5, 4.5);
    let plan = ample(draw, rate);
    // It sends a first part at once.
    keeps_pace(download(plan, bytes, rate, ""), rate).must("rate", 0.75 * rate, 1.25 * rate)
}

/// Each file is asked for when the one before has come.
fn curl_many_files(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.01, 0.12);
    let file = draw.scaled(2_000.0, 13_000.0);
    let line = (file / rtt * draw.scaled(5.0, 15.0)).clamp(0.4e6, 12.5e6);
    let count = (draw.between(1.5, 3.5) / rtt).clamp(20.0, 200.0);
    let plan = Plan::new(draw, line, rtt);
    download_times(plan, file, 0.0, "", &format!("?[1-{count:.0}]"))
        .must("nothing_unsent", 0.8, 1.0)
        .must("rate", 0.5 * file / rtt, 1.1 * file / rtt)
        .must("lost_data", 0.0, 0.002)
        .must("line_share", 0.0, 0.5)
}

fn curl_download_limited(draw: &mut Draw) -> Plan {
    let rate = draw.scaled(40e3, 0.4e6);
    let line = (rate * draw.scaled(4.0, 20.0)).clamp(0.5e6, 12.5e6);
    let rtt = draw.scaled(0.001, 0.05);
    let buffer = draw.scaled(16e3, 64e3);
    let mut plan = Plan::new(draw, line, rtt);
    // Else the kernel takes in seconds of what curl is to read.
    let memory = format!("4096 {buffer:.0} {buffer:.0}");
    plan.note("tcp_rmem", format!("{buffer:.0}"));
    plan.receiver["sysctl"]["tcp_rmem"] = json!(memory);
    let bytes = buffer * 2.0 + rate * draw.between(3.0, 6.0);
    download(plan, bytes, 0.0, &format!("--limit-rate {rate:.0}"))
        .must("rate", 0.7 * rate, 1.6 * rate)
        .must("unread", 0.6, 1.0)
        .must("lost_data", 0.0, 0.002)
        .must("line_share", 0.0, 0.6)
}

fn wget_limited(draw: &mut Draw) -> Plan {
    let mut plan = curl_download_limited(draw);
    let rate = plan.receiver["program"][3].as_str().unwrap_or_default().to_owned();
    let line = format!("wget -q --limit-rate={rate} -O /dev/null http://192.0.2.2:7000/data");
    plan.receiver["program"] = json!(words(&line));
    plan.note("wget", rate);
    plan
}

fn nginx_over_queue(draw: &mut Draw) -> Plan {
    let line = draw.scaled(0.15e6, 6e6);
    let rtt = draw.scaled(0.002, 0.06);
    let plan = Plan::new(draw, line, rtt);
    let queue = (line * rtt * draw.scaled(1.0, 8.0)).clamp(30e3, 1.2e6);
    let bytes = line * draw.between(2.0, 4.0);
    download(plan.queue(queue), bytes, 0.0, "").must("line_share", 0.88, 1.2).must(
        "waited_ahead",
        0.003,
        10.0,
    )
}

fn nginx_short(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.06, 0.35);
    let line = draw.scaled(4e6, 12.5e6);
    let congestion = draw.one(&["cubic", "reno"]);
    let plan = Plan::with(draw, line, rtt, congestion);
    let bytes = (14_480.0 * (draw.between(3.0, 5.4).exp2() - 1.0)).min(line * rtt * 0.6);
    download(plan, bytes.max(60e3), 0.0, "")
        .must("first_slow_start", 0.55, 1.0)
        .must("lost_data", 0.0, 0.0)
        .must("line_share", 0.0, 0.6)
        .must("window", 0.0, 0.15)
}

fn nginx_lossy(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.01, 0.08);
    let loss = draw.scaled(0.004, 0.03);
    let expected = 1448.0 / rtt * 1.22 / f64::sqrt(loss);
    let line = (expected * draw.scaled(2.5, 6.0)).clamp(0.3e6, 12.5e6);
    let congestion = draw.one(&["cubic", "reno"]);
    let plan = Plan::with(draw, line, rtt, congestion);
    let bytes = expected.min(line) * draw.between(2.0, 4.0);
    download(plan.link("--AHEAD-loss", format!("{loss:.6}")), bytes, 0.0, "")
        .must("lost_ahead", 6.0, 1e9)
        .must("queue_drops_ahead", 0.0, 0.0)
        .must("timeout", 0.0, 0.3)
        .must("line_share", 0.0, 0.7)
        .must("window", 0.0, 0.1)
}

/// Between a daemon and a client.
fn rsync(plan: Plan, bytes: f64, options: &str, upload: bool) -> Plan {
    let daemon = "use chroot = no\nuid = 0\ngid = 0\n[data]\npath = WORK\nread only = no\n";
    let daemon_files = json!({ "WORKrsyncd.conf": daemon });
    let server = words("rsync --daemon --no-detach --port=7000 --config=WORKrsyncd.conf");
    let address = "rsync://192.0.2.2:7000/data/";
    if upload {
        let client = words(&format!("rsync --whole-file {options} WORKdata {address}copy"));
        plan.sends_by(&client)
            .receives_by(&server)
            .upload(true)
            .files(true, json!({ "WORKdata": bytes as u64 }))
            .files(false, daemon_files)
    } else {
        let client = words(&format!("rsync --whole-file {options} {address}data WORKcopy"));
        let files = json!({ "WORKrsyncd.conf": daemon, "WORKdata": bytes as u64 });
        plan.sends_by(&server).receives_by(&client).upload(false).files(true, files)
    }
}

fn rsync_bwlimit(draw: &mut Draw, upload: bool) -> Plan {
    let kibi = draw.scaled(60.0, 2_500.0).floor();
    let rate = kibi * 1024.0;
    let plan = ample(draw, rate);
    let bytes = rate * draw.between(2.0, 4.5);
    keeps_pace(rsync(plan, bytes, &format!("--bwlimit={kibi}"), upload), rate)
}

fn rsync_over_queue(draw: &mut Draw) -> Plan {
    let line = draw.scaled(0.15e6, 5e6);
    let rtt = draw.scaled(0.002, 0.06);
    let plan = Plan::new(draw, line, rtt);
    let queue = (line * rtt * draw.scaled(1.0, 8.0)).clamp(30e3, 1.2e6);
    let bytes = line * draw.between(2.0, 4.0);
    let upload = draw.chance(0.5);
    rsync(plan.queue(queue), bytes, "", upload).must("line_share", 0.85, 1.2).must(
        "waited_ahead",
        0.003,
        10.0,
    )
}

/// iperf3's data goes over a port of its own, apart from its control connection.
fn iperf3(mut plan: Plan, options: &str) -> Plan {
    plan.port = 6000;
    let client = format!("iperf3 -c 192.0.2.2 -p 7000 --cport 6000 {options}");
    plan.sends_by(&words(&client)).receives_by(&words("iperf3 -s -p 7000 -1")).upload(true)
}

fn iperf3_bitrate(draw: &mut Draw) -> Plan {
    let rate = draw.scaled(80e3, 4e6);
    let plan = ample(draw, rate);
    let length = draw.one(&["-l 1448", "-l 4K", "-l 16K", "-l 64K"]);
    let time = draw.whole(2, 4);
    let plan = iperf3(plan, &format!("-b {:.0} {length} -t {time}", rate * 8.0));
    keeps_pace(plan, rate)
}

fn iperf3_window(draw: &mut Draw) -> Plan {
    let window = draw.scaled(10e3, 110e3);
    let rtt = draw.scaled(0.01, 0.15);
    let rate = window / rtt;
    let line = (rate * draw.scaled(3.0, 10.0)).clamp(0.3e6, 12.5e6);
    let mut plan = Plan::new(draw, line, rtt);
    // The sender's buffer is left as it is: the server's kernel has the window.
    let memory = format!("4096 {:.0} {:.0}", window * 2.0, window * 2.0);
    plan.note("tcp_rmem", format!("{:.0}", window * 2.0));
    plan.receiver["sysctl"]["tcp_rmem"] = json!(memory);
    let time = draw.whole(2, 4);
    iperf3(plan, &format!("-t {time}"))
        .must("window", 0.5, 1.0)
        .must("cwnd", 0.0, 0.25)
        .must("nothing_unsent", 0.0, 0.25)
        .must("lost_data", 0.0, 0.001)
        .must("line_share", 0.0, 0.75)
        .must("rate", 0.3 * rate, 2.0 * rate)
}

fn iperf3_over_queue(draw: &mut Draw) -> Plan {
    let line = draw.scaled(0.2e6, 6e6);
    let rtt = draw.scaled(0.002, 0.06);
    let plan = Plan::new(draw, line, rtt);
    let queue = (line * rtt * draw.scaled(1.0, 8.0)).clamp(30e3, 1.2e6);
    let time = draw.whole(2, 4);
    iperf3(plan.queue(queue), &format!("-t {time}")).must("line_share", 0.88, 1.2).must(
        "waited_ahead",
        0.003,
        10.0,
    )
}

/// sftp keeps this many requests under way.
fn sftp(draw: &mut Draw, upload: bool) -> Plan {
    let rtt = draw.scaled(0.02, 0.2);
    let requests = draw.whole(1, 8);
    let size = draw.one(&[4_096.0, 8_192.0, 16_384.0, 32_768.0]);
    let rate = requests as f64 * size / rtt;
    let line = (rate * draw.scaled(3.0, 8.0)).clamp(0.5e6, 12.5e6);
    let plan = Plan::new(draw, line, rtt);
    let bytes = rate.min(line) * draw.between(2.0, 3.5);
    let sshd = "mount --bind WORKpasswd /etc/passwd; mkdir -p /run/sshd; \
                ssh-keygen -q -t ed25519 -N '' -f WORKhost; \
                exec $(command -v sshd) -D -e -f WORKsshd_config -p 7000";
    let config = "HostKey WORKhost\nAuthorizedKeysFile WORKkey.pub\nStrictModes no\nUsePAM no\n\
                  PermitRootLogin yes\nPidFile none\nSubsystem sftp internal-sftp\n";
    let passwd = "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n";
    let ssh = "-oStrictHostKeyChecking=no -oUserKnownHostsFile=/dev/null -oBatchMode=yes";
    let script = format!(
        "ssh-keygen -q -t ed25519 -N '' -f WORKkey; sleep 0.1; \
         sftp -q {ssh} -i WORKkey -P 7000 -R {requests} -B {size:.0} -b WORKbatch 192.0.2.2"
    );
    let batch = if upload { "put WORKdata WORKcopy\n" } else { "get WORKdata WORKcopy\n" };
    let mut plan = plan
        .files(upload, json!({ "WORKdata": bytes as u64, "WORKbatch": batch }))
        .files(!upload, json!({ "WORKsshd_config": config, "WORKpasswd": passwd }))
        .upload(upload);
    let (client, server) = if upload {
        (&mut plan.sender, &mut plan.receiver)
    } else {
        (&mut plan.receiver, &mut plan.sender)
    };
    client["program"] = json!(["sh", "-c", script]);
    server["program"] = json!(["unshare", "-m", "sh", "-c", sshd]);
    plan.note("requests", requests);
    plan.note("size", size);
    plan.must("rate", 0.3 * rate, 1.1 * rate)
        .must("nothing_unsent", 0.75, 1.0)
        .must("window", 0.0, 0.1)
        .must("lost_data", 0.0, 0.002)
        .must("line_share", 0.0, 0.65)
}

/// The server's channel has a small window, for which it grants anew as it reads.
fn ssh_to_dropbear(draw: &mut Draw) -> Plan {
    let rtt = draw.scaled(0.02, 0.2);
    let window = draw.scaled(12e3, 120e3).floor();
    let rate = window / rtt;
    let line = (rate * draw.scaled(3.0, 8.0)).clamp(0.5e6, 12.5e6);
    let mut plan = Plan::new(draw, line, rtt).upload(true);
    let bytes = rate.min(line) * draw.between(2.0, 3.5);
    let server = format!(
        "mount --bind WORKpasswd /etc/passwd; mkdir -p WORKhome/.ssh; \
         dropbearkey -t ed25519 -f WORKhost; \
         exec $(command -v dropbear) -F -E -m -r WORKhost -P WORKpid -W {window:.0} -p 7000"
    );
    let ssh = "-oStrictHostKeyChecking=no -oUserKnownHostsFile=/dev/null -oBatchMode=yes -q";
    let client = format!(
        "ssh-keygen -q -t ed25519 -N '' -f WORKkey; mkdir -p WORKhome/.ssh; \
         cp WORKkey.pub WORKhome/.ssh/authorized_keys; chmod 700 WORKhome WORKhome/.ssh; \
         ssh {ssh} -i WORKkey -p 7000 root@192.0.2.2 'cat >/dev/null' <WORKdata"
    );
    let passwd = "root:x:0:0:root:WORKhome:/bin/sh\n";
    plan = plan
        .files(true, json!({ "WORKdata": bytes as u64 }))
        .files(false, json!({ "WORKpasswd": passwd }));
    plan.sender["program"] = json!(["sh", "-c", client]);
    plan.receiver["program"] = json!(["unshare", "-m", "sh", "-c", server]);
    plan.note("window", window);
    plan.must("rate", 0.3 * rate, 1.1 * rate)
        .must("nothing_unsent", 0.7, 1.0)
        .must("window", 0.0, 0.1)
        .must("lost_data", 0.0, 0.002)
        .must("line_share", 0.0, 0.65)
}
