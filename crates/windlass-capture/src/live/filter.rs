//! Packet filters: the built-in ones, or an expression in tcpdump's syntax.

use windlass_base::Failure;
use windlass_sys::capture::{Direction, Framing, Instruction, Interface};
use windlass_sys::namespace::Namespace;
use windlass_sys::pcap::{FilterError, Library, LoadError};
use windlass_wire::filter::{self, Link, Program};

/// Filter of packets.
#[derive(Clone, Debug, Default)]
pub struct CaptureFilter {
    /// Expression in tcpdump's syntax.
    pub expression: Option<String>,
    /// Filter that windlass compiles itself.
    pub built_in: filter::PacketFilter,
}

impl CaptureFilter {
    /// Returns the filter in tcpdump's syntax; `None` for all packets.
    pub fn text(&self) -> Option<String> {
        let filter::PacketFilter { hosts, nets, ports, tcp } = &self.built_in;
        let one_of = |kind: &str, values: Vec<String>| {
            let values: Vec<String> =
                values.into_iter().map(|value| format!("{kind} {value}")).collect();
            let text = values.join(" or ");
            match values.len() {
                0 => None,
                1 => Some(text),
                _ => Some(format!("({text})")),
            }
        };
        let parts = [
            self.expression.clone(),
            tcp.then(|| "tcp".to_owned()),
            one_of("host", hosts.iter().map(ToString::to_string).collect()),
            one_of("net", nets.iter().map(ToString::to_string).collect()),
            one_of("port", ports.iter().map(ToString::to_string).collect()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" and "))
    }

    fn is_built_in(&self) -> bool {
        let filter::PacketFilter { hosts, nets, ports, tcp } = &self.built_in;
        *tcp || !hosts.is_empty() || !nets.is_empty() || !ports.is_empty()
    }
}

/// Returns the program that the kernel runs; `None` if every packet is wanted.
///
/// `loopback` is the number of the loopback interface if all interfaces are captured. A packet from
/// a host to itself passes the loopback interface twice.
pub fn program(
    wanted: &CaptureFilter,
    interface: &Interface,
    namespace: Option<&Namespace>,
    snap_length: u32,
    direction: Direction,
    loopback: Option<u32>,
) -> Result<Option<Vec<Instruction>>, Failure> {
    let too_long = |error: filter::ProgramTooLong| {
        Failure::usage("cannot set the filter", error).advise("Give fewer hosts, nets and ports.")
    };
    let framing = interface.framing();
    let link = match framing {
        Framing::Ethernet => Link::Ethernet,
        Framing::Ip => Link::Ip,
        Framing::Cooked => Link::Cooked,
    };
    let mut program = match &wanted.expression {
        Some(expression) if asks_for_vlan(expression) => {
            Some(compiled_for_tags(expression, interface, namespace, snap_length)?)
        }
        Some(expression) => Some(compiled(expression, framing, snap_length)?),
        None if wanted.is_built_in() => {
            Some(wanted.built_in.compile(link, snap_length).map_err(too_long)?)
        }
        None => None,
    };
    let mut before = Vec::new();
    before.extend(loopback.map(Program::without_loopback_copies));
    match direction {
        Direction::Both => {}
        Direction::In => before.push(Program::only_incoming()),
        Direction::Out => before.push(Program::only_outgoing()),
    }
    for prefix in before.iter().rev() {
        let rest = match program.take() {
            Some(rest) => rest,
            // All packets.
            None => filter::PacketFilter::default().compile(link, snap_length).map_err(too_long)?,
        };
        program = Some(prefix.and_then(&rest).map_err(too_long)?);
    }
    Ok(program.map(|program| {
        let instructions = program.instructions().iter();
        instructions
            .map(|one| Instruction {
                code: one.code,
                if_true: one.if_true,
                if_false: one.if_false,
                value: one.value,
            })
            .collect()
    }))
}

/// Returns whether an expression tests a VLAN tag.
fn asks_for_vlan(expression: &str) -> bool {
    expression.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|word| word == "vlan")
}

/// Compiles an expression with a VLAN tag by libpcap, for a socket of its own. The kernel removes
/// the tag before a filter sees the packet. For its own socket, libpcap reads the tag from the
/// kernel instead.
fn compiled_for_tags(
    expression: &str,
    interface: &Interface,
    namespace: Option<&Namespace>,
    snap_length: u32,
) -> Result<Program, Failure> {
    if interface.framing() != Framing::Ethernet {
        let wrong = "`vlan` needs an Ethernet header, and these packets have none";
        let failure = Failure::usage(doing(expression), wrong);
        return Err(if interface.is_any() {
            failure.advise("Name the interfaces instead of any: -i eth0 -i eth1.")
        } else {
            failure.advise("Leave `vlan` out: there are no tags on this interface.")
        });
    }
    let compiled =
        library(expression)?.compile_live(expression, &interface.name, namespace, snap_length);
    checked(expression, Framing::Ethernet, compiled)
}

/// Compiles an expression by libpcap.
///
/// # Errors
/// Returns an error if libpcap is missing or refuses it, or if it needs a header that packets of
/// this framing do not have.
pub fn compiled(expression: &str, framing: Framing, snap_length: u32) -> Result<Program, Failure> {
    // Ethernet, raw IP on Linux (libpcap's DLT_RAW), and Linux's own header in place of a removed
    // one.
    let link_type = match framing {
        Framing::Ethernet => 1,
        Framing::Ip => 12,
        Framing::Cooked => 113,
    };
    let compiled = library(expression)?.compile(expression, link_type, snap_length);
    checked(expression, framing, compiled)
}

/// Returns the action on an expression, for errors.
fn doing(expression: &str) -> String {
    format!("cannot set the filter `{expression}`")
}

fn library(expression: &str) -> Result<Library, Failure> {
    Library::load().map_err(|LoadError { .. }| {
        let (why, advice) = if Library::CAN_BE_LOADED {
            (
                "it needs libpcap, which is not installed",
                "Install libpcap (libpcap0.8 on Debian), or use --host, --net, --port and --tcp, \
                 which do not need it.",
            )
        } else {
            (
                "it needs libpcap, which a static binary cannot load",
                "Use --host, --net, --port and --tcp, which do not need it, or a windlass built \
                 from source for this system.",
            )
        };
        Failure::new(doing(expression), why).advise(advice)
    })
}

/// Converts libpcap's program to the kernel's form, and checks it.
fn checked(
    expression: &str,
    framing: Framing,
    compiled: Result<Vec<Instruction>, FilterError>,
) -> Result<Program, Failure> {
    let doing = || doing(expression);
    let instructions = compiled.map_err(|wrong| match wrong {
        FilterError::Listen(_) => Failure::new(doing(), wrong),
        _ => {
            Failure::usage(doing(), wrong).advise("The syntax is that of tcpdump: man pcap-filter.")
        }
    })?;
    let instructions = instructions
        .into_iter()
        .map(|one| filter::Instruction {
            code: one.code,
            if_true: one.if_true,
            if_false: one.if_false,
            value: one.value,
        })
        .collect();
    let unsound = |error: filter::UnsoundProgram| match error {
        filter::UnsoundProgram::Link(_) => Failure::usage(doing(), error)
            .advise("Name one interface: on any, packets come without that header."),
        _ => Failure::new(doing(), error),
    };
    match framing {
        Framing::Cooked => Program::cooked(instructions).map_err(unsound),
        Framing::Ethernet | Framing::Ip => Program::check(instructions).map_err(unsound),
    }
}
