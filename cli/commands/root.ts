import { type Entry, noun, verb } from "../tree/entry.ts";

/** The top of the command tree. Only names and summaries: each import happens when its command is entered. */
export const commands: readonly Entry[] = [
  verb(
    "init",
    "Initialise a home: data, keys and administrators",
    async () => (await import("./init.ts")).init,
  ),
  verb("serve", "Run the daemon in the foreground", async () => (await import("./serve.ts")).serve),
  noun("daemon", "Manage the daemon", () => import("./daemon.ts")),
  noun("login", "Sign in", () => import("./login.ts")),
  verb("logout", "Sign out", async () => (await import("./logout.ts")).logout),
  verb("whoami", "Show who is signed in", async () => (await import("./whoami.ts")).whoami),
  noun("account", "Your forge account", () => import("./account.ts")),
  noun("admin", "Administer the forge", () => import("./admin/admin.ts")),
  noun("repo", "Manage repositories", () => import("./repo.ts")),
  noun("issue", "Manage issues", () => import("./issue.ts")),
  noun("notification", "Manage notifications", () => import("./notification/notification.ts")),
  noun("token", "Manage your forge access tokens", () => import("./token.ts")),
  noun("email", "Manage your forge e-mail addresses", () => import("./email.ts")),
  noun("totp", "Manage the second factor of your forge account", () => import("./totp.ts")),
  noun(
    "vault",
    "Manage your vault account and connected storage",
    () => import("./vault/vault.ts"),
  ),
  noun("template", "Show templates for new repositories", () => import("./template.ts")),
  noun("render", "Render Markdown and markup as HTML", () => import("./render.ts")),
  verb("api", "Send an API request", async () => (await import("./api.ts")).api),
  noun("config", "Manage settings", () => import("./config.ts")),
  noun("profile", "Manage profiles of daemons and accounts", () => import("./profile.ts")),
  noun("key", "Manage the master key", () => import("./key.ts")),
  noun("job", "Manage background jobs", () => import("./job.ts")),
  noun("mail", "Show mail in the local outbox", () => import("./mail.ts")),
  verb("doctor", "Diagnose problems", async () => (await import("./doctor.ts")).doctor),
  noun("completion", "Print a completion script for a shell", [
    verb(
      "bash",
      "Print the completion script for bash",
      async () => (await import("./completion/bash.ts")).bash,
    ),
    verb(
      "zsh",
      "Print the completion script for zsh",
      async () => (await import("./completion/zsh.ts")).zsh,
    ),
    verb(
      "fish",
      "Print the completion script for fish",
      async () => (await import("./completion/fish.ts")).fish,
    ),
    verb(
      "powershell",
      "Print the completion script for PowerShell",
      async () => (await import("./completion/powershell.ts")).powershell,
    ),
  ]),
  verb("commands", "List every command", async () => (await import("./help.ts")).listCommands),
  verb(
    "schema",
    "Print the JSON Schema of a command's output",
    async () => (await import("./help.ts")).schema,
  ),
  verb("help", "Show help for a command or topic", async () => (await import("./help.ts")).help),
  verb("version", "Print the version", async () => (await import("./help.ts")).showVersion),
  verb(
    "__complete",
    "Values for completion scripts",
    async () => (await import("./completion/complete.ts")).complete,
    { hidden: true },
  ),
];
