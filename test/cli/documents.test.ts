import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commands } from "../../cli/program.ts";
import { findCommand } from "../../cli/tree/command-tree.ts";
import { toShellLine } from "./examples/shell-line.ts";
import { optionsOf } from "./support/parse-line.ts";

const root = join(import.meta.dirname, "..", "..");

const pages = [
  "README.md",
  ...["docs", "docs/guides"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => join(folder, name)),
  ),
];

/** The commands in the code blocks of a page. */
const written = pages.flatMap((page) =>
  [...readFileSync(join(root, page), "utf8").matchAll(/^```(\w*)\n([^]*?)^```/gm)].flatMap(
    ([, language = "", block = ""]) =>
      (language === "" || language === "sh" ? block : "")
        .replaceAll("\\\n", " ")
        .split("\n")
        .flatMap((line) => toCommands(line))
        .map((command) => [page, command] as const),
  ),
);

test("the pages hold commands to check", () => {
  expect(written.length).toBeGreaterThan(50);
});

test.each(written)("%s: the command line is one that croft takes: %s", async (_, command) => {
  const { words } = toShellLine(command);
  const { path, verb, rest } = await findCommand(words, commands);
  if (verb === undefined) throw new Error(`${path.map(({ name }) => name).join(" ")} is a group`);
  const line = [...path, verb].map(({ name }) => name).join(" ");
  await expect(optionsOf(line, rest)).resolves.toBeTypeOf("object");
});

/** The commands of croft in a line of a shell, without their comments. */
function toCommands(line: string): string[] {
  return line
    .replace(/(?:^|\s)#\s.*$/, "")
    .split(/&&|\|(?=\s)/)
    .map((part) => part.trim().replace(/^npx (?=croft\b)/, ""))
    .filter((part) => part.startsWith("croft "));
}
