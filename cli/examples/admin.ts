import type { Examples } from "./examples.ts";

/** Examples of `croft admin`. */
export const examples: Examples = {
  "admin user list": [
    ["List the administrators", "croft admin user list --admin true"],
    ["Write all users to a file", "croft admin user list --all --format csv > users.csv"],
  ],
  "admin user create": [
    [
      "Create a user with a random password",
      "croft admin user create --username mira --email mira@example.org --random-password",
    ],
    [
      "Create a user whose password may stay",
      "croft admin user create --username mira --email mira@example.org --password-stdin --no-must-change-password < password.txt",
    ],
    [
      "In a script that may run again",
      "croft admin user create --username mira --email mira@example.org --random-password --if-absent --json",
    ],
  ],
  "admin user view": [
    ["Show a user", "croft admin user view mira"],
    ["Print when the user signed in last", "croft admin user view mira --jq .last_login"],
  ],
  "admin user edit": [
    ["Make a user an administrator", "croft admin user edit mira --admin true"],
    ["Forbid a user to sign in", "croft admin user edit mira --prohibit-login true"],
  ],
  "admin user rename": [
    ["Rename a user", "croft admin user rename mira mira-l"],
    ["Show the request only", "croft admin user rename mira mira-l --dry-run"],
  ],
  "admin user delete": [
    ["Delete a user who owns nothing", "croft admin user delete mira --yes"],
    [
      "Delete a user and everything that the user owns",
      "croft admin user delete mira --purge --confirm mira",
    ],
  ],
  "admin user reset-2fa": [
    ["Turn the second factor of a user off", "croft admin user reset-2fa mira --yes"],
    ["Show the request only", "croft admin user reset-2fa mira --dry-run"],
  ],
  "admin user key add": [
    ["Add a public key", "croft admin user key add mira laptop.pub"],
    ["Add a key with a title", 'croft admin user key add mira laptop.pub --title "Laptop of Mira"'],
    ["In a script that may run again", "croft admin user key add mira laptop.pub --if-absent"],
  ],
  "admin user key delete": [
    ["Delete a key", "croft admin user key delete mira 4 --yes"],
    ["Show the request only", "croft admin user key delete mira 4 --dry-run"],
  ],
  "admin user badge list": [
    ["List the badges of a user", "croft admin user badge list mira"],
    ["Print their slugs", "croft admin user badge list mira --jq '.[].slug'"],
  ],
  "admin user badge add": [
    ["Give a user a badge", "croft admin user badge add mira maintainer"],
    ["Give several badges", "croft admin user badge add mira maintainer founder"],
  ],
  "admin user badge remove": [
    ["Take a badge from a user", "croft admin user badge remove mira maintainer"],
    ["Show the request only", "croft admin user badge remove mira maintainer --dry-run"],
  ],
  "admin org list": [
    ["List organizations", "croft admin org list"],
    ["Print the names of all of them", "croft admin org list --all --jq '.[].name'"],
  ],
  "admin org view": [
    ["Show an organization", "croft admin org view acme"],
    ["Print its visibility", "croft admin org view acme --jq .visibility"],
  ],
  "admin org create": [
    ["Create an organization for a user", "croft admin org create acme --owner mira"],
    [
      "Create a private one",
      'croft admin org create acme --owner mira --visibility private --full-name "Acme Works"',
    ],
    ["In a script that may run again", "croft admin org create acme --owner mira --if-absent"],
  ],
  "admin repo create": [
    ["Create a private repository for a user", "croft admin repo create mira/notes --private"],
    [
      "Begin with README and license",
      "croft admin repo create mira/notes --init --readme Default --license MIT",
    ],
    [
      "In a script that may run again",
      "croft admin repo create mira/notes --if-absent --jq .clone_url",
    ],
  ],
  "admin unadopted list": [
    ["List unadopted repositories", "croft admin unadopted list"],
    ["List those of one owner", "croft admin unadopted list 'mira/*'"],
  ],
  "admin unadopted adopt": [
    ["Adopt one repository", "croft admin unadopted adopt mira/notes"],
    ["Adopt several repositories", "croft admin unadopted adopt mira/notes mira/papers"],
  ],
  "admin unadopted delete": [
    ["Delete one unadopted repository", "croft admin unadopted delete mira/notes --yes"],
    ["Show the requests only", "croft admin unadopted delete mira/notes --dry-run"],
  ],
  "admin email list": [
    ["List e-mail addresses", "croft admin email list"],
    ["Search addresses", "croft admin email list --search example.org"],
  ],
  "admin package list": [
    ["List npm packages", "croft admin package list --type npm"],
    ["Search packages", "croft admin package list --search tools"],
  ],
  "admin package versions": [
    ["List the versions of a package", "croft admin package versions keeper npm tools"],
    [
      "Print the newest one",
      "croft admin package versions keeper npm tools --limit 1 --jq '.[0].version'",
    ],
  ],
  "admin package view": [
    ["Show a version", "croft admin package view acme generic tools 1.2.0"],
    ["Print its creator", "croft admin package view acme generic tools 1.2.0 --jq .creator.login"],
  ],
  "admin package files": [
    ["List the files of a version", "croft admin package files acme generic tools 1.2.0"],
    [
      "Print names and checksums",
      "croft admin package files acme generic tools 1.2.0 --template '{{.sha256}} {{.name}}'",
    ],
  ],
  "admin package link": [
    ["Link a package to a repository", "croft admin package link acme generic tools notes"],
    ["Show the request only", "croft admin package link acme generic tools notes --dry-run"],
  ],
  "admin package unlink": [
    ["Unlink a package", "croft admin package unlink acme generic tools"],
    ["Show the request only", "croft admin package unlink acme generic tools --dry-run"],
  ],
  "admin package delete": [
    ["Delete a version", "croft admin package delete acme generic tools 1.2.0 --yes"],
    ["Show the request only", "croft admin package delete acme generic tools 1.2.0 --dry-run"],
  ],
  "admin badge list": [
    ["List badges", "croft admin badge list"],
    ["Print their slugs", "croft admin badge list --jq '.[].slug'"],
  ],
  "admin badge create": [
    [
      "Create a badge",
      'croft admin badge create maintainer --description "Maintains a repository"',
    ],
    [
      "Create a badge with a picture",
      "croft admin badge create founder --image-url https://example.org/founder.png",
    ],
    ["In a script that may run again", "croft admin badge create maintainer --if-absent"],
  ],
  "admin badge delete": [
    ["Delete a badge", "croft admin badge delete maintainer --yes"],
    ["Show the request only", "croft admin badge delete maintainer --dry-run"],
  ],
  "admin hook list": [
    ["List the hooks of the system", "croft admin hook list"],
    ["List all hooks as JSON", "croft admin hook list --type all --json"],
  ],
  "admin hook view": [
    ["Show a hook", "croft admin hook view 3"],
    ["Print its events", "croft admin hook view 3 --jq '.events | join(\",\")'"],
  ],
  "admin hook create": [
    [
      "Deliver every push of every repository",
      "croft admin hook create https://ci.example.org/hook --event push",
    ],
    [
      "Sign deliveries with a secret",
      "croft admin hook create https://ci.example.org/hook --secret-stdin < secret.txt",
    ],
  ],
  "admin hook edit": [
    ["Deliver to another address", "croft admin hook edit 3 --target https://ci.example.org/new"],
    ["Stop deliveries", "croft admin hook edit 3 --active false"],
  ],
  "admin hook delete": [
    ["Delete a hook", "croft admin hook delete 3 --yes"],
    ["Show the request only", "croft admin hook delete 3 --dry-run"],
  ],
  "admin hook delivery list": [
    ["List the deliveries of a hook", "croft admin hook delivery list 3"],
    ["List the failed ones", "croft admin hook delivery list 3 --state failed"],
  ],
  "admin hook delivery view": [
    ["Show a delivery", "croft admin hook delivery view 3 12"],
    ["Print its request and response as JSON", "croft admin hook delivery view 3 12 --json"],
  ],
  "admin hook delivery redeliver": [
    ["Send a delivery again", "croft admin hook delivery redeliver 3 12"],
    ["Show the request only", "croft admin hook delivery redeliver 3 12 --dry-run"],
  ],
  "admin run list": [
    ["List the latest runs of all repositories", "croft admin run list"],
    ["List what waits or runs", "croft admin run list --status queued in_progress"],
  ],
  "admin job list": [
    ["List the jobs that wait for a runner", "croft admin job list --status queued"],
    ["Count the jobs that run", "croft admin job list --status in_progress --all --jq length"],
  ],
  "admin job log": [
    ["Print the log of a job", "croft admin job log keeper/notes/42"],
    ["Save it to a file", "croft admin job log keeper/notes/42 > job.log"],
  ],
  "admin runner list": [
    ["List the runners of the server", "croft admin runner list"],
    [
      "Print those that are offline",
      "croft admin runner list --jq '.[] | select(.status == \"offline\") | .name'",
    ],
  ],
  "admin runner view": [
    ["Show a runner", "croft admin runner view 5"],
    ["Print its labels", "croft admin runner view 5 --jq '.labels[].name'"],
  ],
  "admin runner token": [
    ["Print the registration token of the server", "croft admin runner token"],
    ["Invalidate it and print a new one", "croft admin runner token --renew"],
  ],
  "admin runner enable": [
    ["Enable a runner", "croft admin runner enable 5"],
    ["Show the request only", "croft admin runner enable 5 --dry-run"],
  ],
  "admin runner disable": [
    ["Let a runner take no more jobs", "croft admin runner disable 5"],
    ["Show the request only", "croft admin runner disable 5 --dry-run"],
  ],
  "admin runner delete": [
    ["Delete a runner", "croft admin runner delete 5 --yes"],
    ["Show the request only", "croft admin runner delete 5 --dry-run"],
  ],
  "admin cron list": [
    ["List scheduled tasks", "croft admin cron list"],
    ["Print the next run of each", "croft admin cron list --template '{{.name}} {{.next}}'"],
  ],
  "admin cron run": [
    ["Run a task now", "croft admin cron run update_mirrors"],
    ["Show the request only", "croft admin cron run update_mirrors --dry-run"],
  ],
};
