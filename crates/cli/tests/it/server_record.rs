//! A running server is shown by the commands of its user, opened, and ended.

use crate::client::Up;
use crate::home::{Engine, Home, text};

#[test]
fn a_running_server_is_shown_opened_and_ended() {
    let home = Home::direct(Engine::File);
    home.add("Fix the login");
    assert!(home.ok(&["whoami"]).get("server").is_none());
    let refused = home.refused(&["open"]);
    refused.is("not_found", "no_server");
    let mut up = Up::start(&home, &["up"]);
    let url = format!("http://{}", up.address);
    for (args, place) in [(&["whoami"][..], "/server/url"), (&["status"], "/server/url"), (&[], "/server/url")] {
        assert_eq!(home.ok(args).pointer(place).unwrap(), &url, "{args:?}");
        assert!(home.run(args).stdout.contains(&url), "{args:?}");
    }
    assert!(home.run(&["doctor"]).stdout.contains(&url));
    let opened = home.ok(&["open"]);
    assert_eq!((&opened["url"], &opened["opened"]), (&url.as_str().into(), &false.into()));
    let link = text(&opened["sign_in"]);
    let page = up.ask("GET", link.strip_prefix(&url).unwrap(), &[], None);
    assert_eq!(page.status, 200);
    assert!(home.run(&["open"]).stdout.starts_with(&format!("{url}/login/")), "without a terminal the link is printed");
    home.refused_as("codex-1", &["down"]).is("denied", "people_only");
    home.refused_as("codex-1", &["open"]).is("denied", "people_only");
    assert_eq!(home.ok(&["down"])["ended"], true);
    assert!(up.child.wait().unwrap().success(), "it ended by itself");
    assert_eq!(home.ok(&["down"])["ended"], false);
    assert!(home.run(&["down"]).stdout.contains("No server"));
    assert!(home.ok(&["whoami"]).get("server").is_none());
    assert!(home.files("home/.local/state/tenure/servers").is_empty());
}
