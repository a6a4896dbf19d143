//! Codes of classic BPF (`linux/bpf_common.h`), and offsets of the kernel's metadata of a packet
//! (`linux/filter.h`).

// Loads into A: a part of the packet, at an offset or at X and an offset; a number; a word of
// memory; the packet's length.
pub(super) const LD_W_ABS: u16 = 0x20;
pub(super) const LD_H_ABS: u16 = 0x28;
pub(super) const LD_B_ABS: u16 = 0x30;
pub(super) const LD_W_IND: u16 = 0x40;
pub(super) const LD_H_IND: u16 = 0x48;
pub(super) const LD_B_IND: u16 = 0x50;
pub(super) const LD_IMM: u16 = 0x00;
pub(super) const LD_MEM: u16 = 0x60;
pub(super) const LD_LEN: u16 = 0x80;

// Loads into X. The last one loads four times the lower half of a byte: the length of an IPv4
// header.
pub(super) const LDX_IMM: u16 = 0x01;
pub(super) const LDX_MEM: u16 = 0x61;
pub(super) const LDX_LEN: u16 = 0x81;
pub(super) const LDX_MSH: u16 = 0xb1;

// Stores A and X into memory.
pub(super) const ST: u16 = 0x02;
pub(super) const STX: u16 = 0x03;

// Arithmetic on A, with a number or with X.
pub(super) const ADD_K: u16 = 0x04;
pub(super) const ADD_X: u16 = 0x0c;
pub(super) const SUB_K: u16 = 0x14;
pub(super) const SUB_X: u16 = 0x1c;
pub(super) const MUL_K: u16 = 0x24;
pub(super) const MUL_X: u16 = 0x2c;
pub(super) const DIV_K: u16 = 0x34;
pub(super) const DIV_X: u16 = 0x3c;
pub(super) const OR_K: u16 = 0x44;
pub(super) const OR_X: u16 = 0x4c;
pub(super) const AND_K: u16 = 0x54;
pub(super) const AND_X: u16 = 0x5c;
pub(super) const LSH_K: u16 = 0x64;
pub(super) const LSH_X: u16 = 0x6c;
pub(super) const RSH_K: u16 = 0x74;
pub(super) const RSH_X: u16 = 0x7c;
pub(super) const NEG: u16 = 0x84;
pub(super) const MOD_K: u16 = 0x94;
pub(super) const MOD_X: u16 = 0x9c;
pub(super) const XOR_K: u16 = 0xa4;
pub(super) const XOR_X: u16 = 0xac;

// Jumps: always, and by how A compares with a number or with X.
pub(super) const JA: u16 = 0x05;
pub(super) const JEQ_K: u16 = 0x15;
pub(super) const JEQ_X: u16 = 0x1d;
pub(super) const JGT_K: u16 = 0x25;
pub(super) const JGT_X: u16 = 0x2d;
pub(super) const JGE_K: u16 = 0x35;
pub(super) const JGE_X: u16 = 0x3d;
pub(super) const JSET_K: u16 = 0x45;
pub(super) const JSET_X: u16 = 0x4d;

// Returns, with a number or with A.
pub(super) const RET_K: u16 = 0x06;
pub(super) const RET_A: u16 = 0x16;

// Transfers from A to X, and back.
pub(super) const TAX: u16 = 0x07;
pub(super) const TXA: u16 = 0x87;

/// Number of words of memory (`BPF_MEMWORDS`).
pub(super) const MEMORY: usize = 16;

/// Offsets of the kernel's metadata of a packet. A program loads it as if it were in the packet at
/// these offsets (`SKF_AD_OFF`), each in four bytes.
pub(super) mod about {
    pub(in super::super) const START: u32 = 0xffff_f000;
    /// `SKF_AD_PROTOCOL`.
    pub(in super::super) const PROTOCOL: u32 = START;
    /// `SKF_AD_PKTTYPE`.
    pub(in super::super) const KIND: u32 = START + 4;
    /// `SKF_AD_IFINDEX`.
    pub(in super::super) const INTERFACE: u32 = START + 8;
    /// `SKF_AD_ALU_XOR_X`, which is no load.
    pub(in super::super) const XOR_X: u32 = START + 40;
    /// `SKF_AD_VLAN_TPID`, the last of them.
    pub(in super::super) const LAST: u32 = START + 60;
}

/// All codes except comparisons.
pub(super) const KNOWN: [u16; 41] = [
    LD_W_ABS, LD_H_ABS, LD_B_ABS, LD_W_IND, LD_H_IND, LD_B_IND, LD_IMM, LD_MEM, LD_LEN, LDX_IMM,
    LDX_MEM, LDX_LEN, LDX_MSH, ST, STX, ADD_K, ADD_X, SUB_K, SUB_X, MUL_K, MUL_X, DIV_K, DIV_X,
    MOD_K, MOD_X, NEG, OR_K, OR_X, AND_K, AND_X, XOR_K, XOR_X, LSH_K, LSH_X, RSH_K, RSH_X, TAX,
    TXA, JA, RET_K, RET_A,
];

/// Returns whether a code jumps by a comparison.
pub(super) const fn compares(code: u16) -> bool {
    matches!(code, JEQ_K | JEQ_X | JGT_K | JGT_X | JGE_K | JGE_X | JSET_K | JSET_X)
}
