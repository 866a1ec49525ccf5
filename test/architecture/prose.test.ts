import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { otherVariables } from "../../daemon/settings/declare.ts";
import { listSettings, toKey, toVariable } from "../../daemon/settings/settings.ts";
import { listPaths, readSources, root } from "./source-tree.ts";

const rooms = ["bin", "bench", "cli", "daemon", "storage", "test"];
const pages = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"];

/** Names in backticks that do not occur in the code, each with the reason why a text may use it. */
const foreignNames: Readonly<Record<string, string>> = {
  WebSocket: "of Node",
  afterTimeStep: "an option of otplib",
  driveItem: "a resource of Microsoft Graph",
  ListObjectsV2: "an operation of Amazon S3",
  ListObjectVersions: "an operation of Amazon S3",
  ListMultipartUploads: "an operation of Amazon S3",
  LimitRequestBody: "a directive of Apache",
  CONSTRAINT_UNIQUE: "an extended error code of SQLite, without its prefix",
  _PRIMARYKEY: "the same code with another ending",
  _ROWID: "the same code with another ending",
  _CHECK: "the same code with another ending",
  _FOREIGNKEY: "the same code with another ending",
  _TRIGGER: "the same code with another ending",
  pg_dump: "a program of PostgreSQL",
  AWS_ACCESS_KEY_ID: "a variable of Amazon's tools, which croft does not read",
};

/** Names of files that are not in the repository, each with the reason why a text may use it. */
const foreignFiles: Readonly<Record<string, string>> = {
  "NNNN_name.sql": "the pattern of the names of migrations",
  "storage/migrations/NNNN_name.sql": "the pattern of the names of migrations",
};

interface Prose {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

const sources = readSources(rooms).filter(({ path }) => !path.endsWith("prose.test.ts"));
const documents = [...pages, ...listPaths(["docs"]).filter((path) => path.endsWith(".md"))];

const prose: readonly Prose[] = [
  ...sources.flatMap(({ path, parsed, lineAt }) =>
    parsed.comments.map(({ value, start }) => ({ path, line: lineAt(start), text: value })),
  ),
  ...documents.flatMap((path) =>
    withoutBlocks(readFileSync(join(root, path), "utf8"))
      .split("\n")
      .map((text, index) => ({ path, line: index + 1, text })),
  ),
];

test("every source file that a comment or document names exists", () => {
  const paths = [...listPaths([...rooms, "docs"]), ...listRoot()];
  const known = new Set([...paths, ...paths.map((path) => basename(path))]);
  const isKnown = (name: string, { path }: Prose) =>
    known.has(name) ||
    known.has(join(dirname(path), name)) ||
    paths.some((each) => each.endsWith(`/${name}`)) ||
    name in foreignFiles;
  expect(
    findIn(prose, /(?<![\w/.…*>-])[\w-][\w./-]*\.(?:tsx?|sql|md)(?![\w/*])/g, isKnown),
  ).toEqual([]);
});

test("every folder of the repository that a comment or document names exists", () => {
  const folders = new Set(listPaths(rooms).flatMap(ancestors));
  const named = new RegExp(`(?<=\`)(?:${rooms.join("|")})/(?:[\\w-]+/)*(?=\`)`, "g");
  expect(findIn(prose, named, (name) => folders.has(name.replace(/\/$/, "")))).toEqual([]);
});

test("the map in ARCHITECTURE.md has every folder of the rooms, the APIs and the vault's cloud", () => {
  const map = readFileSync(join(root, "ARCHITECTURE.md"), "utf8").split("## Import rules")[0] ?? "";
  const mapped = /^(?:cli|daemon|storage|daemon\/(?:forge|vault)|daemon\/vault\/cloud)\/[\w-]+$/;
  const folders = new Set(listPaths(["cli", "daemon", "storage"]).flatMap(ancestors));
  const missing = [...folders].filter(
    (folder) => mapped.test(folder) && !map.includes(`${basename(folder)}/`),
  );
  expect(missing).toEqual([]);
});

test("every name in backticks in a comment or document occurs in the code", () => {
  const words = collectWords();
  const isKnown = (span: string) => {
    const [name = ""] = span.split("(");
    return name.split(".").every((part) => words.has(part)) || name in foreignNames;
  };
  expect(findIn(prose, NAME, isKnown)).toEqual([]);
});

test("every command in backticks in a comment or document exists", () => {
  const commands = listCommands();
  const isKnown = (span: string) => {
    let nouns = "";
    for (const word of span.split(" ").slice(1)) {
      // `list|show` names several verbs.
      const kinds = word.split("|").map((verb) => commands.get(`${nouns} ${verb}`.trim()));
      if (kinds.includes(undefined)) return nouns !== "" && !/^[a-z]/.test(word);
      // The words after a complete command are its arguments.
      if (kinds.includes("verb")) return true;
      nouns = `${nouns} ${word}`.trim();
    }
    return true;
  };
  expect(findIn(prose, /(?<=`)croft [a-z][a-z-]*[^`]*(?=`)/g, isKnown)).toEqual([]);
});

test("the lists of foreign names and files hold only what a text uses", () => {
  const texts = prose.map(({ text }) => text).join("\n");
  const unused = [...Object.keys(foreignNames), ...Object.keys(foreignFiles)].filter(
    (name) => !texts.includes(name),
  );
  expect(unused).toEqual([]);
});

/** A span that is one name in the style of code: it has an inner capital, an underscore, a dot or a call's brackets. */
const NAME =
  /(?<=`)(?=[\w$.]*(?:[a-z\d][A-Z]|_|\(|[a-z]\.[a-z]))[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*(?:\([^`]*\))?(?=`)/g;

function findIn(
  texts: readonly Prose[],
  pattern: RegExp,
  isKnown: (found: string, at: Prose) => boolean,
): string[] {
  return texts.flatMap((each) =>
    [...each.text.matchAll(pattern)]
      .filter(([found]) => !isKnown(found, each))
      .map(([found]) => `${each.path}:${each.line} ${found}`),
  );
}

/** Every word of the code outside comments: names, properties, texts; the settings' keys and variables; columns of SQL. */
function collectWords(): ReadonlySet<string> {
  const words = new Set<string>(Object.keys(otherVariables));
  const add = (text: string) => {
    for (const [word] of text.matchAll(/[A-Za-z_$][\w$]*/g)) words.add(word);
  };
  for (const { text, parsed } of sources) add(blank(text, parsed.comments));
  for (const [name] of listSettings())
    for (const word of [toKey(name), toVariable(name), `${toVariable(name)}_FILE`]) words.add(word);
  for (const path of listPaths(rooms))
    if (/\.(sql|json|txt|yaml)$/.test(path)) add(readFileSync(join(root, path), "utf8"));
  for (const path of listRoot()) if (path.endsWith(".json")) add(readFileSync(path, "utf8"));
  return words;
}

function blank(text: string, comments: readonly { start: number; end: number }[]): string {
  let from = 0;
  let code = "";
  for (const { start, end } of comments) {
    code += text.slice(from, start);
    from = end;
  }
  return code + text.slice(from);
}

/** The generated reference lists every command; a noun's page is named after it. */
function listCommands(): ReadonlyMap<string, "noun" | "verb"> {
  const found = new Map<string, "noun" | "verb">([["", "noun"]]);
  for (const path of listPaths(["docs/cli"]))
    for (const [, command = ""] of readFileSync(join(root, path), "utf8").matchAll(
      /^#+ `?croft ([a-z][a-z\d -]*)/gm,
    )) {
      const parts = command.trim().split(" ");
      for (let length = 1; length < parts.length; length += 1)
        found.set(parts.slice(0, length).join(" "), "noun");
      if (!found.has(command.trim())) found.set(command.trim(), "verb");
    }
  return found;
}

function listRoot(): string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
}

function ancestors(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Fenced blocks are examples; their lines stay, so that line numbers are right. */
function withoutBlocks(text: string): string {
  return text.replace(/^```[^]*?^```/gm, (block) => block.replace(/[^\n]/g, ""));
}
