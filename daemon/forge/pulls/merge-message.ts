// The messages of the commits that merge a pull request.
import type { MergeStyle } from "../../../storage/tables/forge/pulls/merges.ts";

/** What messages and templates say of a pull request. */
export interface MergedPull {
  readonly number: number;
  readonly title: string;
  readonly description: string;
  /** Undefined once the account is deleted. */
  readonly posterName: string | undefined;
  /** Its address. */
  readonly url: string;
  readonly base: { readonly owner: string; readonly repo: string; readonly branch: string };
  /** `owner` and `repo` are undefined once the repository is deleted. */
  readonly head: {
    readonly owner: string | undefined;
    readonly repo: string | undefined;
    readonly branch: string;
  };
  readonly isFromFork: boolean;
  /** The character before a number: `!` in a repository with an external tracker, whose issues have `#`. */
  readonly mark: "#" | "!";
  /** Names and addresses of those who approved. */
  readonly approvers: readonly Person[];
  /** Numbers of the issues that the merge closes. */
  readonly closes: readonly number[];
}

interface Person {
  readonly name: string;
  readonly email: string;
}

/** Returns the file of the default branch that has the template of a style. */
export const toTemplatePath = (style: MergeStyle): string =>
  `.gitea/default_merge_message/${style.toUpperCase()}_TEMPLATE.md`;

/**
 * Returns the message of a merge: the requested title or else the default one, an empty line and the requested text.
 * @param template of the style; its first line is the default title, unless it is too long once its variables are replaced
 */
export function toMergeMessage(
  pull: MergedPull,
  style: MergeStyle,
  {
    title,
    text,
    template,
  }: { readonly title: string; readonly text: string; readonly template?: string | undefined },
): string {
  const subject = title.trim() === "" ? toDefaultTitle(pull, style, template) : title.trim();
  const body = text.trim();
  return body === "" ? `${subject}\n` : `${subject}\n\n${body}\n`;
}

function toDefaultTitle(pull: MergedPull, style: MergeStyle, template = ""): string {
  const [line = ""] = template.trim().split("\n", 1);
  const expanded = expandVariables(line, toVariables(pull))?.trim() ?? "";
  if (expanded !== "") return expanded;
  const { title, mark, number, base, head } = pull;
  if (style === "squash") return `${title} (${mark}${number})`;
  const repository = head.owner === undefined ? "<deleted>" : `${head.owner}/${head.repo ?? ""}`;
  const from = pull.isFromFork ? `${repository}:${head.branch}` : head.branch;
  return `Merge pull request '${title}' (${mark}${number}) from ${from} into ${base.branch}`;
}

/** The variables of templates, in the names of the reference. */
function toVariables(pull: MergedPull): ReadonlyMap<string, string> {
  const { base, head, mark, number } = pull;
  return new Map([
    ["BaseRepoOwnerName", base.owner],
    ["BaseRepoName", base.repo],
    ["BaseBranch", base.branch],
    ["HeadRepoOwnerName", head.owner ?? ""],
    ["HeadRepoName", head.repo ?? ""],
    ["HeadBranch", head.branch],
    ["PullRequestTitle", pull.title],
    ["PullRequestDescription", pull.description],
    ["PullRequestPosterName", pull.posterName ?? ""],
    ["PullRequestIndex", String(number)],
    ["PullRequestReference", `${mark}${number}`],
    ["ReviewedOn", `Reviewed-on: ${pull.url}`],
    ["ReviewedBy", pull.approvers.map((person) => `Reviewed-by: ${toText(person)}`).join("\n")],
    ["ClosingIssues", pull.closes.map((closed) => `close #${closed}`).join(", ")],
  ]);
}

/** Characters of an expanded template: each of its variables may stand for a long description. */
const EXPANDED_MAX = 64 * 1024;

/**
 * Replaces each `${Name}`, once: values are not expanded again. Unknown names become empty. Returns undefined when the result
 * would be longer than `EXPANDED_MAX`.
 */
function expandVariables(text: string, variables: ReadonlyMap<string, string>): string | undefined {
  const parts = text.split(/\$\{(\w+)\}/);
  let length = 0;
  for (const [index, part] of parts.entries()) {
    // Every other part is the name of a variable.
    const value = index % 2 === 0 ? part : (variables.get(part) ?? "");
    length += value.length;
    if (length > EXPANDED_MAX) return undefined;
    parts[index] = value;
  }
  return parts.join("");
}

/** Adds a trailer that names the author of a squashed commit, if the merger is another person. */
export function withCoAuthor(message: string, author: Person, merger: Person): string {
  const trailer = `Co-authored-by: ${toText(author)}`;
  if (toText(author) === toText(merger) || message.includes(trailer)) return message;
  const text = message.trimEnd();
  const last = text.split("\n").at(-1) ?? "";
  const isAfterTrailer = text.includes("\n\n") && /^[A-Z][\w-]*-by: /.test(last);
  return `${text}\n${isAfterTrailer ? "" : "\n"}${trailer}\n`;
}

const toText = ({ name, email }: Person) => `${name} <${email}>`;
