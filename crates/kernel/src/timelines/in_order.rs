//! Lists that are in order each, as one list in order.
//!
//! For few lists that take turns seldom, like what one thread did on each processor: while a list
//! goes on before all others, an element costs one comparison. What is equal comes in the order of
//! the lists.

/// Goes over several sorted lists in the order of `key`.
#[derive(Clone, Debug)]
pub(super) struct InOrder<Entries: Iterator, Key> {
    /// The next element of each list and what follows it.
    lists: Vec<(Option<Entries::Item>, Entries)>,
    key: fn(&Entries::Item) -> Key,
    /// The list to take from, as long as it is before `limit`, the least of all others.
    current: usize,
    limit: Option<(Key, usize)>,
}

impl<Entries: Iterator, Key: Ord> InOrder<Entries, Key> {
    pub(super) fn new(
        lists: impl IntoIterator<Item = Entries>,
        key: fn(&Entries::Item) -> Key,
    ) -> Self {
        let lists = lists.into_iter().map(|mut list| (list.next(), list));
        let mut merged = Self {
            lists: lists.collect(),
            key,
            current: 0,
            limit: None,
        };
        merged.choose();
        merged
    }

    /// Finds the least list and the one after it.
    fn choose(&mut self) {
        let mut least: Option<(Key, usize)> = None;
        self.limit = None;
        for (position, (head, _)) in self.lists.iter().enumerate() {
            let Some(head) = head else { continue };
            let place = ((self.key)(head), position);
            if least.as_ref().is_none_or(|least| place < *least) {
                self.limit = least.replace(place);
            } else if self.limit.as_ref().is_none_or(|limit| place < *limit) {
                self.limit = Some(place);
            }
        }
        self.current = least.map_or(0, |(_, position)| position);
    }
}

impl<Entries: Iterator, Key: Ord> Iterator for InOrder<Entries, Key> {
    /// The position of the list and its element.
    type Item = (usize, Entries::Item);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let position = self.current;
        let (head, list) = self.lists.get_mut(position)?;
        let element = std::mem::replace(head, list.next())?;
        let goes_on = match (head, &self.limit) {
            (Some(head), Some(limit)) => ((self.key)(head), position) < *limit,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if !goes_on {
            self.choose();
        }
        Some((position, element))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_become_one_in_order() {
        let lists = [vec![1, 4, 4, 9], vec![], vec![0, 4, 5], vec![4]];
        let merged = InOrder::new(lists.map(Vec::into_iter), |&number: &i32| number);
        let expected = [
            (2, 0),
            (0, 1),
            (0, 4),
            (0, 4),
            (2, 4),
            (3, 4),
            (2, 5),
            (0, 9),
        ];
        assert_eq!(merged.collect::<Vec<_>>(), expected);
        let none: [Vec<i32>; 0] = [];
        assert_eq!(
            InOrder::new(none.map(Vec::into_iter), |&number: &i32| number).count(),
            0
        );
    }
}
