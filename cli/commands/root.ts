import { type Entry, noun, verb } from "../tree/entry.ts";

/** The top of the command tree. Only names and summaries: each import happens when its command is entered. */
export const commands: readonly Entry[] = [
  verb(
    "init",
    "Make a home: data, keys, administrators",
    async () => (await import("./init.ts")).init,
  ),
  verb("serve", "Run the daemon in the foreground", async () => (await import("./serve.ts")).serve),
  noun("daemon", "Look after the daemon", () => import("./daemon.ts")),
  noun("login", "Sign in", () => import("./login.ts")),
  verb("logout", "Sign out", async () => (await import("./logout.ts")).logout),
  verb("whoami", "Show who is signed in", async () => (await import("./whoami.ts")).whoami),
  noun("admin", "Administer the forge", () => import("./admin/admin.ts")),
  noun("repo", "Repositories of the forge", () => import("./repo.ts")),
  noun("issue", "Issues of repositories", () => import("./issue.ts")),
  noun("notification", "What you are told of", () => import("./notification/notification.ts")),
  noun("token", "Your forge access tokens", () => import("./token.ts")),
  noun("email", "Your e-mail addresses in the forge", () => import("./email.ts")),
  noun("totp", "The second factor of your forge account", () => import("./totp.ts")),
  noun("vault", "Account and storages in the vault", () => import("./vault/vault.ts")),
  noun("template", "Texts that repositories begin with", () => import("./template.ts")),
  noun("render", "Render texts as HTML", () => import("./render.ts")),
  verb("api", "Send any request", async () => (await import("./api.ts")).api),
  noun("config", "Show and change settings", () => import("./config.ts")),
  noun("profile", "Profiles of daemons and accounts", () => import("./profile.ts")),
  noun("key", "The master key of this home", () => import("./key.ts")),
  noun("mail", "Mails that wait in the outbox", () => import("./mail.ts")),
  verb("doctor", "Look for what is wrong", async () => (await import("./doctor.ts")).doctor),
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
