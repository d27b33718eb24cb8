//! Software that is not ours: a proxy before the models and a client of the tools; and a real package,
//! whose tasks are solved under each scaffold.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
};

use super::{
    GIST_OF_SMALL, Ran, SMALL, User,
    packages::{packages, wanted},
    python, read, server,
};

mod clients;
mod executed_lines;
mod functions;
mod proxy;
mod tasks;
