//! `windlass extcap`: windlass among the interfaces of Wireshark.
//!
//! Wireshark runs the programs of its extcap folder with words of its own
//! protocol (extcap(4)), and shows what they write into a pipe.

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
use self::words::Words;
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
  windlass extcap --install            put windlass into your own extcap folder
  windlass extcap --install --profile  and a profile for captures with notes beside it
  tshark -i windlass-device            10 MB to an emulated print server, as they pass
  tshark -i windlass-ring -f 'tcp port 9100' -o extcap.windlass_ring.interface:eth0
                                       packets of eth0, by the ring of windlass capture
  windlass extcap --uninstall          take it out again

In Wireshark:
  The interfaces are `windlass: ring` and `windlass: emulated device`. The wheel beside each has its
  options. A capture filter is written as always; it takes libpcap.

The ring:
  It takes CAP_NET_RAW, as windlass capture does: sudo setcap cap_net_raw=ep
  \"$(command -v windlass)\". Wireshark's own right to capture does not help here.

The device:
  This system's own TCP sends zeros to it, in a private network, as raw data or by LPR as the device
  has it. The capture ends with the transfer.

What Wireshark says:
  --extcap-interfaces                                           which interfaces there are
  --extcap-interface NAME --extcap-dlts                         what packets begin with
  --extcap-interface NAME --extcap-config                       which options it has
  --extcap-interface NAME --extcap-capture-filter FILTER        what is wrong with a filter
  --capture --extcap-interface NAME --fifo PATH [--extcap-capture-filter FILTER]
    windlass-ring:    [--interface IFACE] [--snap-length SIZE] [--direction usual|in|out|both]
                      [--promiscuous]
    windlass-device:  [--profile NAME] [--bytes SIZE] [--rate RATE] [--rtt TIME]
  Other words are passed over: later versions of Wireshark may have more."
)]
pub struct ExtcapArgs {
    /// Put a script that runs this windlass into your extcap folder
    #[arg(long, conflicts_with_all = ["uninstall", "words"])]
    pub install: bool,

    /// Write a profile of Wireshark as well: columns, colours and buttons for captures with notes
    /// (windlass explain --annotate)
    #[arg(long, requires = "install")]
    pub profile: bool,

    /// Take it out again, and the profile
    #[arg(long, conflicts_with = "words")]
    pub uninstall: bool,

    /// The extcap folder [default: what tshark says; else ~/.local/lib/wireshark/extcap]
    ///
    /// Before Wireshark 4.2 it was ~/.config/wireshark/extcap.
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    pub folder: Option<PathBuf>,

    /// The folder of your settings, which has the profiles [default: what tshark says; else
    /// ~/.config/wireshark]
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    pub settings: Option<PathBuf>,

    /// What Wireshark says: see below
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
    // Wireshark shows it in a box.
    let words = Words::read(&args.words).map_err(Failure::in_one_line)?;
    let told = answer(&words).map_err(Failure::in_one_line)?;
    output.raw(told.as_bytes()).map_err(unwritten)
}

/// What is told to end when Wireshark says so.
fn stop(fifo: &Path) -> Result<Arc<AtomicBool>, Failure> {
    interrupt::listen(format!("cannot write {}", fifo.display()))
}

/// Ends a capture that hangs in a pipe that nobody empties.
fn give_up() {
    std::process::exit(exit::DONE.into());
}

/// Does what the words say; gives what is to be told on standard output.
fn answer(words: &Words) -> Result<String, Failure> {
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
        return Err(Failure::usage("cannot answer Wireshark", "it names no interface")
            .advise("Use `windlass extcap --install`, and Wireshark does the rest."));
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
    Err(Failure::usage(format!("cannot answer for {name}"), "nothing is asked for")
        .advise("`windlass extcap --help` lists what can be."))
}
