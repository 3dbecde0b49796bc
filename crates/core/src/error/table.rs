//! The table of error codes, sorted by word. `docs/errors/README.md` is generated from it, so each description is text
//! that users read.

use super::Kind;
use super::code::{Row, codes};

codes! {
    /// Another server serves this embedded store.
    /// → Use that one, or end it first.
    AlreadyServed "already_served" Conflict;
    /// Several ids begin with what was typed; `details.candidates` has up to ten.
    /// → Type more of the id.
    AmbiguousId "ambiguous_id" Usage;
    /// Several projects of the store are called that.
    /// → Give the key; `details.candidates` has them.
    AmbiguousProject "ambiguous_project" Usage;
    /// The file given to `restore` cannot be read.
    /// → Check who may read it. Nothing was changed.
    BackupUnreadable "backup_unreadable" Storage;
    /// A backup cannot be written where it should go.
    /// → Name a file in a directory that exists and may be written.
    BackupUnwritable "backup_unwritable" Storage;
    /// `--listen` is not an address and a port.
    /// → `127.0.0.1:7133`; port 0 takes a free one.
    BadAddress "bad_address" Usage;
    /// What a server answered cannot be read.
    /// → Client and server may be of different versions: use the same.
    BadAnswer "bad_answer" Internal;
    /// An unknown flag, a missing or surplus argument.
    /// → `tenure COMMAND --help`.
    BadArguments "bad_arguments" Usage;
    /// A file of a note without a proper path, SHA-256 or size.
    /// → Correct it; `tenure note --artifact FILE` finds them out itself.
    BadArtifact "bad_artifact" Usage;
    /// The file given to `restore` is not a backup, or is damaged, cut short, or does not agree with itself.
    /// → Give a file as `tenure backup` made it. Nothing was changed.
    BadBackup "bad_backup" Storage;
    /// A budget for a brief outside 150 to 50,000 tokens.
    /// → Correct it.
    BadBudget "bad_budget" Usage;
    /// A call that another program made has a text or a list in it that is too long, or a NUL.
    /// → A defect of that program.
    BadCall "bad_call" Usage;
    /// What a hook of git says was committed has no id of a commit. Only in `hook.log`.
    /// → Check the hooks: `tenure setup git --check`.
    BadCommit "bad_commit" Usage;
    /// An `attempt` or `version` of an import is out of its range; `details.line`.
    /// → Correct the line and send all again.
    BadCount "bad_count" Usage;
    /// A cursor that Tenure did not make.
    /// → Take `next` of the page before.
    BadCursor "bad_cursor" Usage;
    /// `note --data`, or the data of an imported note, is not JSON.
    /// → Give JSON, `@FILE`, or `-` for standard input.
    BadData "bad_data" Usage;
    /// `demo` with fewer than two workers, as many kills as workers, or fewer than four tasks.
    /// → Change the numbers.
    BadDemo "bad_demo" Usage;
    /// A duration that is not a whole number and a unit.
    /// → `90s`, `10m`, `2h`, `7d`.
    BadDuration "bad_duration" Usage;
    /// What a tool sent to a hook is not one of its events as JSON. Only in `hook.log`.
    /// → Check the hook of that tool: `tenure setup --check`.
    BadEvent "bad_event" Usage;
    /// The input of `import` is no export: empty, another file, or without a format.
    /// → Give a file that `tenure export` wrote.
    BadExport "bad_export" Usage;
    /// The client of `tenure mcp` did not begin with `initialize`.
    /// → Start it from an MCP client.
    BadHandshake "bad_handshake" Usage;
    /// Where the SHA-256 of a secret belongs there is something else, which is not repeated.
    /// → Send the hash in hexadecimal, never the secret.
    BadHash "bad_hash" Usage;
    /// A header of a request to a server is not what it should be; `details.entity` names it.
    /// → Correct it.
    BadHeader "bad_header" Usage;
    /// A task or note of an import has an id of another shape; `details.line`.
    /// → Correct the line and send all again.
    BadId "bad_id" Usage;
    /// A `key` of a bulk `add` is empty or longer than 200 bytes (`details.line`), or one of a memory is empty, longer
    /// than 120 characters or has other characters in it.
    /// → Correct it.
    BadKey "bad_key" Usage;
    /// A kind of hold that there is not.
    /// → `task` or `path`.
    BadKind "bad_kind" Usage;
    /// A label is empty or longer than 64 characters.
    /// → Shorten it.
    BadLabel "bad_label" Usage;
    /// A token, link or session that is to live for no time, or too long.
    /// → Give 1s to the limit; see [access](../access.md).
    BadLifetime "bad_lifetime" Usage;
    /// A page size outside 1 to 1000.
    /// → Correct `--limit`.
    BadLimit "bad_limit" Usage;
    /// A line of a bulk `add` or of an import is not one JSON object with the fields it needs and no other;
    /// `details.line`.
    /// → Correct the line and send all again. Nothing was added.
    BadLine "bad_line" Usage;
    /// The name of a lock is empty, longer than 128 characters, has a control character, or begins with a dash or a
    /// blank.
    /// → Give another name.
    BadLockName "bad_lock_name" Usage;
    /// `login_close` names neither or both of a session and a principal.
    /// → Name one.
    BadLoginClose "bad_login_close" Usage;
    /// A memory should live for less than a minute or more than ten years.
    /// → Leave `--ttl` out to keep it for good.
    BadMemoryTtl "bad_memory_ttl" Usage;
    /// An agent's name does not fit `[a-z0-9][a-z0-9._:-]{0,63}`.
    /// → Choose another name.
    BadName "bad_name" Usage;
    /// Guards off for less than nothing or more than 24 hours.
    /// → Correct `--for`; `--end` switches them on again.
    BadOff "bad_off" Usage;
    /// A parameter of an address has no value of its kind; `details.entity` names it.
    /// → Correct it.
    BadParameter "bad_parameter" Usage;
    /// A pattern is empty, has a NUL, or a glob is malformed.
    /// → [The grammar](../paths.md).
    BadPattern "bad_pattern" Usage;
    /// A priority outside 0 to 4.
    /// → 0 is first, 4 is last, 2 is the default.
    BadPriority "bad_priority" Usage;
    /// A hook named more than the program of a command line.
    /// → A defect of the door: only the base name is kept.
    BadProgram "bad_program" Usage;
    /// Access is given to a project that cannot be one.
    /// → Give the key as `tenure project list` shows it, or `*`.
    BadProjectKey "bad_project_key" Usage;
    /// A project's name does not fit `[a-z0-9][a-z0-9._-]{0,63}`.
    /// → Choose another name.
    BadProjectName "bad_project_name" Usage;
    /// `proxies` under `[serve]` or `--proxy` is not an address or a network.
    /// → `127.0.0.1`, `::1` or `10.0.0.0/8`.
    BadProxy "bad_proxy" Usage;
    /// More than 64 patterns under `guard.relaxed`.
    /// → Shorten the list.
    BadRelaxed "bad_relaxed" Usage;
    /// What was sent to a server is not one of its requests.
    /// → A defect of the program that sent it.
    BadRequest "bad_request" Usage;
    /// A request id that is not 1 to 128 visible ASCII characters.
    /// → Draw another one.
    BadRequestId "bad_request_id" Usage;
    /// `events` under `[retention]` is not 1d to 3650d, nor `forever`.
    /// → Correct it.
    BadRetention "bad_retention" Usage;
    /// A role that is none.
    /// → viewer, worker, operator or admin; for `member set` also none.
    BadRole "bad_role" Usage;
    /// `sslrootcert` cannot be read or used, or the system has no trusted certificates.
    /// → Name a PEM file of authorities.
    BadRootCertificates "bad_root_certificates" Usage;
    /// `TENURE_URL` or `server` is no address of a server, has a password in it, or points elsewhere.
    /// → `https://HOST`, with `:PORT` and a path where it has them.
    BadServerUrl "bad_server_url" Usage;
    /// The id of a session is missing or empty, longer than 200 bytes or more than one line.
    /// → The tool gives it; nothing was stored.
    BadSession "bad_session" Usage;
    /// The text given for a store names no file.
    /// → A file path, `sqlite:PATH`, or a `postgres://` URL.
    BadStore "bad_store" Usage;
    /// A PostgreSQL URL is malformed or has an unknown parameter.
    /// → Correct it; the hint lists what is known.
    BadStoreUrl "bad_store_url" Usage;
    /// The fields of an imported task contradict each other, such as done without `finished_by`; `details.line`.
    /// → Correct the line; [the format](../export.md).
    BadTask "bad_task" Usage;
    /// A time that is not RFC 3339 with an offset.
    /// → `2030-01-31T09:00:00Z`.
    BadTime "bad_time" Usage;
    /// What was given as a token is not one word of visible ASCII.
    /// → Give it as it was printed.
    BadToken "bad_token" Usage;
    /// The label of a token is not one line of at most 200 characters.
    /// → Correct it.
    BadTokenLabel "bad_token_label" Usage;
    /// The projects of a token are none, more than 100, or `*`.
    /// → Leave them out for all projects.
    BadTokenProjects "bad_token_projects" Usage;
    /// A hook named a path that is not inside the checkout.
    /// → A defect of the door: such paths are left out.
    BadToolPath "bad_tool_path" Usage;
    /// A time to live outside 1 second to 24 hours.
    /// → Correct `--ttl`.
    BadTtl "bad_ttl" Usage;
    /// An environment variable is not UTF-8; `details.entity` names it.
    /// → Set it to plain text, or unset it.
    BadVariable "bad_variable" Usage;
    /// A word of a tool, such as the name of an event, is longer than 128 bytes or more than one line.
    /// → The tool gives it; nothing was stored.
    BadWord "bad_word" Usage;
    /// `block --on` names a task that is done or cancelled.
    /// → Name another task, or none.
    BlockerGone "blocker_gone" Conflict;
    /// The body of a request is malformed, or broke off.
    /// → Send as much as Content-Length says, or chunks with their lengths.
    BodyBroken "body_broken" Usage;
    /// The body of a request is longer than the server takes (413).
    /// → Send less at once.
    BodyTooLarge "body_too_large" Usage;
    /// The address is taken, or may not be listened at.
    /// → Choose another with `--listen`.
    CannotListen "cannot_listen" Conflict;
    /// SQLite cannot open the file.
    /// → Check that the file and its directory can be read and written.
    CannotOpen "cannot_open" Storage;
    /// A store on a read-only place changed under each of 20 reads.
    /// → Call again.
    ChangingStore "changing_store" Busy;
    /// A lock was lost, and processes of its command could not be ended (exit 122); `details.survivors`. They wait for
    /// a device, or belong to another user. Without `survivors`: the watch over the command failed, and nothing proves
    /// its end.
    /// → End them by hand before the work is done again.
    CommandNotEnded "command_not_ended" Stale;
    /// The command of `lock NAME -- COMMAND` does not exist or cannot be run, or an earlier command under the lock could not
    /// be ended (`details.survivors`); the lock is free again.
    /// → Correct the command, or end the processes that are named.
    CommandNotStarted "command_not_started" Usage;
    /// `tenure.toml` or `config.toml` has an unknown key or a wrong value; `details.line`, `details.key`.
    /// → Correct the line.
    ConfigInvalid "config_invalid" Usage;
    /// A configuration file cannot be read.
    /// → Make it readable, or move it away.
    ConfigUnreadable "config_unreadable" Storage;
    /// `setup` would change files, `project pin` would believe a repository, or `project forget` would remove a project,
    /// and there is no terminal to ask on, or the answer was no; `details.diff`, `details.asks`, `details.project`.
    /// → Look at what is shown; `--yes`.
    ConfirmationNeeded "confirmation_needed" Usage;
    /// The connection to PostgreSQL was lost, several times or until the time was up; or the server did not answer for
    /// too long, and the connection was dropped.
    /// → Make the same call again with the same request id: if the first one was committed unseen, its answer comes
    /// back.
    ConnectionLost "connection_lost" Busy;
    /// A text has a control character, or one that hides something ([security](../security.md)); the message names it
    /// and the byte it begins at. Newline and tab are allowed in texts of several lines.
    /// → Remove it.
    ControlCharacter "control_character" Usage;
    /// The file of the embedded store is a copy, or was put back, and changed again while the store was continued in it.
    /// → Call again: the next write [continues as after a restore](../store.md#sqlite-on-disk).
    CopiedFile "copied_file" Busy;
    /// This repository has the id of another one that is still there: it is a copy.
    /// → A person runs `tenure project new` or `tenure project join`.
    CopiedProject "copied_project" Conflict;
    /// A stored row, or the file itself, does not have the shape that Tenure writes; or it belongs to another program.
    /// → `tenure doctor`; restore a backup. Nothing was changed.
    CorruptStore "corrupt_store" Storage;
    /// A browser that is signed in was made to ask by a page that is not ours.
    /// → Send the header that our page was given.
    Csrf "csrf" Denied;
    /// Tasks would wait for each other; `details.cycle` names them.
    /// → Take one of the dependencies out.
    Cycle "cycle" Conflict;
    /// `note --data` is nested deeper than 100 levels.
    /// → Keep it in a file and name the file.
    DataTooDeep "data_too_deep" Usage;
    /// `note --data` is longer than 64 KiB.
    /// → Keep it in a file and name the file.
    DataTooLong "data_too_long" Usage;
    /// The disk of the store is full.
    /// → Make room and call again. Nothing was changed; queries still answer.
    DiskFull "disk_full" Storage;
    /// Two lines of an import have the same id; `details.line`.
    /// → Take one of them out.
    DuplicateId "duplicate_id" Usage;
    /// Two lines of a bulk `add` have the same `key`; `details.line`.
    /// → Rename one.
    DuplicateKey "duplicate_key" Usage;
    /// An export through a server has more than 64 MiB.
    /// → Run `tenure export` where the store is.
    ExportTooLarge "export_too_large" Usage;
    /// An export without its last line, or with another number of lines than that says.
    /// → Get the whole file and try again. Nothing was imported.
    ExportTruncated "export_truncated" Usage;
    /// The file that an export or a backup should go to is there, or `completions --install` did not write it.
    /// → Another name, or `--force`, which never replaces a database that is no backup; move the file of another away.
    FileExists "file_exists" Conflict;
    /// The store has a view, a trigger or a virtual table that Tenure does not make: another program has changed its
    /// schema.
    /// → Find out where the file comes from; restore a backup, or name another store. Nothing was read or changed.
    ForeignSchema "foreign_schema" Storage;
    /// A `.git` leads nowhere, or one of git's files cannot be read.
    /// → Repair the repository (`git worktree repair`).
    GitBroken "git_broken" Storage;
    /// Git did not say within 10 s what is staged, committed or pushed. Only in `hook.log`; `guard.fail` decides.
    /// → `git status` shows whether the repository is well.
    GitFailed "git_failed" Storage;
    /// The id or pin of the project cannot be made: the git directory is not writable.
    /// → Run one writing command outside the sandbox, once per project.
    GitReadOnly "git_read_only" Storage;
    /// A memory for the whole store together with others, or another scope where the whole store is meant.
    /// → Send it in a request of its own.
    GlobalApart "global_apart" Usage;
    /// A message is about a hold that has ended.
    /// → `tenure why ID` tells how; write to its task or to an agent.
    HoldOver "hold_over" Conflict;
    /// A write from an agent tool that does not say which session it is, from two tools at once, or in a session whose
    /// id is several agents.
    /// → `--agent NAME` or `TENURE_AGENT`.
    IdentityMissing "identity_missing" Denied;
    /// The task's status does not allow the command; `details.status`, and for a finished task `details.finished_by`
    /// and `details.finished_at`.
    /// → `tenure show ID`, `tenure why ID`; perhaps `reopen` or `unblock`.
    IllegalTransition "illegal_transition" Conflict;
    /// Ids of an import are here with other content; `details.differing` has up to 20 with their fields,
    /// `details.total` how many.
    /// → Import into another project, or take their lines out. Nothing was imported.
    ImportDiffers "import_differs" Conflict;
    /// An event for a hook has more than 16 MiB, the input of a bulk `add` more than 64 MiB, that of an import more
    /// than 512 MiB.
    /// → Send it in several calls.
    InputTooLong "input_too_long" Usage;
    /// Standard input of a hook cannot be read. Only in `hook.log`.
    /// → Call it as its tool does.
    InputUnreadable "input_unreadable" Storage;
    /// A state that should be unreachable.
    /// → Report it with the command that led there.
    Internal "internal" Internal;
    /// The disk failed to read or write, or a file of the store cannot be made.
    /// → Check the disk and the system log.
    IoFailure "io_failure" Storage;
    /// The file named as a store is a backup.
    /// → Bring it into a place of its own: `tenure restore FILE --store PLACE`. Nothing was changed.
    IsBackup "is_backup" Storage;
    /// The keeper of a command under a lock was killed or does not answer: the command was ended (exit 123).
    /// → Look at what the command left behind, then run it again.
    KeeperLost "keeper_lost" Storage;
    /// `release` or `transfer` by a holder whose hold has lapsed, while nobody took over; `release` of a path or a lock
    /// that its holder lost, to the time or to somebody (`details.now_held_by`, `ended_at`, `ended_by`); a lock whose
    /// fence was shown and that has ended.
    /// → `tenure claim ID`; `done`, `block` and `note` are still accepted.
    Lapsed "lapsed" Stale;
    /// Somebody has the lock, or you have it and did not show its fence; `details.blockers`.
    /// → Wait, or ask the holder; `--fence N` renews your own; a person may take it over.
    LockHeld "lock_held" Conflict;
    /// A lock could not be renewed in time, or was taken over: its command was ended (exit 123), or not started.
    /// → Look at what the command left behind, then run it again.
    LockLost "lock_lost" Stale;
    /// A link is offered whose secret has been used for one before.
    /// → Draw another secret.
    LoginKnown "login_known" Conflict;
    /// A one-time link that is used up, over, or never was.
    /// → Ask for a new one.
    LoginRefused "login_refused" Denied;
    /// A memory is longer than 4 KiB.
    /// → Say it in a few sentences, and name the file that has the rest.
    MemoryTooLong "memory_too_long" Usage;
    /// A message is longer than 8 KiB.
    /// → Keep long material in a file of the repository and name it.
    MessageTooLong "message_too_long" Usage;
    /// The command works on the store itself, and the project is on a server.
    /// → Run it on the machine of the server.
    NeedsStore "needs_store" Denied;
    /// The embedded store would be on a network file system; `details.file_system`.
    /// → A local disk, or PostgreSQL; `TENURE_FORCE_FILE_SYSTEM=1` uses the place all the same.
    NetworkFileSystem "network_file_system" Storage;
    /// An export of a newer format.
    /// → Install the version that wrote it.
    NewerExport "newer_export" Usage;
    /// A newer version of Tenure has migrated the store; `details.found`, `details.known`.
    /// → Install the newer version. Nothing was written.
    NewerSchema "newer_schema" Storage;
    /// The file given to `restore` does not exist.
    /// → Check its name.
    NoBackup "no_backup" NotFound;
    /// `project join` outside of any repository, or `reserve` from no checkout.
    /// → Run it in the copy; reserve from inside a checkout, or in all of them.
    NoCheckout "no_checkout" Usage;
    /// `lock NAME --` has no command after the dashes.
    /// → Name one, or leave the dashes out.
    NoCommand "no_command" Usage;
    /// The PostgreSQL database does not exist.
    /// → Create it, or correct the URL.
    NoDatabase "no_database" Storage;
    /// The directory of the store vanished while the store was made.
    /// → Call again; look for what removes it.
    NoDirectory "no_directory" Storage;
    /// The file system of the store has no file locks.
    /// → Put the store on a local disk.
    NoFileLocks "no_file_locks" Storage;
    /// An artifact is named to a server, which does not see the files.
    /// → Note it where the files are.
    NoFiles "no_files" Usage;
    /// No task is named and the agent has none in focus.
    /// → Name one, or `tenure claim`.
    NoFocus "no_focus" Usage;
    /// There is no home directory to keep the user's store in.
    /// → Set `HOME`, or name a store.
    NoHome "no_home" Usage;
    /// The process that keeps a command under a lock cannot be started.
    /// → Look for a limit on processes or memory. Nothing was run.
    NoKeeper "no_keeper" Storage;
    /// No path is named.
    /// → Name at least one.
    NoPath "no_path" Usage;
    /// `member set` without `--in` where nothing has happened yet.
    /// → Name the project with `--in`, or say `--everywhere`.
    NoProjectYet "no_project_yet" Usage;
    /// A message is to nobody: no agent is named, and nothing it is about.
    /// → Name an agent, or a task with `--about`.
    NoRecipient "no_recipient" Usage;
    /// `project new`, `join`, `pin`, or `setup git` outside of a git repository.
    /// → Give the directory a name with `project` in `tenure.toml`.
    NoRepository "no_repository" Usage;
    /// No private copy of the backup can be made among the temporary files.
    /// → Set `TMPDIR` to a directory with room. Nothing was changed.
    NoScratch "no_scratch" Storage;
    /// The server cannot listen beside the store.
    /// → Check the directory of the store.
    NoSocket "no_socket" Storage;
    /// The store is not there and may not be made. At the command line this is `pinned_store_gone`.
    /// → Put it back.
    NoStore "no_store" Storage;
    /// `setup` without a name found no agent tool.
    /// → Name the tools.
    NoTools "no_tools" Usage;
    /// The working directory is gone or unreadable.
    /// → Change to one that exists.
    NoWorkingDirectory "no_working_directory" Usage;
    /// Something above the store's file is not a directory.
    /// → Name another place.
    NotADirectory "not_a_directory" Storage;
    /// A directory, pipe or device is where a file of the store should be.
    /// → Move it away, or name another place.
    NotAFile "not_a_file" Storage;
    /// A link to sign in is offered to a service or an agent.
    /// → Give them a token.
    NotAPerson "not_a_person" Usage;
    /// What answers at the address of the server is not one.
    /// → Check `TENURE_URL`.
    NotAServer "not_a_server" Usage;
    /// No task or hold has this id, whatever its characters.
    /// → `tenure list --all`, `tenure whoami`.
    NotFound "not_found" NotFound;
    /// An agent used `--force` on what an agent holds that is not gone.
    /// → Ask the holder, or a person.
    NotGone "not_gone" Denied;
    /// `release` of a task that nobody holds.
    /// → `tenure show ID`.
    NotHeld "not_held" Conflict;
    /// What came over a connection to a server is no request that can be read.
    /// → Send HTTP/1.1.
    NotHttp "not_http" Usage;
    /// Something is asked for through a server that nobody may ask for there.
    /// → —
    NotOffered "not_offered" Denied;
    /// `claim ID` of a task that waits for others; `details.unmet`.
    /// → `tenure claim` takes another; `tenure show ID --graph`.
    NotReady "not_ready" Conflict;
    /// A server did not carry a request out: its client seemed gone, its time had passed, or the server is about to
    /// stop.
    /// → The client goes direct or asks again by itself.
    NotRun "not_run" Busy;
    /// No token or session that is valid was shown to a server.
    /// → Show one; a person makes tokens with `tenure token add`.
    NotSignedIn "not_signed_in" Denied;
    /// A hook came to a project in which nothing has happened yet. It changes nothing.
    /// → `tenure add`, or any other first write, switches it on.
    NotSwitchedOn "not_switched_on" Conflict;
    /// `up` was to listen for other machines.
    /// → Listen at 127.0.0.1, or use `serve` behind a proxy.
    NotThisMachine "not_this_machine" Usage;
    /// The store cannot be written: by a sandbox or a read-only mount (`details.sandbox` is true), or because
    /// permissions are missing. Queries still answer.
    /// → Use the MCP tools, which run outside the sandbox, or let a person run `tenure setup`; else check the
    /// permissions.
    NotWritable "not_writable" Storage;
    /// A principal acts as a person, service or agent that is another's.
    /// → Act under your own name, or as an agent that nobody else has used.
    NotYours "not_yours" Denied;
    /// `why` of a path that nobody has held or changed.
    /// → `tenure holds`.
    NothingKnown "nothing_known" NotFound;
    /// A bulk `add` without a task.
    /// → Send at least one line.
    NothingToAdd "nothing_to_add" Usage;
    /// `edit` without a change.
    /// → Give at least one.
    NothingToChange "nothing_to_change" Usage;
    /// `remember` without a memory.
    /// → Give at least one.
    NothingToRemember "nothing_to_remember" Usage;
    /// `transfer` of a task that nobody holds
    /// → Claim it, or name a task that is held
    NothingToTransfer "nothing_to_transfer" NotFound;
    /// The record of an earlier restore of this store on this machine leaves no numbers below 2⁵³; `details.number`.
    /// → The record comes from a backup that was changed by hand; a person removes it from
    /// `$XDG_STATE_HOME/tenure/restores`.
    NumbersUsedUp "numbers_used_up" Conflict;
    /// The store was made by an older version and cannot be brought up to date from here.
    /// → Call once where the store can be written.
    OlderSchema "older_schema" Storage;
    /// The story of several paths was asked for at once.
    /// → Ask for each.
    OnePath "one_path" Usage;
    /// A page of another site made a browser ask over MCP.
    /// → Ask without the header `Origin`, or from a page of this server.
    OtherOrigin "other_origin" Denied;
    /// A request to forget a project was sent to another.
    /// → Name the project that is meant.
    OtherProject "other_project" Conflict;
    /// A session is another agent than its hook took it for, because another process was quicker.
    /// → The hook asks again by itself.
    OtherSession "other_session" Conflict;
    /// The store found is not the one the project is pinned to. At the command line this is `pinned_elsewhere`.
    /// → See there.
    OtherStore "other_store" Conflict;
    /// The reader of `backup -` hung up, standard output failed, or it was closed before a `backup -` or `export`
    /// began.
    /// → What was written so far is not a backup. Take another.
    OutputCut "output_cut" Storage;
    /// A server has as many requests, listeners or ops in line as it takes.
    /// → Ask again in a moment with the same request id.
    Overloaded "overloaded" Busy;
    /// A file of the store itself is named as a backup or an export.
    /// → Name another file.
    OwnStore "own_store" Usage;
    /// Others hold files that are asked for, or wait for them; `details.blockers`, `details.total`.
    /// → Wait with `--wait`, take something else, or ask the holder; a person may end the hold.
    PathHeld "path_held" Conflict;
    /// A path leads out of its checkout.
    /// → Name something inside.
    PathOutside "path_outside" Usage;
    /// A path, or the place where the project was seen before, cannot be looked up.
    /// → Check the permissions of the directories above it.
    PathUnreadable "path_unreadable" Storage;
    /// A pattern has more segments, wildcards, alternatives or bytes than are compared at a bounded cost.
    /// → Name the files or the directory, or give several patterns.
    PatternLimit "pattern_limit" Usage;
    /// `--force`, `edit --after`, `token`, `member` or `project new`, `join`, `pin` by an agent.
    /// → Ask a person, or work on another task.
    PeopleOnly "people_only" Denied;
    /// The project is pinned to another store; `details.pinned`, `details.resolved`, `details.file`.
    /// → Check `--store`, `TENURE_STORE`, `HOME` and `tenure.toml`; a person changes the pin with `tenure project pin`.
    PinnedElsewhere "pinned_elsewhere" Conflict;
    /// The store that the project is pinned to is gone.
    /// → Put it back; if it is lost for good, a person runs `tenure project pin`.
    PinnedStoreGone "pinned_store_gone" Storage;
    /// The project was last seen in another repository; `details.places`. The command line looks there and goes on, or
    /// answers `copied_project`.
    /// → See there.
    PlaceDiffers "place_differs" Conflict;
    /// PostgreSQL could not carry out a statement; `details.sqlstate`.
    /// → Look at `details.cause`.
    Postgres "postgres" Storage;
    /// PostgreSQL refused the login, or asked for one that could not be given.
    /// → Check user and password in the URL, `PGUSER`, `PGPASSWORD`.
    PostgresLogin "postgres_login" Denied;
    /// The PostgreSQL login may not use the store's schema.
    /// → Grant it the schema and its tables, or use another login.
    PostgresPrivilege "postgres_privilege" Denied;
    /// The id or pin in the git directory makes no sense.
    /// → Put the file back; else a person sets it anew with `tenure project new` or `pin`.
    ProjectFileCorrupt "project_file_corrupt" Storage;
    /// The id or pin cannot be read.
    /// → Check its permissions.
    ProjectFileUnreadable "project_file_unreadable" Storage;
    /// The id or pin cannot be written.
    /// → Check the disk.
    ProjectFileUnwritable "project_file_unwritable" Storage;
    /// A project that has held tasks was to be forgotten.
    /// → Wait, or a person says --force.
    ProjectInUse "project_in_use" Conflict;
    /// A request does not say which project it is about.
    /// → `?project=NAME`, or the header `Tenure-Project`.
    ProjectMissing "project_missing" Usage;
    /// A task, a hold, paths and a lock were to be released by one request.
    /// → Make one call for each.
    ReleaseWhat "release_what" Usage;
    /// `release WORD`, where the caller has a lock and a path of that name.
    /// → `tenure release ./WORD` for the path, `--lock WORD` for the lock.
    ReleaseWhich "release_which" Usage;
    /// A request id was used before with another request.
    /// → A new request needs a new id. Nothing was changed.
    RequestMismatch "request_mismatch" Mismatch;
    /// A request has more than a server takes.
    /// → Send it in pieces, or run the command where the store is.
    RequestTooLarge "request_too_large" Usage;
    /// Access was to be given to `service:tenure`, the name that servers write under.
    /// → Choose another name.
    ReservedName "reserved_name" Usage;
    /// The store here has content and is another one than the backup is of; `details.found`, `details.backup`.
    /// → Restore to a place where no store is, with `--store`.
    RestoreOtherStore "restore_other_store" Conflict;
    /// The role of the principal in the project, or that of its token, is not enough; `details.needed`.
    /// → Ask an admin, or use a token that may.
    RoleTooLow "role_too_low" Denied;
    /// A request id was given to a command under a lock.
    /// → Leave it out: each run takes the lock anew.
    RunNotRepeated "run_not_repeated" Usage;
    /// `restore --replace` or `project forget` on PostgreSQL without a place for a backup of what is there.
    /// → Name a new file with `--safety`.
    SafetyNeeded "safety_needed" Usage;
    /// `transfer` to the agent that holds the task already.
    /// → Nothing.
    SameHolder "same_holder" Conflict;
    /// Another `setup` is writing and did not finish in time.
    /// → Call again.
    SetupBusy "setup_busy" Busy;
    /// Paths of several checkouts in one call.
    /// → Make one call for each checkout.
    SeveralCheckouts "several_checkouts" Usage;
    /// A message is about a path on which others have several holds.
    /// → Say which by its id; `details.candidates` has them.
    SeveralHolds "several_holds" Usage;
    /// SQLite could not carry out a statement, for a reason without a code of its own.
    /// → Look at `details.cause`.
    Sqlite "sqlite" Storage;
    /// A cursor of another incarnation, beyond the end, or below the oldest event kept; `details.oldest_cursor`.
    /// → Read again from `details.oldest_cursor`.
    StaleCursor "stale_cursor" Stale;
    /// The caller acts under an old fence, or has not been shown the current one; `details.fence`,
    /// `details.current_fence`.
    /// → Stop that work. `tenure show ID`; `tenure claim ID` if it is to be yours again.
    StaleFence "stale_fence" Stale;
    /// `tenure reference --check` found pages that differ from the code.
    /// → `tenure reference --write`.
    StaleReference "stale_reference" Conflict;
    /// `edit --expect-version` and the task has another version; `details.version`.
    /// → `tenure show ID`, then edit again.
    StaleVersion "stale_version" Stale;
    /// PostgreSQL did not finish a statement in time: a minute, two seconds for a hook.
    /// → Send less in one call, or call when the server has less to do.
    StatementTimeout "statement_timeout" Busy;
    /// The time of a call with `--wait` is over and the line is not; `details.place`, `details.id`, `details.blockers`.
    /// → The same command goes on waiting; the place is kept meanwhile.
    StillWaiting "still_waiting" Busy;
    /// `TENURE_STORE` and `TENURE_URL` are both set.
    /// → Unset one of them.
    StoreAndServer "store_and_server" Usage;
    /// Another writer did not finish in time.
    /// → Call again.
    StoreBusy "store_busy" Busy;
    /// A backup or an export should go where a database is, or one of the files beside a database (`-wal`, `-turn-a`,
    /// …), or to a name that such files stand beside.
    /// → Name another file. Nothing was written, with `--force` neither.
    StoreFile "store_file" Conflict;
    /// The file of the embedded store, or its log (`-wal`), was moved away or replaced while a program had it open.
    /// → Put the file back; to use another store, end what runs on this one first. A program whose log is gone saves
    /// what it still has when it ends in order.
    StoreMoved "store_moved" Storage;
    /// `restore` where projects are in use.
    /// → Look at the backup elsewhere with `--store`; a person replaces what is there with `--replace`.
    StoreNotEmpty "store_not_empty" Conflict;
    /// The store of a server does not answer.
    /// → Look at the database.
    StoreSilent "store_silent" Busy;
    /// A symbolic link stands where a backup should go.
    /// → Name the file that is meant.
    SymlinkedBackup "symlinked_backup" Storage;
    /// The store's file, or a lock file beside it, is a symbolic link.
    /// → Name the file itself.
    SymlinkedStore "symlinked_store" Storage;
    /// A memory for a task with the scope of something else.
    /// → Leave one of them out.
    TaskAndScope "task_and_scope" Usage;
    /// Another agent holds the task; `details.blockers` says who, since when, until when.
    /// → `tenure claim` takes another; a person may override with `--force`.
    TaskHeld "task_held" Conflict;
    /// `restore -` at a terminal.
    /// → Send a backup to standard input, or name a file.
    TerminalInput "terminal_input" Usage;
    /// `backup -` at a terminal.
    /// → Send it to a file or a program, or name a file.
    TerminalOutput "terminal_output" Usage;
    /// A note or reason without words.
    /// → Say something.
    TextEmpty "text_empty" Usage;
    /// A text of more than 64 KiB.
    /// → Keep it in a file and name the file.
    TextTooLong "text_too_long" Usage;
    /// A title without words.
    /// → One line of 1 to 500 characters.
    TitleEmpty "title_empty" Usage;
    /// A title of more than 500 characters.
    /// → Put the rest into `--description`.
    TitleTooLong "title_too_long" Usage;
    /// No TLS connection to PostgreSQL, or to the server of a remote project: it speaks none, or its certificate is
    /// refused.
    /// → Check the certificate; `sslmode` and `sslrootcert`, or `SSL_CERT_FILE`.
    TlsRefused "tls_refused" Storage;
    /// A message would go to its own author.
    /// → `tenure remember --scope agent`, or `tenure note`.
    ToYourself "to_yourself" Conflict;
    /// The file of tokens can be read by others, or is somebody else's.
    /// → `chmod 600`; perhaps replace the token.
    TokenFileOpen "token_file_open" Denied;
    /// A token is given whose secret has been used for one before.
    /// → Draw another secret.
    TokenKnown "token_known" Conflict;
    /// There is no token for the server, or none that may go to a server that the repository itself names.
    /// → [Where tokens are](../remote.md#tokens).
    TokenMissing "token_missing" Denied;
    /// The server does not let this token do that.
    /// → Ask whoever runs the server.
    TokenRefused "token_refused" Denied;
    /// The server does not know this token: misspelt, expired or revoked.
    /// → Ask whoever runs the server for another.
    TokenUnknown "token_unknown" Denied;
    /// More than 100 messages to acknowledge in one call.
    /// → Make several calls.
    TooManyAcks "too_many_acks" Usage;
    /// More than 50 files in one note.
    /// → Send several notes.
    TooManyArtifacts "too_many_artifacts" Usage;
    /// PostgreSQL has no connection left.
    /// → Call again.
    TooManyConnections "too_many_connections" Busy;
    /// An agent would hold more than 100,000 paths or 256 locks, or the project more than 200,000 or 1,000.
    /// → Release what is no longer needed; hold a directory in place of its files.
    TooManyHolds "too_many_holds" Usage;
    /// A bulk `add` of more than 100,000 tasks, or an import of more than 200,000 tasks or 1,000,000 notes. Nothing was
    /// done; `given` and `limit` say how many.
    /// → Split the input and send it in several calls; a whole store moves by `backup` and `restore`.
    TooManyItems "too_many_items" Usage;
    /// More than 20 labels.
    /// → Take some away.
    TooManyLabels "too_many_labels" Usage;
    /// More than 50 memories in one request.
    /// → Send several.
    TooManyMemories "too_many_memories" Usage;
    /// More than 256 paths in one request, or more than 200 files of one tool call named by a hook.
    /// → Name a directory, or give several requests; the hook is a defect of the door, which names the first 200.
    TooManyPaths "too_many_paths" Usage;
    /// 20 memories of a scope are pinned already.
    /// → Take another pin out first.
    TooManyPins "too_many_pins" Conflict;
    /// One stream is of too many projects.
    /// → Open several.
    TooManyProjects "too_many_projects" Usage;
    /// More than 20 recipients of one message.
    /// → Send it in parts.
    TooManyRecipients "too_many_recipients" Usage;
    /// A principal, or an address that guesses secrets, asks too often (429).
    /// → Ask again in a second with the same request id.
    TooManyRequests "too_many_requests" Busy;
    /// More patterns than allowed that begin with a wildcard: 16 an agent, 256 a project.
    /// → Begin the pattern with a directory, or release others.
    TooManyUnanchored "too_many_unanchored" Usage;
    /// An agent has 16 places in the waiting line, or the project 256.
    /// → Ask for several paths at once, or leave the line somewhere else.
    TooManyWaiting "too_many_waiting" Usage;
    /// A request was not answered in time; it may have been carried out.
    /// → Ask again with the same request id: it finds out.
    TookTooLong "took_too_long" Busy;
    /// A file of an agent tool was changed by another program while `setup` wrote.
    /// → Close the tool, call again.
    ToolConfigChanged "tool_config_changed" Busy;
    /// A file of an agent tool is malformed, or has something else where entries belong; `details.line`. Nothing was
    /// written.
    /// → Correct the file, or name the other tools.
    ToolConfigInvalid "tool_config_invalid" Usage;
    /// A file of an agent tool cannot be read: a loop of links, a directory, larger than 32 MiB. Nothing was written.
    /// → Put the file right, or name the other tools.
    ToolConfigUnusable "tool_config_unusable" Storage;
    /// A file of an agent tool, or the state directory of `setup`, cannot be written. Nothing was written.
    /// → Check the permissions; run `setup` outside the sandbox.
    ToolConfigUnwritable "tool_config_unwritable" Storage;
    /// Git tracks a file of the store, `details.file`: a reset or a checkout would put an old store in its place.
    /// → Take the file out of git's index and keep it on the disk, then commit that.
    TrackedStore "tracked_store" Conflict;
    /// A path that goes with the task overlaps one that stays with its holder.
    /// → Release the one that stays, or reserve it for the task.
    TransferSplits "transfer_splits" Conflict;
    /// No turn to write within the time; `details.entity` is the lock file.
    /// → Call again. If it stays so, a stopped process holds that file.
    Turnstile "turnstile" Busy;
    /// A repository names a project that exists and was not used from this clone. Nothing was shown or changed.
    /// → A person looks with `tenure project show` and says yes for this clone with `tenure project pin`.
    UnconfirmedProject "unconfirmed_project" Conflict;
    /// A repository names a store or a server, or brings a store along, and no person has confirmed it for this clone.
    /// Nothing was opened or sent.
    /// → A person looks with `tenure project show` and says yes for this clone with `tenure project pin`.
    UnconfirmedStore "unconfirmed_store" Conflict;
    /// The server was sent the request and stands still in the middle of a commit: it may yet be done;
    /// `details.request_id`.
    /// → Ask again with that request id: it is done once, and you learn what became of it.
    Undecided "undecided" Busy;
    /// The address of the server is `http://` and not of this machine.
    /// → Use `https://`; `TENURE_FORCE_HTTP=1` on a network that you trust.
    UnencryptedServer "unencrypted_server" Usage;
    /// A change of the store was cut off in the middle, and a query may not take it back.
    /// → Run any op: it takes the change back.
    UnfinishedChange "unfinished_change" Storage;
    /// There is nothing at this address of the server.
    /// → The addresses are in `/api/v1/openapi.json`.
    UnknownAddress "unknown_address" NotFound;
    /// `--for` or `--to` names an agent that nobody has seen.
    /// → `tenure agent list`; an agent is known from its first write on.
    UnknownAgent "unknown_agent" NotFound;
    /// Not a command; the hint names the nearest.
    /// → `tenure --help`.
    UnknownCommand "unknown_command" Usage;
    /// `log --kind` is not a kind of event; the hint lists them.
    /// → Choose one of the list.
    UnknownKind "unknown_kind" Usage;
    /// An address of the server is not asked that way (405).
    /// → The methods are in `/api/v1/openapi.json`.
    UnknownMethod "unknown_method" Usage;
    /// A server was sent an op that there is not.
    /// → The [ops](../reference/ops.md); or client and server are of different versions.
    UnknownOp "unknown_op" NotFound;
    /// An address has a parameter that it does not know; `details.entity` names it.
    /// → Leave it out, or correct it.
    UnknownParameter "unknown_parameter" Usage;
    /// Nobody of that name was ever given access.
    /// → `tenure member list`.
    UnknownPrincipal "unknown_principal" NotFound;
    /// No project of the store has that key or name, or none that the caller may see.
    /// → `tenure project list`
    UnknownProject "unknown_project" NotFound;
    /// A server was sent a query that there is not.
    /// → Client and server are of different versions: use the same.
    UnknownQuery "unknown_query" NotFound;
    /// An MCP session that is over, or is another principal's or another project's.
    /// → Begin a new one with `initialize`.
    UnknownSession "unknown_session" NotFound;
    /// A store URL with a scheme other than `postgres`, `postgresql` or `sqlite`.
    /// → Correct it.
    UnknownStoreScheme "unknown_store_scheme" Usage;
    /// `setup` does not know the tool.
    /// → The hint lists those it knows.
    UnknownTool "unknown_tool" Usage;
    /// PostgreSQL, or the server of a remote project, cannot be reached.
    /// → Check the server, host, port and TLS settings.
    Unreachable "unreachable" Busy;
    /// The store's file cannot be read.
    /// → Check who owns it and every directory above it.
    Unreadable "unreadable" Storage;
    /// Standard input, or the file given for `--data` or `import`, cannot be read.
    /// → Check it.
    UnreadableInput "unreadable_input" Usage;
    /// The body of a request is not said to be JSON (415).
    /// → `Content-Type: application/json`.
    UnsupportedMediaType "unsupported_media_type" Usage;
    /// The request would wait for somebody who waits for the one who asks; `details.circle` names them.
    /// → Give back what the others wait for, then ask again.
    WaitsInCircle "waits_in_circle" Conflict;
    /// A store on a read-only place has changes in its `-wal` that cannot be read from there.
    /// → Open it once where it can be written, or allow writing its directory.
    WalWithoutShm "wal_without_shm" Storage;
    /// An op about access is asked for in a project.
    /// → Ask for it in the whole store; `tenure token` and `tenure member` do.
    WholeStoreOnly "whole_store_only" Usage;
}
