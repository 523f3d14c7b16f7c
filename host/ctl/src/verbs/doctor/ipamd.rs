//! Rules that ipamd has left in iptables: it translates before the daemon does, by what the VPC was when ipamd ran last.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::report::NodeCheck;

/// How the names of ipamd's chains begin.
const CHAINS: [&str; 2] = ["AWS-SNAT-CHAIN-", "AWS-CONNMARK-CHAIN-"];

/// The programs that list chains, with their arguments. Which of them knows ipamd's depends on the iptables that ipamd has found.
const PROGRAMS: [(&str, &[&str]); 3] =
    [("nft", &["list", "chains", "ip"]), ("iptables-legacy-save", &[]), ("iptables-save", &[])];

/// The longest that a program may run.
const LIMIT: Duration = Duration::from_secs(5);

/// Looks for ipamd's chains in the kernel. Those of iptables-legacy are seen only where its program is, as in no container.
pub(super) async fn rules(root: &Path, sees_mounts_only: bool) -> NodeCheck {
    const NAME: &str = "ipamd-rules";
    if root != Path::new("/") {
        return NodeCheck::skipped(NAME, "the rules of another root are not in this kernel");
    }
    let mut listings = Vec::new();
    for (program, arguments) in PROGRAMS {
        listings.extend(listing(program, arguments).await);
    }
    let found: BTreeSet<&str> = listings.iter().flat_map(|listing| chains(listing)).collect();
    if !found.is_empty() {
        let found: Vec<&str> = found.into_iter().collect();
        return NodeCheck::warning(
            NAME,
            format!("iptables has ipamd's {}, which overrule the daemon's SNAT", found.join(" and ")),
            "once no aws-node runs here, remove them, as the book says (\"Moving over from ipamd\"), or reboot",
        );
    }
    match listings.is_empty() {
        true => NodeCheck::skipped(NAME, "neither nft nor iptables-save can be run"),
        false if sees_mounts_only => {
            NodeCheck::fine(NAME, "none in nftables; those of iptables-legacy cannot be seen here")
        }
        false => NodeCheck::fine(NAME, "none"),
    }
}

/// The names of ipamd's chains in a listing.
fn chains(listing: &str) -> impl Iterator<Item = &str> {
    let words = listing.split(|character: char| !(character.is_ascii_alphanumeric() || character == '-'));
    words.filter(|word| CHAINS.iter().any(|chain| word.starts_with(chain)))
}

/// The text that a program writes; `None` if it cannot be run, or fails.
async fn listing(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(LIMIT, command.output()).await.ok()?.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipamds_chains_are_found_in_the_listing_of_each_program() {
        let nft = "table ip nat {\n\tchain POSTROUTING {\n\t}\n\tchain AWS-SNAT-CHAIN-0 {\n\t}\n}\n";
        let save = "*nat\n:AWS-CONNMARK-CHAIN-0 - [0:0]\n:KUBE-SERVICES - [0:0]\n-A POSTROUTING -j AWS-SNAT-CHAIN-0\n";
        assert_eq!(chains(nft).collect::<Vec<_>>(), ["AWS-SNAT-CHAIN-0"]);
        assert_eq!(chains(save).collect::<Vec<_>>(), ["AWS-CONNMARK-CHAIN-0", "AWS-SNAT-CHAIN-0"]);
        assert_eq!(chains("table ip tenure {\n\tchain translate {\n").count(), 0);
    }

    #[tokio::test]
    async fn another_root_has_another_kernel() {
        let check = rules(Path::new("/mnt"), false).await;
        assert_eq!(check.verdict, crate::report::CheckVerdict::Skipped);
    }
}
