/** The kinds of hooks: two that send payloads as they are, and chat services with formats of their own. */
export const hookTypes = [
  "gitea",
  "gogs",
  "slack",
  "discord",
  "dingtalk",
  "telegram",
  "msteams",
  "feishu",
  "matrix",
  "wechatwork",
  "packagist",
] as const;

/** Every event that a hook can select, and `organization`, which is croft's own. */
const hookEvents = [
  "create",
  "delete",
  "fork",
  "push",
  "issues",
  "issue_assign",
  "issue_label",
  "issue_milestone",
  "issue_comment",
  "pull_request",
  "pull_request_assign",
  "pull_request_label",
  "pull_request_milestone",
  "pull_request_comment",
  "pull_request_review",
  "pull_request_review_request",
  "pull_request_sync",
  "repository",
  "release",
  "wiki",
  "package",
  "status",
  "workflow_run",
  "workflow_job",
  "organization",
] as const;
export type HookEvent = (typeof hookEvents)[number];

/** Every word of `events` that means something. The API ignores others, as the reference does. */
export const hookEventWords: readonly string[] = [
  ...hookEvents,
  "issues_only",
  "pull_request_only",
];

/** The events that selected words switch on, in the order of `hookEvents`: groups are spread, unknown words dropped. */
export function toHookEvents(words: readonly string[]): HookEvent[] {
  const selected = new Set<string>();
  for (const word of words.map((event) => event.toLowerCase()))
    for (const event of groups.get(word) ?? [word]) selected.add(event);
  return hookEvents.filter((event) => selected.has(event));
}

const groups: ReadonlyMap<string, readonly string[]> = new Map([
  ["issues", hookEvents.filter((event) => event.startsWith("issue"))],
  ["issues_only", ["issues"]],
  ["pull_request", hookEvents.filter((event) => event.startsWith("pull_request"))],
  ["pull_request_only", ["pull_request"]],
]);
