//! The imports that were abandoned, or that would be.

use super::page::Page;
use super::parts::{clean, counted};
use super::shown::Shown;
use crate::report::AbandonedImport;

impl Shown for AbandonedImport {
    /// A line for each import, with what is missing.
    fn page(&self, _: u64) -> Page {
        let mut out = String::new();
        for open in &self.answer.imports {
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
        (true, _) => out.push_str(&format!("network {network} has no interrupted import\n")),
        (false, true) => out.push_str("abandoned; what came over stays with its owners\n"),
        (false, false) => out.push_str(
            "an address that did not come over and is in use would be handed out again\ndry run; pass --apply to make changes\n",
        ),
    }
        out.into()
    }
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
            begun_at_ms: 0,
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
        insta::assert_snapshot!(report(vec![], true), @"network pods has no interrupted import");
    }
}
