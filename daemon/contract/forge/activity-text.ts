import { z } from "zod";
import type { WireActivity } from "./activities.ts";

const commitShape = z.object({ Sha1: z.string(), Message: z.string() });
/** The content of a push, as far as it is shown. */
const pushShape = z.object({
  Commits: z.array(commitShape),
  HeadCommit: commitShape.nullable(),
  Len: z.int(),
});

/** An activity in words: "mira" pushed 2 commits to "main" in "mira/cabin". */
export interface ActivityText {
  /** The verb of the activity, such as `pushed 2 commits to`. */
  readonly action: string;
  /** The object of the activity, such as `main`. */
  readonly subject: string;
  /** The page of the subject; undefined when the page no longer exists. */
  readonly path: string | undefined;
  /** Whether the repository is the subject and need not be named again. */
  readonly isOfRepository: boolean;
  /** The text of a comment, shortened. */
  readonly quote: string;
  /** The newest commits of a push. */
  readonly commits: readonly { readonly id: string; readonly title: string }[];
}

type Described = Pick<WireActivity, "op_type" | "content" | "ref_name" | "comment_id" | "repo">;

/** Describes an activity for people. */
export function describeActivity(activity: Described): ActivityText {
  const { op_type: kind, content, repo } = activity;
  const home = `/${repo.full_name.split("/").map(encodeURIComponent).join("/")}`;
  const name = activity.ref_name.replace(/^refs\/(?:heads|tags)\//, "");
  const source = (type: "branch" | "tag") =>
    `${home}/src/${type}/${name.split("/").map(encodeURIComponent).join("/")}`;
  const of = (
    action: string,
    subject: string,
    path?: string,
    rest: Partial<ActivityText> = {},
  ) => ({
    action,
    subject,
    path,
    isOfRepository: false,
    quote: "",
    commits: [],
    ...rest,
  });
  const ofRepository = (action: string) =>
    of(action, repo.full_name, home, { isOfRepository: true });
  const [number = "", text = ""] = splitOnce(content, "|");
  const issue = `${home}/issues/${number}`;
  const pull = `${home}/pulls/${number}`;
  switch (kind) {
    case "create_repo":
      return ofRepository("created the repository");
    case "rename_repo":
      return ofRepository(`renamed ${content} to`);
    case "transfer_repo":
      return ofRepository(`transferred ${content} to`);
    case "commit_repo": {
      const { commits, count } = readPush(content);
      const many = count === 1 ? "1 commit" : `${count} commits`;
      return of(count === 0 ? "pushed to" : `pushed ${many} to`, name, source("branch"), {
        commits,
      });
    }
    case "push_tag":
      return of("pushed the tag", name, source("tag"));
    case "publish_release": {
      const path = `${home}/releases/tag/${name.split("/").map(encodeURIComponent).join("/")}`;
      return of("published the release", content || name, path);
    }
    case "delete_branch":
      return of("deleted the branch", name);
    case "delete_tag":
      return of("deleted the tag", name);
    case "create_issue":
      return of("opened the issue", `#${number} ${text}`, issue);
    case "comment_issue":
      return of(
        "commented on the issue",
        `#${number}`,
        `${issue}#issuecomment-${activity.comment_id}`,
        {
          quote: text,
        },
      );
    case "close_issue":
      return of("closed the issue", `#${number}`, issue);
    case "reopen_issue":
      return of("reopened the issue", `#${number}`, issue);
    case "create_pull_request":
      return of("opened the pull request", `#${number} ${text}`, pull);
    case "comment_pull":
      return of(
        "commented on the pull request",
        `#${number}`,
        `${pull}#issuecomment-${activity.comment_id}`,
        { quote: text },
      );
    case "merge_pull_request":
      return of("merged the pull request", `#${number} ${text}`, pull);
    case "close_pull_request":
      return of("closed the pull request", `#${number}`, pull);
    case "reopen_pull_request":
      return of("reopened the pull request", `#${number}`, pull);
  }
}

function splitOnce(text: string, mark: string): readonly string[] {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

function readPush(content: string): { commits: ActivityText["commits"]; count: number } {
  const read = pushShape.safeParse(parseJson(content));
  if (!read.success) return { commits: [], count: 0 };
  const commits = read.data.Commits.map(({ Sha1: id, Message: message }) => ({
    id,
    title: message.split("\n", 1)[0] ?? "",
  }));
  return { commits, count: read.data.Len };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Another server may store any content here; the activity is shown without commits.
    return undefined;
  }
}
