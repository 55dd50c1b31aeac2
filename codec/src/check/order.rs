//! The order of surface nodes.

/// Surface nodes in the order in which the model sees them, each named by its seq.
///
/// A plain list would do, but for logs that replace nodes far from its end again and again: here a node is found by
/// binary search, and replacing a stretch takes time by its length. 16 bytes a node that ever was on the surface.
#[derive(Debug, Default)]
pub struct NodeOrder {
    /// All nodes that ever were, by ascending seq: a new node always has the highest.
    links: Vec<Link>,
    first: Option<u32>,
    last: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    seq: u64,
    next: u32,
    previous: u32,
}

/// No neighbour.
const END: u32 = u32::MAX;
/// As `next`: off the surface.
const GONE: u32 = u32::MAX - 1;

/// Why two seqs name no stretch of the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoStretch {
    /// This seq is not on the surface.
    Missing(u64),
    /// The start stands behind the end.
    Reversed,
}

impl NodeOrder {
    /// An empty surface.
    pub fn new() -> Self {
        Self::default()
    }

    /// True when there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The nodes in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.walk(self.first.unwrap_or(END))
    }

    /// Put a node at the end. Its seq must be higher than that of any node before; else nothing happens.
    pub fn push(&mut self, seq: u64) {
        let Some(new) = self.add(seq) else { return };
        self.join(self.last.unwrap_or(END), new);
        self.join(new, END);
    }

    /// The nodes from `start` to `end`, both included.
    pub fn stretch(&self, start: u64, end: u64) -> Result<Vec<u64>, NoStretch> {
        let from = self.find(start).ok_or(NoStretch::Missing(start))?;
        self.find(end).ok_or(NoStretch::Missing(end))?;
        let mut found = false;
        let nodes = self
            .walk(from)
            .take_while(|&seq| {
                let before = !found;
                found |= seq == end;
                before
            })
            .collect();
        if found { Ok(nodes) } else { Err(NoStretch::Reversed) }
    }

    /// Put one node in the place of a stretch. Its seq must be higher than that of any node before; else nothing happens.
    pub fn replace(&mut self, start: u64, end: u64, seq: u64) -> Result<Vec<u64>, NoStretch> {
        let removed = self.stretch(start, end)?;
        let (Some(from), Some(to)) = (self.find(start), self.find(end)) else { return Ok(removed) };
        let Some(new) = self.add(seq) else { return Ok(Vec::new()) };
        let before = self.links[from as usize].previous;
        let after = self.links[to as usize].next;
        for &node in &removed {
            if let Some(at) = self.find(node) {
                self.links[at as usize].next = GONE;
            }
        }
        self.join(before, new);
        self.join(new, after);
        Ok(removed)
    }

    fn add(&mut self, seq: u64) -> Option<u32> {
        if self.links.last().is_some_and(|last| last.seq >= seq) {
            return None;
        }
        let new = u32::try_from(self.links.len()).ok().filter(|&new| new < GONE)?;
        self.links.push(Link { seq, next: END, previous: END });
        Some(new)
    }

    fn join(&mut self, left: u32, right: u32) {
        match self.links.get_mut(left as usize) {
            Some(link) => link.next = right,
            None => self.first = Some(right).filter(|&right| right != END),
        }
        match self.links.get_mut(right as usize) {
            Some(link) => link.previous = left,
            None => self.last = Some(left).filter(|&left| left != END),
        }
    }

    fn find(&self, seq: u64) -> Option<u32> {
        let at = self.links.binary_search_by_key(&seq, |link| link.seq).ok()?;
        if self.links[at].next == GONE { None } else { u32::try_from(at).ok() }
    }

    fn walk(&self, from: u32) -> impl Iterator<Item = u64> {
        let mut at = from;
        std::iter::from_fn(move || {
            let link = self.links.get(at as usize)?;
            at = link.next;
            Some(link.seq)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the plain list that the specification describes.
        #[test]
        fn behaves_as_a_plain_list(steps in prop::collection::vec((any::<bool>(), 0usize..20, 0usize..20), 1..60)) {
            let mut order = NodeOrder::new();
            let mut list: Vec<u64> = Vec::new();
            for (seq, (append, a, b)) in (0u64..).map(|n| n * 3).zip(steps) {
                if append || list.is_empty() {
                    order.push(seq);
                    list.push(seq);
                } else {
                    let (start, end) = (list[a % list.len()], if b == 19 { seq + 1 } else { list[b % list.len()] });
                    let at = |seq| list.iter().position(|&node| node == seq);
                    let want = match (at(start), at(end)) {
                        (_, None) => Err(NoStretch::Missing(end)),
                        (Some(from), Some(to)) if from <= to => Ok(list.splice(from..=to, [seq]).collect()),
                        _ => Err(NoStretch::Reversed),
                    };
                    prop_assert_eq!(order.replace(start, end, seq), want);
                }
                prop_assert_eq!(order.iter().collect::<Vec<_>>(), list.clone());
                prop_assert_eq!(order.is_empty(), list.is_empty());
            }
        }
    }

    #[test]
    fn a_node_that_was_replaced_is_not_found() {
        let mut order = NodeOrder::new();
        for seq in 0..3 {
            order.push(seq);
        }
        assert_eq!(order.replace(0, 1, 3), Ok(vec![0, 1]));
        assert_eq!(order.stretch(0, 2), Err(NoStretch::Missing(0)));
        assert_eq!(order.stretch(2, 3), Err(NoStretch::Reversed));
        assert_eq!(order.stretch(3, 2), Ok(vec![3, 2]));
    }
}
