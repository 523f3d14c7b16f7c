//! The imports that were abandoned, or that would be.

use tenure_rpc::v1::OpenImport;

use super::page::Page;
use super::parts::{clean, counted};
use super::shown::Shown;
use crate::report::AbandonedImport;

impl Shown for AbandonedImport {
    /// A line for each import, with what is missing.
    fn page(&self, _: u64) -> Page {
        let mut out = String::new();
        let mut none_is_open = true;
        for open in &self.answer.imports {
            if has_ended(open) {
                out.push_str(&format!("{}: the import from it has ended\n", clean(&open.source)));
                continue;
            }
            none_is_open = false;
            let source =
                if open.source.is_empty() { "an unknown source".to_owned() } else { clean(&open.source) };
            let by =
                if open.by.is_empty() { String::new() } else { format!(", begun by {}", clean(&open.by)) };
            let reached = match open.entries {
                0 => counted(open.reached, "entry", "entries"),
                entries => format!("{} of {}", open.reached, counted(entries, "entry", "entries")),
            };
            out.push_str(&format!("import from {source}{by}: {reached} came over\n"));
        }
        let network = clean(&self.network);
        match (self.answer.imports.is_empty(), self.applied) {
            (true, _) => out.push_str(&format!(
                "network {network} has no interrupted import; to let go of a source of one that has ended, name it with --source\n"
            )),
            (false, true) if none_is_open => {
                out.push_str(&format!("network {network} is no longer compared with it\n"));
            }
            (false, true) => out.push_str("abandoned; what came over stays with its owners\n"),
            (false, false) => out.push_str(
                "an address that did not come over and is in use would be handed out again\ndry run; pass --apply to make changes\n",
            ),
        }
        out.into()
    }
}

/// Whether an import had ended, so that its source is let go of.
fn has_ended(import: &OpenImport) -> bool {
    import.begun_at_ms == 0 && !import.source.is_empty()
}

#[cfg(test)]
mod tests {
    use tenure_rpc::v1;

    use super::*;

    fn report(imports: Vec<v1::OpenImport>, applied: bool) -> Page {
        let answer = v1::AbandonImportResponse { imports };
        AbandonedImport { network: "pods".into(), applied, answer }.page(0)
    }

    #[test]
    fn an_abandoned_import_says_what_is_missing() {
        let open = v1::OpenImport {
            source: "host-local /var/lib/cni/networks".into(),
            by: "uid 0".into(),
            entries: 60_000,
            reached: 2048,
            begun_at_ms: 1,
        };
        insta::assert_snapshot!(report(vec![open.clone(), v1::OpenImport::default()], false), @"
        import from host-local /var/lib/cni/networks, begun by uid 0: 2048 of 60000 entries came over
        import from an unknown source: 0 entries came over
        an address that did not come over and is in use would be handed out again
        dry run; pass --apply to make changes
        ");
        insta::assert_snapshot!(report(vec![open], true), @"
        import from host-local /var/lib/cni/networks, begun by uid 0: 2048 of 60000 entries came over
        abandoned; what came over stays with its owners
        ");
        insta::assert_snapshot!(report(vec![], true), @"network pods has no interrupted import; to let go of a source of one that has ended, name it with --source");
        let ended = v1::OpenImport { source: "ipamd /root/ipam.json".into(), ..v1::OpenImport::default() };
        insta::assert_snapshot!(report(vec![ended.clone()], false), @"
        ipamd /root/ipam.json: the import from it has ended
        an address that did not come over and is in use would be handed out again
        dry run; pass --apply to make changes
        ");
        insta::assert_snapshot!(report(vec![ended], true), @"
        ipamd /root/ipam.json: the import from it has ended
        network pods is no longer compared with it
        ");
    }
}
