//! Processes that start at the same moment.
//!
//! Each is a shell that reports its start and then reads its standard input. All of them share one pipe, so closing its
//! other end releases all at once; the shell then becomes the program, or runs its loop.

use std::io::{PipeReader, PipeWriter, Read};
use std::process::{Child, Command, Stdio};

use crate::home::{Call, Home, Output, TENURE};

/// Processes that wait for their release.
pub(crate) struct Line {
    children: Vec<Child>,
    barrier: PipeWriter,
    errors: PipeReader,
}

/// Running processes.
pub(crate) struct Field {
    pub(crate) children: Vec<Child>,
    errors: PipeReader,
}

impl Line {
    /// Prepares calls of `tenure`.
    pub(crate) fn of_calls(calls: Vec<Call>) -> Line {
        let waiting = |call: Call| {
            let call = call.into_command();
            let mut sh = Command::new("sh");
            sh.args(["-c", "echo there >&2; read _; exec \"$@\"", "sh", TENURE]).args(call.get_args()).env_clear();
            sh.current_dir(call.get_current_dir().unwrap());
            sh.envs(call.get_envs().filter_map(|(key, value)| Some((key, value?))));
            sh
        };
        Line::up(calls.into_iter().map(waiting).collect())
    }

    /// Prepares copies of a shell script; `$T` is tenure, `$N` the number of the copy.
    pub(crate) fn of_scripts(home: &Home, count: usize, script: &str) -> Line {
        let waiting = |number: usize| {
            let mut sh = home.clean("sh".as_ref());
            sh.arg("-c").arg(format!("echo there >&2; read _; {script}"));
            sh.env("T", TENURE).env("N", number.to_string());
            sh
        };
        Line::up((0..count).map(waiting).collect())
    }

    fn up(commands: Vec<Command>) -> Line {
        let (start, barrier) = std::io::pipe().unwrap();
        let (mut errors, says) = std::io::pipe().unwrap();
        let count = commands.len();
        let children: Vec<Child> = commands
            .into_iter()
            .map(|mut command| {
                command.stdin(start.try_clone().unwrap()).stdout(Stdio::piped()).stderr(says.try_clone().unwrap());
                command.spawn().unwrap()
            })
            .collect();
        let mut there = vec![0; count * "there\n".len()];
        errors.read_exact(&mut there).unwrap();
        Line { children, barrier, errors }
    }

    /// Releases all of them.
    pub(crate) fn go(self) -> Field {
        drop(self.barrier);
        Field { children: self.children, errors: self.errors }
    }
}

impl Field {
    /// Waits for all and returns their results, in the order of the line.
    pub(crate) fn finish(self) -> Vec<Output> {
        let ended = |child: Child| Output::of(&child.wait_with_output().unwrap());
        let outputs: Vec<Output> = self.children.into_iter().map(ended).collect();
        let mut said = String::new();
        let mut errors = self.errors;
        errors.read_to_string(&mut said).unwrap();
        if !said.is_empty() {
            eprintln!("the processes said: {said}");
        }
        outputs
    }
}

/// Small random numbers with a seed that reproduces a failure (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    /// A new seed, printed where a failing test shows it.
    pub(crate) fn new() -> Dice {
        use std::hash::{BuildHasher, RandomState};
        let seed = RandomState::new().hash_one(1);
        eprintln!("seed {seed}");
        Dice(seed)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
}
