import { CliError } from "../../../errors.ts";

/** The file whose rules say what a sync leaves out. The rules are those of `.gitignore`, also in subfolders. */
export const IGNORE_FILE = ".croftignore";

/** Largest file of rules in bytes: each name is compared with all of them. */
export const IGNORE_BYTES_MAX = 256 * 1024;

/** The flags of every sync that leaves out files. */
export const filterFlags = {
  "--exclude <pattern>": {
    help: "leave out matching files and folders, as in .gitignore; can be repeated",
    parse: collect,
  },
  "--include <pattern>": {
    help: `take in what ${IGNORE_FILE} or --exclude leaves out; can be repeated`,
    parse: collect,
  },
} as const;

function collect(pattern: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), pattern];
}

/** Decides which files and folders a sync leaves out. A rule of either side leaves a path out at both. */
export interface SyncFilter {
  /**
   * Returns whether a path with slashes is left out. The folders above it must not be left out: a walk does not enter
   * those.
   */
  isIgnored(path: string, isFolder: boolean): boolean;
  /** Adds the text of an `IGNORE_FILE` in `folder`, empty for the top. Those of the folders above it come first. */
  addRules(side: Side, folder: string, text: string): void;
}

type Side = "one" | "other";

/** Creates the filter of one sync. `include` has precedence over `exclude`, and both over the rules of files. */
export async function createSyncFilter({
  exclude = [],
  include = [],
}: {
  readonly exclude?: readonly string[] | undefined;
  readonly include?: readonly string[] | undefined;
}): Promise<SyncFilter> {
  const { default: ignore } = await import("ignore");
  const ofCommand = [...exclude, ...include.map((pattern) => `!${pattern}`)];
  const rules: Record<Side, string[]> = { one: [], other: [] };
  const matchers: Partial<Record<Side, ReturnType<typeof ignore>>> = {};
  const matcherOf = (side: Side) =>
    (matchers[side] ??= ignore({ ignorecase: false }).add([...rules[side], ...ofCommand]));
  return {
    isIgnored(path, isFolder) {
      const name = `${path.normalize("NFC")}${isFolder ? "/" : ""}`;
      return matcherOf("one").ignores(name) || matcherOf("other").ignores(name);
    },
    addRules(side, folder, text) {
      if (Buffer.byteLength(text) > IGNORE_BYTES_MAX)
        throw new CliError(
          "unsupported",
          `${folder === "" ? "" : `${folder}/`}${IGNORE_FILE} is larger than ${IGNORE_BYTES_MAX} bytes`,
        );
      const lines = text
        .normalize("NFC")
        .replace(/^\ufeff/, "")
        .split(/\r?\n/);
      rules[side].push(...lines.flatMap((line) => toRootRule(line, folder.normalize("NFC"))));
      delete matchers[side];
    },
  };
}

/**
 * Returns the rule of a file in `folder` as a rule of the top, so that one list decides: the last match wins, and a rule
 * of a subfolder can take in what one above it leaves out.
 */
function toRootRule(line: string, folder: string): readonly string[] {
  if (folder === "" || line.trim() === "" || line.startsWith("#"))
    return line.startsWith("#") ? [] : [line];
  const isNegative = line.startsWith("!");
  const rule = (isNegative ? line.slice(1) : line).replace(/^\\(?=[!#])/, "");
  const isAnchored = rule.trimEnd().slice(0, -1).includes("/");
  const above = folder.replaceAll(/[*?[\]\\!# ]/g, "\\$&");
  const below = isAnchored ? rule.replace(/^\//, "") : `**/${rule}`;
  return [`${isNegative ? "!" : ""}/${above}/${below}`];
}
