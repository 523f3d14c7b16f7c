//! Claims addresses of a network by name, and prints them whenever they change: `agent SOCKET NETWORK NAME...`

use tenure_agent::{Agent, Known, claim};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(socket), Some(network)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: agent SOCKET NETWORK NAME...");
        std::process::exit(2);
    };
    let agent = Agent::start(socket, arguments.map(|name| claim(&network, name)));
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
