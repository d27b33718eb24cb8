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

/// Programs to be loaded all: the strictest answer wins.
pub(super) fn filters() -> io::Result<Vec<Vec<u8>>> {
    Ok(vec![bytes(&denied()?), bytes(&unknown())])
}

/// Answers EPERM to what is denied; a call made by another architecture's convention is fatal.
fn denied() -> io::Result<BpfProgram> {
    let failed = |error: seccompiler::BackendError| io::Error::other(error.to_string());
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        NEVER.iter().map(|&number| (number, Vec::new())).collect();
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

/// Answers ENOSYS to `clone3`, whose flags a filter cannot see (libraries then use `clone`), and to
/// numbers that nobody knew when this was written, among them those of the x32 convention.
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

/// Never allowed, whatever the arguments.
const NEVER: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    // Memory that belongs to no process is in nobody's account.
    libc::SYS_shmget,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    libc::SYS_vmsplice,
];

fn bytes(program: &BpfProgram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for instruction in program {
        bytes.extend(instruction.code.to_ne_bytes());
        bytes.extend([instruction.jt, instruction.jf]);
        bytes.extend(instruction.k.to_ne_bytes());
    }
    bytes
}
