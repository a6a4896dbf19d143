//! libpcap's compiler of filter expressions (pcap-filter(7)), where libpcap is
//! installed.
//!
//! libpcap is loaded on request, so that a program needs it for nothing else:
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

/// File names of the library: that of most systems, that of Debian, and that of its development
/// files.
const NAMES: [&CStr; 3] = [c"libpcap.so.1", c"libpcap.so.0.8", c"libpcap.so"];

/// Maximum length of an expression in bytes.
pub const LONGEST: usize = 64 << 10;

/// Maximum number of instructions, far more than the kernel takes.
const MAX: usize = 1 << 20;

/// `PCAP_NETMASK_UNKNOWN`: no expression can ask for broadcasts of IPv4.
const NO_NETMASK: c_uint = u32::MAX;

/// Number of raw IP in capture files, and in libpcap on Linux, which has its own numbers for a few
/// types.
const RAW_IP: u16 = 101;
const RAW_IP_HERE: c_int = 12;

/// Buffer size of a socket that serves compiling alone: libpcap's own would be 2 MiB.
const SMALL_BUFFER: c_int = 512 << 10;

/// Lock of the compiler, which before libpcap 1.8 serves one thread at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// `PCAP_ERRBUF_SIZE`.
const ERROR_BYTES: usize = 256;

/// libpcap's `pcap_t`.
type Handle = c_void;

/// libpcap's `struct bpf_program`.
#[repr(C)]
struct BpfProgram {
    length: c_uint,
    instructions: *mut Instruction,
}

type OpenDead = unsafe extern "C" fn(c_int, c_int) -> *mut Handle;
type Create = unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut Handle;
type SetNumber = unsafe extern "C" fn(*mut Handle, c_int) -> c_int;
type Activate = unsafe extern "C" fn(*mut Handle) -> c_int;
type Compile =
    unsafe extern "C" fn(*mut Handle, *mut BpfProgram, *const c_char, c_int, c_uint) -> c_int;
type GetErr = unsafe extern "C" fn(*mut Handle) -> *mut c_char;
type FreeCode = unsafe extern "C" fn(*mut BpfProgram);
type Close = unsafe extern "C" fn(*mut Handle);
type LibVersion = unsafe extern "C" fn() -> *const c_char;

/// libpcap.
///
/// The library stays loaded as long as the program runs: other libraries that it brings along
/// cannot be unloaded safely.
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

/// Failure to load libpcap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot load libpcap: {why}")]
pub struct LoadError {
    /// The loader's error for the name on most systems.
    pub why: String,
}

/// Failure to compile an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// The expression has a zero byte at this offset.
    #[error("the expression has a zero byte at {0}")]
    Nul(usize),
    /// The expression has this many bytes, more than [`LONGEST`].
    #[error("the expression has {0} bytes, and {LONGEST} are the most")]
    TooLong(usize),
    /// There is no memory for the expression.
    #[error("there is no memory for libpcap")]
    Memory,
    /// libpcap refuses the expression, with these words.
    #[error("{0}")]
    Refused(String),
    /// libpcap cannot listen on the interface.
    #[error("libpcap cannot listen on the interface: {0}")]
    Listen(String),
}

impl Library {
    /// True if this program can load libraries; a static one cannot.
    pub const CAN_BE_LOADED: bool = cfg!(not(target_feature = "crt-static"));

    /// Loads libpcap.
    ///
    /// # Errors
    /// Fails if libpcap is not installed, or lacks a function.
    pub fn load() -> Result<Self, LoadError> {
        Self::load_one_of(&NAMES)
    }

    fn load_one_of(names: &[&CStr]) -> Result<Self, LoadError> {
        let mut first = None;
        for name in names {
            match Self::load_as(name) {
                Ok(library) => return Ok(library),
                Err(missing) => first = first.or(Some(missing)),
            }
        }
        Err(first.unwrap_or_else(|| LoadError { why: "it has no name".to_owned() }))
    }

    fn load_as(name: &CStr) -> Result<Self, LoadError> {
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

    /// Returns its version, as `libpcap version 1.10.3`.
    pub fn version(&self) -> String {
        // SAFETY: the function takes nothing, and its text stays.
        text(unsafe { (self.lib_version)() })
    }

    /// Compiles an expression for packets of a link type, by its number in capture files. The
    /// filter keeps `snap_length` bytes of a packet.
    ///
    /// libpcap asks the system for the names of hosts, networks and services in the expression. So
    /// it may take as long as the answer of a name server.
    ///
    /// # Errors
    /// Fails if the expression is wrong, in libpcap's words, the link type is unknown, or the snap
    /// length is zero.
    pub fn compile(
        &self,
        expression: &str,
        link_type: u16,
        snap_length: u32,
    ) -> Result<Vec<Instruction>, FilterError> {
        let expression = checked(expression)?;
        let link_type = if link_type == RAW_IP { RAW_IP_HERE } else { c_int::from(link_type) };
        let snap_length = c_int::try_from(snap_length).unwrap_or(c_int::MAX);
        // Nothing is left half done if a thread has panicked.
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: it takes numbers only.
        let handle = unsafe { (self.open_dead)(link_type, snap_length) };
        if handle.is_null() {
            return Err(FilterError::Memory);
        }
        self.compile_for(handle, &expression)
    }

    /// Compiles an expression for packets as the kernel delivers them on this interface, as tcpdump
    /// does. For `vlan` the filter asks the kernel for the tag, which the kernel removes from a
    /// packet before a filter sees it (`SKF_AD_VLAN_TAG` in `linux/filter.h`). libpcap makes such a
    /// filter only for a socket of its own, which it opens and closes.
    ///
    /// The call takes `CAP_NET_RAW`, and `CAP_SYS_ADMIN` to enter a namespace.
    ///
    /// # Errors
    /// Fails as [`Self::compile`] does, and if libpcap cannot listen on the interface.
    pub fn compile_live(
        &self,
        expression: &str,
        interface: &str,
        namespace: Option<&Namespace>,
        snap_length: u32,
    ) -> Result<Vec<Instruction>, FilterError> {
        let expression = checked(expression)?;
        let interface =
            CString::new(interface).map_err(|error| FilterError::Nul(error.nul_position()))?;
        let snap_length = c_int::try_from(snap_length).unwrap_or(c_int::MAX);
        let compile = || self.for_interface(&expression, &interface, snap_length);
        let Some(namespace) = namespace else { return compile() };
        namespace
            .in_a_thread(compile)
            .map_err(|refused| FilterError::Listen(refused.to_string()))?
    }

    /// Compiles an expression for an interface in the namespace of this thread.
    fn for_interface(
        &self,
        expression: &CStr,
        interface: &CStr,
        snap_length: c_int,
    ) -> Result<Vec<Instruction>, FilterError> {
        let mut why = [0; ERROR_BYTES];
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the name ends with a zero byte, and there is room for an error.
        let handle = unsafe { (self.create)(interface.as_ptr(), why.as_mut_ptr()) };
        if handle.is_null() {
            // An error may have all of the room.
            why[ERROR_BYTES - 1] = 0;
            return Err(FilterError::Listen(text(why.as_ptr())));
        }
        // SAFETY: the handle is there and does not listen yet.
        let activated = unsafe {
            (self.set_snaplen)(handle, snap_length);
            (self.set_buffer_size)(handle, SMALL_BUFFER);
            (self.activate)(handle)
        };
        // A value above zero is a warning.
        if activated < 0 {
            // SAFETY: the handle has the text until it is closed, and is not used
            // any more.
            let why = text(unsafe { (self.get_err)(handle) });
            // SAFETY: as above.
            unsafe { (self.close)(handle) };
            return Err(FilterError::Listen(why));
        }
        self.compile_for(handle, expression)
    }

    /// Compiles an expression for an open handle, and closes it.
    fn compile_for(
        &self,
        handle: *mut Handle,
        expression: &CStr,
    ) -> Result<Vec<Instruction>, FilterError> {
        let mut compiled = BpfProgram { length: 0, instructions: ptr::null_mut() };
        // SAFETY: the handle is open, there is room for the result, and the
        // expression ends with a zero byte. It is only read.
        let done = unsafe {
            (self.compile)(handle, &raw mut compiled, expression.as_ptr(), 1, NO_NETMASK)
        };
        let result = if done == 0 {
            Ok(self.taken_over(compiled))
        } else {
            // SAFETY: the handle is open, and has the text until it is closed.
            Err(FilterError::Refused(text(unsafe { (self.get_err)(handle) })))
        };
        // SAFETY: the handle is open, and not used any more.
        unsafe { (self.close)(handle) };
        result
    }

    /// Copies the instructions, and lets libpcap free them.
    fn taken_over(&self, mut compiled: BpfProgram) -> Vec<Instruction> {
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

/// Converts an expression to a string of C, if it is not too long.
fn checked(expression: &str) -> Result<CString, FilterError> {
    if expression.len() > LONGEST {
        return Err(FilterError::TooLong(expression.len()));
    }
    CString::new(expression).map_err(|error| FilterError::Nul(error.nul_position()))
}

/// Returns the loader's error.
fn missing() -> LoadError {
    // SAFETY: it takes nothing. Its text is this thread's, until the next call.
    LoadError { why: text(unsafe { libc::dlerror() }) }
}

/// Copies a string of C, which ends with a zero byte; empty for null.
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
