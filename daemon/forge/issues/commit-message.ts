/** An issue that a text names: a commit message, a description, a comment. */
export interface CommitReference {
  /** Undefined for the repository of the text. */
  readonly owner: string | undefined;
  readonly repo: string | undefined;
  readonly number: number;
  /** Whether `!` names it, which is for pull requests only. */
  readonly isPullOnly: boolean;
  /** What the word before it says to do. */
  readonly action: "close" | "reopen" | undefined;
}

/** Maximum number of issues that one message names. */
const REFERENCES_MAX = 50;

/** The words of Gitea's default settings. */
const KEYWORD =
  /(?<![\p{L}\p{N}_])(?:(clos(?:e|es|ed)|fix(?:|es|ed)|resolv(?:e|es|ed))|(reopen(?:|s|ed))):?[ \t]{1,4}$/iu;
const REFERENCE =
  /(?<=^|[\s([{'"])(?:([\w.-]{1,100})\/([\w.-]{1,100}))?([#!])(\d{1,9})(?=$|[\s)\]}'"]|[:;,.?!](?:$|\s))/g;
/** Characters before a reference in which its keyword is searched. */
const KEYWORD_CHARACTERS_MAX = 20;

/**
 * Returns the issues that a text names, each once: `#1`, `owner/repo#1`, `!1` for a pull request, and addresses of issues and
 * pull requests below `publicUrl`. A word acts on the one reference after it, so `closes #1, closes #2` closes both. Code names
 * nothing: text in backticks, and blocks between fences.
 */
export function findReferences(message: string, publicUrl: string): readonly CommitReference[] {
  const text = withoutFences(message)
    .replace(/`[^`\n]*`/g, " ")
    .replaceAll(toAddress(publicUrl), "$1/$2#$3");
  const found = new Map<string, CommitReference>();
  for (const match of text.matchAll(REFERENCE)) {
    const [, owner, repo, sign, digits] = match;
    const before = text.slice(Math.max(0, match.index - KEYWORD_CHARACTERS_MAX), match.index);
    const [, close, reopen] = KEYWORD.exec(before) ?? [];
    const action = close !== undefined ? "close" : reopen !== undefined ? "reopen" : undefined;
    const key = `${owner ?? ""}/${repo ?? ""}#${digits}`.toLowerCase();
    const former = found.get(key);
    found.set(key, {
      owner,
      repo,
      number: Number(digits),
      isPullOnly: sign === "!" && former?.isPullOnly !== false,
      action: action ?? former?.action,
    });
    if (found.size === REFERENCES_MAX) break;
  }
  return [...found.values()];
}

/** Removes blocks of code; one that is not closed ends with the text. */
function withoutFences(message: string): string {
  let fence: string | undefined;
  return message
    .split("\n")
    .filter((line) => {
      const [, mark] = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line) ?? [];
      if (fence === undefined) {
        fence = mark;
        return mark === undefined;
      }
      if (mark?.startsWith(fence) === true && line.trim() === mark) fence = undefined;
      return false;
    })
    .join("\n");
}

function toAddress(publicUrl: string): RegExp {
  const base = publicUrl.replace(/\/$/, "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(
    `(?<=^|[\\s([{'"])${base}/([\\w.-]{1,100})/([\\w.-]{1,100})/(?:issues|pulls)/(\\d{1,9})(?:#issuecomment-\\d+)?`,
    "g",
  );
}
