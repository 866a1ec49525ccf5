import type { Command } from "commander";
import type { CliContext, CliRun } from "../context.ts";
import { CliError } from "../errors.ts";
import { readCommonFlags } from "../flags.ts";

/** The flag that names the repository, as in gh and tea. */
const REPOSITORY_FLAG = "-R, --repo <owner/name>";
const NOTE = "by default that of the current folder";

/** Commands whose repository is not the one that a person works on. */
const withoutFolder: ReadonlySet<string> = new Set(["croft repo clone", "croft repo transfer"]);

/** Commands whose repository is that of the current folder unless one of these flags names another scope. */
const otherScopes: Readonly<Record<string, readonly string[]>> = {
  "croft run list": ["org", "user"],
};

/** The separator between the repository and the number of an issue, pull request, run or job. */
export const separators: Readonly<Record<string, string>> = {
  issue: "#",
  pull: "#",
  run: "/",
  job: "/",
};

/** The path of the page of an issue, pull request, run or job below that of its repository, with the number. */
const pagePaths: Readonly<Record<string, RegExp>> = {
  issue: /^issues\/([1-9]\d{0,14})$/,
  pull: /^(?:pulls|issues)\/([1-9]\d{0,14})$/,
  run: /^actions\/runs\/([1-9]\d{0,14})$/,
  job: /^actions\/runs\/[1-9]\d{0,14}\/jobs\/([1-9]\d{0,14})$/,
};

/**
 * Adds `--repo` to a command about one repository or issue, and says that the repository may be left out.
 * Every other command stays as it is.
 */
export function addRepositoryFlag(leaf: Command, line: string): void {
  const [first] = leaf.registeredArguments;
  if (first === undefined || !takesFolder(leaf, line)) return;
  first.description = `${first.description}; ${NOTE}`;
  leaf.optionsGroup("Common flags:");
  leaf.option(REPOSITORY_FLAG, `the repository; ${NOTE}`);
}

/** Whether the first argument of a command may be left out, or be a number, in the folder of a clone. */
export function takesFolder(leaf: Command, line: string): boolean {
  const [first] = leaf.registeredArguments;
  return (
    first !== undefined &&
    (first.required || first.name() === "pull" || line in otherScopes) &&
    !first.variadic &&
    (first.name() === "repository" || first.name() === "place" || first.name() in separators) &&
    !line.startsWith("croft admin ") &&
    !withoutFolder.has(line)
  );
}

/**
 * Returns the words of a line with the repository that `--repo` or the current folder names: `issue list` becomes
 * `issue list mira/notes`, and `issue view 7` becomes `issue view mira/notes#7`, as does the address of the issue's page.
 * `probe` is a copy of the command `line`, which parses the words without running. A line that cannot be parsed is returned
 * unchanged, so that its mistake is reported.
 */
export async function addFolderRepository(
  words: readonly string[],
  line: string,
  probe: Command,
  cli: CliRun,
): Promise<readonly string[]> {
  const parsed = parseWords(words, probe);
  if (parsed === undefined) return words;
  const { operands } = parsed;
  const [first] = probe.registeredArguments;
  const kind = first?.name() ?? "";
  const separator = separators[kind];
  if (URL.canParse(operands[0] ?? "")) {
    cli.useFlags(readCommonFlags(probe));
    const { url } = await cli.client.target();
    const name = toPageName(operands[0] ?? "", kind, url);
    return name === undefined ? words : words.with(words.indexOf(operands[0] ?? ""), name);
  }
  if (otherScopes[line]?.some((scope) => probe.getOptionValue(scope) !== undefined) === true)
    return words;
  const flag = probe.getOptionValue("repo") as string | undefined;
  const number = /^#?([1-9]\d{0,14})$/.exec(operands[0] ?? "")?.[1];
  if (separator !== undefined && number === undefined) return words;
  const required = probe.registeredArguments.filter(
    (argument) => argument.required || argument === first,
  ).length;
  if (separator === undefined && flag === undefined) {
    const isShort = operands.length === required - 1;
    if (!isShort && !hasRoomBefore(operands, probe)) return words;
  }
  cli.useFlags(readCommonFlags(probe));
  const repository = flag ?? (await findFolderRepository(cli));
  if (separator === undefined) return [repository, ...words];
  const at = words.indexOf(operands[0] ?? "");
  return words.with(at, `${repository}${separator}${number ?? ""}`);
}

/**
 * Whether the first operand is no repository, and the command takes one more: `release create v1.0 notes.tar.gz` has its
 * required arguments and lacks only the repository.
 */
function hasRoomBefore(operands: readonly string[], { registeredArguments }: Command): boolean {
  const [first] = operands;
  if (first === undefined || first.includes("/")) return false;
  const isOpen = registeredArguments.at(-1)?.variadic === true;
  return isOpen || operands.length < registeredArguments.length;
}

/** The operands of a line; undefined when the line has a mistake or asks for help. */
function parseWords(words: readonly string[], probe: Command) {
  try {
    const { operands, unknown } = probe.parseOptions([...words]);
    return unknown.length > 0 ? undefined : { operands };
  } catch {
    // The command itself parses the same words and reports the mistake.
    return undefined;
  }
}

/**
 * Returns the repository of the daemon that a remote of the current folder names: that of `origin`, else the only one.
 * @throws CliError `missing_input` when no remote or more than one names it
 */
export async function findFolderRepository(cli: CliContext): Promise<string> {
  const { url } = await cli.client.target();
  const { readGit } = await import("../support/git.ts");
  const { code, out } = await readGit(cli, ["remote", "--verbose"]);
  const found = new Map<string, string>();
  for (const line of code === 0 ? out.split("\n") : []) {
    const [remote = "", rest = ""] = line.split("\t");
    const repository = toRepository(rest.replace(/ \((?:fetch|push)\).*$/, ""), url);
    if (repository !== undefined && !found.has(remote)) found.set(remote, repository);
  }
  const names = new Set(found.values());
  const [only] = names;
  const repository = found.get("origin") ?? (names.size === 1 ? only : undefined);
  if (repository !== undefined) return repository;
  throw new CliError(
    "missing_input",
    names.size > 1
      ? `remotes of the current folder name several repositories: ${[...names].join(", ")}`
      : `the repository is missing, and the current folder has no remote at ${url}`,
    { hint: "give OWNER/NAME, or --repo OWNER/NAME" },
  );
}

/** Returns the name of what a page of the daemon shows, such as `mira/notes#7` for an issue; undefined for another page. */
function toPageName(address: string, kind: string, daemon: string): string | undefined {
  const page = new URL(address);
  const path = /^(.*?\/[\w.-]+\/[\w.-]+)\/((?:issues|pulls|actions\/runs)\/.+)$/.exec(
    page.pathname,
  );
  const separator = separators[kind];
  if (separator === undefined) return toRepository(address, daemon);
  const repository = toRepository(new URL(path?.[1] ?? "/", page).href, daemon);
  const number = pagePaths[kind]?.exec(path?.[2] ?? "")?.[1];
  return repository === undefined || number === undefined
    ? undefined
    : `${repository}${separator}${number}`;
}

/** Returns `owner/name` of a remote at the daemon's host, over http or SSH; undefined for one elsewhere. */
function toRepository(remote: string, daemon: string): string | undefined {
  const scp = /^(?:[^/@:]+@)?([^/@:]+):(?!\/\/)(.+)$/.exec(remote);
  const address = scp === null ? remote : `ssh://${scp[1]}/${scp[2]}`;
  if (!URL.canParse(address)) return undefined;
  const [at, home] = [new URL(address), new URL(daemon)];
  const isWeb = at.protocol === "http:" || at.protocol === "https:";
  if (!isWeb && at.protocol !== "ssh:") return undefined;
  if (toHost(at) !== toHost(home) || (isWeb && at.port !== home.port)) return undefined;
  const base = isWeb ? home.pathname.replace(/\/+$/, "") : "";
  if (!at.pathname.startsWith(`${base}/`)) return undefined;
  const path = at.pathname
    .slice(base.length)
    .replace(/\/+$/, "")
    .replace(/\.git$/, "");
  return /^\/+([\w.-]+\/[\w.-]+)$/.exec(path)?.[1];
}

/** The three names of loopback are equal. */
function toHost({ hostname }: URL): string {
  return ["localhost", "[::1]", "127.0.0.1"].includes(hostname) ? "localhost" : hostname;
}
