//! The agent: the loop that drives the tools, its models and the command line.
