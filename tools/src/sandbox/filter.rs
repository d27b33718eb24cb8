//! The system calls that a sandboxed program may not make.
//!
//! Denied is what widens the kernel's surface or leads out of a namespace: new namespaces and
//! mounts, tracing, io_uring, BPF, keys, clocks, modules, and sockets of other families than those
//! that programs talk with. All else is allowed. The filter is a value; who loads it is not its
//! concern.

use std::{collections::BTreeMap, io};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};
use serde_json::json;

/// Programs to be loaded all: the strictest answer wins.
pub(super) fn filters() -> io::Result<Vec<Vec<u8>>> {
    Ok(vec![bytes(&denied()?), bytes(&unknown())])
}

/// The same for a container engine, which takes names.
pub(super) fn profile() -> serde_json::Value {
    let deny = |names: &[&str], args: serde_json::Value| json!({ "names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": libc::EPERM, "args": args });
    let argument = |index: u32, value: u64, operator: &str| {
        let two = if operator == "SCMP_CMP_MASKED_EQ" { value } else { 0 };
        json!([{ "index": index, "value": value, "valueTwo": two, "op": operator }])
    };
    let names: Vec<&str> =
        NEVER.iter().map(|(name, _)| name.strip_prefix("SYS_").unwrap_or(name)).collect();
    let mut rules = vec![deny(&names, json!([]))];
    for flag in NAMESPACES {
        rules.push(deny(&["clone"], argument(0, flag as u64, "SCMP_CMP_MASKED_EQ")));
    }
    let sockets = ["socket", "socketpair"];
    let last = FAMILIES.into_iter().max().unwrap_or(0);
    // One rule cannot say more than one thing of an argument.
    for family in (0..last).filter(|family| !FAMILIES.contains(family)) {
        rules.push(deny(&sockets, argument(0, family as u64, "SCMP_CMP_EQ")));
    }
    rules.push(deny(&sockets, argument(0, last as u64, "SCMP_CMP_GT")));
    for request in [libc::TIOCSTI, TIOCLINUX] {
        rules.push(deny(&["ioctl"], argument(1, request, "SCMP_CMP_EQ")));
    }
    let unknown = json!({
        "names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": libc::ENOSYS, "args": []
    });
    rules.push(unknown);
    json!({ "defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules })
}

/// Answers EPERM to what is denied; a call made by another architecture's convention is fatal.
fn denied() -> io::Result<BpfProgram> {
    let failed = |error: seccompiler::BackendError| io::Error::other(error.to_string());
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        NEVER.iter().map(|&(_, number)| (number, Vec::new())).collect();
    let rule = |conditions: Vec<SeccompCondition>| SeccompRule::new(conditions).map_err(failed);
    let argument = |index: u8, operator: SeccompCmpOp, value: u64| {
        SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value).map_err(failed)
    };
    let mut namespaces = Vec::new();
    for flag in NAMESPACES {
        let flag = flag as u64;
        namespaces.push(rule(vec![argument(0, SeccompCmpOp::MaskedEq(flag), flag)?])?);
    }
    rules.insert(libc::SYS_clone, namespaces);
    let families = FAMILIES.iter().map(|&family| argument(0, SeccompCmpOp::Ne, family as u64));
    let families = rule(families.collect::<io::Result<_>>()?)?;
    rules.insert(libc::SYS_socket, vec![families.clone()]);
    rules.insert(libc::SYS_socketpair, vec![families]);
    let mut terminals = Vec::new();
    for request in [libc::TIOCSTI, TIOCLINUX] {
        terminals.push(rule(vec![argument(1, SeccompCmpOp::Eq, request)?])?);
    }
    rules.insert(libc::SYS_ioctl, terminals);
    let machine = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
    let deny = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, deny, machine).map_err(failed)?;
    BpfProgram::try_from(filter).map_err(failed)
}

/// Answers ENOSYS to `clone3`, whose flags a filter cannot see (libraries then use `clone`).
/// Answers the same to system call numbers that were unknown when this was written, among them the
/// x32 convention's.
fn unknown() -> BpfProgram {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let code = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        // The number is the first field of what a filter sees.
        code(LOAD, 0, 0, 0),
        code(IF_EQUAL, 2, 0, libc::SYS_clone3 as u32),
        code(IF_AT_LEAST, 1, 0, FIRST_UNKNOWN),
        code(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        code(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ]
}

/// Linux 6.18 has fewer.
const FIRST_UNKNOWN: u32 = 480;
const TIOCLINUX: u64 = 0x541c;

const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

const FAMILIES: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Calls by name and number.
macro_rules! calls {
    ($($(#[$only:meta])* $call:ident)*) => { &[$( $(#[$only])* (stringify!($call), libc::$call) ),*] };
}

/// Never allowed, whatever the arguments.
const NEVER: &[(&str, i64)] = calls! {
    SYS_acct
    SYS_add_key
    SYS_adjtimex
    SYS_bpf
    SYS_chroot
    SYS_clock_adjtime
    SYS_clock_settime
    SYS_delete_module
    SYS_fanotify_init
    SYS_finit_module
    SYS_fsconfig
    SYS_fsmount
    SYS_fsopen
    SYS_fspick
    SYS_init_module
    SYS_io_uring_enter
    SYS_io_uring_register
    SYS_io_uring_setup
    #[cfg(target_arch = "x86_64")]
    SYS_ioperm
    #[cfg(target_arch = "x86_64")]
    SYS_iopl
    SYS_kcmp
    SYS_kexec_file_load
    SYS_kexec_load
    SYS_keyctl
    SYS_lookup_dcookie
    #[cfg(target_arch = "x86_64")]
    SYS_modify_ldt
    SYS_mount
    SYS_mount_setattr
    SYS_move_mount
    SYS_name_to_handle_at
    SYS_open_by_handle_at
    SYS_open_tree
    SYS_perf_event_open
    SYS_pidfd_getfd
    SYS_pivot_root
    SYS_process_madvise
    SYS_process_vm_readv
    SYS_process_vm_writev
    SYS_ptrace
    SYS_quotactl
    SYS_quotactl_fd
    SYS_reboot
    SYS_request_key
    SYS_setdomainname
    SYS_sethostname
    SYS_setns
    SYS_settimeofday
    // Memory that belongs to no process is in nobody's account.
    SYS_shmget
    SYS_swapoff
    SYS_swapon
    SYS_syslog
    SYS_umount2
    SYS_unshare
    #[cfg(target_arch = "x86_64")]
    SYS_uselib
    SYS_userfaultfd
    SYS_vhangup
    SYS_vmsplice
};

fn bytes(program: &BpfProgram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for instruction in program {
        bytes.extend(instruction.code.to_ne_bytes());
        bytes.extend([instruction.jt, instruction.jf]);
        bytes.extend(instruction.k.to_ne_bytes());
    }
    bytes
}
