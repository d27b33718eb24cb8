//! The evaluator judged: by gists whose scores were counted by hand, by gists that cheat or break, and by
//! mutations whose effect an independent run of pytest decides.

mod bed;
mod benching;
mod cheats;
mod examples;
mod failing;
mod helped;
mod homes;
mod hooks;
mod modules;
mod mutations;
mod named;
mod namesakes;
mod reached;
mod references;
mod refusals;
mod sensitive;
mod shop;
mod table;
mod test_support;
mod verified;
