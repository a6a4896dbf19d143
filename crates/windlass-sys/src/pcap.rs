//! libpcap's compiler of filter expressions (pcap-filter(7)), where libpcap is
//! installed.
//!
//! It is loaded when it is asked for, so that a program needs it for nothing
//! else:
//!
//! ```no_run
//! use windlass_sys::pcap::Library;
//!
//! let library = Library::load()?;
//! // 1 is Ethernet.
//! let filter = library.compile("tcp port 9100 and not host 192.0.2.1", 1, 262_144)?;
//! println!("{}: {} instructions", library.version(), filter.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ffi::{CStr, CString, c_void};
use std::mem::transmute;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

use libc::{c_char, c_int, c_uint};

use crate::capture::Instruction;
use crate::namespace::Namespace;

/// The names of the library: that of most systems, that of Debian, and that of
/// its development files.
const NAMES: [&CStr; 3] = [c"libpcap.so.1", c"libpcap.so.0.8", c"libpcap.so"];

/// The longest expression that is taken, in bytes.
pub const LONGEST: usize = 64 << 10;

/// The most instructions that are taken over: more than the kernel takes by far.
const MAX: usize = 1 << 20;

/// `PCAP_NETMASK_UNKNOWN`: no expression can ask for broadcasts of IPv4.
const NO_NETMASK: c_uint = u32::MAX;

/// The number of raw IP in capture files, and on Linux in libpcap, which has
/// its own for a few.
const RAW_IP: u16 = 101;
const RAW_IP_HERE: c_int = 12;

/// The buffer of a socket that is only compiled for: libpcap's own would be 2 MiB.
const SMALL_BUFFER: c_int = 512 << 10;

/// Before libpcap 1.8 its compiler is for one thread at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// `PCAP_ERRBUF_SIZE`.
const ERROR_BYTES: usize = 256;

/// libpcap's `pcap_t`.
type Handle = c_void;

/// libpcap's `struct bpf_program`.
#[repr(C)]
struct Compiled {
    length: c_uint,
    instructions: *mut Instruction,
}

type OpenDead = unsafe extern "C" fn(c_int, c_int) -> *mut Handle;
type Create = unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut Handle;
type SetNumber = unsafe extern "C" fn(*mut Handle, c_int) -> c_int;
type Activate = unsafe extern "C" fn(*mut Handle) -> c_int;
type Compile =
    unsafe extern "C" fn(*mut Handle, *mut Compiled, *const c_char, c_int, c_uint) -> c_int;
type GetErr = unsafe extern "C" fn(*mut Handle) -> *mut c_char;
type FreeCode = unsafe extern "C" fn(*mut Compiled);
type Close = unsafe extern "C" fn(*mut Handle);
type LibVersion = unsafe extern "C" fn() -> *const c_char;

/// libpcap.
///
/// It stays loaded as long as the program runs: other libraries that it brings
/// along are not made to be taken out again.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    open_dead: OpenDead,
    create: Create,
    set_snaplen: SetNumber,
    set_buffer_size: SetNumber,
    activate: Activate,
    compile: Compile,
    get_err: GetErr,
    free_code: FreeCode,
    close: Close,
    lib_version: LibVersion,
}

/// libpcap is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot load libpcap: {why}")]
pub struct Missing {
    /// What the loader said of the name by which most systems have it.
    pub why: String,
}

/// An expression that is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It has a zero byte, here.
    #[error("the expression has a zero byte at {0}")]
    Nul(usize),
    /// It has so many bytes, which is more than [`LONGEST`].
    #[error("the expression has {0} bytes, and {LONGEST} are the most")]
    TooLong(usize),
    /// There is no memory for it.
    #[error("there is no memory for libpcap")]
    Memory,
    /// libpcap refuses it, with these words.
    #[error("{0}")]
    Refused(String),
    /// libpcap cannot listen on the interface that it is for.
    #[error("libpcap cannot listen on the interface: {0}")]
    Listen(String),
}

impl Library {
    /// Whether this program can load libraries at all: a static one cannot.
    pub const CAN_BE_LOADED: bool = cfg!(not(target_feature = "crt-static"));

    /// Loads libpcap.
    ///
    /// # Errors
    /// Where it is not installed, or lacks a function.
    pub fn load() -> Result<Self, Missing> {
        Self::load_one_of(&NAMES)
    }

    fn load_one_of(names: &[&CStr]) -> Result<Self, Missing> {
        let mut first = None;
        for name in names {
            match Self::load_as(name) {
                Ok(library) => return Ok(library),
                Err(missing) => first = first.or(Some(missing)),
            }
        }
        Err(first.unwrap_or_else(|| Missing { why: "it has no name".to_owned() }))
    }

    fn load_as(name: &CStr) -> Result<Self, Missing> {
        // SAFETY: the name ends with a zero byte. What the library does when it
        // is loaded is what it does for every program that is linked with it.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let library = NonNull::new(library).ok_or_else(missing)?;
        let find = |name: &CStr| {
            // SAFETY: the library is loaded, and the name ends with a zero byte.
            let found = unsafe { libc::dlsym(library.as_ptr(), name.as_ptr()) };
            NonNull::new(found).map(NonNull::as_ptr).ok_or_else(missing)
        };
        // SAFETY: each is the function of this name in libpcap, which has had
        // this type in all releases since 1.0 (pcap/pcap.h). None is null, and
        // the library is never taken out.
        unsafe {
            Ok(Self {
                open_dead: transmute::<*mut c_void, OpenDead>(find(c"pcap_open_dead")?),
                create: transmute::<*mut c_void, Create>(find(c"pcap_create")?),
                set_snaplen: transmute::<*mut c_void, SetNumber>(find(c"pcap_set_snaplen")?),
                set_buffer_size: transmute::<*mut c_void, SetNumber>(find(
                    c"pcap_set_buffer_size",
                )?),
                activate: transmute::<*mut c_void, Activate>(find(c"pcap_activate")?),
                compile: transmute::<*mut c_void, Compile>(find(c"pcap_compile")?),
                get_err: transmute::<*mut c_void, GetErr>(find(c"pcap_geterr")?),
                free_code: transmute::<*mut c_void, FreeCode>(find(c"pcap_freecode")?),
                close: transmute::<*mut c_void, Close>(find(c"pcap_close")?),
                lib_version: transmute::<*mut c_void, LibVersion>(find(c"pcap_lib_version")?),
            })
        }
    }

    /// What it calls itself, as `libpcap version 1.10.3`.
    pub fn version(&self) -> String {
        // SAFETY: the function takes nothing, and its text stays.
        text(unsafe { (self.lib_version)() })
    }

    /// Compiles an expression for packets of a link type, as capture files
    /// number it. The filter keeps `snap_length` bytes of what it takes.
    ///
    /// libpcap asks the system for the names of hosts, nets and services in it,
    /// so it may take as long as the answer of a name server.
    ///
    /// # Errors
    /// Says what is wrong with the expression, in libpcap's words. It refuses a
    /// link type that it does not know, and a snap length of zero, too.
    pub fn compile(
        &self,
        expression: &str,
        link_type: u16,
        snap_length: u32,
    ) -> Result<Vec<Instruction>, Wrong> {
        let expression = checked(expression)?;
        let link_type = if link_type == RAW_IP { RAW_IP_HERE } else { c_int::from(link_type) };
        let snap_length = c_int::try_from(snap_length).unwrap_or(c_int::MAX);
        // Nothing is left half done where a thread has panicked.
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: it takes numbers only.
        let handle = unsafe { (self.open_dead)(link_type, snap_length) };
        if handle.is_null() {
            return Err(Wrong::Memory);
        }
        self.compile_for(handle, &expression)
    }

    /// Compiles an expression for packets as the kernel gives them on this
    /// interface, as tcpdump has it compiled: `vlan` asks the kernel for the tag,
    /// too, which it takes out of a packet before a filter sees it
    /// (`SKF_AD_VLAN_TAG` in `linux/filter.h`). libpcap makes such a filter only
    /// for a socket of its own. It opens one, which is closed again.
    ///
    /// It takes `CAP_NET_RAW`, and `CAP_SYS_ADMIN` to go into a namespace.
    ///
    /// # Errors
    /// As [`Self::compile`], and where libpcap cannot listen on the interface.
    pub fn compile_live(
        &self,
        expression: &str,
        interface: &str,
        namespace: Option<&Namespace>,
        snap_length: u32,
    ) -> Result<Vec<Instruction>, Wrong> {
        let expression = checked(expression)?;
        let interface =
            CString::new(interface).map_err(|error| Wrong::Nul(error.nul_position()))?;
        let snap_length = c_int::try_from(snap_length).unwrap_or(c_int::MAX);
        let compile = || self.for_interface(&expression, &interface, snap_length);
        let Some(namespace) = namespace else { return compile() };
        namespace.in_a_thread(compile).map_err(|refused| Wrong::Listen(refused.to_string()))?
    }

    /// The same, in the namespace of this thread.
    fn for_interface(
        &self,
        expression: &CStr,
        interface: &CStr,
        snap_length: c_int,
    ) -> Result<Vec<Instruction>, Wrong> {
        let mut why = [0; ERROR_BYTES];
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the name ends with a zero byte, and there is room for an error.
        let handle = unsafe { (self.create)(interface.as_ptr(), why.as_mut_ptr()) };
        if handle.is_null() {
            // An error may have all of the room.
            why[ERROR_BYTES - 1] = 0;
            return Err(Wrong::Listen(text(why.as_ptr())));
        }
        // SAFETY: the handle is there and does not listen yet.
        let activated = unsafe {
            (self.set_snaplen)(handle, snap_length);
            (self.set_buffer_size)(handle, SMALL_BUFFER);
            (self.activate)(handle)
        };
        // More than zero is a warning.
        if activated < 0 {
            // SAFETY: the handle has the text until it is closed, and is not used
            // any more.
            let why = text(unsafe { (self.get_err)(handle) });
            // SAFETY: as above.
            unsafe { (self.close)(handle) };
            return Err(Wrong::Listen(why));
        }
        self.compile_for(handle, expression)
    }

    /// Compiles an expression for an open handle, and closes it.
    fn compile_for(
        &self,
        handle: *mut Handle,
        expression: &CStr,
    ) -> Result<Vec<Instruction>, Wrong> {
        let mut compiled = Compiled { length: 0, instructions: ptr::null_mut() };
        // SAFETY: the handle is open, there is room for the result, and the
        // expression ends with a zero byte. It is only read.
        let done = unsafe {
            (self.compile)(handle, &raw mut compiled, expression.as_ptr(), 1, NO_NETMASK)
        };
        let result = if done == 0 {
            Ok(self.taken_over(compiled))
        } else {
            // SAFETY: the handle is open, and has the text until it is closed.
            Err(Wrong::Refused(text(unsafe { (self.get_err)(handle) })))
        };
        // SAFETY: the handle is open, and not used any more.
        unsafe { (self.close)(handle) };
        result
    }

    /// The instructions, which libpcap may then forget.
    fn taken_over(&self, mut compiled: Compiled) -> Vec<Instruction> {
        let length = (compiled.length as usize).min(MAX);
        let instructions = if compiled.instructions.is_null() {
            Vec::new()
        } else {
            // SAFETY: so many instructions are there. A `bpf_insn` is laid out
            // as an `Instruction`: a code of two bytes, two jumps of one byte
            // and a value of four.
            unsafe { std::slice::from_raw_parts(compiled.instructions, length).to_vec() }
        };
        // SAFETY: it is as libpcap has made it.
        unsafe { (self.free_code)(&raw mut compiled) };
        instructions
    }
}

/// An expression as C takes it, where it is not too long.
fn checked(expression: &str) -> Result<CString, Wrong> {
    if expression.len() > LONGEST {
        return Err(Wrong::TooLong(expression.len()));
    }
    CString::new(expression).map_err(|error| Wrong::Nul(error.nul_position()))
}

/// What the loader says that is wrong.
fn missing() -> Missing {
    // SAFETY: it takes nothing. Its text is this thread's, until the next call.
    Missing { why: text(unsafe { libc::dlerror() }) }
}

/// A text of C, which ends with a zero byte; empty for none.
fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the callers have it from functions that give such a text.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
#[path = "pcap_tests.rs"]
mod tests;
