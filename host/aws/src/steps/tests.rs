mod addresses;
mod detach;

use tenure_ledger::{Intent, IntentOrigin};
use tenure_types::{Attributes, EffectKind, IntentId, Moment, NetworkName, PoolName};

use super::order::Making;
use super::*;
use crate::names::INTENT_TAG;
use crate::port::{Assign, Failure, Status};
use crate::samples::{Ledger, interface, net, seconds};
use crate::settings::Ec2Settings;

/// An intent that is carried out by hand.
struct Run {
    order: IntentOrder,
    reached: IntentProgress,
    memory: IntentMemory,
    facts: StepFacts,
}

fn order(kind: EffectKind, attributes: &[(&str, &str)]) -> IntentOrder {
    let intent = Intent {
        id: IntentId::new("intent-1").unwrap(),
        network: NetworkName::new("pods").unwrap(),
        pool: PoolName::new("ipv4").unwrap(),
        kind,
        attributes: Attributes::new(attributes.iter().copied()).unwrap(),
        takes: Vec::new(),
        origin: IntentOrigin::Host,
        since: Moment { boot_ns: 5, wall_ms: 1_767_225_600_000 },
        reached: Attributes::default(),
    };
    let (groups, settings) = (["sg-1".to_owned()], Ec2Settings::default());
    let making = Making { instance: "i-1", subnet: Some("subnet-1"), groups: &groups, settings: &settings };
    IntentOrder::of(&intent, &making, &Ledger::new().book).unwrap()
}

impl Run {
    fn new(order: IntentOrder) -> Self {
        let facts = StepFacts { now: seconds(0), window: seconds(60), ..StepFacts::default() };
        Self { order, reached: IntentProgress::default(), memory: IntentMemory::new(), facts }
    }

    fn attach() -> Self {
        Self::new(order(EffectKind::AttachInterface, &[("addresses", "3"), ("subnet", "subnet-2")]))
    }

    fn assign() -> Self {
        let mut run = Self::new(order(EffectKind::AssignAddress, &[("interface", "eni-1"), ("count", "2")]));
        run.facts.carries = vec![net("10.0.0.5/32")];
        run
    }

    fn detach() -> Self {
        Self::new(order(EffectKind::DetachInterface, &[("interface", "eni-1")]))
    }

    fn release() -> Self {
        let aim = Aim::Release { interface: "eni-1".to_owned(), net: net("10.0.0.16/28") };
        Self::new(IntentOrder { id: "intent-1".to_owned(), instance: "i-1".to_owned(), aim })
    }

    fn next(&self) -> Step {
        next(&self.order, &self.reached, &self.memory, &self.facts)
    }

    /// The next step that is no wait; waits are waited for.
    fn step(&mut self) -> Step {
        loop {
            match self.next() {
                Step::Wait(wait) => {
                    self.facts.now += wait;
                    heard(&self.order, &mut self.reached, &mut self.memory, &self.facts, &StepEvent::Waited);
                }
                step => return step,
            }
        }
    }

    fn call(&mut self) -> Request {
        let Step::Call(request) = self.step() else { panic!("{:?} is no call", self.next()) };
        prepare(&request, &mut self.reached, &self.facts);
        request
    }

    fn answers(&mut self, answer: Answer) {
        self.hears(&Ok(answer));
    }

    fn hears(&mut self, answer: &Result<Answer, CallError>) {
        let request = self.call();
        let what = StepEvent::Answer(&request, answer);
        heard(&self.order, &mut self.reached, &mut self.memory, &self.facts, &what);
    }

    fn fails(&mut self, failure: Failure) {
        let error = CallError {
            action: "Action",
            failure,
            code: format!("{failure:?}"),
            message: "words".to_owned(),
            retry_after: None,
        };
        self.hears(&Err(error));
    }

    fn shows(&mut self, shown: Option<&Ec2Interface>) {
        assert!(matches!(self.step(), Step::Look(_)), "{:?} is no look", self.next());
        let what = StepEvent::Shown(shown);
        heard(&self.order, &mut self.reached, &mut self.memory, &self.facts, &what);
    }

    /// A crash: only what is durable is left.
    fn crash(&mut self) {
        self.reached = IntentProgress::of(&self.reached.attributes().unwrap());
        self.memory = IntentMemory::resumed(&self.reached);
    }

    fn created(&mut self) {
        self.answers(Answer::Created(Box::new(available())));
    }

    fn attached(&mut self) {
        self.answers(Answer::Attached("eni-1-attach".to_owned()));
    }
}

/// The interface, attached to nothing.
fn available() -> Ec2Interface {
    let tags = [(INTENT_TAG.to_owned(), "intent-1".to_owned())].into();
    Ec2Interface { status: Status::Available, attachment: None, tags, ..at(1) }
}

/// The interface at a device index.
fn at(device: u32) -> Ec2Interface {
    interface("eni-1", device, &["10.0.0.5/32", "10.0.0.6/32"])
}

fn attach_at(device: u32) -> Request {
    Request::Attach { interface: "eni-1".to_owned(), device }
}

#[test]
fn an_interface_is_created_attached_kept_and_waited_for() {
    let mut run = Run::attach();
    let Aim::Attach { creation, .. } = &run.order.aim else { panic!() };
    assert_eq!((creation.token.as_str(), creation.subnet.as_str()), ("intent-1", "subnet-2"));
    assert_eq!((creation.description.as_str(), &creation.carries), ("aws-K8S-i-1", &Assign::Addresses(3)));
    assert_eq!(creation.tags["node.k8s.amazonaws.com/createdAt"], "2026-01-01T00:00:00Z");
    run.facts.devices = [0, 1, 3].into();
    assert_eq!(run.call(), Request::Create);
    run.created();
    assert_eq!(run.call(), attach_at(2), "the lowest free index");
    run.attached();
    assert!(matches!(run.call(), Request::DeleteWithInstance { .. }));
    run.answers(Answer::Done);
    run.shows(None);
    run.shows(Some(&Ec2Interface { status: Status::Attaching, ..at(2) }));
    run.shows(Some(&at(2)));
    assert_eq!(run.step(), Step::Done(Change::Attached(Box::new(at(2)))));
}

#[test]
fn a_creation_whose_answer_is_lost_is_repeated_with_its_token() {
    let mut run = Run::attach();
    run.fails(Failure::Unknown);
    assert_eq!(run.call(), Request::Create);
    run.crash();
    run.created();
    run.shows(Some(&available()));
    assert_eq!(run.call(), attach_at(1));
}

#[test]
fn what_a_lost_call_created_is_deleted_when_a_repeated_one_is_refused() {
    let mut run = Run::attach();
    run.fails(Failure::Unknown);
    run.fails(Failure::SubnetExhausted);
    let Step::Look(Which::Tagged(tags)) = run.step() else { panic!("{:?}", run.step()) };
    assert_eq!(tags[INTENT_TAG], "intent-1");
    run.shows(None);
    assert_eq!(run.step(), Step::Undone("Action: SubnetExhausted: words".to_owned()));
    let mut run = Run::attach();
    run.fails(Failure::SubnetExhausted);
    assert!(matches!(run.step(), Step::Undone(_)), "nothing was lost");
    let mut run = Run::attach();
    run.fails(Failure::TokenReused);
    run.shows(Some(&available()));
    run.shows(Some(&available()));
    assert_eq!(run.call(), attach_at(1), "the settings have changed since");
}

#[test]
fn the_next_index_is_tried_up_to_five_times() {
    let mut run = Run::attach();
    run.created();
    for device in 1..=5 {
        assert_eq!(run.call(), attach_at(device));
        run.fails(Failure::IndexTaken);
        run.shows(Some(&available()));
    }
    assert_eq!(run.call(), Request::Delete { interface: "eni-1".to_owned() });
    run.answers(Answer::Done);
    assert_eq!(run.step(), Step::Undone("Action: IndexTaken: words".to_owned()));
}

#[test]
fn an_index_that_is_taken_by_the_interface_itself_is_its_place() {
    let mut run = Run::attach();
    run.created();
    run.fails(Failure::Unknown);
    run.shows(Some(&at(1)));
    assert!(matches!(run.call(), Request::DeleteWithInstance { .. }));
    let mut run = Run::attach();
    run.created();
    run.fails(Failure::IndexTaken);
    run.shows(Some(&at(1)));
    assert!(matches!(run.call(), Request::DeleteWithInstance { .. }));
}

#[test]
fn an_interface_that_does_not_fit_is_deleted() {
    for failure in [Failure::InstanceFull, Failure::InterfaceFull, Failure::Denied, Failure::InstanceState] {
        let mut run = Run::attach();
        run.created();
        run.fails(failure);
        run.crash();
        run.shows(Some(&available()));
        run.fails(Failure::Unknown);
        run.fails(Failure::NotFound);
        run.facts.now += seconds(60);
        run.fails(Failure::NotFound);
        assert_eq!(run.step(), Step::Undone(format!("Action: {failure:?}: words")));
    }
}

#[test]
fn a_new_interface_that_is_not_found_yet_is_waited_for_and_never_taken_for_deleted() {
    let mut run = Run::attach();
    run.created();
    for _ in 0..10 {
        run.fails(Failure::NotFound);
        assert_eq!(run.call(), attach_at(1));
    }
    run.fails(Failure::InstanceFull);
    run.shows(Some(&available()));
    run.fails(Failure::NotFound);
    assert!(matches!(run.call(), Request::Delete { .. }), "it is too new to be gone");
}

#[test]
fn an_attached_interface_that_is_undone_is_detached_first() {
    let mut run = Run::attach();
    run.created();
    run.attached();
    run.fails(Failure::Denied);
    run.shows(Some(&at(1)));
    assert_eq!(run.call(), Request::Detach { attachment: "eni-1-attach".to_owned() });
    run.answers(Answer::Done);
    run.shows(Some(&Ec2Interface { status: Status::Detaching, ..at(1) }));
    run.shows(Some(&available()));
    run.answers(Answer::Done);
    assert!(matches!(run.step(), Step::Undone(_)));
}

#[test]
fn an_interface_that_somebody_attaches_elsewhere_while_it_arrives_is_let_go_at_once() {
    let mut run = Run::attach();
    run.created();
    run.attached();
    run.answers(Answer::Done);
    let mut elsewhere = at(1);
    elsewhere.attachment.as_mut().unwrap().instance = "i-2".to_owned();
    run.facts.has_link = None;
    run.shows(Some(&elsewhere));
    run.shows(Some(&elsewhere));
    assert_eq!(run.step(), Step::Undone("somebody has attached it to i-2".to_owned()));
}

#[test]
fn an_interface_that_somebody_attaches_elsewhere_before_it_is_attached_is_let_go_at_once() {
    let mut run = Run::attach();
    run.created();
    run.fails(Failure::InUse);
    let mut elsewhere = at(1);
    elsewhere.attachment.as_mut().unwrap().instance = "i-2".to_owned();
    run.shows(Some(&elsewhere));
    run.shows(Some(&elsewhere));
    assert_eq!(run.step(), Step::Undone("somebody has attached it to i-2".to_owned()));
}

#[test]
fn an_interface_that_ec2_says_was_created_before_is_looked_for_until_describes_show_it() {
    let mut run = Run::attach();
    run.fails(Failure::TokenReused);
    run.shows(None);
    run.shows(Some(&available()));
    assert_eq!(run.reached.interface.as_deref(), Some("eni-1"));
    let mut run = Run::attach();
    run.fails(Failure::TokenReused);
    while matches!(run.step(), Step::Look(_)) {
        run.shows(None);
    }
    assert!(run.facts.now >= seconds(60), "{:?}", run.facts.now);
    assert!(matches!(run.step(), Step::Undone(_)));
}

#[test]
fn an_interface_that_is_not_shown_is_gone_a_window_later_unless_ec2_hides_it() {
    let hidden = || {
        let mut run = Run::detach();
        run.shows(None);
        while matches!(run.step(), Step::Look(_)) {
            run.shows(None);
        }
        assert!(run.facts.now >= seconds(60));
        assert_eq!(run.call(), Request::Delete { interface: "eni-1".to_owned() });
        run
    };
    let done = Step::Done(Change::Detached("eni-1".to_owned()));
    let (mut gone, mut off, mut attached) = (hidden(), hidden(), hidden());
    gone.fails(Failure::NotFound);
    assert_eq!(gone.step(), done);
    off.answers(Answer::Done);
    assert_eq!(off.step(), done);
    attached.fails(Failure::InUse);
    attached.shows(Some(&at(1)));
    assert_eq!(attached.call(), Request::Detach { attachment: "eni-1-attach".to_owned() });
}

#[test]
fn an_intent_without_its_attributes_is_refused_by_name() {
    let making = Making { instance: "i-1", subnet: None, groups: &[], settings: &Ec2Settings::default() };
    let book = Ledger::new().book;
    for (kind, words) in [
        (EffectKind::AttachInterface, "attach-interface has no usable attribute subnet"),
        (EffectKind::AssignPrefix, "assign-prefix has no usable attribute interface"),
        (EffectKind::ReleasePrefix, "release-prefix has no usable attribute range"),
        (EffectKind::RequestBlock, "request-block is not supported by AWS interfaces"),
    ] {
        let intent = Intent {
            id: IntentId::new("intent-1").unwrap(),
            network: NetworkName::new("pods").unwrap(),
            pool: PoolName::new("ipv4").unwrap(),
            kind,
            attributes: Attributes::default(),
            takes: Vec::new(),
            origin: IntentOrigin::Host,
            since: Moment::default(),
            reached: Attributes::default(),
        };
        assert_eq!(IntentOrder::of(&intent, &making, &book).unwrap_err().to_string(), words);
    }
}
