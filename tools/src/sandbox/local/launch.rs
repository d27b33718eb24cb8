//! Builds the command line that a supervisor starts for a request.

use std::{
    ffi::{CString, OsStr},
    io,
    os::unix::ffi::OsStrExt,
    path::Path,
};

use super::{Builder, Walls};
use crate::sandbox::{Limits, Request, bubblewrap, namespaces, supervise::Launch, view::view};

pub(super) fn launch(request: &Request) -> io::Result<Launch> {
    let program = absolute(&request.program)?;
    let mut args = vec![program.clone()];
    for arg in &request.args {
        args.push(c_string(arg)?);
    }
    let mut env = Vec::new();
    for (name, value) in &request.env {
        env.push(c_string(OsStr::new(&format!("{name}={value}")))?);
    }
    Ok(Launch {
        program,
        args,
        env,
        cwd: absolute(&request.cwd)?,
        rlimits: rlimits(&request.limits),
        groups: Vec::new(),
        birthplace: None,
        group_paths: Vec::new(),
        boxed: None,
        walls: None,
    })
}

/// Starts the program behind walls.
pub(super) fn walled_launch(request: &Request, walls: &Walls) -> io::Result<Launch> {
    let plain = launch(request)?;
    let view = view(request)?;
    match &walls.builder {
        Builder::Ours(landlock) => {
            let walls = namespaces::Walls::new(request, &view, &walls.filters, *landlock)?;
            Ok(Launch { walls: Some(walls), ..plain })
        }
        Builder::Bubblewrap(program) => {
            let (args, boxed) = bubblewrap::arguments(request, &view, &walls.filters)?;
            Ok(Launch {
                program: c_string(program.as_os_str())?,
                args,
                // Bubblewrap itself gets no environment: it could be read from inside.
                env: Vec::new(),
                cwd: CString::from(c"/"),
                boxed: Some(boxed),
                ..plain
            })
        }
    }
}

/// Limits that the kernel keeps for each process; those of the tree are looked at by [`RunningRequest`].
fn rlimits(limits: &Limits) -> Vec<(u32, u64)> {
    // Interpreters and numeric libraries reserve far more addresses than they use.
    let addresses = limits.memory.saturating_mul(4).max(limits.memory.saturating_add(16 << 30));
    vec![
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_CPU, limits.cpu.as_secs() + 2),
        (libc::RLIMIT_FSIZE, limits.file),
        (libc::RLIMIT_AS, addresses),
        (libc::RLIMIT_NOFILE, 4096),
    ]
}

fn absolute(path: &Path) -> io::Result<CString> {
    if !path.is_absolute() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is no absolute path", path.display()),
        ));
    }
    c_string(path.as_os_str())
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::from)
}
