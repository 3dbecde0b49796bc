use tenure_core::Kind;
use tenure_core::action::Plain;

use super::*;

fn parse(url: &str) -> Result<PostgresTarget> {
    PostgresTarget::parse(url, &UrlDefaults::default())
}

fn refused(url: &str) -> Error {
    let error = parse(url).unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (Kind::Usage, "bad_store_url"), "{url}");
    error
}

#[test]
fn a_plain_url_has_defaults() {
    let target = parse("postgres://ann@db.example/work").unwrap();
    assert_eq!((target.schema.as_str(), target.tls), ("tenure", Tls::Prefer));
    assert_eq!(target.display, "postgres://ann@db.example/work");
    let config = &target.config;
    assert_eq!(config.get_user(), Some("ann"));
    assert_eq!(config.get_dbname(), Some("work"));
    assert_eq!(config.get_hosts(), [Host::Tcp("db.example".into())]);
    assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(5)));
    assert_eq!(config.get_tcp_user_timeout(), Some(&Duration::from_secs(10)));
    assert!(config.get_keepalives());
    assert_eq!(config.get_keepalives_idle(), Duration::from_secs(30));
    assert_eq!(config.get_application_name(), Some("tenure"));
    assert_eq!(config.get_ssl_mode(), SslMode::Prefer);
    assert_eq!(config.get_target_session_attrs(), TargetSessionAttrs::Any);
}

#[test]
fn what_is_given_stays() {
    let target = parse(
        "postgresql://ann:p%40s%2Fs@db:6432/work?connect_timeout=2&application_name=x&keepalives=0\
         &schema=team_1&sslmode=verify-ca&sslrootcert=%2Fetc%2Fca.pem&tcp_user_timeout=3",
    )
    .unwrap();
    assert_eq!(target.config.get_password(), Some(b"p@s/s".as_slice()));
    assert_eq!(target.config.get_ports(), [6432]);
    assert_eq!(target.config.get_connect_timeout(), Some(&Duration::from_secs(2)));
    assert_eq!(target.config.get_tcp_user_timeout(), Some(&Duration::from_secs(3)));
    assert_eq!(target.config.get_application_name(), Some("x"));
    assert!(!target.config.get_keepalives());
    assert_eq!(target.config.get_ssl_mode(), SslMode::Require);
    assert_eq!((target.schema.as_str(), target.tls), ("team_1", Tls::VerifyCa));
    assert_eq!(target.root_certificates, Some("/etc/ca.pem".into()));
    assert!(target.display.starts_with("postgresql://ann:***@db:6432/work?connect_timeout=2"));
    assert!(!format!("{target:?}").contains("p%40"));
}

#[test]
fn modes_of_tls() {
    for (mode, tls, client) in [
        ("disable", Tls::Disable, SslMode::Disable),
        ("prefer", Tls::Prefer, SslMode::Prefer),
        ("require", Tls::Require, SslMode::Require),
        ("verify-ca", Tls::VerifyCa, SslMode::Require),
        ("verify-full", Tls::VerifyFull, SslMode::Require),
    ] {
        let target = parse(&format!("postgres://u@h/d?sslmode={mode}")).unwrap();
        assert_eq!((target.tls, target.config.get_ssl_mode()), (tls, client));
    }
    for wrong in [
        "sslmode=allow",
        "sslmode=",
        "sslrootcert=/ca.pem",
        "sslrootcert=&sslmode=require",
        "sslmode=disable&sslrootcert=/ca.pem",
        "sslmode=require&sslrootcert=system",
        "sslnegotiation=direct",
    ] {
        refused(&format!("postgres://u@h/d?{wrong}"));
    }
    let system = parse("postgres://u@h/d?sslrootcert=system").unwrap();
    assert_eq!((system.tls, system.root_certificates), (Tls::VerifyFull, None));
    let socket = parse("postgres://u@%2Frun%2Fpg/d?sslmode=require").unwrap();
    assert_eq!((socket.tls, socket.config.get_ssl_mode()), (Tls::Disable, SslMode::Disable));
}

#[test]
fn users_and_passwords_come_from_the_url_first() {
    let defaults = UrlDefaults { user: Some("env".into()), password: Some("envpw".into()) };
    let target = PostgresTarget::parse("postgres://h/d", &defaults).unwrap();
    assert_eq!(target.config.get_user(), Some("env"));
    assert_eq!(target.config.get_password(), Some(b"envpw".as_slice()));
    let target = PostgresTarget::parse("postgres://u:pw@h/d", &defaults).unwrap();
    assert_eq!(target.config.get_user(), Some("u"));
    assert_eq!(target.config.get_password(), Some(b"pw".as_slice()));
    let target = PostgresTarget::parse("postgres:///d?host=h&user=q&password=qp", &defaults).unwrap();
    assert_eq!(target.config.get_user(), Some("q"));
    assert_eq!(target.config.get_password(), Some(b"qp".as_slice()));
    for nobody in ["postgres://h/d", "postgres://@h/d", "postgres://:pw@h/d"] {
        assert!(refused(nobody).message().contains("user"));
    }
}

#[test]
fn hosts_are_named_and_counted() {
    let target = parse("postgres://u@a:1,b:2/d").unwrap();
    assert_eq!(target.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    let target = parse("postgres://u@a,b/d?target_session_attrs=any").unwrap();
    assert_eq!(target.config.get_target_session_attrs(), TargetSessionAttrs::Any);
    let target = parse("postgres:///d?user=u&hostaddr=10.0.0.1").unwrap();
    assert_eq!(target.config.get_hosts(), [Host::Tcp("10.0.0.1".into())]);
    let target = parse("postgres://u@[::1]:6000/d").unwrap();
    assert_eq!(target.config.get_hosts(), [Host::Tcp("::1".into())]);
    for wrong in [
        "postgres://u@/d",
        "postgres:///d?user=u",
        "postgres://u@a,/d",
        "postgres://u@a,b/d?hostaddr=10.0.0.1",
        "postgres://u@h:port/d",
        "postgres://u@h:99999/d",
        "postgres://u@[::1/d",
    ] {
        refused(wrong);
    }
}

#[test]
fn schema_names_are_plain() {
    for good in ["a", "_", "tenure_2", &"x".repeat(63)] {
        assert_eq!(parse(&format!("postgres://u@h/d?schema={good}")).unwrap().schema, good);
    }
    for wrong in ["", "A", "1a", "a-b", "a%22b", "%C3%A9", &"x".repeat(64)] {
        refused(&format!("postgres://u@h/d?schema={wrong}"));
    }
}

#[test]
fn unknown_parameters_are_named() {
    let error = refused("postgres://u:geheim@h/d?sslcert=x");
    assert!(error.message().contains("unknown parameter sslcert"), "{error}");
    assert!(refused("postgres://u@h/d?novalue").message().contains("no value"));
    // An encoded name is the same name.
    assert_eq!(parse("postgres://u@h/d?%73chema=x").unwrap().schema, "x");
    assert_eq!(parse("postgres://u@h/d?%75ser=x").unwrap().config.get_user(), Some("x"));
}

#[test]
fn an_unknown_scheme_is_usage() {
    let error = parse("mysql://u:geheim@h/d").unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (Kind::Usage, "unknown_store_scheme"));
    assert!(!format!("{error:?}").contains("geheim"));
    refused("host=h password=geheim");
}

#[test]
fn no_error_and_no_display_shows_a_password() {
    for url in [
        "postgres://u:geheim@h/d?nonsense=1",
        "postgres://u:geheim@h:x/d",
        "postgres://u:ge@geheim@h/d",
        "postgres://u:/geheim@h/d",
        "postgres://u:?geheim@h/d",
        "postgres://u:a?b=geheim@h/d?x=y",
        "postgres://u:a/b?c&geheim@h:5/d",
        "postgres://:geheim@h/d",
        "postgres://h/d?password=geheim&x=1",
        "postgres://h/d?PASSWORD=geheim",
        "postgres://h/d?p%61ssword=geheim",
        "postgres://h/d?sslpassword=geheim",
        "postgres://h/d?geheim",
        "postgres://u:geheim@h/d?schema=A",
        "postgres://u:geheim@h/d?user=a%00b",
        "postgres://u:geheim%00@h/d",
        "postgres://u:gehe im geheim@h/d",
        "postgres://u@h/d?application_name=x@geheim:geheim@y",
        "postgres:/u:geheim@h",
        "u:geheim@h/d",
        "host=h user=u password=geheim dbname=d",
        "host=h password = 'x geheim'",
        "://:geheim@",
        "postgres://u:geheim",
        "postgres://u:geheim/d",
        "postgres://u:a:geheim",
    ] {
        assert!(!redact(url).contains("geheim"), "{url} → {}", redact(url));
        let error = parse(url).unwrap_err();
        let all = format!("{error:?} {error} {}", error.to_json(&Plain));
        assert!(!all.contains("geheim"), "{url} → {all}");
    }
    // A terminal escape in it is neutralised too.
    assert!(!parse("postgres://u@h/d\u{1b}[31m?x").unwrap_err().message().contains('\u{1b}'));
    assert_eq!(
        redact("postgres://u:pw@h:1/d?schema=x&password=p&sslmode=require"),
        "postgres://u:***@h:1/d?schema=x&password=***&sslmode=require"
    );
    for plain in [
        "postgres://u@h/d",
        "/var/lib/tenure/store.db",
        "",
        "postgres://",
        "postgres://h:5432,i:1/d?a=b",
        "postgres://u@[::1]/d",
        "postgres://[::1]:5/d",
    ] {
        assert_eq!(redact(plain), plain);
    }
}
