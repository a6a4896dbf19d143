//! Where the traffic goes: the loopback, or a veth pair between two namespaces.

use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// A path with two ends.
pub(crate) struct Path {
    pub(crate) name: &'static str,
    /// The receiver's address.
    pub(crate) address: &'static str,
    /// Processes that hold the namespaces of the sender and of the receiver.
    ends: Option<[Holder; 2]>,
}

/// A process that does nothing but hold a namespace.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Holder {
    fn new() -> Result<Self> {
        let mut command = Command::new("unshare");
        command.args(["--net", "sleep", "infinity"]).stdin(Stdio::null());
        let child = command.spawn().context("cannot run unshare")?;
        let holder = Self(child);
        // It is in its own namespace once that is another one than ours.
        let namespace = |id: &str| std::fs::read_link(format!("/proc/{id}/ns/net"));
        let own = namespace("self")?;
        for _ in 0..200 {
            if namespace(&holder.id()).is_ok_and(|other| other != own) {
                return Ok(holder);
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        anyhow::bail!("unshare makes no network namespace here: it takes root")
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }

    /// A command in the namespace.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg("--net").args(["--target", &self.id(), "--", program]);
        command
    }

    fn ip(&self, line: &str) -> Result<()> {
        let mut command = self.command("ip");
        let status = command.args(line.split_whitespace()).status().context("cannot run ip")?;
        ensure!(status.success(), "ip {line} failed");
        Ok(())
    }
}

impl Path {
    pub(crate) const fn loopback() -> Result<Self> {
        Ok(Self { name: "loopback", address: "127.0.0.1", ends: None })
    }

    pub(crate) fn veth() -> Result<Self> {
        let (near, far) = (Holder::new()?, Holder::new()?);
        near.ip(&format!("link add v0 type veth peer name v0 netns {}", far.id()))?;
        for (end, address) in [(&near, "192.0.2.1/24"), (&far, "192.0.2.2/24")] {
            end.ip(&format!("address add {address} dev v0"))?;
            end.ip("link set v0 up")?;
            end.ip("link set lo up")?;
        }
        Ok(Self { name: "veth", address: "192.0.2.2", ends: Some([near, far]) })
    }

    /// A command at the sender.
    pub(crate) fn sender(&self, program: &str) -> Command {
        self.at(0, program)
    }

    /// A command at the receiver.
    pub(crate) fn receiver(&self, program: &str) -> Command {
        self.at(1, program)
    }

    fn at(&self, end: usize, program: &str) -> Command {
        match &self.ends {
            Some(ends) => ends[end].command(program),
            None => Command::new(program),
        }
    }
}
