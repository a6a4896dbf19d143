//! Hosts on systems that measure no path to them: a named host is refused with the reason.

use clap::Args;

/// The host: parsed so that it can be refused with the reason.
#[derive(Args, Clone, Debug)]
pub struct HostArgs {
    /// The host at the other end of the path.
    #[arg(value_name = "HOST", hide = true)]
    pub host: Option<String>,
}

/// Options for the IP header of sent packets: none.
#[derive(Args, Clone, Copy, Debug)]
pub struct IpArgs {}

impl IpArgs {
    /// Returns whether any option is set.
    pub const fn is_set(self) -> bool {
        false
    }
}
