use super::*;

fn network(name: &str) -> NetworkName {
    NetworkName::new(name).unwrap()
}

fn policy() -> PolicyStamp {
    PolicyStamp { name: PolicyName::new("p").unwrap(), digest: "d".into() }
}

fn failed() -> Result<(), Error> {
    Err(Error::new(ErrorCode::PolicyFailed, "it ran longer than 50 ms"))
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_policy_that_keeps_failing_is_benched_for_longer_and_longer() {
    let (strikes, net) = (Strikes::default(), network("net"));
    let fail = |now| strikes.count(&Requester::Node, &net, &policy(), &failed(), now);
    let refused = |now| strikes.check(&Requester::Node, &net, &policy(), now).is_err();
    (0..4).for_each(|_| fail(at(10)));
    assert!(!refused(at(10)));
    assert_eq!(strikes.benched(at(10)), [], "not yet");
    fail(at(10));
    let refusal = strikes.check(&Requester::Node, &net, &policy(), at(10)).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::PolicyBenched);
    assert_eq!(
        refusal.cause,
        "policy p@d keeps failing on network net; its calls are refused for 1 s; last failure: it ran longer than 50 ms"
    );
    assert_eq!(strikes.benched(at(10)), [("net/p".to_owned(), refusal.cause)]);
    assert!(
        strikes.check(&Requester::Node, &network("other"), &policy(), at(10)).is_ok(),
        "other networks are not affected"
    );
    let mut now = at(11);
    for pause in [2, 4, 8, 16, 32, 60, 60] {
        assert!(!refused(now), "one trial call is made");
        fail(now);
        assert!(refused(now + at(pause) - Duration::from_millis(1)), "{pause} s");
        now += at(pause);
    }
    (0..5).for_each(|_| strikes.count(&Requester::Node, &net, &policy(), &Ok(()), now));
    assert_eq!(strikes.benched(now), []);
    (0..4).for_each(|_| fail(now));
    assert!(!refused(now), "the count starts again at zero");
}

#[test]
fn one_that_fails_more_often_than_not_is_benched_and_one_that_refuses_is_not() {
    let (strikes, net) = (Strikes::default(), network("net"));
    let refusal: Result<(), _> = Err(Error::new(ErrorCode::PoolExhausted, "full"));
    for _ in 0..100 {
        strikes.count(&Requester::Node, &net, &policy(), &failed(), at(1));
        strikes.count(&Requester::Node, &net, &policy(), &refusal, at(1));
    }
    assert!(strikes.check(&Requester::Node, &net, &policy(), at(1)).is_ok());
    for _ in 0..5 {
        (0..2).for_each(|_| strikes.count(&Requester::Node, &net, &policy(), &failed(), at(1)));
        strikes.count(&Requester::Node, &net, &policy(), &refusal, at(1));
    }
    assert!(strikes.check(&Requester::Node, &net, &policy(), at(1)).is_err());
}

#[test]
fn one_that_answers_again_on_a_network_stays_benched_on_another() {
    let strikes = Strikes::default();
    (0..5).for_each(|_| strikes.count(&Requester::Node, &network("bad"), &policy(), &failed(), at(1)));
    strikes.count(&Requester::Node, &network("good"), &policy(), &failed(), at(1));
    strikes.count(&Requester::Node, &network("good"), &policy(), &Ok(()), at(1));
    assert!(strikes.check(&Requester::Node, &network("good"), &policy(), at(1)).is_ok());
    assert!(strikes.check(&Requester::Node, &network("bad"), &policy(), at(1)).is_err());
}

#[test]
fn a_version_is_told_where_it_is_benched_and_no_other_is() {
    let (strikes, other) = (Strikes::default(), PolicyStamp { digest: "e".into(), ..policy() });
    assert!(strikes.benched_versions(at(1), &policy()).is_empty());
    for name in ["b", "a"] {
        (0..5).for_each(|_| strikes.count(&Requester::Node, &network(name), &policy(), &failed(), at(1)));
    }
    (0..4).for_each(|_| strikes.count(&Requester::Node, &network("c"), &policy(), &failed(), at(1)));
    (0..5).for_each(|_| strikes.count(&Requester::Node, &network("d"), &other, &failed(), at(1)));
    let on = |policy| {
        let told = strikes.benched_versions(at(1), policy).into_iter();
        told.map(|message| message.split([' ', ';']).nth(6).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((on(&policy()), on(&other)), (vec!["a".to_owned(), "b".to_owned()], vec!["d".to_owned()]));
}

#[test]
fn names_that_nobody_knows_do_not_add_up() {
    let strikes = Strikes::default();
    for number in 0..COUNTED + 100 {
        strikes.count(&Requester::Node, &network(&format!("n{number}")), &policy(), &failed(), at(1));
    }
    assert_eq!(hold(&strikes.counted).len(), COUNTED);
}

#[test]
fn requests_of_an_agent_bench_a_policy_for_that_agent_only() {
    let (strikes, net) = (Strikes::default(), network("net"));
    let agent = |name: &str| Requester::Agent(AgentName::new(name).unwrap());
    (0..5).for_each(|_| strikes.count(&agent("rogue"), &net, &policy(), &failed(), at(1)));
    let is_refused = |requester: &Requester| strikes.check(requester, &net, &policy(), at(1)).is_err();
    assert!(is_refused(&agent("rogue")) && !is_refused(&agent("cilium")) && !is_refused(&Requester::Node));
    let told = strikes.benched(at(1));
    assert_eq!(told[0].0, "net/p/agents.rogue");
    assert!(told[0].1.starts_with("policy p@d keeps failing on network net for the claims of agent rogue;"));
    (0..5).for_each(|_| strikes.count(&Requester::Node, &net, &policy(), &failed(), at(1)));
    assert!(is_refused(&Requester::Node) && !is_refused(&agent("cilium")));
}

#[test]
fn an_operator_asks_a_benched_policy_and_benches_none() {
    let (strikes, net) = (Strikes::default(), network("net"));
    (0..9).for_each(|_| strikes.count(&Requester::Operator, &net, &policy(), &failed(), at(1)));
    assert!(
        strikes.check(&Requester::Node, &net, &policy(), at(1)).is_ok() && strikes.benched(at(1)).is_empty()
    );
    (0..5).for_each(|_| strikes.count(&Requester::Node, &net, &policy(), &failed(), at(1)));
    strikes.count(&Requester::Operator, &net, &policy(), &Ok(()), at(1));
    assert!(
        strikes.check(&Requester::Node, &net, &policy(), at(1)).is_err(),
        "an operator's call ends no bench"
    );
    assert!(strikes.check(&Requester::Operator, &net, &policy(), at(1)).is_ok());
}

#[test]
fn the_failures_of_a_policy_that_is_no_longer_asked_are_forgotten_after_some_minutes() {
    let (strikes, agent) = (Strikes::default(), Requester::Agent(AgentName::new("cilium").unwrap()));
    for (requester, net) in [(Requester::Node, "net"), (Requester::Node, "gone"), (agent.clone(), "net")] {
        for _ in 0..5 {
            strikes.count(&requester, &network(net), &policy(), &failed(), at(10));
        }
    }
    let left = |now| {
        strikes.forget(at(now), |on, _, requester| on.as_str() == "net" && *requester != agent);
        strikes.benched(at(now)).len()
    };
    assert_eq!((left(309), left(310)), (3, 1));
}
