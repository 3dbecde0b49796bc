//! The shell text that git's hooks run, and the texts of earlier versions, which are recognised and replaced.
//!
//! A hook names the program by its path, because git may be started with any PATH, and falls back to PATH if that file
//! is gone. A hook in a file that is meant to be committed contains no path. Only the exit codes 0 and 1 are answers of
//! the program. Any other one, also that of a missing program, means that the guard did not run; the hook reports it
//! and follows `guard.fail`.

use super::super::hook_command::shell_word;
use super::super::target::quoted;
use super::EVENTS;

/// The line of a script that names the program's path.
const PROGRAM: &str = "tenure_bin=";

/// The program that an installed hook names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HookProgram {
    /// A file, with PATH as the fallback.
    Place(String),
    /// The program in PATH.
    Path,
    /// The same as earlier versions wrote it: silent if the program is not found.
    Earlier,
}

impl HookProgram {
    /// What this version writes for a program's path.
    pub(crate) fn of(program: Option<&str>) -> HookProgram {
        program.map_or(HookProgram::Path, |program| HookProgram::Place(program.to_owned()))
    }

    /// The program's path, if there is one.
    pub(crate) fn place(&self) -> Option<&str> {
        match self {
            HookProgram::Place(place) => Some(place),
            HookProgram::Path | HookProgram::Earlier => None,
        }
    }
}

/// A path that can be written to a script: absolute and on one line.
pub(super) fn place(program: &str) -> Option<&str> {
    Some(program).filter(|program| program.starts_with('/') && !program.chars().any(char::is_control))
}

/// The function that a hook calls. It returns 1 for a refusal and 0 otherwise.
fn function(event: &str, program: Option<&str>) -> String {
    let program = program.map(quoted).unwrap_or_default();
    let find = format!(
        "tenure_hook() {{\n\
         {PROGRAM}{program}\n\
         {{ [ -f \"$tenure_bin\" ] && [ -x \"$tenure_bin\" ]; }} || tenure_bin=$(command -v tenure) || tenure_bin=\n"
    );
    let call = format!("\"$tenure_bin\" hook git {event} \"$@\"");
    if event.starts_with("post-") {
        return format!("{find}[ -z \"$tenure_bin\" ] || {call} || :\n}}");
    }
    let deed = if event == "pre-push" { "push" } else { "commit" };
    let gone = if program.is_empty() { "" } else { &format!("{program} is gone and ") };
    let gone = quoted(&format!("{gone}`tenure` is not on PATH"));
    // The shell reads a configuration file only if no program can do it. The first file with a value applies.
    format!(
        "{find}\
         tenure_code=127\n\
         tenure_why={gone}\n\
         if [ -n \"$tenure_bin\" ]; then\n\
         {call} && tenure_code=0 || tenure_code=$?\n\
         tenure_why=\"$tenure_bin ended with $tenure_code\"\n\
         fi\n\
         case $tenure_code in 0 | 1) return $tenure_code ;; esac\n\
         case ${{TENURE_OFF:-0}} in 0 | false | no | off) ;; *) return 0 ;; esac\n\
         for tenure_file in tenure.toml \"$(git rev-parse --git-common-dir)/../tenure.toml\" \
         \"${{XDG_CONFIG_HOME:-${{HOME:-}}/.config}}/tenure/config.toml\"; do\n\
         [ -f \"$tenure_file\" ] || continue\n\
         tenure_fail=$(head -c 65536 \"$tenure_file\" | sed -n 's/#.*//;s/.*fail[^=]*=[^a-z]*\\([a-z]*\\).*/\\1/p' | tail -n 1)\n\
         case $tenure_fail in\n\
         open) break ;;\n\
         closed)\n\
         printf '%s\\n' \"tenure: the {deed} guard did not run: $tenure_why. guard.fail = closed refuses the {deed}.\" \
         'Install tenure, then run `tenure setup git`. A person can set guard.fail to open.' >&2\n\
         return 1 ;;\n\
         esac\n\
         done\n\
         printf '%s %s\\n' \"tenure: the {deed} guard did not run: $tenure_why. The {deed} goes on unchecked;\" \
         '`tenure setup git` repairs the hook.' >&2\n\
         }}"
    )
}

/// The lines between the marks of a file. The input of a pre-push hook is read once and passed to both.
pub(super) fn lines(event: &str, program: Option<&str>) -> String {
    let function = function(event, program);
    match event {
        "pre-push" => format!(
            "{function}\n\
             tenure_refs=$(cat)\n\
             printf '%s\\n' \"$tenure_refs\" | tenure_hook \"$@\" || exit 1\n{GIVE_BACK}"
        ),
        _ if event.starts_with("post-") => format!("{function}\ntenure_hook \"$@\""),
        _ => format!("{function}\ntenure_hook \"$@\" || exit 1"),
    }
}

const GIVE_BACK: &str = "\
if [ -n \"$tenure_refs\" ]; then exec <<tenure_end
$tenure_refs
tenure_end
else exec </dev/null; fi";

/// The text of earlier versions.
fn earlier_lines(event: &str) -> String {
    let end = if event.starts_with("post-") { ":" } else { "[ $? -ne 1 ] || exit 1" };
    let call = format!("tenure hook git {event} \"$@\" || {end}");
    let body = match event {
        "pre-push" => format!("tenure_refs=$(cat)\nprintf '%s\\n' \"$tenure_refs\" | {call}\n{GIVE_BACK}"),
        _ => call,
    };
    format!("if command -v tenure >/dev/null 2>&1; then\n{body}\nfi")
}

/// The program that the lines between the marks name; `None` for lines that setup never wrote.
pub(super) fn named(inside: &str, event: &str) -> Option<HookProgram> {
    let inside = inside.trim_end_matches('\n');
    if inside == earlier_lines(event) {
        return Some(HookProgram::Earlier);
    }
    let word = inside.lines().find_map(|line| line.strip_prefix(PROGRAM))?;
    let named = named_by(word)?;
    (lines(event, named.place()) == inside).then_some(named)
}

/// A section of git's configuration. Git appends the arguments of the hook to the command line.
fn section(event: &str, program: Option<&str>) -> String {
    let line = format!("{}\ntenure_hook", function(event, program));
    let line = line.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("[hook \"tenure-{event}\"]\n\tevent = {event}\n\tcommand = \"{line}\"")
}

fn earlier_section(event: &str) -> String {
    let refuses = if event.starts_with("post-") { "true" } else { "[ $? -ne 1 ]" };
    let line = format!(
        "tenure_hook() {{ command -v tenure >/dev/null 2>&1 || return 0; tenure hook git {event} \\\"$@\\\" || {refuses}; }}; \
         tenure_hook"
    );
    format!("[hook \"tenure-{event}\"]\n\tevent = {event}\n\tcommand = \"{line}\"")
}

/// The sections of git's configuration.
pub(super) fn sections(program: Option<&str>) -> String {
    EVENTS.map(|event| section(event, program)).join("\n")
}

/// The program that a section of git's configuration names; `None` for a section that setup never wrote.
pub(super) fn named_section(text: &str) -> Option<HookProgram> {
    let text = text.trim_end();
    let event = EVENTS.into_iter().find(|event| text.starts_with(&format!("[hook \"tenure-{event}\"]")))?;
    if text == earlier_section(event) {
        return Some(HookProgram::Earlier);
    }
    let rest = text.split_once(&format!("\\n{PROGRAM}"))?.1;
    let word = rest.split("\\n{ [ -f ").next()?.replace("\\\"", "\"").replace("\\\\", "\\");
    let named = named_by(&word)?;
    (section(event, named.place()) == text).then_some(named)
}

/// The program named by the word after [`PROGRAM`].
fn named_by(word: &str) -> Option<HookProgram> {
    match word {
        "" => Some(HookProgram::Path),
        _ => {
            shell_word(&format!("{word} ")).filter(|(_, rest)| *rest == " ").map(|(place, _)| HookProgram::Place(place))
        }
    }
}
