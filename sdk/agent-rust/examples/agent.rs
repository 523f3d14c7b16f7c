//! Claims addresses of a network by name, and prints them whenever they change: `agent SOCKET NETWORK NAME...`
//! With `AGENT_SCOPE` in its environment, it is one of several components, and `AGENT_FROM_SCOPE` is the scope that it had before.

use std::env;

use tenure_agent::{Agent, Component, Known, claim};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = env::args().skip(1);
    let (Some(socket), Some(network)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: agent SOCKET NETWORK NAME...");
        std::process::exit(2);
    };
    let scope = env::var("AGENT_SCOPE").unwrap_or_default();
    let component = Component { scope, from_scope: env::var("AGENT_FROM_SCOPE").ok() };
    let agent = Agent::start_as(component, socket, arguments.map(|name| claim(&network, name)));
    let mut news = agent.news();
    while news.changed().await.is_ok() {
        println!("{}", line(&news.borrow_and_update()));
    }
}

/// `current router=10.1.0.2/24`, or `away` with what is known from before and the problem.
fn line(known: &Known) -> String {
    let mut words = vec![if known.is_current { "current" } else { "away" }.to_owned()];
    for claim in known.claims.values() {
        let addresses: Vec<_> = claim.addresses.iter().map(|address| address.address.as_str()).collect();
        words.push(format!("{}={}", claim.name, addresses.join(",")));
    }
    words.extend(known.problem.iter().map(|problem| format!("({problem})")));
    words.join(" ")
}
