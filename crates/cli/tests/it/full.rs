//! A server on a full disk.

use crate::bad_files::with_small_disk;
use crate::home::{Engine, Home};

#[test]
fn inv_t10_a_command_far_away_is_told_that_the_disk_is_full_and_not_where() {
    let home = Home::direct(Engine::File);
    std::fs::write(home.path("repo/tenure.toml"), "project = \"web\"\n").unwrap();
    let script = r#"
        "$T" add one >&2
        "$T" member set person:bob --role worker --in web >&2
        token=$("$T" token add --for person:bob | sed 's/.*"secret":"\([^"]*\)".*/\1/')
        mkfifo "$HOME/said"
        "$T" up --listen 127.0.0.1:0 --quiet > "$HOME/said" 2> "$HOME/log" &
        read -r said < "$HOME/said"
        export TENURE_URL=$(echo "$said" | sed 's/.*"url":"\([^"]*\)".*/\1/') TENURE_TOKEN=$token TENURE_PROJECT=web
        dd if=/dev/zero of="$HOME/.local/filler" bs=4k 2>/dev/null || true
        long=$(head -c 20000 /dev/zero | tr '\0' x)
        for number in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            echo "{\"title\":\"t$number\",\"description\":\"$long\"}"
        done > "$HOME/lines"
        "$T" add --stdin < "$HOME/lines" || true
        rm "$HOME/.local/filler"
        kill $!
        wait $! || true
        cat "$HOME/log""#;
    let output = with_small_disk(&home, script);
    let (told, log) = output.stdout.split_once('\n').unwrap_or_default();
    let told: serde_json::Value = serde_json::from_str(told).unwrap_or_else(|_| panic!("{output:?}"));
    let error = &told["error"];
    assert_eq!((&error["kind"], &error["code"]), (&"storage".into(), &"disk_full".into()), "{output:?}");
    let shown = error.to_string();
    assert!(shown.contains("is full") && !shown.contains(".local") && !shown.contains(".db"), "{shown}");
    assert!(log.contains("disk_full"), "whoever runs the server finds it in the log: {log}");
}
