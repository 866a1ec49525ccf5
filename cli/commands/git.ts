import type { CliContext } from "../context.ts";
import { CliError, DryRun, usageError } from "../errors.ts";
import { shape } from "../output/spec.ts";
import { warnUnlessLasting } from "../support/lasting-program.ts";
import { isCredentialHelper, readGit, toCredentialHelper } from "../support/git.ts";
import type { Entry } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  command("setup", "Let git over http use your croft sign-in", {
    flags: { "--undo": "remove the entries" },
    output: shape({
      configured: "boolean",
      url: "string",
      entries: {
        type: "array",
        items: {
          type: "object",
          properties: { key: { type: "string" }, value: { type: "string" } },
          required: ["key", "value"],
        },
      },
    }),
    writes: true,
    destructive: true,
    examples: [
      ["Let git use your sign-in", "croft git setup --yes"],
      ["Take the entries away again", "croft git setup --undo --yes"],
    ],
    /**
     * Makes croft the only credential helper for the daemon's address in the user's git configuration, or removes it.
     * `--undo` preserves other helpers of that address. Idempotent.
     */
    async run(cli, { undo = false }) {
      const { url } = await cli.client.target();
      const keys = toKeys(url);
      const helper = await toCredentialHelper(cli);
      // An empty value clears the helpers of broader entries, so that no other program stores the token.
      const ownEntries: readonly ConfigEntry[] = [
        { key: keys.helper, value: "" },
        { key: keys.helper, value: helper },
        ...(keys.useHttpPath === undefined ? [] : [{ key: keys.useHttpPath, value: "true" }]),
      ];
      const helpers = await readValues(cli, keys.helper);
      const others = withoutOurs(helpers);
      if (undo && others.length === helpers.length)
        throw new CliError("not_found", `git does not use croft for ${url}`, {
          hint: '"git config --global --get-regexp ^credential" shows what it uses',
        });
      if (cli.flags.dryRun) throw new DryRun({ [undo ? "remove" : "write"]: ownEntries });
      if (await cli.prompts.canAsk())
        for (const { key, value } of ownEntries) cli.io.note(`${key} = ${value}`);
      if (!undo) warnUnlessLasting(cli);
      const question = `${undo ? "Remove these entries from" : "Write these entries to"} your git configuration?`;
      await cli.prompts.confirm(question);
      await unset(cli, keys.helper);
      if (keys.useHttpPath !== undefined) await unset(cli, keys.useHttpPath);
      const otherEntries = others.map((value) => ({ key: keys.helper, value }));
      for (const { key, value } of undo ? otherEntries : [...otherEntries, ...ownEntries])
        await writeGit(cli, ["--add", key, value]);
      await cli.output.done(
        { configured: !undo, url, entries: undo ? [] : ownEntries },
        undo
          ? `git no longer uses croft for ${url}.`
          : `git uses your croft sign-in for ${url}. "croft git setup --undo" reverts this.`,
      );
    },
  }),
  command("credential", "Answer git as a credential helper", {
    args: { "<operation>": "get, store or erase" },
    output: shape({ username: "string", password: "string" }),
    examples: [
      ["Answer a request of git", "croft git credential get < request.txt"],
      ["Forget a credential that was refused", "croft git credential erase < request.txt"],
    ],
    /**
     * Answers git (gitcredentials(7)): reads attributes from standard input and prints the forge token for the daemon of this
     * profile. Prints nothing for other addresses and without a sign-in, so that git prompts. `store` changes nothing,
     * because croft stores its own credentials; `erase` reports that the token was refused.
     */
    async run(cli, { operation }) {
      if (operation !== "get" && operation !== "erase") return;
      const request = parseAttributes(await cli.io.readInput(ATTRIBUTES_BYTES_MAX));
      if (!isFor(request, (await cli.client.target()).url)) return;
      const profile = await cli.profiles.inUse();
      const username = profile.forge?.username ?? request.get("username") ?? ANY_USER;
      // The address or git's configuration names another user than the signed-in one.
      const isOther = request.has("username") && request.get("username") !== username;
      if (isOther) return;
      const password = await findToken(cli);
      if (password === undefined) return;
      if (operation === "get")
        return cli.output.text(`username=${username}\npassword=${password}\n`, {
          username,
          password,
        });
      if (request.get("password") === password)
        cli.io.note('The daemon refused the stored token: "croft login forge" signs in again.');
    },
  }),
];

/** One value in the configuration of git. */
interface ConfigEntry {
  readonly key: string;
  readonly value: string;
}

/** With a path in the daemon's address, git passes only requests below that path to the helper. */
function toKeys(url: string): { readonly helper: string; readonly useHttpPath?: string } {
  const section = `credential.${url}`;
  const hasPath = new URL(url).pathname !== "/";
  return {
    helper: `${section}.helper`,
    ...(hasPath ? { useHttpPath: `${section}.useHttpPath` } : {}),
  };
}

/** Leaves out croft's values, each with the empty value before it. */
function withoutOurs(values: readonly string[]): readonly string[] {
  return values.filter((value, index) => {
    const next = values[index + 1];
    const isReset = value === "" && next !== undefined && isCredentialHelper(next);
    return !isReset && !isCredentialHelper(value);
  });
}

async function readValues(cli: CliContext, key: string): Promise<readonly string[]> {
  const { code, out } = await readGit(cli, ["config", "--global", "--null", "--get-all", key]);
  return code === 0 ? out.split("\0").slice(0, -1) : [];
}

async function unset(cli: CliContext, key: string): Promise<void> {
  if ((await readValues(cli, key)).length > 0) await writeGit(cli, ["--unset-all", key]);
}

async function writeGit(cli: CliContext, words: readonly string[]): Promise<void> {
  const { code } = await readGit(cli, ["config", "--global", ...words]);
  if (code !== 0)
    throw new CliError("git_failed", `"git config --global" failed with exit code ${code}`, {
      hint: "check that ~/.gitconfig can be written",
    });
}

/** Far more than git sends. */
const ATTRIBUTES_BYTES_MAX = 64 * 1024;

/** The daemon finds the user by the token; git needs a name. */
const ANY_USER = "x-access-token";

/** Returns the token of the profile in use; undefined, with a note, when no token may be sent. */
async function findToken(cli: CliContext): Promise<string | undefined> {
  try {
    // Another program may listen at the address while the daemon is stopped.
    await cli.client.authorizer.address();
    const { header } = await cli.client.authorizer.authorization("forge");
    return header.slice("token ".length);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const { hint } = error.details;
    cli.io.note(`croft: ${error.message}${hint === undefined ? "" : `: ${hint}`}`);
    return undefined;
  }
}

function parseAttributes(text: string): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  for (const line of text.split("\n")) {
    const end = line.indexOf("=");
    if (line === "") break;
    if (end < 1) throw usageError("standard input takes lines of name=value, as git sends them");
    attributes.set(line.slice(0, end), line.slice(end + 1));
  }
  return attributes;
}

/**
 * Returns whether the attributes name the daemon at `url`: the same protocol, host and port, and a path below its path.
 */
function isFor(request: ReadonlyMap<string, string>, url: string): boolean {
  const { origin, pathname } = new URL(url);
  const address = `${request.get("protocol") ?? ""}://${request.get("host") ?? ""}`;
  // URLs are compared after parsing, which normalizes the case of the host and default ports.
  if (!URL.canParse(address) || new URL(address).origin !== origin) return false;
  const base = pathname.replace(/\/+$/, "");
  return base === "" || `/${request.get("path") ?? ""}`.startsWith(`${base}/`);
}
