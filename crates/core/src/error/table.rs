//! The table of error codes, sorted by word. `docs/errors/README.md` is generated from it, so each description is text
//! that users read.

use super::Kind;
use super::code::{Row, codes};

codes! {
    /// Another server already serves this embedded store.
    /// → Use that server, or stop it first.
    AlreadyServed "already_served" Conflict;
    /// Several ids begin with the typed text; `details.candidates` lists up to ten.
    /// → Type more characters of the id.
    AmbiguousId "ambiguous_id" Usage;
    /// Several projects of the store have this name.
    /// → Give the key of the project; `details.candidates` lists the keys.
    AmbiguousProject "ambiguous_project" Usage;
    /// `restore` cannot read the given file.
    /// → Check the permissions of the file. Nothing was changed.
    BackupUnreadable "backup_unreadable" Storage;
    /// The backup cannot be written to the given place.
    /// → Name a file in a directory that exists and is writable.
    BackupUnwritable "backup_unwritable" Storage;
    /// `--listen` is not an address and a port.
    /// → Write an address such as `127.0.0.1:7133`; port 0 selects a free port.
    BadAddress "bad_address" Usage;
    /// The client cannot read the server's answer.
    /// → Use the same version of Tenure for client and server.
    BadAnswer "bad_answer" Internal;
    /// A flag is unknown, or an argument is missing or superfluous.
    /// → See `tenure COMMAND --help`.
    BadArguments "bad_arguments" Usage;
    /// A file of a note has no valid path, SHA-256 or size.
    /// → Correct it; `tenure note --artifact FILE` determines all three.
    BadArtifact "bad_artifact" Usage;
    /// The file given to `restore` is not a backup, is damaged or truncated, or is inconsistent.
    /// → Give a file that `tenure backup` wrote. Nothing was changed.
    BadBackup "bad_backup" Storage;
    /// The budget for a brief is outside 150 to 50,000 tokens.
    /// → Give a number in this range.
    BadBudget "bad_budget" Usage;
    /// A request from another program contains a NUL, or a text or a list that is too long.
    /// → Correct the program that made the request.
    BadCall "bad_call" Usage;
    /// The git hook did not report a valid commit id. Only in `hook.log`.
    /// → Check the hooks: `tenure setup git --check`.
    BadCommit "bad_commit" Usage;
    /// An `attempt` or `version` of an import is out of range; `details.line`.
    /// → Correct the line and send the whole input again.
    BadCount "bad_count" Usage;
    /// The cursor was not made by Tenure.
    /// → Use the `next` value of the previous page.
    BadCursor "bad_cursor" Usage;
    /// `note --data`, or the data of an imported note, is not JSON.
    /// → Give JSON, `@FILE`, or `-` for standard input.
    BadData "bad_data" Usage;
    /// `demo` was given fewer than two workers, as many kills as workers, or fewer than four tasks.
    /// → Change the numbers.
    BadDemo "bad_demo" Usage;
    /// The duration is not a whole number and a unit.
    /// → Write `90s`, `10m`, `2h` or `7d`.
    BadDuration "bad_duration" Usage;
    /// The input of a hook is not an event of its tool as JSON. Only in `hook.log`.
    /// → Check the hook of that tool: `tenure setup --check`.
    BadEvent "bad_event" Usage;
    /// The input of `import` is not an export: it is empty, is another file, or names no format.
    /// → Give a file that `tenure export` wrote.
    BadExport "bad_export" Usage;
    /// The client of `tenure mcp` did not begin with `initialize`.
    /// → Start the command from an MCP client.
    BadHandshake "bad_handshake" Usage;
    /// A field that needs the SHA-256 of a secret has another value. The error does not repeat the value.
    /// → Send the hash in hexadecimal, never the secret.
    BadHash "bad_hash" Usage;
    /// A header of a request to a server is invalid; `details.entity` names it.
    /// → Correct it.
    BadHeader "bad_header" Usage;
    /// The id of a task or note in an import is malformed; `details.line`.
    /// → Correct the line and send the whole input again.
    BadId "bad_id" Usage;
    /// A `key` of a bulk `add` is empty or longer than 200 bytes (`details.line`), or the key of a memory is empty, is
    /// longer than 120 characters or contains other characters than allowed.
    /// → Correct the key.
    BadKey "bad_key" Usage;
    /// The kind of hold does not exist.
    /// → Give `task`, `path` or `name`.
    BadKind "bad_kind" Usage;
    /// A label is empty or longer than 64 characters.
    /// → Correct the label.
    BadLabel "bad_label" Usage;
    /// The lifetime of a token, link or session is zero or too long.
    /// → Give 1s up to the limit; see [access](../access.md).
    BadLifetime "bad_lifetime" Usage;
    /// The page size is outside 1 to 1000.
    /// → Correct `--limit`.
    BadLimit "bad_limit" Usage;
    /// A line of a bulk `add` or of an import is not one JSON object with exactly the fields that it needs;
    /// `details.line`.
    /// → Correct the line and send the whole input again. Nothing was added.
    BadLine "bad_line" Usage;
    /// The name of a lock is empty, is longer than 128 characters, contains a control character, or begins with a dash
    /// or a space.
    /// → Give another name.
    BadLockName "bad_lock_name" Usage;
    /// `login_close` names both a session and a principal, or neither.
    /// → Name exactly one.
    BadLoginClose "bad_login_close" Usage;
    /// The lifetime of a memory is less than a minute or more than ten years.
    /// → Correct `--ttl`; omit it to keep the memory forever.
    BadMemoryTtl "bad_memory_ttl" Usage;
    /// An agent's name does not fit `[a-z0-9][a-z0-9._:-]{0,63}`.
    /// → Choose another name.
    BadName "bad_name" Usage;
    /// The time for which guards are off is negative or more than 24 hours.
    /// → Correct `--for`; `--end` switches the guards on again.
    BadOff "bad_off" Usage;
    /// The value of a parameter in an address is invalid; `details.entity` names the parameter.
    /// → Correct it.
    BadParameter "bad_parameter" Usage;
    /// A pattern is empty, contains a NUL, or is a malformed glob.
    /// → See [the grammar](../paths.md).
    BadPattern "bad_pattern" Usage;
    /// The priority is outside 0 to 4.
    /// → Give 0 (first) to 4 (last); 2 is the default.
    BadPriority "bad_priority" Usage;
    /// A hook sent more than the name of a program.
    /// → This is a defect in the program that called the kernel: it must send the base name only.
    BadProgram "bad_program" Usage;
    /// Access was requested for something that cannot be a project.
    /// → Give the key as `tenure project list` shows it, or `*`.
    BadProjectKey "bad_project_key" Usage;
    /// A project's name does not fit `[a-z0-9][a-z0-9._-]{0,63}`.
    /// → Choose another name.
    BadProjectName "bad_project_name" Usage;
    /// `proxies` under `[serve]` or `--proxy` is not an address or a network.
    /// → Write an address such as `127.0.0.1` or `::1`, or a network such as `10.0.0.0/8`.
    BadProxy "bad_proxy" Usage;
    /// `guard.relaxed` has more than 64 patterns.
    /// → Shorten the list.
    BadRelaxed "bad_relaxed" Usage;
    /// The server cannot read the request.
    /// → Correct the program that sent it.
    BadRequest "bad_request" Usage;
    /// The request id is not 1 to 128 visible ASCII characters.
    /// → Use another id.
    BadRequestId "bad_request_id" Usage;
    /// `events` under `[retention]` is neither 1d to 3650d nor `forever`.
    /// → Correct it.
    BadRetention "bad_retention" Usage;
    /// The role does not exist.
    /// → Give viewer, worker, operator or admin; `member set` also takes none.
    BadRole "bad_role" Usage;
    /// `sslrootcert` cannot be read or used, or the system has no trusted certificates.
    /// → Name a PEM file with the certificates of the authorities.
    BadRootCertificates "bad_root_certificates" Usage;
    /// The text to search for has no word, or more than 16.
    /// → Give a few words of letters or digits.
    BadSearch "bad_search" Usage;
    /// `TENURE_URL` or `server` is not the address of a server, contains a password, or redirects to another address.
    /// → Write `https://HOST`, with `:PORT` and a path if needed.
    BadServerUrl "bad_server_url" Usage;
    /// The id of a session is missing, empty, longer than 200 bytes or longer than one line.
    /// → The agent tool supplies the id. Nothing was stored.
    BadSession "bad_session" Usage;
    /// The value given for the store names no file.
    /// → Give a file path, `sqlite:PATH`, or a `postgres://` URL.
    BadStore "bad_store" Usage;
    /// A PostgreSQL URL is malformed or has an unknown parameter.
    /// → Correct the URL; the hint lists the known parameters.
    BadStoreUrl "bad_store_url" Usage;
    /// The fields of an imported task contradict each other, such as done without `finished_by`; `details.line`.
    /// → Correct the line; see [the format](../export.md).
    BadTask "bad_task" Usage;
    /// The time is not RFC 3339 with an offset.
    /// → Write a time such as `2030-01-31T09:00:00Z`.
    BadTime "bad_time" Usage;
    /// The token is not one word of visible ASCII characters.
    /// → Give the token exactly as it was printed.
    BadToken "bad_token" Usage;
    /// The label of a token is not one line of at most 200 characters.
    /// → Correct the label.
    BadTokenLabel "bad_token_label" Usage;
    /// The list of projects of a token is empty, has more than 100 keys, or contains `*`.
    /// → Omit the list for a token for all projects.
    BadTokenProjects "bad_token_projects" Usage;
    /// A hook sent a path outside the checkout.
    /// → This is a defect in the program that called the kernel: it must omit such paths.
    BadToolPath "bad_tool_path" Usage;
    /// The time to live is outside 1 second to 24 hours.
    /// → Correct `--ttl`.
    BadTtl "bad_ttl" Usage;
    /// An environment variable is not UTF-8; `details.entity` names it.
    /// → Set it to plain text, or unset it.
    BadVariable "bad_variable" Usage;
    /// A word from an agent tool, such as the name of an event, is longer than 128 bytes or longer than one line.
    /// → The agent tool supplies the word. Nothing was stored.
    BadWord "bad_word" Usage;
    /// `block --on` names a task that is done or cancelled.
    /// → Name another task, or omit `--on`.
    BlockerGone "blocker_gone" Conflict;
    /// The body of a request is malformed or truncated.
    /// → Send as many bytes as Content-Length says, or chunks with their lengths.
    BodyBroken "body_broken" Usage;
    /// The body of a request is longer than the server accepts (413).
    /// → Send less in one request.
    BodyTooLarge "body_too_large" Usage;
    /// The address is in use, or the process may not listen on it.
    /// → Choose another address with `--listen`.
    CannotListen "cannot_listen" Conflict;
    /// SQLite cannot open the file.
    /// → Check that the file and its directory can be read and written.
    CannotOpen "cannot_open" Storage;
    /// A store on a read-only file system changed during each of 20 reads.
    /// → Retry the call.
    ChangingStore "changing_store" Busy;
    /// A lock was lost, and some processes of its command could not be ended (exit 122); `details.survivors` lists
    /// them. They wait for a device, or belong to another user. Without `survivors`, the process that watched the
    /// command failed, so it is unknown whether the command has ended.
    /// → End them by hand before you run the command again.
    CommandNotEnded "command_not_ended" Stale;
    /// The command of `lock NAME -- COMMAND` does not exist or cannot be run, or an earlier command under the lock
    /// could not be ended (`details.survivors`). The lock is free again.
    /// → Correct the command, or end the listed processes.
    CommandNotStarted "command_not_started" Usage;
    /// `tenure.toml` or `config.toml` has an unknown key or a wrong value; `details.line`, `details.key`.
    /// → Correct the line.
    ConfigInvalid "config_invalid" Usage;
    /// A configuration file cannot be read.
    /// → Make the file readable, or move it away.
    ConfigUnreadable "config_unreadable" Storage;
    /// The command needs a confirmation, and there is no terminal to ask on, or the answer was no; `details.diff`,
    /// `details.asks` or `details.project` shows what it would change. For example, `setup` changes files, `project pin` trusts a
    /// repository, and `project forget` removes a project.
    /// → Read the changes, then repeat the command with `--yes`.
    ConfirmationNeeded "confirmation_needed" Usage;
    /// The connection to PostgreSQL was lost repeatedly or until the deadline; or the server did not answer for too
    /// long, and the connection was dropped.
    /// → Repeat the call with the same request id: if the first call was committed, you get its answer.
    ConnectionLost "connection_lost" Busy;
    /// A text contains a control character or an invisible character ([security](../security.md)); the message names
    /// the character and its byte offset. Newline and tab are allowed in texts of several lines.
    /// → Remove the character.
    ControlCharacter "control_character" Usage;
    /// The file of the embedded store is a copy or was put back, and it changed again while Tenure continued the store
    /// in it.
    /// → Repeat the call: the next write [continues as after a restore](../store.md#sqlite-on-disk).
    CopiedFile "copied_file" Busy;
    /// This repository has the id of another repository that still exists, so it is a copy.
    /// → A person runs `tenure project new` or `tenure project join`.
    CopiedProject "copied_project" Conflict;
    /// A stored row or the file itself does not have the format that Tenure writes, or the file belongs to another
    /// program.
    /// → Run `tenure doctor`; restore a backup. Nothing was changed.
    CorruptStore "corrupt_store" Storage;
    /// A page of another site made a signed-in browser send a request.
    /// → Send the CSRF header with the value that the server's own page received.
    Csrf "csrf" Denied;
    /// Tasks would wait for each other; `details.cycle` names them.
    /// → Remove one of the dependencies.
    Cycle "cycle" Conflict;
    /// `note --data` is nested deeper than 100 levels.
    /// → Keep the data in a file and name the file.
    DataTooDeep "data_too_deep" Usage;
    /// `note --data` is longer than 64 KiB.
    /// → Keep the data in a file and name the file.
    DataTooLong "data_too_long" Usage;
    /// The disk of the store is full.
    /// → Free some space and repeat the call. Nothing was changed; queries still answer.
    DiskFull "disk_full" Storage;
    /// Two lines of an import have the same id; `details.line`.
    /// → Remove one of the lines.
    DuplicateId "duplicate_id" Usage;
    /// Two lines of a bulk `add` have the same `key`; `details.line`.
    /// → Rename one of the keys.
    DuplicateKey "duplicate_key" Usage;
    /// An export through a server has more than 64 MiB.
    /// → Run `tenure export` on the machine of the store.
    ExportTooLarge "export_too_large" Usage;
    /// The last line of an export is missing, or it names another number of lines than the file has.
    /// → Get the complete file and try again. Nothing was imported.
    ExportTruncated "export_truncated" Usage;
    /// The output file of an export or a backup exists already, or a file in the place of a completion was not written
    /// by `completions --install`.
    /// → Choose another name, or pass `--force`, which never replaces a database that is not a backup. Move a foreign
    /// file away.
    FileExists "file_exists" Conflict;
    /// The store has a view, a trigger or a virtual table that Tenure does not create: another program has changed its
    /// schema.
    /// → Find out where the file comes from; restore a backup, or name another store. Nothing was read or changed.
    ForeignSchema "foreign_schema" Storage;
    /// A `.git` file points to a missing directory, or a file of git cannot be read.
    /// → Repair the repository (`git worktree repair`).
    GitBroken "git_broken" Storage;
    /// Git did not list the staged, committed or pushed files within 10 s. Only in `hook.log`; `guard.fail` decides
    /// whether the command is allowed.
    /// → Check the repository with `git status`.
    GitFailed "git_failed" Storage;
    /// The id or pin of the project cannot be created: the git directory is not writable.
    /// → Run one writing command outside the sandbox, once per project.
    GitReadOnly "git_read_only" Storage;
    /// A request mixes memories for the whole store with memories of other scopes.
    /// → Send the memories for the whole store in a request of their own.
    GlobalApart "global_apart" Usage;
    /// `transfer` of the lock of a running command, or of an offer that was not taken yet.
    /// → Let the command end, or take the offer first.
    HoldBound "hold_bound" Conflict;
    /// A message is about a hold that has ended.
    /// → `tenure why ID` shows how it ended; write to its task or to an agent.
    HoldOver "hold_over" Conflict;
    /// A write came from an agent tool that does not announce its session, from two tools at once, or from a session
    /// whose id belongs to several agents.
    /// → Pass `--agent NAME` or set `TENURE_AGENT`.
    IdentityMissing "identity_missing" Denied;
    /// The status of the task does not allow the command; `details.status`, and for a finished task
    /// `details.finished_by` and `details.finished_at`.
    /// → See `tenure show ID` and `tenure why ID`; `reopen` or `unblock` may help.
    IllegalTransition "illegal_transition" Conflict;
    /// Some ids of an import exist in this project with other content; `details.differing` lists up to 20 with their
    /// fields, `details.total` counts them.
    /// → Import into another project, or remove these lines. Nothing was imported.
    ImportDiffers "import_differs" Conflict;
    /// The input is too long: at most 16 MiB for an event of a hook, 64 MiB for a bulk `add`, 512 MiB for an import.
    /// → Split the input and send it in several calls.
    InputTooLong "input_too_long" Usage;
    /// A hook cannot read its standard input. Only in `hook.log`.
    /// → Call the hook as its tool does.
    InputUnreadable "input_unreadable" Storage;
    /// The program reached a state that should be impossible.
    /// → Report the defect with the command that led to it.
    Internal "internal" Internal;
    /// The disk failed to read or write, or a file of the store cannot be created.
    /// → Check the disk and the system log.
    IoFailure "io_failure" Storage;
    /// The file named as the store is a backup.
    /// → Restore it to a new place: `tenure restore FILE --store PLACE`. Nothing was changed.
    IsBackup "is_backup" Storage;
    /// The keeper of a command under a lock was killed or does not answer, so the command was ended (exit 123).
    /// → Check what the command left behind, then run it again.
    KeeperLost "keeper_lost" Storage;
    /// The hold of the caller has expired. For `release` or `transfer` of a task, no other agent has taken over. For
    /// `release` of a path or a lock, the message says how the hold ended (`details.now_held_by`, `ended_at`,
    /// `ended_by`). For a lock with a fence, the hold with that fence has ended.
    /// → Run `tenure claim ID`; `done`, `block` and `note` are still accepted.
    Lapsed "lapsed" Stale;
    /// Another run holds the lock: that of another agent, or one of your own whose fence you did not show;
    /// `details.blockers`.
    /// → Wait, or ask the holder; `--fence N` renews your own hold; a person may take the lock over.
    LockHeld "lock_held" Conflict;
    /// A lock could not be renewed in time, or was taken over. Its command was ended (exit 123) or not started.
    /// → Check what the command left behind, then run it again.
    LockLost "lock_lost" Stale;
    /// The secret of the new sign-in link was used for an earlier link.
    /// → Generate another secret.
    LoginKnown "login_known" Conflict;
    /// The one-time link was used already, has expired, or never existed.
    /// → Ask for a new link.
    LoginRefused "login_refused" Denied;
    /// The memory is longer than 4 KiB.
    /// → Summarize it in a few sentences, and name the file that has the rest.
    MemoryTooLong "memory_too_long" Usage;
    /// The message is longer than 8 KiB.
    /// → Keep long material in a file of the repository and name the file.
    MessageTooLong "message_too_long" Usage;
    /// The command works on the store itself, and the project is on a server.
    /// → Run the command on the machine of the server.
    NeedsStore "needs_store" Denied;
    /// The embedded store would be on a network file system; `details.file_system`.
    /// → Use a local disk or PostgreSQL; `TENURE_FORCE_FILE_SYSTEM=1` overrides the check.
    NetworkFileSystem "network_file_system" Storage;
    /// The export has a newer format.
    /// → Install the version of Tenure that wrote the export.
    NewerExport "newer_export" Usage;
    /// A newer version of Tenure has migrated the store; `details.found`, `details.known`.
    /// → Install the newer version. Nothing was written.
    NewerSchema "newer_schema" Storage;
    /// The file given to `restore` does not exist.
    /// → Check the name of the file.
    NoBackup "no_backup" NotFound;
    /// `project join` ran outside a repository, or `reserve` outside a checkout.
    /// → Run `join` in the copy; run `reserve` inside a checkout, or for all checkouts.
    NoCheckout "no_checkout" Usage;
    /// `lock NAME --` has no command after the dashes.
    /// → Give a command, or omit the dashes.
    NoCommand "no_command" Usage;
    /// The PostgreSQL database does not exist.
    /// → Create it, or correct the URL.
    NoDatabase "no_database" Storage;
    /// The directory of the store was removed while the store was created.
    /// → Repeat the call; find out which program removes the directory.
    NoDirectory "no_directory" Storage;
    /// The file system of the store has no file locks.
    /// → Put the store on a local disk.
    NoFileLocks "no_file_locks" Storage;
    /// An artifact was sent to a server that cannot read the caller's files.
    /// → Write the note on the machine that has the files.
    NoFiles "no_files" Usage;
    /// The request names no task, and the agent has no task in focus.
    /// → Name a task, or run `tenure claim`.
    NoFocus "no_focus" Usage;
    /// The user has no home directory for the store.
    /// → Set `HOME`, or name a store.
    NoHome "no_home" Usage;
    /// The process that keeps a command under a lock cannot be started.
    /// → Check for a limit on processes or memory. The command was not run.
    NoKeeper "no_keeper" Storage;
    /// The request names no path.
    /// → Name at least one path.
    NoPath "no_path" Usage;
    /// `member set` without `--in` ran in a project that has no event yet.
    /// → Name the project with `--in`, or pass `--everywhere`.
    NoProjectYet "no_project_yet" Usage;
    /// A message names neither a recipient nor a subject.
    /// → Name an agent, or a task with `--about`.
    NoRecipient "no_recipient" Usage;
    /// `project new`, `join`, `pin`, or `setup git` ran outside a git repository.
    /// → Give the directory a name with `project` in `tenure.toml`.
    NoRepository "no_repository" Usage;
    /// The private copy of the backup cannot be created in the temporary directory.
    /// → Set `TMPDIR` to a directory with enough space. Nothing was changed.
    NoScratch "no_scratch" Storage;
    /// No server of this store is running on this machine.
    /// → Start one: `tenure up`.
    NoServer "no_server" NotFound;
    /// The server cannot create its socket beside the store.
    /// → Check the directory of the store.
    NoSocket "no_socket" Storage;
    /// The store does not exist and may not be created. At the command line this is `pinned_store_gone`.
    /// → Put the store back.
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
    /// A sign-in link was requested for a service or an agent.
    /// → Give the service or agent a token.
    NotAPerson "not_a_person" Usage;
    /// Another program answers at the address of the server.
    /// → Check `TENURE_URL`.
    NotAServer "not_a_server" Usage;
    /// No task or hold has this id.
    /// → See `tenure list --all` and `tenure whoami`.
    NotFound "not_found" NotFound;
    /// An agent used `--force` against an agent that is alive or may be alive.
    /// → Ask the holder, or a person.
    NotGone "not_gone" Denied;
    /// `release` names a task without a holder.
    /// → See `tenure show ID`.
    NotHeld "not_held" Conflict;
    /// The bytes that a server received are not an HTTP request.
    /// → Send HTTP/1.1.
    NotHttp "not_http" Usage;
    /// The server does not accept this op or query from any client.
    /// → Run the command on the machine of the store.
    NotOffered "not_offered" Denied;
    /// `claim ID` names a task that waits for others; `details.unmet`.
    /// → `tenure claim` takes another task; `tenure show ID --graph` shows the dependencies.
    NotReady "not_ready" Conflict;
    /// A server did not execute a request: the client had disconnected, the deadline had passed, or the server is
    /// shutting down.
    /// → No action is needed: the client retries, or opens the store itself.
    NotRun "not_run" Busy;
    /// The request has no valid token or session.
    /// → Send a token; a person makes tokens with `tenure token add`.
    NotSignedIn "not_signed_in" Denied;
    /// A hook ran in a project that has no event yet. It changed nothing.
    /// → `tenure add`, or any other first write, switches the project on.
    NotSwitchedOn "not_switched_on" Conflict;
    /// `up` was told to listen for other machines.
    /// → Listen on 127.0.0.1, or use `serve` behind a proxy.
    NotThisMachine "not_this_machine" Usage;
    /// The store cannot be written: because of a sandbox or a read-only mount (`details.sandbox` is true), or because
    /// permissions are missing. Queries still answer.
    /// → Use the MCP tools, which run outside the sandbox, or let a person run `tenure setup`; otherwise check the
    /// permissions.
    NotWritable "not_writable" Storage;
    /// A principal tried to act as a person, service or agent that belongs to another principal.
    /// → Act under your own name, or as an agent whose name is unused.
    NotYours "not_yours" Denied;
    /// `why` names a path that no agent has held or changed.
    /// → See `tenure holds`.
    NothingKnown "nothing_known" NotFound;
    /// A bulk `add` contains no task.
    /// → Send at least one line.
    NothingToAdd "nothing_to_add" Usage;
    /// `edit` names no change.
    /// → Give at least one change.
    NothingToChange "nothing_to_change" Usage;
    /// `remember` names no memory.
    /// → Give at least one memory.
    NothingToRemember "nothing_to_remember" Usage;
    /// `transfer` names something without a holder, or `--all` of an agent that holds nothing.
    /// → `tenure holds` lists all holds.
    NothingToTransfer "nothing_to_transfer" NotFound;
    /// This machine's record of an earlier restore of this store leaves no free numbers below 2⁵³; `details.number`.
    /// → The record comes from a backup that was changed by hand; a person removes it from
    /// `$XDG_STATE_HOME/tenure/restores`.
    NumbersUsedUp "numbers_used_up" Conflict;
    /// An older version created the store, and this process cannot migrate it.
    /// → Run one command that can write the store.
    OlderSchema "older_schema" Storage;
    /// `why` was given several paths.
    /// → Ask for each path separately.
    OnePath "one_path" Usage;
    /// A page of another site made a browser send an MCP request.
    /// → Omit the header `Origin`, or send the request from a page of this server.
    OtherOrigin "other_origin" Denied;
    /// A request to forget one project was sent to another.
    /// → Send the request to the project that you want to forget.
    OtherProject "other_project" Conflict;
    /// Another process registered the session first, under another agent name.
    /// → No action is needed: the hook retries.
    OtherSession "other_session" Conflict;
    /// The resolved store is not the one that the project is pinned to. At the command line this is `pinned_elsewhere`.
    /// → See `pinned_elsewhere`.
    OtherStore "other_store" Conflict;
    /// The reader of `backup -` disconnected, standard output failed, or standard output was closed before a `backup -`
    /// or `export` began.
    /// → The output so far is not a backup. Take another backup.
    OutputCut "output_cut" Storage;
    /// The server has reached its limit of requests, listeners or queued ops.
    /// → Retry in a moment with the same request id.
    Overloaded "overloaded" Busy;
    /// A file of the store itself is named as the output of a backup or an export.
    /// → Name another file.
    OwnStore "own_store" Usage;
    /// Other agents hold some of the requested files, or wait for them; `details.blockers`, `details.total`.
    /// → Wait with `--wait`, take something else, or ask the holder; a person may end the hold.
    PathHeld "path_held" Conflict;
    /// A path is outside the checkout.
    /// → Name a path inside the checkout.
    PathOutside "path_outside" Usage;
    /// A path, or the directory where the project was last seen, cannot be inspected.
    /// → Check the permissions of the directories above it.
    PathUnreadable "path_unreadable" Storage;
    /// A pattern has more segments, wildcards, alternatives or bytes than can be compared at a bounded cost.
    /// → Name the files or the directory, or give several patterns.
    PatternLimit "pattern_limit" Usage;
    /// An agent used `--force`, `edit --after`, `token`, `member` or `project new`, `join`, `pin`.
    /// → Ask a person, or work on another task.
    PeopleOnly "people_only" Denied;
    /// The project is pinned to another store; `details.pinned`, `details.resolved`, `details.file`.
    /// → Check `--store`, `TENURE_STORE`, `HOME` and `tenure.toml`; a person changes the pin with `tenure project pin`.
    PinnedElsewhere "pinned_elsewhere" Conflict;
    /// The store that the project is pinned to does not exist.
    /// → Put it back; if it is lost, a person runs `tenure project pin`.
    PinnedStoreGone "pinned_store_gone" Storage;
    /// The project was last seen in another repository; `details.places`. The command line checks that repository and
    /// then continues, or answers `copied_project`.
    /// → See `copied_project`.
    PlaceDiffers "place_differs" Conflict;
    /// PostgreSQL could not execute a statement; `details.sqlstate`.
    /// → See `details.cause`.
    Postgres "postgres" Storage;
    /// PostgreSQL rejected the login, or requires an authentication method that Tenure does not support.
    /// → Check user and password in the URL, `PGUSER`, `PGPASSWORD`.
    PostgresLogin "postgres_login" Denied;
    /// The PostgreSQL login may not use the store's schema.
    /// → Grant it the schema and its tables, or use another login.
    PostgresPrivilege "postgres_privilege" Denied;
    /// The id or pin in the git directory is malformed.
    /// → Put the file back; otherwise a person writes it again with `tenure project new` or `pin`.
    ProjectFileCorrupt "project_file_corrupt" Storage;
    /// The id or pin cannot be read.
    /// → Check its permissions.
    ProjectFileUnreadable "project_file_unreadable" Storage;
    /// The id or pin cannot be written.
    /// → Check the disk.
    ProjectFileUnwritable "project_file_unwritable" Storage;
    /// Agents hold tasks in the project that `project forget` names.
    /// → Wait, or let a person pass `--force`.
    ProjectInUse "project_in_use" Conflict;
    /// The request does not name a project.
    /// → Add `?project=NAME`, or the header `Tenure-Project`.
    ProjectMissing "project_missing" Usage;
    /// One request names several of a task, a hold, paths and a lock to release.
    /// → Make one call for each.
    ReleaseWhat "release_what" Usage;
    /// The caller holds both a lock and a path of the name in `release WORD`.
    /// → Write `tenure release ./WORD` for the path, `--lock WORD` for the lock.
    ReleaseWhich "release_which" Usage;
    /// The request id was used before with another request.
    /// → Use a new id for a new request. Nothing was changed.
    RequestMismatch "request_mismatch" Mismatch;
    /// The request is larger than the server accepts.
    /// → Split the request, or run the command on the machine of the store.
    RequestTooLarge "request_too_large" Usage;
    /// Access was requested for `service:tenure`, the name under which servers write.
    /// → Choose another name.
    ReservedName "reserved_name" Usage;
    /// The existing store has content, and the backup is of another store; `details.found`, `details.backup`.
    /// → Restore to a new place with `--store`.
    RestoreOtherStore "restore_other_store" Conflict;
    /// The role of the principal in the project, or the role of its token, does not permit the request;
    /// `details.needed`.
    /// → Ask an admin, or use a token with that role.
    RoleTooLow "role_too_low" Denied;
    /// A request id was given to a command under a lock.
    /// → Omit it: each run takes the lock anew.
    RunNotRepeated "run_not_repeated" Usage;
    /// `restore --replace` or `project forget` on PostgreSQL needs a file for a backup of the current content.
    /// → Name a new file with `--safety`.
    SafetyNeeded "safety_needed" Usage;
    /// `transfer` names the agent that already holds the task.
    /// → No action is needed.
    SameHolder "same_holder" Conflict;
    /// Another `setup` is running and did not finish in time.
    /// → Repeat the call.
    SetupBusy "setup_busy" Busy;
    /// One call names paths of several checkouts.
    /// → Make one call for each checkout.
    SeveralCheckouts "several_checkouts" Usage;
    /// A message is about a path on which other agents have several holds.
    /// → Name the hold by its id; `details.candidates` lists them.
    SeveralHolds "several_holds" Usage;
    /// SQLite could not execute a statement, for a reason without a code of its own.
    /// → See `details.cause`.
    Sqlite "sqlite" Storage;
    /// The cursor belongs to another incarnation of the store, is beyond the end, or is older than the oldest event;
    /// `details.oldest_cursor`.
    /// → Read again from `details.oldest_cursor`.
    StaleCursor "stale_cursor" Stale;
    /// The caller used an old fence, or has not seen the current one; `details.fence`, `details.current_fence`.
    /// → Stop this work. See `tenure show ID`; `tenure claim ID` takes the task again.
    StaleFence "stale_fence" Stale;
    /// `tenure reference --check` found pages that differ from the code.
    /// → `tenure reference --write`.
    StaleReference "stale_reference" Conflict;
    /// The task does not have the version that `edit --expect-version` names; `details.version`.
    /// → Run `tenure show ID`, then edit again.
    StaleVersion "stale_version" Stale;
    /// PostgreSQL did not finish a statement before the timeout: one minute, two seconds for a hook.
    /// → Send less in one call, or retry when the server is less busy.
    StatementTimeout "statement_timeout" Busy;
    /// The time of a call with `--wait` is over: the caller is still in the waiting line (`details.place`, `details.id`,
    /// `details.blockers`), or no task became ready.
    /// → Repeat the command to continue waiting; the caller keeps its place.
    StillWaiting "still_waiting" Busy;
    /// `TENURE_STORE` and `TENURE_URL` are both set.
    /// → Unset one of them.
    StoreAndServer "store_and_server" Usage;
    /// Another writer did not finish in time.
    /// → Repeat the call.
    StoreBusy "store_busy" Busy;
    /// The output file of a backup or an export is a database, is one of the files beside a database (`-wal`,
    /// `-turn-a`, …), or has a name beside which such files exist.
    /// → Name another file. Nothing was written, not even with `--force`.
    StoreFile "store_file" Conflict;
    /// The file of the embedded store, or its log (`-wal`), was moved or replaced while a program had it open.
    /// → Put the file back; to use another store, first end the programs that use this one. A program whose log is
    /// missing saves its data when it is shut down normally.
    StoreMoved "store_moved" Storage;
    /// `restore` found projects that are in use.
    /// → Restore the backup elsewhere with `--store`; a person replaces the content with `--replace`.
    StoreNotEmpty "store_not_empty" Conflict;
    /// The store of a server does not answer.
    /// → Check the database.
    StoreSilent "store_silent" Busy;
    /// The output file of a backup is a symbolic link.
    /// → Name the file that the link points to.
    SymlinkedBackup "symlinked_backup" Storage;
    /// The store's file, or a lock file beside it, is a symbolic link.
    /// → Name the file that the link points to.
    SymlinkedStore "symlinked_store" Storage;
    /// A memory has both a task and another scope.
    /// → Omit one of them.
    TaskAndScope "task_and_scope" Usage;
    /// Another agent holds the task; `details.blockers` names the holder, the start and the end of the hold.
    /// → `tenure claim` takes another task; a person may override with `--force`.
    TaskHeld "task_held" Conflict;
    /// `restore -` would read from a terminal.
    /// → Send a backup to standard input, or name a file.
    TerminalInput "terminal_input" Usage;
    /// `backup -` would write to a terminal.
    /// → Redirect the output to a file or a program, or name a file.
    TerminalOutput "terminal_output" Usage;
    /// A note or reason is empty.
    /// → Write some text.
    TextEmpty "text_empty" Usage;
    /// A text is longer than 64 KiB.
    /// → Keep it in a file and name the file.
    TextTooLong "text_too_long" Usage;
    /// The title is empty.
    /// → Give one line of 1 to 500 characters.
    TitleEmpty "title_empty" Usage;
    /// The title is longer than 500 characters.
    /// → Put the rest into `--description`.
    TitleTooLong "title_too_long" Usage;
    /// The TLS connection to PostgreSQL or to the server of a remote project failed: the server does not support TLS,
    /// or its certificate is not trusted.
    /// → Check the certificate, `sslmode` and `sslrootcert`, or `SSL_CERT_FILE`.
    TlsRefused "tls_refused" Storage;
    /// The recipient of a message is its author.
    /// → Use `tenure remember --scope agent` or `tenure note`.
    ToYourself "to_yourself" Conflict;
    /// Other users can read the token file, or it belongs to another user.
    /// → Run `chmod 600` on it; consider replacing the token.
    TokenFileOpen "token_file_open" Denied;
    /// The secret of the new token was used for an earlier token.
    /// → Generate another secret.
    TokenKnown "token_known" Conflict;
    /// There is no token for the server, or none that may be sent to a server that the repository itself names.
    /// → See [where tokens are](../remote.md#tokens).
    TokenMissing "token_missing" Denied;
    /// The server does not permit this token to do that.
    /// → Ask the operator of the server.
    TokenRefused "token_refused" Denied;
    /// The server does not know this token: it is misspelt, expired or revoked.
    /// → Ask the operator of the server for another token.
    TokenUnknown "token_unknown" Denied;
    /// One call acknowledges more than 100 messages.
    /// → Make several calls.
    TooManyAcks "too_many_acks" Usage;
    /// One note names more than 50 files.
    /// → Write several notes.
    TooManyArtifacts "too_many_artifacts" Usage;
    /// PostgreSQL has no connection left.
    /// → Repeat the call.
    TooManyConnections "too_many_connections" Busy;
    /// An agent would hold more than 100,000 paths or 256 locks, or the project more than 200,000 or 1,000.
    /// → Release what is no longer needed; hold a directory in place of its files.
    TooManyHolds "too_many_holds" Usage;
    /// A bulk `add` has more than 100,000 tasks, or an import more than 200,000 tasks or 1,000,000 notes; `given` and
    /// `limit`. Nothing was done.
    /// → Split the input and send it in several calls; `backup` and `restore` move a whole store.
    TooManyItems "too_many_items" Usage;
    /// A task has more than 20 labels.
    /// → Remove some labels.
    TooManyLabels "too_many_labels" Usage;
    /// One request has more than 50 memories.
    /// → Send several requests.
    TooManyMemories "too_many_memories" Usage;
    /// One request has more than 256 paths, or a hook named more than 200 files of one tool call.
    /// → Name a directory, or send several requests. A hook must name at most the first 200 files.
    TooManyPaths "too_many_paths" Usage;
    /// A scope already has 20 pinned memories.
    /// → Unpin another memory first.
    TooManyPins "too_many_pins" Conflict;
    /// One stream names too many projects.
    /// → Open several streams.
    TooManyProjects "too_many_projects" Usage;
    /// One message has more than 20 recipients.
    /// → Send several messages.
    TooManyRecipients "too_many_recipients" Usage;
    /// A principal, or an address that guesses secrets, sends too many requests (429).
    /// → Retry in a second with the same request id.
    TooManyRequests "too_many_requests" Busy;
    /// Too many patterns begin with a wildcard: at most 16 per agent and 256 per project.
    /// → Begin the pattern with a directory, or release other patterns.
    TooManyUnanchored "too_many_unanchored" Usage;
    /// An agent has 16 places in the waiting line, or the project has 256.
    /// → Ask for several paths in one request, or leave the line for something else.
    TooManyWaiting "too_many_waiting" Usage;
    /// A request was not answered in time; it may have been executed.
    /// → Repeat it with the same request id to find out.
    TookTooLong "took_too_long" Busy;
    /// Another program changed a file of an agent tool while `setup` was writing.
    /// → Close the tool and repeat the call.
    ToolConfigChanged "tool_config_changed" Busy;
    /// A file of an agent tool is malformed, or has another value where Tenure's entries belong; `details.line`.
    /// Nothing was written.
    /// → Correct the file, or name the other tools.
    ToolConfigInvalid "tool_config_invalid" Usage;
    /// A file of an agent tool cannot be read: it is a loop of links, a directory, or larger than 32 MiB. Nothing was
    /// written.
    /// → Correct the file, or name the other tools.
    ToolConfigUnusable "tool_config_unusable" Storage;
    /// A file of an agent tool, or the state directory of `setup`, cannot be written. Nothing was written.
    /// → Check the permissions; run `setup` outside the sandbox.
    ToolConfigUnwritable "tool_config_unwritable" Storage;
    /// Git tracks a file of the store, `details.file`: a reset or a checkout would replace the store by an old one.
    /// → Remove the file from git's index, keep it on the disk, and commit the removal.
    TrackedStore "tracked_store" Conflict;
    /// A path that is transferred overlaps a path that stays with its holder.
    /// → Release the path that stays, transfer it too, or reserve it for the task.
    TransferSplits "transfer_splits" Conflict;
    /// A `transfer` request names several of a task, a hold, paths, a lock and `--all`, or combines `--from` or `--fence` with
    /// something else than they belong to.
    /// → Make one call for each.
    TransferWhat "transfer_what" Usage;
    /// The process did not get its turn to write in time; `details.entity` is the lock file.
    /// → Repeat the call. If this persists, a stopped process holds that file.
    Turnstile "turnstile" Busy;
    /// A repository names an existing project that was not used from this clone. Nothing was shown or changed.
    /// → A person inspects it with `tenure project show` and confirms it for this clone with `tenure project pin`.
    UnconfirmedProject "unconfirmed_project" Conflict;
    /// A repository names a store or a server, or contains a store, and no person has confirmed it for this clone.
    /// Nothing was opened or sent.
    /// → A person inspects it with `tenure project show` and confirms it for this clone with `tenure project pin`.
    UnconfirmedStore "unconfirmed_store" Conflict;
    /// The server received the request and stopped in the middle of a commit, so the request may still be executed;
    /// `details.request_id`.
    /// → Repeat the request with that request id: it is executed once, and you get the result.
    Undecided "undecided" Busy;
    /// The address of the server begins with `http://` and is not on this machine.
    /// → Use `https://`; set `TENURE_FORCE_HTTP=1` on a network that you trust.
    UnencryptedServer "unencrypted_server" Usage;
    /// A change of the store was interrupted, and a query may not roll it back.
    /// → Run any writing command: it rolls the change back.
    UnfinishedChange "unfinished_change" Storage;
    /// The server has nothing at this address.
    /// → See the addresses in `/api/v1/openapi.json`.
    UnknownAddress "unknown_address" NotFound;
    /// `--for` or `--to` names an agent that has never called Tenure in this project.
    /// → See `tenure agent list`; an agent is known after its first write.
    UnknownAgent "unknown_agent" NotFound;
    /// The command does not exist; the hint names the nearest one.
    /// → See `tenure --help`.
    UnknownCommand "unknown_command" Usage;
    /// `log --kind` is not a kind of event; the hint lists the kinds.
    /// → Choose one of the list.
    UnknownKind "unknown_kind" Usage;
    /// This address of the server does not support the HTTP method (405).
    /// → See the methods in `/api/v1/openapi.json`.
    UnknownMethod "unknown_method" Usage;
    /// A server received an op that it does not know.
    /// → See the [ops](../reference/ops.md); client and server may have different versions.
    UnknownOp "unknown_op" NotFound;
    /// The address has an unknown parameter; `details.entity` names it.
    /// → Remove or correct it.
    UnknownParameter "unknown_parameter" Usage;
    /// The principal was never given access.
    /// → See `tenure member list`.
    UnknownPrincipal "unknown_principal" NotFound;
    /// No project that the caller may see has this key or name.
    /// → See `tenure project list`.
    UnknownProject "unknown_project" NotFound;
    /// A server received a query that it does not know.
    /// → Use the same version for client and server.
    UnknownQuery "unknown_query" NotFound;
    /// The MCP session is over, or belongs to another principal or project.
    /// → Begin a new session with `initialize`.
    UnknownSession "unknown_session" NotFound;
    /// The scheme of the store URL is not `postgres`, `postgresql` or `sqlite`.
    /// → Correct the URL.
    UnknownStoreScheme "unknown_store_scheme" Usage;
    /// `setup` does not know the tool.
    /// → Choose a tool that the hint lists.
    UnknownTool "unknown_tool" Usage;
    /// PostgreSQL, or the server of a remote project, cannot be reached.
    /// → Check the server, host, port and TLS settings.
    Unreachable "unreachable" Busy;
    /// The store's file cannot be read.
    /// → Check the owner of the file and the permissions of every directory above it.
    Unreadable "unreadable" Storage;
    /// Standard input, or the file given for `--data` or `import`, cannot be read.
    /// → Check the file.
    UnreadableInput "unreadable_input" Usage;
    /// The media type of the request body is not JSON (415).
    /// → Send `Content-Type: application/json`.
    UnsupportedMediaType "unsupported_media_type" Usage;
    /// The request would wait for an agent that waits for the caller; `details.circle` names the agents.
    /// → Release what the others wait for, then repeat the request.
    WaitsInCircle "waits_in_circle" Conflict;
    /// A store on a read-only file system has changes in its `-wal` file that cannot be read from there.
    /// → Open the store once where it can be written, or make its directory writable.
    WalWithoutShm "wal_without_shm" Storage;
    /// An op about access was sent to a project.
    /// → Send it to the whole store, as `tenure token` and `tenure member` do.
    WholeStoreOnly "whole_store_only" Usage;
}
