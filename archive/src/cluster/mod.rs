//! The same on many machines: a scheduler and executors of Ballista, with what they need to know
//! of archives.
//!
//! `add` and `query` are what a client does, by `submit`; `scheduler` and `executor` are the
//! processes. An executor runs a `map` over `pack`s of sources, each by a `task`.

pub mod add;
mod address;
mod codec;
pub mod executor;
mod guard;
mod losses;
mod map;
mod pack;
pub mod query;
mod scalars;
pub mod scheduler;
mod stop;
mod stores;
mod submit;
mod task;
mod tls;
mod told;

use address::Address;
use clap::Args;
use tls::TlsArgs;
use windlass_base::Failure;

pub use query::Cluster;

/// The most that one message may hold: a plan with the names of captures, or with the files of a
/// table.
const MOST_MESSAGE: u32 = 64 << 20;

/// The cluster that does the work.
#[derive(Args, Clone, Debug)]
pub struct ClusterArgs {
    /// Let the executors of a cluster do the work: the address of its scheduler. They must see
    /// what is read and what is written by the same paths
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Cluster")]
    cluster: Option<Address>,

    #[command(flatten)]
    tls: TlsArgs,
}

impl ClusterArgs {
    /// The cluster, where one was named.
    ///
    /// # Errors
    /// Where its certificates cannot be read.
    pub fn cluster(&self) -> Result<Option<Cluster>, Failure> {
        let tls = self.tls.read()?;
        match (&self.cluster, &tls) {
            (Some(address), _) => Ok(Some(Cluster::new(address.clone(), tls))),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(Failure::usage(
                "cannot use certificates here",
                "no cluster was named to which they would be shown",
            )
            .advise("Add --cluster HOST.")),
        }
    }
}

/// What is wrong, in one line, to its root: the library's errors say it there.
fn root(error: &dyn std::error::Error) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    at.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
