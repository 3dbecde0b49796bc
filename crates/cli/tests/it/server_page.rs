//! The web pages: signing in, the first page, signing out.

use std::io::{Read, Write};

use crate::client::{Reply, Up, home};
use crate::home::Engine;

/// Sends a form, as a browser does.
fn form(up: &Up, path: &str, cookies: &str, fields: &str) -> Reply {
    let mut stream = up.connect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nOrigin: http://{}\r\nConnection: close\r\nAccept: text/html\r\nCookie: {cookies}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{fields}",
        up.address,
        up.address,
        fields.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    Reply::read(&said)
}

fn signed_in(up: &Up) -> String {
    let link = up.link.strip_prefix("/login/").unwrap();
    let taken = form(up, "/login", "", &format!("link={link}"));
    assert_eq!((taken.status, taken.header("location")), (303, Some("/")), "{taken:?}");
    let cookies: Vec<&str> = taken.cookies().iter().map(|cookie| cookie.split(';').next().unwrap()).collect();
    cookies.join("; ")
}

fn page(reply: &Reply) -> &str {
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/html; charset=utf-8")), "{reply:?}");
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    // Browsers send `Origin: null` with the forms of a page without a referrer.
    assert_eq!(reply.header("referrer-policy"), Some("same-origin"));
    let page = reply.body.as_str().unwrap();
    assert!(!page.contains("<style") && !page.contains("style=") && !page.contains("<script"), "{page}");
    page
}

#[test]
fn a_person_signs_in_sees_who_it_is_and_signs_out() {
    let home = home(Engine::File);
    let up = Up::start(&home, &["up"]);
    let stranger = up.ask("GET", "/", &[], None);
    assert!(page(&stranger).contains("not signed in"));
    for hidden in ["web", "person:", "csrf"] {
        assert!(!page(&stranger).contains(hidden), "{hidden} in {stranger:?}");
    }
    let unknown = up.ask("GET", "/", &[("Cookie", "__Host-tenure=tenure_0; __Host-tenure-csrf=x")], None);
    assert_eq!(page(&unknown), page(&stranger), "to whoever shows nothing that counts");
    assert_eq!(up.ask("GET", "/style.css", &[], None).header("content-type"), Some("text/css; charset=utf-8"));
    assert!(page(&up.ask("GET", &up.link, &[], None)).contains("<button autofocus>Sign in</button>"));
    let cookies = signed_in(&up);
    let first = up.ask("GET", "/", &[("Cookie", &cookies)], None);
    for shown in
        ["person:", "every project", "admin", ">web</a>", "/api/v1/openapi.json", "/mcp?project=", "action=\"/logout\""]
    {
        assert!(page(&first).contains(shown), "no {shown} in {first:?}");
    }
    // The link is consumed.
    let link = up.link.strip_prefix("/login/").unwrap();
    let again = form(&up, "/login", "", &format!("link={link}"));
    assert_eq!((again.status, again.header("content-type")), (403, Some("text/html; charset=utf-8")), "{again:?}");
    // Only the server's own form signs out.
    for fields in ["", "csrf=", "csrf=tenure_0"] {
        assert_eq!(form(&up, "/logout", &cookies, fields).status, 403, "{fields}");
    }
    let csrf = page(&first).split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let out = form(&up, "/logout", &cookies, &format!("csrf={csrf}"));
    assert_eq!((out.status, out.header("location")), (303, Some("/")), "{out:?}");
    assert!(out.cookies().iter().all(|cookie| cookie.contains("Max-Age=0")), "{out:?}");
    let after = up.ask("GET", "/", &[("Cookie", &cookies)], None);
    assert_eq!(page(&after), page(&stranger), "the session is over, also for whoever kept the cookie");
}

#[test]
fn inv_s5_names_that_others_gave_are_text_on_the_page() {
    let home = home(Engine::File);
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
    std::fs::write(home.path("repo/tenure.toml"), "").unwrap();
    let up = Up::start(&home, &["up"]);
    let cookies = signed_in(&up);
    let csrf = cookies.split("__Host-tenure-csrf=").nth(1).unwrap().to_owned();
    let call = serde_json::json!({
        "call": {
            "project": { "key": format!("url:{hostile}"), "label": hostile },
            "actor": { "name": "nobody" },
            "request_id": { "value": "r-1" },
        },
        "op": "add",
        "request": { "title": "x" },
    });
    let made = up.ask("POST", "/api/v1/call", &[("Cookie", &cookies), ("Tenure-Csrf", &csrf)], Some(&call));
    assert_eq!(made.body["ok"], true, "{made:?}");
    let first = up.ask("GET", "/", &[("Cookie", &cookies)], None);
    let shown = page(&first);
    assert!(
        shown.contains("&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;&quot;&#39;&amp;"),
        "{shown}"
    );
    assert!(!shown.contains("<img") && !shown.contains("\"'&"), "{shown}");
}
