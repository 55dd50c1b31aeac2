//! Many logs at once: a bounded number of threads, results in the order of the work.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// The most threads that anybody gets, whatever was asked for: each has a stack, and an open file or two.
const MOST: usize = 256;

/// Threads to use for `count` pieces of work.
pub(crate) fn size(asked: Option<usize>, count: usize) -> usize {
    let cores = || thread::available_parallelism().map_or(1, NonZero::get);
    asked.unwrap_or_else(cores).clamp(1, count.clamp(1, MOST))
}

/// Do `work` on every item and hand the results to `sink`, on this thread and in the order of `items`. `sink` ends the
/// whole by an error; work that has begun is finished, its results are dropped.
pub(crate) fn each<T: Sync, R: Send, E>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
    mut sink: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    if threads <= 1 || items.len() <= 1 {
        return items.iter().try_for_each(|item| sink(work(item)));
    }
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    thread::scope(|scope| {
        let mut started = 0;
        for _ in 0..threads {
            let (sender, next, work) = (sender.clone(), &next, &work);
            let worker = move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    if sender.send((at, work(item))).is_err() {
                        break;
                    }
                }
            };
            match thread::Builder::new().spawn_scoped(scope, worker) {
                Ok(_) => started += 1,
                // The system has no more; those that there are do the work.
                Err(_) => break,
            }
        }
        drop(sender);
        if started == 0 {
            return items.iter().try_for_each(|item| sink(work(item)));
        }
        let mut early = BTreeMap::new();
        let mut due = 0;
        let outcome = results.iter().try_for_each(|(at, result)| {
            early.insert(at, result);
            while let Some(result) = early.remove(&due) {
                due += 1;
                sink(result)?;
            }
            Ok(())
        });
        // Idle workers stop at once; the channel closes when the last one has sent its result.
        next.store(items.len(), Ordering::Relaxed);
        drop(results);
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_work() {
        let items: Vec<u64> = (0..200).collect();
        for threads in [1, 2, 7] {
            let mut seen = Vec::new();
            let done: Result<(), ()> = each(
                &items,
                threads,
                |item| {
                    if item % 7 == 0 {
                        thread::yield_now();
                    }
                    item * 2
                },
                |result| {
                    seen.push(result);
                    Ok(())
                },
            );
            assert_eq!(done, Ok(()));
            assert_eq!(seen, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_of_the_sink_ends_it() {
        let items: Vec<u64> = (0..100).collect();
        let mut count = 0;
        let done = each(
            &items,
            4,
            |item| *item,
            |result| {
                count += 1;
                if result == 10 { Err(result) } else { Ok(()) }
            },
        );
        assert_eq!((done, count), (Err(10), 11));
    }
}
