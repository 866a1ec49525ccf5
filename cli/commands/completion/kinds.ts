import type { Option } from "commander";
import { hookEventWords } from "../../../daemon/contract/forge/hooks/fields.ts";
import { scopeWords } from "../../../daemon/contract/forge/token-scopes.ts";
import type { CommandDefinition, CompletionKind } from "../../tree/entry.ts";

/** The completion of an argument or of a flag's value: values of a kind, or one of a few fixed words. */
export type Completion = CompletionKind | readonly string[];

/** Returns the kind of values that complete an argument of a command; undefined for free text and local files. */
export function completionOfArgument(
  line: string,
  module: CommandDefinition,
  name: string,
): Completion | undefined {
  const noun = line.split(" ").slice(0, -1).join(" ");
  const keys = [`${line} ${name}`, `${noun} ${name}`, name];
  return module.completions?.[name] ?? find(byArgument, keys);
}

/** Returns the kind of values that complete a flag; undefined for free text and local files. */
export function completionOfFlag(
  line: string,
  module: CommandDefinition,
  { long, flags, argChoices }: Pick<Option, "long" | "flags" | "argChoices">,
): Completion | undefined {
  if (argChoices !== undefined) return argChoices;
  if (flags.includes("<true|false>")) return ["true", "false"];
  const name = long ?? "";
  const noun = line.split(" ").slice(0, -1).join(" ");
  return module.completions?.[name] ?? find(byFlag, [`${line} ${name}`, `${noun} ${name}`, name]);
}

function find(table: Readonly<Record<string, Completion | null>>, keys: readonly string[]) {
  const key = keys.find((one) => table[one] !== undefined);
  return key === undefined ? undefined : (table[key] ?? undefined);
}

/**
 * Keys are argument names, alone or after a command or its noun. Null: the argument names something that does not exist
 * yet.
 */
const byArgument: Readonly<Record<string, Completion | null>> = {
  branch: "branches",
  delivery: null,
  hook: "hooks",
  issue: "issues",
  job: "run_jobs",
  label: "labels",
  milestone: "milestones",
  organization: "organizations",
  owner: "owners",
  place: "repositories",
  ref: "branches",
  release: "releases",
  repository: "repositories",
  rule: "branches",
  run: "runs",
  slug: "badges",
  subject: "repositories",
  tag: "tags",
  task: "cron_tasks",
  team: "teams",
  username: "users",
  user: "accounts",
  workflow: "workflows",
  "admin badge create slug": null,
  "admin org create name": null,
  "admin org name": "organizations",
  "admin repo create repository": null,
  "api method-or-path": ["GET", "POST", "PUT", "PATCH", "DELETE"],
  "issue react reaction": ["+1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"],
  "logout service": ["forge", "vault"],
  "notification id": "threads",
  "org create name": null,
  "org avatar name": "organizations",
  "org name": "organizations",
  "wiki create title": null,
  "wiki page": "wiki_pages",
  "release create tag": null,
  "release tag": "releases",
  "repo branch create branch": null,
  "repo deploy-key id": "deploy_keys",
  "repo tag create tag": null,
  "repo transfer new-owner": "owners",
  "runner id": "runners",
  "ssh-key id": "ssh_keys",
  "token token": "tokens",
  "vault preference set preference": ["default-storage", "pdf-open-mode"],
  "vault session id": "sessions",
  "vault token token": "vault_tokens",
};

const states = ["open", "closed", "all"];
const visibilities = ["public", "limited", "private"];
const threadStates = ["unread", "read", "pinned"];

/** Completions by the flag's name. */
const byFlag: Readonly<Record<string, Completion | null>> = {
  "--actor": "users",
  "--add-label": "labels",
  "--add-reviewer": "users",
  "--as": threadStates,
  "--assign": "users",
  "--assignee": "users",
  "--author": "users",
  "--base": "branches",
  "--branch": "branches",
  "--credential-store": ["auto", "keyring", "file"],
  "--format": ["json", "csv", "tsv", "yaml"],
  "--label": "labels",
  "--mentions": "users",
  "--method": ["GET", "POST", "PUT", "PATCH", "DELETE"],
  "--milestone": "milestones",
  "--object-format": ["sha1", "sha256"],
  "--order": ["asc", "desc"],
  "--org": "organizations",
  "--owner": "owners",
  "--permission": ["read", "write", "admin"],
  "--profile": "profiles",
  "--progress": ["bar", "json", "none"],
  "--push-user": "users",
  "--ref": "branches",
  "--remove-label": "labels",
  "--remove-reviewer": "users",
  "--repo": "repositories",
  "--reviewer": "users",
  "--service": ["forge", "vault"],
  "--trust-model": ["default", "collaborator", "committer", "collaboratorcommitter"],
  "--visibility": visibilities,
  "account edit --email-notifications": ["enabled", "andyourown", "disabled"],
  "activity list --team": "teams",
  "activity list --user": "users",
  "account hook --content-type": ["json", "form"],
  "account hook --event": hookEventWords,
  "admin hook list --type": ["system", "default", "all"],
  "admin hook --content-type": ["json", "form"],
  "admin hook --event": hookEventWords,
  "admin hook delivery list --state": ["waiting", "delivered", "failed"],
  "admin user list --sort": ["name", "created", "updated", "id"],
  "issue list --state": states,
  "issue lock --reason": ["off-topic", "too heated", "resolved", "spam"],
  "issue search --state": states,
  "milestone list --state": states,
  "notification list --status": threadStates,
  "notification list --type": ["issue", "pull", "commit", "repository"],
  "org hook --content-type": ["json", "form"],
  "org hook --event": hookEventWords,
  "render markdown --mode": ["markdown", "gfm", "comment", "wiki"],
  "render markup --mode": ["file", "markdown", "gfm", "comment", "wiki"],
  "pr create --head": "branches",
  "pr list --state": states,
  "release --notes-start-tag": "releases",
  "release --target": "branches",
  "release download --archive": ["zip", "tar.gz"],
  "repo branch create --from": "branches",
  "repo edit --merge-style": ["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"],
  "repo hook --content-type": ["json", "form"],
  "repo hook --event": hookEventWords,
  "repo hook delivery list --state": ["waiting", "delivered", "failed"],
  "repo search --sort": ["alpha", "created", "updated", "size", "stars", "forks", "id"],
  "repo tag create --target": "branches",
  "run list --status": ["queued", "in_progress", "success", "failure"],
  "vault preference set --pdf-open-mode": ["in_app", "new_tab"],
  "token create --scope": scopeWords,
};
