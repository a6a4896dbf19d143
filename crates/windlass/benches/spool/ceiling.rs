//! Ceilings: the rates of the machine, a plain loop and another server.

use std::fs::{File, remove_file};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};
use windlass_print::load::Files;
use windlass_sys::file::{allocate, forget, start_writing};

use super::load::{Jobs, raw};
use super::ours;

/// Jobs by second of a loop that only takes documents from a socket and writes
/// them into files like those of the spool, over one connection. It knows how long
/// each is, keeps no account, and answers each with a byte.
pub(super) fn bare(jobs: Jobs, folder: &Path) -> Result<f64> {
    let size = usize::try_from(jobs.size)?;
    let (mut near, mut far) = pair()?;
    let place = folder.to_owned();
    let taker = thread::spawn(move || take(&mut far, jobs, &place));
    let seconds = sent(&mut near, jobs.number, size)?;
    let files = taker.join().map_err(|_| anyhow::anyhow!("the loop panicked"))??;
    files.iter().try_for_each(remove_file)?;
    Ok(jobs.number as f64 / seconds)
}

/// Measures TLS between two ends that keep nothing.
pub(super) fn encrypted(jobs: Jobs, folder: &Path) -> Result<f64> {
    let size = usize::try_from(jobs.size)?;
    let made = ours::certificate(folder)?;
    let chain: Vec<_> =
        CertificateDer::pem_file_iter(&made.certificate)?.collect::<Result<_, _>>()?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(chain.iter().cloned());
    let key = PrivateKeyDer::from_pem_file(&made.key)?;
    let server = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let (near, far) = pair()?;
    let client = ClientConnection::new(Arc::new(client), "localhost".try_into()?)?;
    let mut near = StreamOwned::new(client, near);
    let mut far = StreamOwned::new(ServerConnection::new(Arc::new(server))?, far);
    let taker = thread::spawn(move || -> Result<()> {
        let mut buffer = vec![0; 256 << 10];
        for _ in 0..jobs.number {
            let mut left = size;
            while left > 0 {
                let most = left.min(buffer.len());
                let got = far.read(&mut buffer[..most])?;
                ensure!(got > 0, "the sender went");
                left -= got;
            }
            far.write_all(&[0])?;
            far.flush()?;
        }
        Ok(())
    });
    let seconds = sent(&mut near, jobs.number, size)?;
    taker.join().map_err(|_| anyhow::anyhow!("the loop panicked"))??;
    Ok(jobs.number as f64 / seconds)
}

/// Two ends of a connection.
fn pair() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    near.set_nodelay(true)?;
    let (far, _) = listener.accept()?;
    far.set_nodelay(true)?;
    Ok((near, far))
}

/// Sends documents one after the other, each when the one before was answered with a byte, and
/// gives the seconds that it took.
fn sent(to: &mut (impl Read + Write), number: u64, size: usize) -> Result<f64> {
    let (document, mut answer) = (vec![b'j'; size], [0]);
    let since = Instant::now();
    for _ in 0..number {
        to.write_all(&document)?;
        to.flush()?;
        to.read_exact(&mut answer)?;
    }
    Ok(since.elapsed().as_secs_f64())
}

fn take(from: &mut TcpStream, jobs: Jobs, folder: &Path) -> Result<Vec<PathBuf>> {
    const FILE: u64 = 64 << 20;
    const PAGE: u64 = 4_096;
    let mut names = Vec::new();
    let mut open: Option<(File, u64)> = None;
    let mut buffer = vec![0; 256 << 10];
    for _ in 0..jobs.number {
        let room = jobs.size.next_multiple_of(PAGE);
        let (file, at) = match open.take() {
            Some((file, at)) if at + room <= FILE => (file, at),
            _ => {
                let name = folder.join(format!("bare.{}", names.len()));
                let file = File::create_new(&name)?;
                names.push(name);
                allocate(&file, 0..FILE)?;
                (file, 0)
            }
        };
        let mut done = 0;
        while done < jobs.size {
            let most = usize::try_from(jobs.size - done)?.min(buffer.len());
            let got = from.read(&mut buffer[..most])?;
            ensure!(got > 0, "the sender went");
            file.write_all_at(&buffer[..got], at + done)?;
            done += got as u64;
        }
        from.write_all(&[0])?;
        open = Some((file, at + room));
    }
    Ok(names)
}

/// Measures the disk's rate in MB/s until all data is written. Writes of 8 MB each begin at once.
pub(super) fn disk(folder: &Path, bytes: u64) -> Result<f64> {
    const STEP: u64 = 8 << 20;
    written(folder, bytes, |file, piece, at| {
        file.write_all_at(piece, at)?;
        let end = at + piece.len() as u64;
        if end.is_multiple_of(STEP) {
            start_writing(file, end - STEP..end)?;
        }
        if at.is_multiple_of(STEP) && at >= 8 * STEP {
            forget(file, at - 8 * STEP..at - 7 * STEP)?;
        }
        Ok(())
    })
}

/// Measures the disk's rate if each piece of 1 MB is on disk before the next.
pub(super) fn synced_disk(folder: &Path, bytes: u64) -> Result<f64> {
    written(folder, bytes, |file, piece, at| {
        file.write_all_at(piece, at)?;
        file.sync_data()
    })
}

fn written(
    folder: &Path,
    bytes: u64,
    write: impl Fn(&File, &[u8], u64) -> io::Result<()>,
) -> Result<f64> {
    let file = tempfile::tempfile_in(folder)?;
    let piece = vec![1_u8; 1 << 20];
    let size = piece.len() as u64;
    let since = Instant::now();
    let pieces = bytes.div_ceil(size);
    (0..pieces).try_for_each(|number| write(&file, &piece, number * size))?;
    file.sync_data()?;
    Ok((pieces * size) as f64 / 1e6 / since.elapsed().as_secs_f64())
}

/// Jobs by second of p910nd, which keeps nothing and has one printer: the jobs are
/// raw data, a connection each. None where it is not installed.
pub(super) fn p910nd(jobs: Jobs, files: &Files) -> Result<Option<f64>> {
    let Some((mut child, port)) = started()? else { return Ok(None) };
    let taken = raw(port, jobs, files);
    let _ = child.kill();
    let _ = child.wait();
    Ok(Some(jobs.number as f64 / taken?))
}

/// Starts a server with ten ports, of which one is free. Its lock is in a folder that it does not
/// make: a mount namespace has that folder.
fn started() -> Result<Option<(Child, u16)>> {
    let places = ["/usr/sbin/p910nd", "/usr/bin/p910nd"];
    let Some(program) = places.iter().find(|name| Path::new(name).exists()) else {
        return Ok(None);
    };
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = (9_100..9_110).rev().find(is_free).context("p910nd has no free port")?;
    let script = format!(
        "mount -t tmpfs lock /run/lock && mkdir /run/lock/p910nd && \
         exec {program} -d -i 127.0.0.1 -f /dev/null {}",
        port - 9_100
    );
    let mut child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start p910nd")?;
    let until = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > until || child.try_wait()?.is_some() {
            let _ = child.kill();
            let _ = child.wait();
            bail!("p910nd did not begin to serve");
        }
        sleep(Duration::from_millis(20));
    }
    Ok(Some((child, port)))
}
