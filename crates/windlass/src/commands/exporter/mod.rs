//! `windlass exporter`: what limits this host's TCP connections, for Prometheus.

mod exposition;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass_base::{Failure, Schema};
use windlass_host::connections::groups::{OTHER, Rules, Service, Subnet};
use windlass_host::connections::{Counting, Error, Shared};
use windlass_output::{Output, Page, Record};
use windlass_ui::{Answer, Asked, Server};

use self::exposition::Format;
use super::unwritten;
use crate::arguments::{JsonArgs, port};
use crate::interrupt;

/// Where it is to be had: the list of ports of exporters has no other of this number.
const ADDRESS: &str = "127.0.0.1:9898";

/// Whoever asks more often than this gets what was seen last, and what ended since then.
const LEAST_AGE: Duration = Duration::from_secs(1);

/// The longest name of a service or a subnet.
const MAX_NAME: usize = 64;

/// What is told, to whom.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass exporter --service print=9100,631,515 --service web=443
  windlass exporter --subnet office=10.1.0.0/16 --subnet home=2001:db8:7::/48
  windlass exporter --listen 0.0.0.0:9898
  curl http://127.0.0.1:9898/metrics

What it tells:
  For each service and subnet: connections, bytes, segments that were sent again, the seconds in
  which there was something to send, these by what held it (the receiver's window, the send
  buffer, losses that a timer found, or something that the kernel has no clock of), and round
  trips. Never of one connection: its size does not grow with their number. docs/exporter.md has
  each metric with its source.

Who may read:
  Whoever reaches the address. There is no TLS: put a proxy before it that has.")]
pub struct ExporterArgs {
    /// Where to listen
    #[arg(long, short = 'l', value_name = "ADDRESS:PORT", default_value = ADDRESS)]
    pub listen: SocketAddr,

    /// A service: connections with one of these ports at either end. All else is `other`
    #[arg(long = "service", value_name = "NAME=PORT,…", value_parser = service)]
    pub services: Vec<Service>,

    /// A subnet: connections whose other end is in it. All else is `other`
    #[arg(long = "subnet", value_name = "NAME=PREFIX", value_parser = subnet)]
    pub subnets: Vec<Subnet>,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// A name, and what is behind the `=`.
fn named(text: &str) -> Result<(String, &str), String> {
    let (name, rest) = text.split_once('=').ok_or("a name and = come first, as print=9100")?;
    let is_fine = |one: char| !one.is_control();
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_fine) {
        return Err(format!("a name has 1 to {MAX_NAME} bytes"));
    }
    if name == OTHER {
        return Err(format!("{OTHER} is what belongs to none that is named"));
    }
    Ok((name.to_owned(), rest))
}

fn service(text: &str) -> Result<Service, String> {
    let (name, ports) = named(text)?;
    let ports = ports.split(',').map(port).collect::<Result<_, _>>()?;
    Ok(Service { name, ports })
}

fn subnet(text: &str) -> Result<Subnet, String> {
    let (name, network) = named(text)?;
    let allowed = || "a subnet is written as 10.1.0.0/16 or 2001:db8::/32".to_owned();
    let address = || Some(network.parse::<std::net::IpAddr>().ok()?.into());
    let network = network.parse().ok().or_else(address).ok_or_else(allowed)?;
    Ok(Subnet { name, network })
}

impl ExporterArgs {
    fn rules(&self) -> Result<Rules, Failure> {
        let twice = |names: Vec<&str>| {
            let mut names = names;
            names.sort_unstable();
            names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_owned())
        };
        let services = self.services.iter().map(|one| one.name.as_str()).collect();
        let subnets = self.subnets.iter().map(|one| one.name.as_str()).collect();
        if let Some(name) = twice(services).or_else(|| twice(subnets)) {
            let doing = "cannot tell services and subnets apart";
            return Err(Failure::usage(doing, format!("the name {name} is given twice"))
                .advise("Name several ports as print=9100,631, and each subnet differently."));
        }
        Ok(Rules { services: self.services.clone(), subnets: self.subnets.clone() })
    }
}

/// Where it listens.
#[derive(Debug, Serialize)]
struct ExporterReport {
    schema: Schema,
    address: String,
    services: Vec<String>,
    subnets: Vec<String>,
    /// Why connections that begin and end between two looks are not counted; nothing where they
    /// are.
    deaf: Option<String>,
}

impl ExporterReport {
    /// The shape of the JSON, described by `schemas/exporter.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.exporter", version: 1 };
}

impl Record for ExporterReport {
    fn text(&self, page: &mut Page) {
        page.line(self.address.as_str());
        if let Some(why) = &self.deaf {
            page.line(format!(
                "Connections that begin and end between two looks are not counted, as the kernel \
                 does not tell of those that end: {why}."
            ));
        }
        page.line("Ctrl-C ends it.");
    }
}

/// Runs the command.
pub fn run(args: &ExporterArgs, output: &mut Output) -> anyhow::Result<()> {
    let doing = "cannot export what this host's connections do";
    let rules = args.rules()?;
    let stop = interrupt::listen(doing)?;
    let failed = |error: Error| {
        Failure::new(doing, error).advise(
            "It takes the kernel's sock_diag for TCP (CONFIG_INET_DIAG, modprobe tcp_diag), which \
             a container's seccomp filter may refuse: run it on the host.",
        )
    };
    let counting = Counting::open(rules).map_err(failed)?;
    let server = Server::of_readers(args.listen).map_err(|error| {
        Failure::new(format!("cannot listen on {}", args.listen), error)
            .advise("Does another exporter run? --listen names another address and port.")
    })?;
    let report = ExporterReport {
        schema: ExporterReport::SCHEMA,
        address: format!("{}metrics", server.address()),
        services: args.services.iter().map(|one| one.name.clone()).collect(),
        subnets: args.subnets.iter().map(|one| one.name.clone()).collect(),
        deaf: counting.deaf.clone(),
    };
    output.print_line(&report).map_err(unwritten)?;
    output.flush().map_err(unwritten)?;
    let stops = || stop.load(Ordering::Relaxed);
    let serve = |sums: &Shared| server.serve(&|asked| answer(asked, sums), &stops);
    Ok(counting.beside(&stop, serve).map_err(failed)?)
}

/// A page.
fn answer(asked: &Asked, sums: &Shared) -> Answer {
    match asked.path.as_str() {
        "metrics" => {
            let format = Format::wanted(&asked.accept);
            match sums.groups(LEAST_AGE, |groups| exposition::write(groups, format)) {
                Ok(text) => Answer::of(format.kind(), text),
                Err(error) => {
                    let plain = "text/plain; charset=utf-8";
                    Answer::of(plain, format!("{error}\n")).with_status(503)
                }
            }
        }
        "" => Answer::html(INDEX),
        _ => Answer::of("text/plain; charset=utf-8", "see /metrics\n").with_status(404),
    }
}

/// What a person sees who opens the address.
const INDEX: &str = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\
                     <title>windlass exporter</title>\n<p>windlass exporter: \
                     <a href=\"metrics\">metrics</a></p>\n</html>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_and_subnets_are_read_and_others_are_refused() {
        let print = service("print=9100,ipp").unwrap();
        assert_eq!((print.name.as_str(), print.ports), ("print", vec![9100, 631]));
        let office = subnet("office=10.1.0.0/16").unwrap();
        assert_eq!(
            (office.name.as_str(), office.network.to_string()),
            ("office", "10.1.0.0/16".into())
        );
        assert_eq!(subnet("one=10.1.2.3").unwrap().network.to_string(), "10.1.2.3/32");
        for wrong in ["print", "=9100", "print=", "print=0", "print=70000", "other=9100"] {
            assert!(service(wrong).is_err(), "{wrong}");
        }
        for wrong in ["office", "office=", "office=10.1.0.0/33", "other=10.0.0.0/8"] {
            assert!(subnet(wrong).is_err(), "{wrong}");
        }
    }
}
