//! Tests the state that all workers of a process share, and the record of an exchange.

use super::*;

#[test]
fn all_workers_keep_one_rate() {
    let server = Server::start(vec![hello()]);
    // 1200 a minute: one in 50 ms.
    let supply = supply(&server, "openai/x", &["model.requests_per_minute=1200"]);
    thread::scope(|scope| {
        for _ in 0..16 {
            let mut model = open(&supply);
            scope.spawn(move || assert_eq!(shown(&ask_with(&mut *model, &opening())), "hello"));
        }
    });
    let mut times: Vec<_> = server.seen().iter().map(|seen| seen.at).collect();
    times.sort();
    assert_eq!(times.len(), 16);
    // A request may be late, which brings it nearer to the next one; all 16 together cannot be early.
    assert!(times[15] - times[0] >= Duration::from_millis(600), "{:?}", times[15] - times[0]);
}

#[test]
fn all_providers_keep_one_rate_and_one_account() {
    let server = Server::start(vec![hello()]);
    let sets = ["model.requests_per_minute=1200", "model.total_steps=16"];
    let one = supply(&server, "openai/x", &sets);
    let mut other = supply(&server, "litellm/x", &sets);
    other.share([&one].into_iter());
    thread::scope(|scope| {
        for at in 0..16 {
            let mut model = open(if at % 2 == 0 { &one } else { &other });
            scope.spawn(move || {
                assert_eq!(shown(&ask_with(&mut *model, &opening())), "hello");
            });
        }
    });
    let mut times: Vec<_> = server.seen().iter().map(|seen| seen.at).collect();
    times.sort();
    assert!(times[15] - times[0] >= Duration::from_millis(600), "{:?}", times[15] - times[0]);
    for each in [&one, &other] {
        assert_eq!(each.spent().check(), Err(Outcome::StepLimit));
    }
    // What one provider has no quota for, another may have.
    let one = supply(&server, "openai/x", &[]);
    let (mut other, mut third) =
        (supply(&server, "litellm/x", &[]), supply(&server, "openai/y", &[]));
    other.share([&one].into_iter());
    third.share([&other, &one].into_iter());
    one.spent().exhaust("no money");
    let paused = Outcome::Paused { message: "no money".to_owned() };
    assert_eq!(third.spent().check(), Err(paused));
    assert_eq!(other.spent().check(), Ok(()));
}

#[test]
fn recorded_exchanges_are_played_without_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(vec![Does::Answer(500, "", String::new()), hello()]);
    let mut model =
        supply(&server, "openai/x", &["model.record=true"]).open(directory.path()).unwrap().0;
    let first = ask_with(&mut *model, &opening());
    let recorded = std::fs::read_to_string(directory.path().join("exchanges.jsonl")).unwrap();
    assert!(!recorded.contains(KEY));
    let replay = format!("model.replay={}", directory.path().join("exchanges.jsonl").display());
    let nobody = Server::start(vec![Does::Answer(418, "", String::new())]);
    let mut model = supply(&nobody, "openai/x", &[&replay]).open(directory.path()).unwrap().0;
    assert_eq!(ask_with(&mut *model, &opening()), first);
    assert!(nobody.seen().is_empty());
}

#[test]
fn d05_what_one_worker_is_told_holds_for_all() {
    let told = Does::Answer(429, "retry-after: 0.5\r\n", "{}".to_owned());
    let server = Server::start(vec![told, hello()]);
    let supply = supply(&server, "openai/x", &["model.wait_seconds=30"]);
    let asked = |model: &mut dyn Model| assert_eq!(shown(&ask_with(model, &opening())), "hello");
    let (mut first, mut others) = (open(&supply), [open(&supply), open(&supply)]);
    thread::scope(|scope| {
        scope.spawn(move || asked(&mut *first));
        while server.seen().is_empty() {
            thread::yield_now();
        }
        // What is being told takes a moment to arrive; then nobody asks before its time.
        thread::sleep(Duration::from_millis(200));
        for other in &mut others {
            scope.spawn(move || asked(&mut **other));
        }
    });
    let seen = server.seen();
    assert_eq!(seen.len(), 4);
    assert!(seen[1..].iter().all(|seen_| seen_.at - seen[0].at >= Duration::from_millis(500)));
}

#[test]
fn d07_a_quota_that_one_worker_met_stops_all() {
    let error = json!({ "error": { "message": "no money", "code": "insufficient_quota" } });
    let server = Server::start(vec![Does::Answer(429, JSON, error.to_string()), hello()]);
    let supply = supply(&server, "openai/x", &[]);
    assert_eq!(supply.spent().check(), Ok(()));
    let answer = ask_with(&mut *open(&supply), &opening());
    let paused = Outcome::Paused { message: "429 Too Many Requests: no money".to_owned() };
    assert_eq!(answer.map_err(Outcome::from), Err(paused.clone()));
    assert_eq!(supply.spent().check(), Err(paused));
}
