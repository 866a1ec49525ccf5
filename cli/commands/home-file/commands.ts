import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { forge, vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { type CliError, exitCodeOf, toCliError } from "../../errors.ts";
import type { Column } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { unpagedList, toObjectSchema } from "../../output/spec.ts";
import type { Change } from "./plan.ts";
import { commandDetails } from "../../tree/command.ts";

const reads = [
  forge.listUsers,
  forge.listTokens,
  forge.listOrganizations,
  forge.listTeams,
  forge.listTeamMembers,
  forge.listHooks,
];

export const exportHome = commandDetails({
  calls: [...reads, vault.listUsers, forge.getCurrentUser],
  output: { kind: "any" },
  examples: [
    ["Write the home to a file", "croft export > home.yaml"],
    ["Print the names of its users", "croft export --jq '.users[].username'"],
  ],
  /** Prints the home as YAML, without secrets. A caller who may not list the users of the vault gets the rest. */
  async run(cli) {
    const { canReadVault, readHome } = await import("./read-home.ts");
    const { toYaml } = await import("../../output/formats.ts");
    const hasVault = await canReadVault(cli);
    if (!hasVault)
      cli.io.note('The users of the vault are left out: "croft login vault" as an administrator.');
    const home = await readHome(cli, { vault: hasVault });
    const { vault_users: vaultUsers, ...rest } = home;
    const value = hasVault ? { ...rest, vault_users: vaultUsers } : rest;
    const head =
      '# A home as text: "croft apply -f FILE" applies it. It contains no passwords, token values, hook secrets and files;\n' +
      '# "croft daemon backup" includes those.\n';
    await cli.output.text(head + toYaml(value), value);
  },
});

/** A change and its result. */
interface AppliedChange extends Change {
  /** The generated password of a created account; it must be changed at the first sign-in. */
  readonly password: string | null;
  readonly error: string | null;
}

const fieldChange = toObjectSchema({ field: "string", from: {}, to: {} });

export const applyHome = commandDetails({
  flags: {
    "-f, --file <file>": { help: "the text of a home, or - for standard input", required: true },
  },
  calls: [
    ...reads,
    vault.listUsers,
    forge.getCurrentUser,
    forge.createUser,
    forge.getUser,
    forge.editUser,
    forge.createOrganization,
    forge.editOrganization,
    forge.createHook,
    forge.editHook,
    vault.createUser,
    vault.setUserStatus,
  ],
  output: unpagedList({
    action: "string",
    kind: "string",
    name: "string",
    changes: { type: "array", items: fieldChange },
    reason: "string?",
    password: "string?",
    error: "string?",
  }),
  writes: true,
  examples: [
    ["Show how the home differs from a file", "croft apply -f home.yaml --dry-run"],
    ["Make the home like the file", "croft apply -f home.yaml"],
  ],
  /**
   * Makes the home match the file: creates missing objects, edits those that differ, deletes nothing. Idempotent: a
   * second run makes the remaining changes. A failed change does not stop the others; the exit code is 14 then.
   */
  async run(cli, { file }) {
    const { parseHomeFile } = await import("./home-file.ts");
    const text =
      file === "-"
        ? await cli.io.readInput()
        : await readFile(resolve(cli.system.workingDirectory, file), "utf8");
    const desired = await parseHomeFile(text, file === "-" ? "standard input" : file);
    const { readHome } = await import("./read-home.ts");
    const { planChanges } = await import("./plan.ts");
    const present = await readHome(cli, { vault: desired.vault_users.length > 0 });
    const plan = planChanges(desired, present);
    for (const change of plan) if (isEnabledAgain(change)) cli.io.warn(toEnabledText(change));
    const applied: AppliedChange[] = [];
    for (const change of plan) applied.push(await applyOne(cli, change));
    await cli.output.list(wholeList(applied), columns);
    if (applied.some(({ password }) => password !== null))
      cli.io.note(
        "The passwords of new accounts are shown only now; each must be changed at the first sign-in.",
      );
    if (cli.flags.dryRun) cli.io.note("Nothing was changed.");
    else if (applied.some(({ kind, error }) => kind === "setting" && error === null))
      cli.io.note('Settings take effect after "croft daemon restart".');
    const failed = applied.filter(({ error }) => error !== null).length;
    if (failed > 0) cli.finishWith(PARTLY_DONE);
  },
});

const PARTLY_DONE = 14;

/** A file from before an account was disabled enables it again. */
function isEnabledAgain({ action, changes }: Change): boolean {
  return (
    action === "edit" &&
    changes.some(
      ({ field, from, to }) =>
        (field === "active" && from === false && to === true) ||
        (field === "prohibit_login" && from === true && to === false),
    )
  );
}

function toEnabledText({ kind, name }: Change): string {
  const service = kind === "vault_user" ? "vault" : "forge";
  return `The file enables the disabled account ${name} of the ${service} again.`;
}

async function applyOne(cli: CliContext, change: Change): Promise<AppliedChange> {
  if (cli.flags.dryRun || change.action === "skip")
    return { ...change, password: null, error: null };
  const { makeChange } = await import("./make-change.ts");
  try {
    return { ...change, password: await makeChange(cli, change), error: null };
  } catch (error) {
    const failure = toCliError(error);
    // Every further request would fail for the same reason.
    if (isHopeless(failure)) throw failure;
    return { ...change, password: null, error: failure.message };
  }
}

/** Returns whether the failure affects every change: interrupted, not signed in, no daemon, or a bug of croft. */
function isHopeless(failure: CliError): boolean {
  return [1, 3, 4, 10, 130, 143].includes(exitCodeOf(failure));
}

const columns: readonly Column<AppliedChange>[] = [
  { header: "action", cell: ({ action }) => action },
  { header: "kind", cell: ({ kind }) => kind },
  { header: "name", cell: ({ name }) => name },
  {
    header: "changes",
    cell: ({ changes, reason }) =>
      reason ??
      changes.map(({ field, from, to }) =>
        from === null ? `${field}: ${toWord(to)}` : `${field}: ${toWord(from)} -> ${toWord(to)}`,
      ),
  },
  // A row in a pipe has no headers.
  {
    header: "password",
    cell: ({ password }) => (password === null ? null : `password: ${password}`),
  },
  { header: "error", cell: ({ error }) => error },
];

function toWord(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
