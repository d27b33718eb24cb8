//! Measures the usage of a container: samples from the engine while it runs, the report of its
//! first process at the end.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bollard::{
    Docker,
    query_parameters::{EventsOptionsBuilder, StatsOptionsBuilder},
};
use futures_util::StreamExt;

use super::super::Captured;

/// The usage of a container, as far as the engine reported it.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct ContainerUsage {
    pub(super) cpu: Duration,
    pub(super) memory: u64,
    pub(super) out_of_memory: bool,
}

/// A task that ends with what it is for.
pub(super) struct UsageWatch(pub(super) tokio::task::JoinHandle<()>);

impl Drop for UsageWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ContainerUsage {
    /// Asks again and again until it is stopped.
    pub(super) async fn look(docker: Docker, name: String, told: Arc<Mutex<ContainerUsage>>) {
        let filters =
            HashMap::from([("container", vec![name.clone()]), ("event", vec!["oom".into()])]);
        let options = EventsOptionsBuilder::new().filters(&filters).build();
        let mut killed = Box::pin(docker.events(Some(options)));
        let options = StatsOptionsBuilder::new().stream(true).build();
        let mut stats = Box::pin(docker.stats(&name, Some(options)));
        loop {
            let (event, stats) = tokio::select! {
                event = killed.next() => (event, None),
                stats = stats.next() => (None, stats),
            };
            let Ok(mut used) = told.lock() else { return };
            match (event, stats) {
                (Some(Ok(_)), _) => used.out_of_memory = true,
                (_, Some(Ok(stats))) => {
                    let cpu = stats.cpu_stats.and_then(|cpu| cpu.cpu_usage?.total_usage);
                    used.cpu = used.cpu.max(Duration::from_nanos(cpu.unwrap_or(0)));
                    let memory = stats.memory_stats.unwrap_or_default();
                    let memory = memory.max_usage.or(memory.usage).unwrap_or(0);
                    used.memory = used.memory.max(memory);
                }
                // The container or the engine is gone; so are the streams.
                _ => return,
            }
        }
    }
}

/// Removes the report of our first process from the end of a stream: the CPU time of its children.
pub(super) fn take_times(stderr: &mut Captured, mark: &str) -> Option<Duration> {
    let mark = format!("\n{mark}\n");
    let at = stderr.bytes.windows(mark.len()).rposition(|window| window == mark.as_bytes())?;
    let times = String::from_utf8_lossy(&stderr.bytes[at + mark.len()..]).into_owned();
    stderr.bytes.truncate(at);
    stderr.gap = stderr.gap.min(at);
    let seconds = |word: &str| {
        let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let children = times.lines().nth(1)?.split_whitespace().filter_map(seconds).sum::<f64>();
    Duration::try_from_secs_f64(children).ok()
}
