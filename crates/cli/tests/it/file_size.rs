//! A file size limit (`ulimit -f`): a write beyond it fails with an error, and its signal ends no process.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::guards::{begin, claude, edit, held};
use crate::home::{Call, Engine, Home};
use crate::hooks::refusal;

/// The call with a file size limit of `blocks`.
fn limited(call: Call, blocks: usize, input: &Value) -> std::process::Output {
    let plain = call.into_command();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -f {blocks} && exec \"$0\" \"$@\"")]);
    command.arg(plain.get_program()).args(plain.get_args()).env_clear().current_dir(plain.get_current_dir().unwrap());
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap());
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that does not read its input may have ended before the write.
    let _ = serde_json::to_writer(child.stdin.take().unwrap(), input);
    child.wait_with_output().unwrap()
}

#[test]
fn inv_r11_a_hook_that_may_not_write_a_larger_file_ends_with_0_and_follows_the_policy() {
    let home = Home::direct(Engine::File);
    home.add("something");
    begin(&home, "claude", &["s1", "s2"]);
    assert_eq!(claude(&home, "s1", &home.repo(), "a.rs"), None);
    let hook = |file: &str, event: &str| {
        let call = home.call(&["hook", "claude", event]);
        let output = limited(call, 0, &edit("claude", "s2", &home.repo(), file));
        assert_eq!(output.status.code(), Some(0), "{event}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact"] {
        hook("b.rs", event);
    }
    // Reading a log at rest takes a write of its index.
    home.whole_database();
    let seen = refusal("claude", "PreToolUse", &hook("a.rs", "PreToolUse"));
    assert!(seen.contains("claude-s1"), "what another holds is seen without a write: {seen}");
    let open = hook("b.rs", "PreToolUse");
    assert!(open.contains("unchecked") && !open.contains("deny") && !open.contains("allow"), "{open}");
    std::fs::write(home.repo().join("tenure.toml"), "[guard]\nfail = \"closed\"\n").unwrap();
    assert!(refusal("claude", "PreToolUse", &hook("b.rs", "PreToolUse")).contains("closed"));
    assert_eq!(held(&home), ["claude-s1 a.rs"]);
    hook("b.rs", "SessionEnd");
}

#[test]
fn a_command_that_may_not_write_a_larger_file_says_so_with_exit_4_and_loses_nothing() {
    let home = Home::direct(Engine::File);
    let kept = home.add("kept");
    for blocks in [0, 8, 64] {
        let output = limited(home.call(&["add", &"x".repeat(400)]).json(), blocks, &Value::Null);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{blocks}: {output:?}"));
        assert_eq!((output.status.code(), &document["error"]["kind"]), (Some(4), &"storage".into()), "{document}");
    }
    let listed = home.ok(&["list"]);
    assert_eq!((&listed["total"], &listed["items"][0]["id"]), (&1.into(), &kept.into()));
}

/// `lock` restores the default action of the signal for the command it runs.
#[test]
fn a_command_under_a_lock_is_still_ended_by_the_signal() {
    let home = Home::direct(Engine::File);
    home.add("something");
    let script = "ulimit -f 0; head -c 4096 /dev/zero > ../big; exit $?";
    let output = home.call(&["lock", "big", "--", "sh", "-c", script]).agent("a").run();
    // 128 + 25: ended by SIGXFSZ, as reported by the shell.
    assert_eq!(output.code, 153, "{output:?}");
}
