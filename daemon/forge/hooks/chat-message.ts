import { z } from "zod";

/** A message for chat services, in parts that each service joins in its own markup. Nothing is escaped here. */
export interface ChatMessage {
  /** One line without links, such as `[mira/cabin:main] 2 new commits pushed by mira`. */
  readonly title: string;
  readonly url: string;
  /** Further lines: commits of a push. */
  readonly lines: readonly ChatLine[];
  readonly sender: { readonly name: string; readonly url: string; readonly avatarUrl: string };
  readonly color: ChatColor;
}

export interface ChatLine {
  readonly label: string;
  readonly url: string;
  readonly text: string;
}

/** As six hexadecimal digits. */
export type ChatColor = "1ac600" | "ff3232" | "0052cc" | "ffd930";

const GREEN = "1ac600";
const RED = "ff3232";
const BLUE = "0052cc";
const YELLOW = "ffd930";
const LINES_MAX = 10;
const LINE_CHARACTERS_MAX = 200;

/**
 * Returns the message about an event, undefined for events without a message.
 * @throws z.ZodError if the payload does not have the shape of its event
 */
export function toChatMessage(event: string, value: unknown): ChatMessage | undefined {
  const payload = payloadSchema.parse(value);
  const sender = toSender(payload.sender);
  const described = describe(event, payload, sender.name);
  return described && { lines: [], ...described, sender };
}

const named = z.object({ name: z.string() });
const linked = z.object({ html_url: z.string() });
const outcome = linked.extend({ status: z.string(), conclusion: z.string().optional() });

/** The members of payloads that messages use. Each event has some of them. */
const payloadSchema = z.object({
  action: z.string().optional(),
  ref: z.string().optional(),
  ref_type: z.string().optional(),
  compare_url: z.string().optional(),
  total_commits: z.int().optional(),
  commits: z
    .array(z.object({ id: z.string(), message: z.string(), url: z.string(), author: named }))
    .optional(),
  repository: linked.extend({ full_name: z.string() }).nullish(),
  organization: z.object({ username: z.string() }).nullish(),
  package: z
    .object({ name: z.string(), version: z.string(), html_url: z.string().optional() })
    .optional(),
  issue: linked.extend({ number: z.int(), title: z.string() }).optional(),
  pull_request: linked
    .extend({ number: z.int(), title: z.string(), merged: z.boolean() })
    .optional(),
  is_pull: z.boolean().optional(),
  /** Of an event of the wiki, the message of its commit. */
  comment: z.union([linked, z.string()]).optional(),
  page: z.string().optional(),
  release: linked.extend({ tag_name: z.string(), name: z.string() }).optional(),
  commit: z.object({ url: z.string() }).optional(),
  context: z.string().optional(),
  sha: z.string().optional(),
  state: z.string().optional(),
  target_url: z.string().optional(),
  workflow: named.optional(),
  workflow_run: outcome.extend({ run_number: z.int() }).optional(),
  workflow_job: outcome.extend({ name: z.string(), head_sha: z.string() }).optional(),
  sender: linked.extend({ login: z.string(), avatar_url: z.string() }).nullish(),
});
type Payload = z.output<typeof payloadSchema>;

type Described = Pick<ChatMessage, "title" | "url" | "color"> & Partial<Pick<ChatMessage, "lines">>;

function describe(event: string, payload: Payload, sender: string): Described | undefined {
  const name = payload.repository?.full_name ?? "";
  const home = payload.repository?.html_url ?? "";
  const ref = payload.ref ?? "";
  switch (event) {
    case "push":
      return describePush(payload, sender);
    case "create":
      return {
        title: `[${name}] ${payload.ref_type} ${ref} created by ${sender}`,
        url: `${home}/src/${payload.ref_type}/${encodeURI(ref)}`,
        color: GREEN,
      };
    case "delete":
      return {
        title: `[${name}] ${payload.ref_type} ${ref} deleted by ${sender}`,
        url: home,
        color: RED,
      };
    case "repository":
      return {
        title: `[${name}] Repository ${payload.action} by ${sender}`,
        url: home,
        color: colorOf(payload.action),
      };
    case "organization": {
      const organization = payload.organization?.username ?? "";
      return {
        title: `Organization ${organization} ${payload.action} by ${sender}`,
        url: payload.sender?.html_url.replace(/[^/]*$/, organization) ?? "",
        color: colorOf(payload.action),
      };
    }
    case "issues":
    case "issue_assign":
    case "issue_label":
    case "issue_milestone":
      return {
        title: `[${name}] Issue ${payload.action}: ${toIssueTitle(payload)} by ${sender}`,
        url: payload.issue?.html_url ?? home,
        color: payload.action === "closed" ? RED : YELLOW,
      };
    case "pull_request":
    case "pull_request_assign":
    case "pull_request_label":
    case "pull_request_milestone":
    case "pull_request_sync":
    case "pull_request_review_request":
    case "pull_request_review_approved":
    case "pull_request_review_rejected":
    case "pull_request_review_comment":
      return describePull(event, payload, sender);
    case "issue_comment":
    case "pull_request_comment":
      return {
        title: `[${name}] Comment ${payload.action} on ${payload.is_pull === true ? "pull request" : "issue"} ${toIssueTitle(payload)} by ${sender}`,
        url: typeof payload.comment === "object" ? payload.comment.html_url : home,
        color: YELLOW,
      };
    case "release": {
      const { tag_name: tag = "", name: title = "", html_url: url = home } = payload.release ?? {};
      return {
        title: `[${name}] Release ${payload.action}: ${cut(title || tag)} by ${sender}`,
        url,
        color: payload.action === "published" ? GREEN : colorOf(payload.action),
      };
    }
    case "wiki":
      return describeWiki(payload, sender);
    case "status":
      return {
        title: `[${name}] ${cut(payload.context ?? "")} of ${payload.sha?.slice(0, 7) ?? ""}: ${payload.state ?? ""}`,
        url: payload.target_url || payload.commit?.url || home,
        color: toStateColor(payload.state),
      };
    case "workflow_run": {
      const run = payload.workflow_run;
      return {
        title: `[${name}] Workflow ${cut(payload.workflow?.name ?? "")} #${run?.run_number ?? ""}: ${toOutcome(run)}, started by ${sender}`,
        url: run?.html_url ?? home,
        color: toStateColor(run?.conclusion),
      };
    }
    case "workflow_job": {
      const job = payload.workflow_job;
      return {
        title: `[${name}] Job ${cut(job?.name ?? "")} of ${job?.head_sha.slice(0, 7) ?? ""}: ${toOutcome(job)}`,
        url: job?.html_url ?? home,
        color: toStateColor(job?.conclusion),
      };
    }
    case "package":
      return {
        title: `Package ${payload.package?.name ?? ""}:${payload.package?.version ?? ""} ${payload.action} by ${sender}`,
        url: payload.package?.html_url ?? "",
        color: colorOf(payload.action),
      };
    default:
      return undefined;
  }
}

function describeWiki(
  { action, page = "", comment, repository }: Payload,
  sender: string,
): Described {
  const words =
    action === "created" ? `New wiki page '${cut(page)}'` : `Wiki page '${cut(page)}' ${action}`;
  const note = typeof comment === "string" && comment !== "" ? ` (${cut(comment)})` : "";
  return {
    title: `[${repository?.full_name ?? ""}] ${words}${note} by ${sender}`,
    url: `${repository?.html_url ?? ""}/wiki${action === "deleted" ? "" : `/${page}`}`,
    color: colorOf(action),
  };
}

/** What happened to a pull request by the end of its event; otherwise its action says it. */
const pullWords = new Map([
  ["pull_request_review_approved", "approved"],
  ["pull_request_review_rejected", "changes requested"],
  ["pull_request_review_comment", "reviewed"],
]);

function describePull(event: string, payload: Payload, sender: string): Described {
  const { action = "", pull_request: pull, repository } = payload;
  const isMerged = action === "closed" && pull?.merged === true;
  const word = pullWords.get(event) ?? (isMerged ? "merged" : action.replaceAll("_", " "));
  const title = pull === undefined ? "" : `#${pull.number} ${cut(pull.title)}`;
  return {
    title: `[${repository?.full_name ?? ""}] Pull request ${word}: ${title} by ${sender}`,
    url: pull?.html_url ?? repository?.html_url ?? "",
    color: toPullColor(word),
  };
}

function toPullColor(word: string): ChatColor {
  if (word === "opened" || word === "merged" || word === "approved") return GREEN;
  return word === "closed" || word === "changes requested" ? RED : YELLOW;
}

function describePush(payload: Payload, sender: string): Described {
  const commits = payload.commits ?? [];
  const total = payload.total_commits ?? commits.length;
  const branch = (payload.ref ?? "").replace(/^refs\/(?:heads|tags)\//, "");
  const lines = commits.slice(0, LINES_MAX).map(({ id, url, message, author }) => ({
    label: id.slice(0, 7),
    url,
    text: `${cut(message.split("\n", 1)[0] ?? "")} - ${author.name}`,
  }));
  const count = total === 1 ? "1 new commit" : `${total} new commits`;
  return {
    title: `[${payload.repository?.full_name ?? ""}:${branch}] ${count} pushed by ${sender}`,
    url: total === 1 ? (commits[0]?.url ?? "") : (payload.compare_url ?? ""),
    color: BLUE,
    lines,
  };
}

/** Returns the result of a run or job, or its status while it is running. */
function toOutcome(shown: Partial<z.output<typeof outcome>> | undefined): string {
  return (shown?.conclusion ?? shown?.status ?? "").replaceAll("_", " ");
}

function toStateColor(state: string | undefined): ChatColor {
  if (state === "success") return GREEN;
  return state === "failure" || state === "error" ? RED : YELLOW;
}

function toIssueTitle({ issue }: Payload): string {
  return issue === undefined ? "" : `#${issue.number} ${cut(issue.title)}`;
}

function colorOf(action: string | undefined): ChatColor {
  if (action === "created") return GREEN;
  return action === "deleted" ? RED : YELLOW;
}

function cut(text: string): string {
  return text.length > LINE_CHARACTERS_MAX
    ? `${text.slice(0, LINE_CHARACTERS_MAX - 1).toWellFormed()}…`
    : text;
}

function toSender(sender: Payload["sender"]): ChatMessage["sender"] {
  return {
    name: sender?.login ?? "",
    url: sender?.html_url ?? "",
    avatarUrl: sender?.avatar_url ?? "",
  };
}
