//! `windlass extcap`: windlass as a capture interface of Wireshark.
//!
//! Wireshark runs the programs of its extcap folder with arguments of its own protocol (extcap(4)),
//! and shows the packets that they write into a pipe.

mod device;
mod folders;
mod install;
mod own;
mod profile;
mod ring;
mod sentences;
mod words;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use windlass_base::Failure;
use windlass_output::Output;

use self::sentences::Interface;
use self::words::ExtcapArguments;
use super::unwritten;
use crate::failure::exit;
use crate::interrupt;

/// The arguments of `windlass extcap`.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "windlass extcap --install [--profile] [--folder DIR] [--settings DIR]\n       \
                      windlass extcap --uninstall [--folder DIR] [--settings DIR]\n       \
                      windlass extcap <WORDS>...",
    after_long_help = "\
Examples:
  windlass extcap --install            add windlass to your extcap folder
  windlass extcap --install --profile  and add a profile for captures with notes
  tshark -i windlass-device            packets of 10 MB to an emulated print server
  tshark -i windlass-ring -f 'tcp port 9100' -o extcap.windlass_ring.interface:eth0
                                       packets of eth0, from the ring of windlass capture
  windlass extcap --uninstall          remove windlass from the folder

In Wireshark:
  The interfaces are `windlass: ring` and `windlass: emulated device`. The gear beside each opens its
  options. Capture filters have the usual syntax; they need libpcap.

The ring:
  The ring needs CAP_NET_RAW, as windlass capture does: sudo setcap cap_net_raw=ep
  \"$(command -v windlass)\". Wireshark's own privilege to capture is not enough.

The device:
  The TCP of this system sends zeros to the device over a private network, as raw data or by LPR.
  The capture ends with the transfer.

Arguments from Wireshark:
  --extcap-interfaces                                           lists the interfaces
  --extcap-interface NAME --extcap-dlts                         lists the link types
  --extcap-interface NAME --extcap-config                       lists the options
  --extcap-interface NAME --extcap-capture-filter FILTER        checks a filter
  --capture --extcap-interface NAME --fifo PATH [--extcap-capture-filter FILTER]
    windlass-ring:    [--interface IFACE] [--snap-length SIZE] [--direction usual|in|out|both]
                      [--promiscuous]
    windlass-device:  [--profile NAME] [--bytes SIZE] [--rate RATE] [--rtt TIME]
  Unknown arguments are ignored: later versions of Wireshark may have more."
)]
pub struct ExtcapArgs {
    /// Write a script that runs this windlass into your extcap folder
    #[arg(long, conflicts_with_all = ["uninstall", "words"])]
    pub install: bool,

    /// Also write a Wireshark profile: columns, colours and buttons for captures with notes
    /// (windlass explain --annotate)
    #[arg(long, requires = "install")]
    pub profile: bool,

    /// Remove the script and the profile
    #[arg(long, conflicts_with = "words")]
    pub uninstall: bool,

    /// Extcap folder [default: from tshark, else ~/.local/lib/wireshark/extcap]
    ///
    /// Before Wireshark 4.2 it was ~/.config/wireshark/extcap.
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    pub folder: Option<PathBuf>,

    /// Folder of your Wireshark settings and profiles [default: from tshark, else
    /// ~/.config/wireshark]
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    pub settings: Option<PathBuf>,

    /// Arguments from Wireshark: see below
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: &ExtcapArgs, output: &mut Output) -> anyhow::Result<()> {
    let (folder, settings) = (args.folder.as_deref(), args.settings.as_deref());
    let told = match (args.install, args.profile) {
        (true, true) => Some(install::put(folder)? + &profile::put(settings)?),
        (true, false) => Some(install::put(folder)? + profile::OFFER),
        _ if args.uninstall => Some(install::take(folder)? + &profile::take(settings)?),
        _ => None,
    };
    if let Some(told) = told {
        return output.raw(told.as_bytes()).map_err(unwritten);
    }
    // Wireshark shows the text in a box.
    let words = ExtcapArguments::read(&args.words).map_err(Failure::in_one_line)?;
    let told = answer(&words).map_err(Failure::in_one_line)?;
    output.raw(told.as_bytes()).map_err(unwritten)
}

/// Returns the flag that Wireshark's stop signal sets.
fn stop(fifo: &Path) -> Result<Arc<AtomicBool>, Failure> {
    interrupt::listen(format!("cannot write {}", fifo.display()))
}

/// Ends a capture that blocks on a full pipe.
fn give_up() {
    std::process::exit(exit::DONE.into());
}

/// Runs the request; returns the text for standard output.
fn answer(words: &ExtcapArguments) -> Result<String, Failure> {
    // Nothing is left behind by a capture that was killed.
    if words.cleans_up {
        return Ok(String::new());
    }
    if words.lists_interfaces {
        return Ok(sentences::interfaces());
    }
    let Some(name) = &words.interface else {
        if words.asks_version {
            return Ok(sentences::version());
        }
        return Err(Failure::usage("cannot answer Wireshark", "no interface is named")
            .advise("Run `windlass extcap --install`; Wireshark then calls windlass itself."));
    };
    let interface = Interface::named(name)?;
    if words.capture {
        let Some(fifo) = &words.fifo else {
            return Err(Failure::usage(format!("cannot capture on {name}"), "--fifo is missing"));
        };
        match interface {
            Interface::Ring => ring::capture(words, fifo)?,
            Interface::Device => device::capture(words, fifo)?,
        }
        return Ok(String::new());
    }
    if words.lists_links {
        return Ok(interface.link());
    }
    if words.lists_options {
        return Ok(interface.options());
    }
    if let Some(filter) = &words.filter {
        return Ok(interface.wrong_with(filter));
    }
    Err(Failure::usage(format!("cannot answer for {name}"), "there is no request")
        .advise("`windlass extcap --help` lists the requests."))
}
