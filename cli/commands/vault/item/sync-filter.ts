import { CliError } from "../../../errors.ts";
import {
  type IgnoreRule,
  matchesRule,
  type MatchWork,
  type Name,
  parseIgnoreRule,
  RULE_CHARACTERS_MAX,
} from "./ignore-rules.ts";

/** The file whose rules say what a sync leaves out. The rules are those of `.gitignore`, also in subfolders. */
export const IGNORE_FILE = ".croftignore";

/** Largest file of rules in bytes: each name is compared with all rules. */
export const IGNORE_BYTES_MAX = 256 * 1024;

/** Largest files of rules of one side in bytes, all together: they are kept while the sync runs. */
const RULES_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Steps of comparing paths with rules that a sync may take, at the start and for each path: rules of another person with many `*`
 * must not hold the command for hours. A hundred usual rules take some thousand steps for a path.
 */
const STEPS_FIRST = 200_000_000;
const STEPS_PER_PATH = 200_000;

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
export type SyncFilter = ReturnType<typeof createSyncFilter>;

type Side = "one" | "other";

/** Creates the filter of one sync. `include` has precedence over `exclude`, and both over the rules of files. */
export function createSyncFilter({
  exclude = [],
  include = [],
  stepsFirst = STEPS_FIRST,
}: {
  readonly exclude?: readonly string[] | undefined;
  readonly include?: readonly string[] | undefined;
  readonly stepsFirst?: number;
}) {
  const ofCommand = [...exclude, ...include.map((pattern) => `!${pattern}`)].flatMap((pattern) =>
    toRules(pattern.normalize("NFC"), "", "a pattern"),
  );
  const rules: Record<Side, Map<string, IgnoreRule[]>> = { one: new Map(), other: new Map() };
  const bytes: Record<Side, number> = { one: 0, other: 0 };
  const work: MatchWork = { steps: 0 };
  let stepsMax = stepsFirst;
  const matches = (side: Side, names: readonly Name[], isFolder: boolean) => {
    const isMatch = (rule: IgnoreRule) => {
      const isMatching = matchesRule(rule, names, { isFolder, work });
      if (work.steps > stepsMax)
        throw new CliError(
          "unsupported",
          `the rules of ${IGNORE_FILE} take too long to compare: use fewer of them, with fewer *`,
        );
      return isMatching;
    };
    let last = ofCommand.findLast(isMatch);
    // The deepest folder first: its rules come after those of the folders above it.
    for (let depth = names.length - 1; last === undefined && depth >= 0; depth -= 1)
      last = rules[side].get(toPath(names.slice(0, depth)))?.findLast(isMatch);
    return last !== undefined && !last.isNegative;
  };
  const decide = (names: readonly Name[], isFolder: boolean) =>
    matches("one", names, isFolder) || matches("other", names, isFolder);
  let folders = new Map<string, boolean>();
  const isFolderIgnored = (names: readonly Name[]): boolean => {
    if (names.length === 0) return false;
    const key = toPath(names);
    const known = folders.get(key);
    if (known !== undefined) return known;
    const isIgnored = isFolderIgnored(names.slice(0, -1)) || decide(names, true);
    folders.set(key, isIgnored);
    return isIgnored;
  };
  return {
    /**
     * Returns whether a path with slashes is left out, by a rule for it or for a folder above it. Throws `unsupported` when the
     * rules take too long for the paths so far.
     */
    isIgnored(path: string, isFolder: boolean): boolean {
      stepsMax += STEPS_PER_PATH;
      const names = path
        .normalize("NFC")
        .split("/")
        .map((name): Name => [...name]);
      if (isFolder) return isFolderIgnored(names);
      return isFolderIgnored(names.slice(0, -1)) || decide(names, false);
    },
    /** Adds the text of an `IGNORE_FILE` in `folder`, empty for the top. Those of the folders above it come first. */
    addRules(side: Side, folder: string, text: string) {
      const file = `${folder === "" ? "" : `${folder}/`}${IGNORE_FILE}`;
      if (Buffer.byteLength(text) > IGNORE_BYTES_MAX)
        throw new CliError("unsupported", `${file} is larger than ${IGNORE_BYTES_MAX} bytes`);
      bytes[side] += Buffer.byteLength(text);
      if (bytes[side] > RULES_BYTES_MAX)
        throw new CliError(
          "unsupported",
          `all ${IGNORE_FILE} together are larger than ${RULES_BYTES_MAX} bytes`,
        );
      const lines = text
        .normalize("NFC")
        .replace(/^\ufeff/, "")
        .split(/\r?\n/);
      const below = folder.normalize("NFC");
      const added = lines.flatMap((line) => toRules(line, below, file));
      rules[side].set(below, [...(rules[side].get(below) ?? []), ...added]);
      folders = new Map();
    },
  };
}

const toPath = (names: readonly Name[]) => names.map((name) => name.join("")).join("/");

function toRules(line: string, folder: string, source: string): readonly IgnoreRule[] {
  if (line.length > RULE_CHARACTERS_MAX)
    throw new CliError(
      "unsupported",
      `${source} has a rule of more than ${RULE_CHARACTERS_MAX} characters`,
    );
  const rule = parseIgnoreRule(line, folder);
  return rule === undefined ? [] : [rule];
}
