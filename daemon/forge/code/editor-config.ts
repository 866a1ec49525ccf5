import { compileGlob } from "../../utilities/glob.ts";

/** Maximum number of sections of one file that are read. */
const SECTIONS_MAX = 200;
/** Maximum length of a numeric range such as `{1..9}`. */
const RANGE_MAX = 32;

/** The properties that the reference shows. */
const SHOWN = ["charset", "indent_style", "indent_size", "tab_width", "end_of_line"] as const;

/**
 * Returns the properties that an `.editorconfig` in the top folder sets for a file, by the rules of EditorConfig: later
 * sections override earlier ones, and `unset` removes a value. Skips lines that are not properties.
 */
function readEditorConfig(text: string, path: string): Record<string, string> {
  const found = new Map<string, string>();
  let applies = false;
  let sections = 0;
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#") || trimmed.startsWith(";")) continue;
    if (trimmed.startsWith("[") && trimmed.endsWith("]")) {
      sections += 1;
      if (sections > SECTIONS_MAX) break;
      applies = matchesSection(trimmed.slice(1, -1), path);
      continue;
    }
    const sign = trimmed.search(/[=:]/);
    if (!applies || sign <= 0) continue;
    const name = trimmed.slice(0, sign).trim().toLowerCase();
    const value = trimmed
      .slice(sign + 1)
      .replace(/\s[#;].*$/, "")
      .trim()
      .toLowerCase();
    if (value === "unset") found.delete(name);
    else found.set(name, value);
  }
  if (found.get("indent_style") === "tab" && !found.has("indent_size"))
    found.set("indent_size", "tab");
  const width = found.get("tab_width");
  if (found.get("indent_size") === "tab" && width !== undefined) found.set("indent_size", width);
  return Object.fromEntries(
    SHOWN.flatMap((name) => {
      const value = found.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** A pattern without a slash matches in every folder; one with a slash from the top folder. */
function matchesSection(pattern: string, path: string): boolean {
  const rooted = pattern.startsWith("/") ? pattern.slice(1) : pattern;
  const isAnywhere = !pattern.includes("/");
  const glob = compileGlob(expandRanges(rooted), { isOfPaths: true });
  if (glob === undefined) return false;
  return glob(isAnywhere ? path.slice(path.lastIndexOf("/") + 1) : path);
}

/** Expands numeric ranges to alternatives, and escapes braces around a single name. */
function expandRanges(pattern: string): string {
  return pattern
    .replace(/\{(-?\d{1,9})\.\.(-?\d{1,9})\}/g, (whole, from: string, to: string) => {
      const [low, high] = [Math.min(+from, +to), Math.max(+from, +to)];
      if (high - low >= RANGE_MAX) return whole;
      return `{${Array.from({ length: high - low + 1 }, (_, at) => low + at).join(",")}}`;
    })
    .replace(/\{([^{},]*)\}/g, String.raw`\{$1\}`);
}

/** An `.editorconfig` and the path of a file. */
interface EditorConfigOf {
  readonly text: string;
  readonly path: string;
}

/** `readEditorConfig` for a worker thread: each section is a pattern from a user. */
export const editorConfigOf = {
  name: "editorConfigOf",
  cost: ({ text, path }: EditorConfigOf) => text.length * path.length,
  length: ({ text, path }: EditorConfigOf) => text.length + path.length,
  run: ({ text, path }: EditorConfigOf) => readEditorConfig(text, path),
};
