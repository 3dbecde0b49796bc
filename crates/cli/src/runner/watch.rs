//! Ends a command before the lock that it runs under can end.
//!
//! The same watch is kept twice: by a thread of the runner, and by a guardian, a process of its own, for the case that
//! the runner is stopped, hangs or is killed. The guardian comes a little later, so that a command is asked to end once.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::clock::{Trust, since_boot};

/// What the runner says to those who watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The lock was renewed.
    Trust(Trust),
    /// The lock is lost: the command must end now.
    Lost,
    /// The runner itself has asked the command to end.
    Asked,
    /// The command is over.
    Done,
}

/// What is done to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blow {
    Term,
    Kill,
}

/// How a command is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Post {
    /// By the runner.
    First,
    /// By the guardian, which leaves the runner a quarter of the grace.
    Second,
}

/// Nobody sleeps longer than that: a timer does not count the time that the machine was asleep.
const SLICE: Duration = Duration::from_secs(1);

/// Watches until the command is over. A runner that says nothing any more is gone, and its command goes too.
pub(super) fn watch(words: &Receiver<Word>, post: Post, mut strike: impl FnMut(Blow)) {
    let (_open, never) = std::sync::mpsc::channel();
    let mut words = words;
    let mut trust: Option<Trust> = None;
    let mut kill_at: Option<Duration> = None;
    let mut alone = false;
    loop {
        let now = since_boot();
        let term_at = trust.map(|trust| match post {
            Post::First => trust.term_at,
            Post::Second => trust.term_at + trust.grace() / 4,
        });
        if kill_at.is_none() && term_at.is_some_and(|at| now >= at) {
            strike(Blow::Term);
            // One who comes late, out of a sleep, does not wait any longer.
            kill_at = trust.map(|trust| trust.kill_at);
        }
        if kill_at.is_some_and(|at| now >= at) {
            strike(Blow::Kill);
            kill_at = Some(Duration::MAX);
            if alone {
                return;
            }
        }
        let next = kill_at.or(term_at).unwrap_or(Duration::MAX);
        let wait = next.saturating_sub(now).clamp(Duration::from_millis(1), SLICE);
        let lost = match words.recv_timeout(wait) {
            Ok(Word::Trust(later)) => {
                trust = Some(later);
                false
            }
            Ok(Word::Asked) => {
                kill_at = kill_at.or(trust.map(|trust| trust.kill_at));
                false
            }
            Ok(Word::Done) => return,
            Ok(Word::Lost) => true,
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                alone = true;
                words = &never;
                true
            }
        };
        if lost && kill_at.is_none() {
            strike(Blow::Term);
            let grace = trust.map_or(Duration::ZERO, Trust::grace);
            let at = since_boot() + grace;
            kill_at = Some(trust.map_or(at, |trust| trust.kill_at.min(at)));
        }
    }
}

impl Word {
    /// The word on a line of its own.
    pub(super) fn line(self) -> String {
        match self {
            Word::Trust(trust) => format!("trust {} {}\n", trust.term_at.as_micros(), trust.kill_at.as_micros()),
            Word::Lost => "lost\n".to_owned(),
            Word::Asked => "asked\n".to_owned(),
            Word::Done => "done\n".to_owned(),
        }
    }

    pub(super) fn read(line: &str) -> Option<Word> {
        let mut parts = line.split_whitespace();
        match parts.next()? {
            "trust" => {
                let mut next = || Some(Duration::from_micros(parts.next()?.parse().ok()?));
                Some(Word::Trust(Trust { term_at: next()?, kill_at: next()? }))
            }
            "lost" => Some(Word::Lost),
            "asked" => Some(Word::Asked),
            "done" => Some(Word::Done),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn watched(post: Post, said: &[Word], open: bool) -> Vec<Blow> {
        let (say, words) = channel();
        said.iter().for_each(|word| say.send(*word).unwrap());
        let mut say = Some(say).filter(|_| open);
        let mut blows = Vec::new();
        watch(&words, post, |blow| {
            blows.push(blow);
            if blow == Blow::Kill
                && let Some(say) = say.take()
            {
                say.send(Word::Done).unwrap();
            }
        });
        blows
    }

    fn over() -> Trust {
        let now = since_boot();
        Trust { term_at: now, kill_at: now + Duration::from_millis(20) }
    }

    fn long() -> Trust {
        let now = since_boot();
        Trust { term_at: now + Duration::from_secs(600), kill_at: now + Duration::from_secs(600) }
    }

    #[test]
    fn inv_r14_a_command_is_asked_and_then_killed_when_trust_is_over() {
        for post in [Post::First, Post::Second] {
            assert_eq!(watched(post, &[Word::Trust(over())], true), [Blow::Term, Blow::Kill], "{post:?}");
        }
        assert_eq!(watched(Post::First, &[Word::Trust(long()), Word::Lost], true), [Blow::Term, Blow::Kill]);
        assert_eq!(watched(Post::First, &[Word::Trust(long()), Word::Trust(long()), Word::Done], true), []);
    }

    #[test]
    fn inv_r14_the_guardian_ends_the_command_of_a_runner_that_is_gone() {
        assert_eq!(watched(Post::Second, &[Word::Trust(long())], false), [Blow::Term, Blow::Kill]);
        assert_eq!(watched(Post::Second, &[Word::Trust(long()), Word::Done], false), []);
        assert_eq!(watched(Post::Second, &[Word::Trust(over()), Word::Asked], true), [Blow::Kill], "asked once");
    }

    #[test]
    fn words_are_read_as_they_were_said() {
        for word in [
            Word::Trust(Trust { term_at: Duration::from_micros(7), kill_at: Duration::from_micros(9) }),
            Word::Lost,
            Word::Asked,
            Word::Done,
        ] {
            assert_eq!(Word::read(&word.line()), Some(word));
        }
        assert_eq!(Word::read("trust 1"), None);
    }
}
