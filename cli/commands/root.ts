import { command } from "../tree/command.ts";
import { type Entry, noun, type RunLine } from "../tree/entry.ts";

const adminEntries: readonly Entry[] = [
  noun("user", "Forge users", () => import("./admin/user.ts")),
  noun("org", "Organizations", () => import("./admin/org.ts")),
  noun("repo", "Repositories of any user", () => import("./admin/repo.ts")),
  noun(
    "unadopted",
    "Repositories on disk that are not in the database",
    () => import("./admin/unadopted.ts"),
  ),
  noun("email", "E-mail addresses of forge users", () => import("./admin/email.ts")),
  noun("package", "Packages", () => import("./admin/package.ts")),
  noun("badge", "Badges", () => import("./admin/badge.ts")),
  noun("hook", "System hooks and default hooks", async () => ({
    entries: (await import("./hook/hook.ts")).siteEntries,
  })),
  noun("run", "Runs of workflows", () => import("./admin/run.ts")),
  noun("job", "Jobs of workflow runs", async () => ({
    entries: (await import("./admin/run.ts")).jobEntries,
  })),
  noun("runner", "Runners of the server", async () => ({
    entries: (await import("./runner.ts")).adminEntries,
  })),
  noun("cron", "Scheduled tasks", () => import("./admin/cron.ts")),
];

const vaultEntries: readonly Entry[] = [
  command(
    "register",
    "Register a vault account",
    async () => (await import("./vault/account.ts")).register,
  ),
  command("me", "Show your vault account", async () => (await import("./vault/account.ts")).me),
  command(
    "quota",
    "Show your storage usage",
    async () => (await import("./vault/account.ts")).showQuota,
  ),
  noun("preference", "Manage your preferences", () => import("./vault/preference.ts")),
  noun("session", "Manage your sessions", () => import("./vault/session.ts")),
  noun("token", "Manage tokens for scripts", () => import("./vault/token.ts")),
  noun("password", "Manage your password", () => import("./vault/password.ts")),
  noun("totp", "Manage your second factor", () => import("./vault/totp.ts")),
  noun(
    "connection",
    "Manage connections to storage",
    () => import("./vault/connection/connection.ts"),
  ),
  noun(
    "item",
    "Manage files and folders in connected storage",
    () => import("./vault/item/item.ts"),
  ),
  noun("document", "Manage documents", () => import("./vault/document.ts")),
  noun("share", "Manage shares of documents", () => import("./vault/share.ts")),
  noun("link", "Manage links for people without an account", () => import("./vault/link.ts")),
  noun("topic", "Manage topics of documents", () => import("./vault/topic.ts")),
  noun("inbox", "Manage your inbox folder", () => import("./vault/inbox.ts")),
  command(
    "search",
    "Search documents and analysed items",
    async () => (await import("./vault/search.ts")).search,
  ),
  noun("analysis", "Manage the cache and analysis of items", () => import("./vault/analysis.ts")),
  noun("admin", "Administer the vault", () => import("./vault/admin/admin.ts")),
];

/**
 * The top of the command tree. Contains only names and summaries: a command's module is imported when the command is
 * used. Commands about
 * the tree itself, such as `help`, get it from here, so that the files of commands import neither it nor the program.
 */
export function createCommands(runLine: RunLine): readonly Entry[] {
  const commands: readonly Entry[] = [
    command(
      "init",
      "Initialise a home: data, keys and administrators",
      async () => (await import("./init.ts")).init,
    ),
    command(
      "serve",
      "Run the daemon in the foreground",
      async () => (await import("./serve.ts")).serve,
    ),
    noun("daemon", "Manage the daemon", () => import("./daemon/daemon.ts")),
    noun("login", "Sign in", () => import("./login.ts")),
    command("logout", "Sign out", async () => (await import("./logout.ts")).logout),
    command(
      "dashboard",
      "Show and manage accounts, storage, hooks, runs and jobs on one screen",
      async () => (await import("./dashboard/dashboard.ts")).dashboard,
    ),
    command(
      "search",
      "Search repositories, issues, code, documents and files",
      async () => (await import("./search.ts")).searchAll,
    ),
    command("whoami", "Show who is signed in", async () => (await import("./whoami.ts")).whoami),
    noun(
      "people",
      "Manage people with their accounts of forge and vault",
      () => import("./people.ts"),
    ),
    noun("account", "Your forge account", () => import("./account.ts")),
    noun("admin", "Administer the forge", adminEntries),
    noun("repo", "Manage repositories", () => import("./repo.ts")),
    noun("run", "Manage runs of workflows", () => import("./run.ts")),
    noun("workflow", "Manage workflows of repositories", () => import("./workflow.ts")),
    noun("runner", "Manage runners of workflows", () => import("./runner.ts")),
    noun("issue", "Manage issues", () => import("./issue/issue.ts")),
    noun(
      "collaborator",
      "Manage users who may use a repository",
      () => import("./repo-collaborator.ts"),
    ),
    noun("pr", "Manage pull requests", () => import("./pr/pr.ts")),
    noun("label", "Manage labels of issues", () => import("./label.ts")),
    noun("milestone", "Manage milestones of issues", () => import("./milestone.ts")),
    noun("release", "Manage releases of repositories", () => import("./release/release.ts")),
    noun("wiki", "Manage wikis of repositories", () => import("./wiki.ts")),
    noun("package", "Manage packages and container images", () => import("./package.ts")),
    noun("secret", "Manage secrets of workflows", () => import("./secret.ts")),
    noun("variable", "Manage variables of workflows", () => import("./variable.ts")),
    noun("activity", "Show activities of users", () => import("./activity.ts")),
    noun("notification", "Manage notifications", () => import("./notification/notification.ts")),
    noun("git", "Let git use your sign-in", () => import("./git.ts")),
    noun("token", "Manage your forge access tokens", () => import("./token.ts")),
    noun("ssh-key", "Manage your public keys", () => import("./ssh-key.ts")),
    noun("org", "Manage organizations", () => import("./org.ts")),
    noun("team", "Manage teams of organizations", () => import("./team/team.ts")),
    noun("user", "Show and follow users", () => import("./user.ts")),
    noun("email", "Manage your forge e-mail addresses", () => import("./email.ts")),
    noun("totp", "Manage the second factor of your forge account", () => import("./totp.ts")),
    noun("vault", "Manage your vault account and connected storage", vaultEntries),
    noun("template", "Show templates for new repositories", () => import("./template.ts")),
    noun("render", "Render Markdown and markup as HTML", () => import("./render.ts")),
    command(
      "mcp",
      "Serve an assistant by the Model Context Protocol",
      async () => (await import("./mcp.ts")).mcp,
    ),
    command("api", "Send an API request", async () => (await import("./api.ts")).api),
    noun("config", "Manage settings", () => import("./config.ts")),
    command(
      "export",
      "Print the home as YAML, without secrets",
      async () => (await import("./home-file/commands.ts")).exportHome,
    ),
    command(
      "apply",
      "Make the home match a YAML file",
      async () => (await import("./home-file/commands.ts")).applyHome,
      { aliases: ["import"] },
    ),
    noun("profile", "Manage profiles of daemons and accounts", () => import("./profile.ts")),
    noun("key", "Manage the master key", () => import("./key.ts")),
    noun("job", "Manage background jobs", () => import("./job.ts")),
    noun("mail", "Show mail in the local outbox", () => import("./mail.ts")),
    command("doctor", "Diagnose problems", async () => (await import("./doctor.ts")).doctor),
    command("install", "Install croft, completion and the manual for one user", async () =>
      (await import("./install.ts")).install(commands),
    ),
    noun("completion", "Print a completion script for a shell", [
      command("bash", "Print the completion script for bash", async () =>
        (await import("./completion/scripts.ts")).printScript("bash"),
      ),
      command("zsh", "Print the completion script for zsh", async () =>
        (await import("./completion/scripts.ts")).printScript("zsh"),
      ),
      command("fish", "Print the completion script for fish", async () =>
        (await import("./completion/scripts.ts")).printScript("fish"),
      ),
      command("powershell", "Print the completion script for PowerShell", async () =>
        (await import("./completion/scripts.ts")).printScript("powershell"),
      ),
    ]),
    command("commands", "List every command", async () =>
      (await import("./help.ts")).listCommands(commands),
    ),
    command("schema", "Print the JSON Schema of a command's output", async () =>
      (await import("./help.ts")).schema(commands),
    ),
    command("help", "Show help for a command or topic", async () =>
      (await import("./help.ts")).help(commands, runLine),
    ),
    command("version", "Print the version", async () => (await import("./version.ts")).showVersion),
    command(
      "__complete",
      "Values for completion scripts",
      async () => (await import("./completion/complete.ts")).complete(commands),
      { hidden: true },
    ),
  ];
  return commands;
}

/** The groups in which `croft --help` shows the commands; one without a group comes last. */
export const commandGroups: readonly (readonly [heading: string, names: readonly string[]])[] = [
  ["Start", ["init", "serve", "daemon", "install", "doctor"]],
  ["Sign in", ["login", "logout", "whoami", "account", "profile"]],
  ["Both halves", ["people", "search", "dashboard"]],
  [
    "Forge: repositories, issues, pull requests, workflows, packages and its people",
    [
      "repo",
      "issue",
      "pr",
      "collaborator",
      "label",
      "milestone",
      "release",
      "wiki",
      "package",
      "org",
      "team",
      "notification",
      "activity",
      "run",
      "runner",
      "workflow",
      "secret",
      "variable",
      "git",
      "token",
      "ssh-key",
      "user",
      "email",
      "totp",
      "template",
      "render",
      "admin",
    ],
  ],
  ["Vault (croft vault COMMAND): documents, links, connected storages and its people", ["vault"]],
  ["Home", ["config", "export", "apply", "key", "job", "mail"]],
  ["Scripts", ["api", "mcp", "completion", "commands", "schema", "help", "version"]],
];
