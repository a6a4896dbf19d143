//! The built-in packet filters: beside those of libpcap, and in the kernel.

mod against_libpcap;
mod in_the_kernel;
mod packets;
