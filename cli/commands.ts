import { type Entry, noun, verb } from "./command.ts";

/** The top of the command tree. Only names and summaries: each import happens when its command is entered. */
export const commands: readonly Entry[] = [
  verb("init", "Make a home: data, keys, administrators", () => import("./commands/init.ts")),
  verb("serve", "Run the daemon in the foreground", () => import("./commands/serve.ts")),
  noun("daemon", "Look after the daemon", () => import("./commands/daemon/daemon.ts")),
  noun("login", "Sign in", () => import("./commands/login/login.ts")),
  verb("logout", "Sign out", () => import("./commands/logout.ts")),
  verb("whoami", "Show who is signed in", () => import("./commands/whoami.ts")),
  noun("admin", "Administer the forge", () => import("./commands/admin/admin.ts")),
  noun("repo", "Repositories of the forge", () => import("./commands/repo/repo.ts")),
  noun("issue", "Issues of repositories", () => import("./commands/issue/issue.ts")),
  noun(
    "notification",
    "What you are told of",
    () => import("./commands/notification/notification.ts"),
  ),
  noun("token", "Your forge access tokens", () => import("./commands/token/token.ts")),
  noun("email", "Your e-mail addresses in the forge", () => import("./commands/email/email.ts")),
  noun("totp", "The second factor of your forge account", () => import("./commands/totp/totp.ts")),
  noun("vault", "Account and storages in the vault", () => import("./commands/vault/vault.ts")),
  noun(
    "template",
    "Texts that repositories begin with",
    () => import("./commands/template/template.ts"),
  ),
  noun("render", "Render texts as HTML", () => import("./commands/render/render.ts")),
  verb("api", "Send any request", () => import("./commands/api.ts")),
  noun("config", "Show and change settings", () => import("./commands/config/config.ts")),
  noun(
    "profile",
    "Profiles of daemons and accounts",
    () => import("./commands/profile/profile.ts"),
  ),
  noun("key", "The master key of this home", () => import("./commands/key/key.ts")),
  noun("mail", "Mails that wait in the outbox", () => import("./commands/mail/mail.ts")),
  verb("doctor", "Look for what is wrong", () => import("./commands/doctor.ts")),
  noun(
    "completion",
    "Print a completion script for a shell",
    () => import("./commands/completion/completion.ts"),
  ),
  verb("commands", "List every command", () => import("./commands/commands.ts")),
  verb(
    "schema",
    "Print the JSON Schema of a command's output",
    () => import("./commands/schema.ts"),
  ),
  verb("help", "Show help for a command or topic", () => import("./commands/help.ts")),
  verb("version", "Print the version", () => import("./commands/version.ts")),
  verb("__complete", "Values for completion scripts", () => import("./commands/complete.ts"), {
    hidden: true,
  }),
];
