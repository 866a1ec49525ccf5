import { listSettings, toVariable } from "../../daemon/settings/settings.ts";

/** A page of `croft help` about a subject that is not a command. */
export interface HelpTopic {
  readonly name: string;
  readonly summary: string;
  readonly text: () => string;
}

/** The topics except `exit-codes`, which is a table. */
export const helpTopics: readonly HelpTopic[] = [
  {
    name: "environment",
    summary: "Variables that the command line reads",
    text: () =>
      [
        "Each setting has a variable. Flags override variables, and variables override the configuration file.",
        "A variable with _FILE at its end names a file with the value.",
        "",
        ...toRows(
          listSettings()
            .filter(([, { group }]) => group === "Command line")
            .map(([name, { help }]) => [toVariable(name), help]),
        ),
        "",
        ...toRows([
          ["CROFT_HOME", "one folder for configuration, data, state and cache"],
          ["CROFT_CONFIG", "the configuration file"],
          ["NO_COLOR", "no colours when it is set"],
          ["PAGER", "the program that shows long texts on a terminal; cat turns it off"],
        ]),
        "",
        '"croft config list" shows every setting with its value and origin.',
        "",
      ].join("\n"),
  },
  {
    name: "backups",
    summary: "Backing up a home and restoring it",
    text: () => `A backup holds the database, repositories, packages, documents and the configuration file of a home. It is made
while the daemon runs or while it is stopped. A restore needs a stopped daemon; it verifies the whole backup before it
replaces anything, and keeps what it replaces.

  croft daemon backup home.tar --with-keys      asks for a passphrase
  croft daemon stop
  croft daemon restore home.tar --with-keys     on this machine or another one
  croft daemon start

Keys. A restored home does not start without its master key. --with-keys puts it into the backup, sealed with a
passphrase; the restored home then has it in a file. Without --with-keys, keep a copy of the folder keys/ in another
place, or of the key that CROFT_MASTER_KEY_FILE names. "croft config path" shows where the folder is.

Secret settings, such as backup_passphrase, smtp_url and the keys of buckets, are sealed together with the keys, and are
left out of the readable config.yaml of a backup. A restore without keys names those to give again.

Buckets. --to and --from take the address of a folder in a bucket of Amazon S3 or of a compatible server:

  croft config set backup_url 's3://backups/laptop?endpoint=https://nas.lan:9000'
  croft config set backup_access_key_id --stdin < id.txt
  croft config set backup_secret_access_key --stdin < secret.txt
  croft daemon backup --to --with-keys
  croft daemon restore --from --list
  croft daemon restore latest --from --with-keys

Scheduled. With backup_url, or with backup_folder for a folder, the running daemon backs up at 3:45 and keeps
backup_kept backups; backup_schedule sets other times, and backup_passphrase seals the keys in the backups. A time
that passes while the daemon is stopped is made up for at its next start. "croft admin cron run backup_home" backs up
at once; "croft doctor" says whether the latest backup succeeded.

Moving. On the new machine: install croft, give it the backup, "croft daemon restore". "croft export" prints accounts,
hooks and settings as text instead.
`,
  },
  {
    name: "formatting",
    summary: "Output for people and for programs",
    text: () => `On a terminal, lists are tables and times are relative. In a pipe, the same rows are separated by tabs, times are
RFC 3339, and nothing is cut. In such a row, a tab, line break and backslash in a value are written as \\t, \\n, \\r and \\\\,
and characters that control a terminal as \\u202e. On a terminal, in CSV, templates and texts of --jq these characters
are left out. JSON is exact: pass names on from --json, not from rows. For programs:

  --json             the resource as the API sends it: one object, or one array for a list
  --json=a,b         only these fields; --json=? lists the fields of a command
  --jq EXPRESSION    filter the JSON; texts are printed without quotes
  --ndjson           one JSON document a line, for streams and long lists
  --format csv       csv, tsv, yaml or json
  --template TEXT    a line for each item, with {{.field}} filled in
  --meta             wraps a list: items, page, limit, total, has_more

Examples:

  croft repo list --json=full_name,private
  croft repo list --all --jq '.[] | select(.private) | .full_name'
  croft vault item list Papers:/ --template '{{.name}} {{.size}}'
  croft admin user list --all --format csv > users.csv

"croft schema COMMAND" prints the JSON Schema of a command's output.
`,
  },
  {
    name: "packages",
    summary: "Publishing and installing packages of npm and Python, files and container images",
    text: () => `Each user and organization has an npm registry at /api/packages/OWNER/npm/ of the daemon, one for Python at
/api/packages/OWNER/pypi/, and a store of files at /api/packages/OWNER/generic/. They take a token with the scope write:package, or read:package for reading. In .npmrc:

  @keeper:registry=http://127.0.0.1:7420/api/packages/keeper/npm/
  //127.0.0.1:7420/api/packages/keeper/npm/:_authToken=TOKEN

Examples:

  croft token create laptop --scope write:package
  npm publish
  npm install @keeper/tools

twine and pip take the token as the password:

  twine upload --repository-url http://127.0.0.1:7420/api/packages/keeper/pypi --username keeper dist/*
  pip install --index-url http://127.0.0.1:7420/api/packages/keeper/pypi/simple/ tools

Container images are OWNER/NAME:TAG at the daemon's address. docker takes the token as the password:

  docker login 127.0.0.1:7420 --username keeper
  docker push 127.0.0.1:7420/keeper/tools:1.0

"croft package list" shows your packages, "croft admin package list" all of the server, and docs/packages.md describes what the registry keeps.
`,
  },
  {
    name: "scripting",
    summary: "Running croft without a person",
    text: () => `Machine output and input that is not a terminal imply --no-input: nothing is prompted for, and the error names the missing
flag. Secrets come from standard input or variables, never from a flag's value.

  --yes              do not ask for confirmation
  --confirm NAME     the name of what is destroyed, where --yes is not enough
  --dry-run          print the request instead of sending it
  --quiet            no notes and no progress on standard error
  --if-absent        on commands that create: print what exists already, unchanged, and succeed
  --wait             on commands that start something: wait for its end; --timeout 10m sets a limit
  --if-match ETAG    on changes of items: only if the item still is this version

--if-absent looks for an object of the same name, as the server compares names, and creates it when it is missing. A note on
standard error says that it existed, and which of its settings differ from the flags. Other conflicts are still errors,
such as an e-mail address of another user or an organization that others own. "token create" does not have the flag,
because the secret of an existing token cannot be shown again.

--wait exits with 0 when the task has succeeded, with 1 and error.code task_failed when it has failed, and with 8 after the
timeout: the task then continues, and the hint names the command that shows it. Waiting survives a restart of the daemon.

--if-match guards "vault item rename", "move", "delete", "edit" and "upload" (where it replaces a single file). "vault item
view ITEM --jq .etag" prints the version. When another client was faster, nothing is changed: exit code 7, error.code stale,
error.reason precondition_failed.

A failure of a command with machine output is one line of JSON on standard error, and standard output stays empty. Its
error.code is stable; the exit code follows it.

Examples:

  croft daemon start --json | jq -r '.urls[0]'
  croft daemon wait --timeout 60
  croft workflow run keeper/notes ci.yml --ref main --wait --timeout 30m --jq .run
  printf '%s' "$PASSWORD" | croft login vault --email mira@example.org --password-stdin
  croft vault item upload list.csv Papers:/list.csv --if-match "$etag" --json
  croft vault item upload -r photos Papers:/ --ndjson --progress none
  url=$(croft repo create notes --private --if-absent --jq .clone_url)

"croft help exit-codes" lists the exit codes and error codes.
`,
  },
];

/** Two columns. */
function toRows(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`);
}
