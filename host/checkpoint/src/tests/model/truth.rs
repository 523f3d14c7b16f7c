//! What may be on the disk: for each network every sheet since the last one that somebody was told is durable.

use std::collections::BTreeMap;

use tenure_types::NetworkName;

use super::paper::Paper;

/// How many sheets each network had at some time. One order for all: what is durable makes everything before it durable.
pub(super) type Extent = BTreeMap<NetworkName, usize>;

#[derive(Default)]
pub(super) struct Truth {
    /// The newest sheet is what memory says.
    sheets: BTreeMap<NetworkName, Vec<Paper>>,
    acknowledged: Extent,
}

impl Truth {
    /// What memory says of a network.
    pub(super) fn newest(&self, name: &NetworkName) -> Option<&Paper> {
        self.sheets.get(name)?.last()
    }

    /// What memory says of all networks.
    pub(super) fn all_newest(&self) -> BTreeMap<&NetworkName, &Paper> {
        self.sheets.iter().filter_map(|(name, sheets)| Some((name, sheets.last()?))).collect()
    }

    /// What memory says, to be changed by what is not a fact.
    pub(super) fn all_newest_mut(&mut self) -> impl Iterator<Item = &mut Paper> {
        self.sheets.values_mut().filter_map(|sheets| sheets.last_mut())
    }

    /// Notes what a fact has made of a network.
    pub(super) fn note(&mut self, name: &NetworkName, paper: Paper) {
        self.sheets.entry(name.clone()).or_default().push(paper);
    }

    pub(super) fn extent(&self) -> Extent {
        self.sheets.iter().map(|(name, sheets)| (name.clone(), sheets.len())).collect()
    }

    /// Somebody was told that everything up to there is durable.
    pub(super) fn acknowledge(&mut self, extent: &Extent) {
        for (name, count) in extent {
            let known = self.acknowledged.entry(name.clone()).or_default();
            *known = (*known).max(*count);
        }
    }

    /// Checks that what was found is, for each network, a sheet not older than what was acknowledged. Returns which.
    pub(super) fn check(
        &self,
        found: &BTreeMap<NetworkName, Paper>,
        may_be: impl Fn(&Paper, &Paper) -> bool,
    ) -> Extent {
        let lost = self.acknowledged.keys().find(|name| !found.contains_key(*name));
        assert_eq!(lost, None, "it was acknowledged and is gone");
        let which = |(name, paper): (&NetworkName, &Paper)| {
            let sheets = self.sheets.get(name).unwrap_or_else(|| panic!("{name} comes from nowhere"));
            let acknowledged = self.acknowledged.get(name).map_or(0, |count| count - 1);
            let at = (acknowledged..sheets.len()).rev().find(|at| may_be(&sheets[*at], paper));
            let Some(at) = at else {
                panic!("{name} is found as {paper:#?}, and may only be {:#?}", &sheets[acknowledged..])
            };
            (name.clone(), at + 1)
        };
        found.iter().map(which).collect()
    }

    /// Goes on from what a start has found, which is of this extent.
    pub(super) fn go_on(&mut self, found: BTreeMap<NetworkName, Paper>, extent: &Extent) {
        self.sheets.retain(|name, _| found.contains_key(name));
        for (name, paper) in found {
            let sheets = self.sheets.entry(name.clone()).or_default();
            sheets.truncate(extent[&name]);
            // A boot may have changed it without a fact.
            sheets.push(paper);
        }
    }
}
