//! A model of ipamd's formulas: what it does in one pass of 5 seconds. From the source of amazon-vpc-cni-k8s v1.23.1, as
//! the notes in the book's page have it; nothing of this policy is used.

use std::collections::BTreeMap;

/// A node under ipamd.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ipamd {
    pub(crate) env: BTreeMap<&'static str, i64>,
    /// The addresses, or prefixes, of each interface.
    pub(crate) pool: Vec<i64>,
    /// The pods in each range of each interface; a range has one address, or 16.
    pub(crate) pods: Vec<Vec<i64>>,
    pub(crate) slots: i64,
    pub(crate) most_interfaces: i64,
    pub(crate) most_pods: i64,
    pub(crate) prefixes: bool,
    pub(crate) custom_network: bool,
}

impl Ipamd {
    fn env(&self, name: &str, default: i64) -> i64 {
        self.env.get(name).copied().unwrap_or(default)
    }

    fn unit(&self) -> i64 {
        if self.prefixes { 16 } else { 1 }
    }

    fn total(&self) -> i64 {
        self.pool.iter().sum::<i64>() * self.unit()
    }

    fn assigned(&self) -> i64 {
        self.pods.iter().flatten().sum()
    }

    fn free_prefixes(&self) -> i64 {
        let used: i64 = self.pods.iter().flatten().filter(|pods| **pods > 0).count().try_into().unwrap();
        self.pool.iter().sum::<i64>() - used
    }

    /// What is short, in addresses or prefixes, and what is over.
    fn short_and_over(&self) -> (i64, i64) {
        let (warm, minimum) = (self.env("WARM_IP_TARGET", 0), self.env("MINIMUM_IP_TARGET", 0));
        let (total, assigned) = (self.total(), self.assigned());
        let available = total - assigned;
        let short = (warm - available).max(minimum - total).max(0);
        let over = (available - warm).min(total - minimum).max(0);
        if !self.prefixes {
            return (short, over);
        }
        let ceil = |addresses: i64| addresses.div_euclid(16) + i64::from(addresses.rem_euclid(16) > 0);
        let prefixes: i64 = self.pool.iter().sum();
        let over = self.free_prefixes().min(prefixes - ceil(assigned + warm)).min(prefixes - ceil(minimum));
        (ceil(short), over.max(0))
    }

    fn has_targets(&self) -> bool {
        self.env("WARM_IP_TARGET", 0) > 0 || self.env("MINIMUM_IP_TARGET", 0) > 0
    }

    fn is_low(&self) -> bool {
        let available = self.total() - self.assigned();
        if self.total() >= self.most_pods {
            return false;
        }
        if self.has_targets() {
            return self.short_and_over().0 > 0;
        }
        let (unit, target) = match self.prefixes {
            true => (16, self.env("WARM_PREFIX_TARGET", 0)),
            false => (self.slots, self.env("WARM_ENI_TARGET", 1)),
        };
        available < unit * target || (target == 0 && available == 0)
    }

    /// One pass: it grows, or else it shrinks.
    pub(crate) fn pass(&mut self) -> String {
        if self.is_low() { self.grow() } else { self.shrink() }
    }

    fn grow(&mut self) -> String {
        let short = match (self.has_targets(), self.prefixes) {
            (true, _) => self.short_and_over().0.max(1),
            (false, true) => 1,
            (false, false) => i64::MAX,
        };
        let kind = if self.prefixes { " PD" } else { "" };
        let serving = usize::from(self.custom_network);
        let filled = (serving..self.pool.len()).find(|eni| self.pool[*eni] < self.slots);
        if let Some(eni) = filled {
            let count = short.min(self.slots - self.pool[eni]);
            self.pool[eni] += count;
            return format!("assign {count}{kind} on eni-{eni}");
        }
        let most = self.env("MAX_ENI", i64::MAX).min(self.most_interfaces);
        if i64::try_from(self.pool.len()).unwrap() >= most {
            return "low, no room".into();
        }
        let count = short.min(self.slots);
        self.pool.push(count);
        self.pods.push(Vec::new());
        format!("attach {count}{kind}")
    }

    fn shrink(&mut self) -> String {
        let mut words = Vec::new();
        let over = match (self.has_targets(), self.prefixes) {
            (true, _) => self.short_and_over().1,
            (false, true) => (self.free_prefixes() - self.env("WARM_PREFIX_TARGET", 0)).max(0),
            (false, false) => 0,
        };
        if over > 0 {
            words.push(format!("release {over}"));
        }
        let mut left = over;
        for eni in (0..self.pool.len()).rev() {
            let used: i64 = self.pods[eni].iter().filter(|pods| **pods > 0).count().try_into().unwrap();
            let count = left.min(self.pool[eni] - used);
            self.pool[eni] -= count;
            left -= count;
        }
        if let Some(eni) = self.removable() {
            self.pool.remove(eni);
            self.pods.remove(eni);
            words.push(format!("detach eni-{eni}"));
        }
        if words.is_empty() { "nothing".into() } else { words.join(", ") }
    }

    /// The interface that it detaches: one, if it may, and none of the nine guards holds.
    fn removable(&self) -> Option<usize> {
        let available = self.total() - self.assigned();
        let warm = self.env(if self.prefixes { "WARM_PREFIX_TARGET" } else { "WARM_ENI_TARGET" }, 1);
        let spare = available >= (warm + 1) * self.slots * self.unit();
        let is_unused = |eni: &usize| self.pods[*eni].iter().all(|pods| *pods == 0);
        if !(self.has_targets() || spare || self.prefixes) {
            return None;
        }
        let others = |eni: usize| {
            let total = (self.pool.iter().sum::<i64>() - self.pool[eni]) * self.unit();
            (total, total - self.assigned())
        };
        let (minimum, warm_ip) = (self.env("MINIMUM_IP_TARGET", 0), self.env("WARM_IP_TARGET", 0));
        let empty_elsewhere = |eni: usize| self.free_prefixes() - self.pool[eni];
        (1..self.pool.len()).rev().filter(is_unused).find(|eni| {
            let (total, free) = others(*eni);
            let keeps_prefixes = !self.prefixes || self.has_targets() || empty_elsewhere(*eni) >= warm;
            total >= minimum && free >= warm_ip && keeps_prefixes
        })
    }
}
