import type { Examples } from "./examples.ts";

/** Examples of the home, its daemon and scripts. */
export const examples: Examples = {
  init: [
    [
      "Initialise a home with a password from a file",
      "croft init --username keeper --email keeper@example.org --password-stdin < password.txt",
    ],
    [
      "Initialise a home in another folder",
      "croft init --home other --username otto --email otto@example.org --password-stdin < password.txt",
    ],
  ],
  serve: [
    ["Run the daemon on loopback and print its address as JSON", "croft serve --port 0 --json"],
    ["Serve https with a certificate of its own", "croft serve --port 0 --tls self --tls-port 0"],
    ["Also run the workflows of your own repositories, on this machine", "croft serve --runner"],
  ],
  "daemon start": [
    ["Start the daemon and wait until it is ready", "croft daemon start --port 0"],
    ["Start it and print its address", "croft daemon start --port 0 --jq '.urls[0]'"],
  ],
  "daemon status": [
    ["Show whether the daemon runs", "croft daemon status"],
    ["Print its process id", "croft daemon status --jq .pid"],
  ],
  "daemon stop": [
    ["Stop the daemon", "croft daemon stop"],
    ["Give it two minutes to finish requests", "croft daemon stop --timeout 120"],
  ],
  "daemon restart": [
    ["Restart the daemon", "croft daemon restart --port 0"],
    ["Restart it with more in the log", "croft daemon restart --port 0 --log-level debug"],
  ],
  "daemon wait": [
    ["Wait until the daemon accepts requests", "croft daemon wait"],
    ["Wait a minute at most, in a script", "croft daemon wait --timeout 60 --quiet"],
  ],
  "daemon logs": [
    ["Show the last 20 lines", "croft daemon logs -n 20"],
    ["Show warnings and errors of the last hour", "croft daemon logs --level warn --since 1h"],
    ["Print records for another program", "croft daemon logs --since 1d --ndjson"],
  ],
  "daemon install": [
    ["Show the service file without writing it", "croft daemon install --dry-run"],
    [
      "Write the service file, and start the daemon yourself",
      "croft daemon install --no-start --yes",
    ],
  ],
  "daemon uninstall": [
    ["Show what would be removed", "croft daemon uninstall --dry-run"],
    ["Remove the service", "croft daemon uninstall --yes"],
  ],
  "daemon check": [
    ["Check the home", "croft daemon check"],
    ["Repair what is damaged, while the daemon is stopped", "croft daemon check --repair"],
  ],
  "daemon backup": [
    ["Back up the home without its keys", "croft daemon backup home.tar"],
    [
      "Back it up with its keys, sealed with a passphrase",
      "croft daemon backup sealed.tar --with-keys --passphrase-stdin < passphrase.txt",
    ],
    ["Send the backup to another program", "croft daemon backup - | gzip > home.tar.gz"],
    ["Upload it to the bucket that the setting backup_url names", "croft daemon backup --to"],
  ],
  "daemon recover-admin": [
    [
      "Let an administrator who was deactivated sign in again, while the daemon is stopped",
      "croft daemon recover-admin keeper --random-password --yes",
    ],
    [
      "Also disable a second factor that was lost",
      "croft daemon recover-admin keeper --reset-2fa --password-stdin --yes < password.txt",
    ],
  ],
  "daemon restore": [
    ["Restore a backup; the old home is kept beside it", "croft daemon restore home.tar --yes"],
    [
      "Restore the database alone, from the newest copy",
      "croft daemon restore --database latest --yes",
    ],
    [
      "Restore keys as well",
      "croft daemon restore sealed.tar --with-keys --passphrase-stdin --yes < passphrase.txt",
    ],
    ["List the backups in the bucket of backup_url", "croft daemon restore --from --list"],
    ["Restore the newest one of them", "croft daemon restore latest --from --yes"],
    ["Restore from standard input", "croft daemon restore - --yes < home.tar"],
  ],
  api: [
    ["Send a GET request to the forge", "croft api /api/v1/version"],
    [
      "Follow the pages of a list",
      "croft api GET /api/v1/user/repos --paginate --jq '.[].full_name'",
    ],
    ["Send a body with POST", "croft api /api/v1/user/repos -f name=notes -F private=true"],
    ["Send another method", "croft api PATCH /api/v1/repos/keeper/notes -F archived=true"],
  ],
  "config list": [
    ["List all settings", "croft config list"],
    [
      "Print those that are not the default",
      "croft config list --jq '.[] | select(.source != \"default\") | .key'",
    ],
  ],
  "config get": [
    ["Show a setting", "croft config get port"],
    ["Print its value", "croft config get port --jq .value"],
  ],
  "config unset": [
    ["Take a value out of the file", "croft config unset log_level"],
    ["See what would change", "croft config unset log_level --dry-run"],
  ],
  "config set": [
    ["Set a value", "croft config set log_level debug"],
    [
      "Back up the home every night to a bucket",
      "croft config set backup_url 's3://backups/laptop?endpoint=https://nas.lan:9000'",
    ],
  ],
  "config path": [
    ["Show files and folders", "croft config path"],
    ["Print the data folder", "croft config path --jq .data_directory"],
  ],
  "key rotate": [
    ["Rotate the master key, while the daemon is stopped", "croft key rotate --yes"],
    ["Leave values that cannot be decrypted", "croft key rotate --skip-unreadable --yes"],
  ],
  "job list": [
    ["List background jobs", "croft job list"],
    ["List jobs that failed permanently", "croft job list --state dead"],
  ],
  "job view": [
    ["Show a job and why it failed", "croft job view 42"],
    ["Print the error", "croft job view 42 --jq .last_error"],
  ],
  "job retry": [
    ["Run a job now", "croft job retry 42"],
    ["Show the request only", "croft job retry 42 --dry-run"],
    ["Wait until it has succeeded", "croft job retry 42 --wait --timeout 10m"],
  ],
  "job cancel": [
    ["Cancel a job", "croft job cancel 42 --yes"],
    ["Show the request only", "croft job cancel 42 --dry-run"],
  ],
  "mail list": [
    ["List the mails of the outbox", "croft mail list"],
    ["Print subjects", "croft mail list --jq '.[].subject'"],
  ],
  "mail show": [
    ["Show the newest mail", "croft mail show"],
    ["Print its text", "croft mail show --jq .text"],
  ],
  doctor: [
    ["Diagnose problems", "croft doctor"],
    ["Fail when something is broken, in a script", "croft doctor --check --quiet"],
  ],
  install: [
    ["Show what would be installed", "croft install --dry-run"],
    ["Install into a folder", "croft install --prefix tools --yes"],
  ],
  "completion bash": [
    ["Load completion in this shell", "croft completion bash"],
    ["Install it for your user", "croft completion bash > croft.bash"],
  ],
  "completion zsh": [
    ["Print the script", "croft completion zsh"],
    ["Install it into a folder of fpath", "croft completion zsh > _croft"],
  ],
  "completion fish": [
    ["Print the script", "croft completion fish"],
    ["Install it for your user", "croft completion fish > croft.fish"],
  ],
  "completion powershell": [
    ["Print the script", "croft completion powershell"],
    ["Save it to a file", "croft completion powershell > croft.ps1"],
  ],
  commands: [
    ["List every command", "croft commands"],
    [
      "Print the flags of one as JSON",
      "croft commands --jq '.[] | select(.command == \"croft repo list\") | .flags[].name'",
    ],
  ],
  schema: [
    ["Print the schema of a list", "croft schema admin user list"],
    [
      "Print the names of its fields",
      "croft schema repo list --jq '.items.properties | keys | .[]'",
    ],
  ],
  help: [
    ["Show help for a command", "croft help repo create"],
    ["List the topics", "croft help topics"],
  ],
  version: [
    ["Print the version", "croft version"],
    ["Print the version of Node", "croft version --jq .node"],
  ],
  dashboard: [
    ["Show accounts, storage, hooks, runs and jobs", "croft dashboard"],
    ["Print what the screen shows as JSON", "croft dashboard --json"],
  ],
  export: [
    ["Write the home to a file", "croft export > home.yaml"],
    ["Print the names of its users", "croft export --jq '.users[].username'"],
  ],
  apply: [
    ["Show how the home differs from a file", "croft apply -f home.yaml --dry-run"],
    ["Make the home like the file", "croft apply -f home.yaml"],
  ],
};
