// The text of a file in a form: browsers send every line end as CR LF.

/** A file as a form shows it, or why no form can. */
export type EditableText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "refused"; readonly reason: string };

/** Control characters other than tab and line ends, and those that change the direction of text: pages show others instead. */
const UNSHOWN = /(?![\t\n\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;

/** Returns the text that a form can send back without a change to what the person has not touched. */
export function toEditable(bytes: Uint8Array): EditableText {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refused("it is not UTF-8");
  }
  if (UNSHOWN.test(text)) return refused("it has control characters");
  if (/\r(?!\n)/.test(text)) return refused("its lines end with CR alone");
  return { kind: "text", text };
}

const refused = (reason: string) => ({ kind: "refused", reason }) as const;

/**
 * Returns a submitted text with the line ends of the file before: unchanged lines at the beginning and the end keep
 * theirs, others get the kind that most lines have. A new file gets LF.
 */
export function withLineEnds(submitted: string, before: string): string {
  const lines = submitted.replaceAll("\r\n", "\n").split("\n");
  const old = before.split("\n").map((line) => line.replace(/\r$/, ""));
  const ends = before.split("\n").map((line) => (line.endsWith("\r") ? "\r\n" : "\n"));
  const crlf = ends.filter((end) => end === "\r\n").length;
  const usual = crlf * 2 > ends.length - 1 ? "\r\n" : "\n";
  const shorter = Math.min(lines.length, old.length);
  let head = 0;
  while (head < shorter && lines[head] === old[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && lines.at(-1 - tail) === old.at(-1 - tail)) tail += 1;
  const endOf = (at: number) => {
    if (at < head) return ends[at];
    return at >= lines.length - tail ? ends[at - lines.length + old.length] : usual;
  };
  return lines
    .map((line, at) => (at === lines.length - 1 ? line : line + (endOf(at) ?? usual)))
    .join("");
}
