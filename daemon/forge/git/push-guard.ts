import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ActingUser } from "../caller.ts";
import type { RefChange } from "../repositories/events.ts";
import type { CheckPush } from "../repositories/protected-refs.ts";
import { FLUSH, type PushCommands, toPktLine } from "./push-commands.ts";

/** Enforces the protection of branches in one push. */
export interface PushGuard {
  /** The options and the environment for git. */
  readonly env: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, string>>;
  /**
   * Checks the commands of the push before git executes them. Returns why the push is refused; undefined allows it. Git
   * itself refuses to remove commits from a protected branch, because only git has the commits.
   */
  check(pusher: ActingUser, changes: readonly RefChange[]): Promise<string | undefined>;
  /** Removes the files that the guard has written. Never rejects. */
  end(): Promise<void>;
}

export interface PushGuardDeps {
  readonly checkPush: CheckPush;
  readonly hasRules: (repository: ForgeRepository) => Promise<boolean>;
  /** The folder for the hook and for the lists that it reads. */
  readonly temporaryDirectory: string;
  readonly newId: () => string;
}

export type StartGuard = (repository: ForgeRepository) => Promise<PushGuard>;

/**
 * The hook of git. The list has the refs that may only move to descendants. A failure of `git rev-list` refuses the
 * push.
 */
const HOOK = `#!/bin/sh
[ -s "$CROFT_FORWARD_ONLY" ] || exit 0
while read -r old new ref; do
  grep -Fqx -e "$ref" "$CROFT_FORWARD_ONLY" || continue
  [ -z "$(git rev-list --max-count=1 "$old" "^$new" 2>&1)" ] && continue
  echo "branch \${ref#refs/heads/} is protected from force push" >&2
  exit 1
done
exit 0
`;

/** Returns the function that guards pushes. The hook is written for the first repository that needs it. */
export function createPushGuards(deps: PushGuardDeps): StartGuard {
  const { checkPush, hasRules, temporaryDirectory, newId } = deps;
  const hooks = join(temporaryDirectory, "git-hooks");
  let writing: Promise<void> | undefined;
  const writeHook = async () => {
    await mkdir(hooks, { recursive: true, mode: 0o700 });
    await writeFile(join(hooks, "pre-receive"), HOOK, { mode: 0o700 });
  };
  return async (repository) => {
    // Most repositories have no rules, and a hook costs a process.
    const isGuarded = await hasRules(repository);
    if (isGuarded)
      await (writing ??= writeHook().catch((error: unknown) => {
        // The next push tries again.
        writing = undefined;
        throw error;
      }));
    const list = join(temporaryDirectory, `push-${newId()}`);
    return {
      env: isGuarded ? { CROFT_FORWARD_ONLY: list } : {},
      config: isGuarded ? { "core.hooksPath": hooks } : {},
      async check(pusher, changes) {
        const { refused, forwardOnly } = await checkPush(repository, pusher, changes);
        if (refused !== undefined) return refused.gitReason;
        if (forwardOnly.length === 0) return undefined;
        if (!isGuarded) return "the protection of the branch has just changed, push again";
        await writeFile(list, `${forwardOnly.join("\n")}\n`, { mode: 0o600 });
        return undefined;
      },
      end: () => rm(list, { force: true }),
    };
  };
}

/** Returns git's report that refuses a whole push; empty for a client that does not support reports. */
export function toRefusal({ commands, capabilities }: PushCommands, reason: string): Buffer {
  if (!capabilities.has("report-status") && !capabilities.has("report-status-v2"))
    return Buffer.alloc(0);
  const lines = commands.map(({ ref }) => toPktLine(`ng ${ref} ${reason}\n`));
  const report = `${toPktLine("unpack ok\n")}${lines.join("")}${FLUSH}`;
  if (!capabilities.has("side-band-64k")) return Buffer.from(report);
  const bands: string[] = [];
  for (let at = 0; at < report.length; at += BAND_MAX)
    bands.push(toPktLine(`\u0001${report.slice(at, at + BAND_MAX)}`));
  return Buffer.from(bands.join("") + FLUSH);
}

/** Returns a message that git prints before it exits with an error, in place of a report. */
export function toFatalMessage(capabilities: ReadonlySet<string>, reason: string): Buffer {
  return Buffer.from(
    capabilities.has("side-band-64k")
      ? toPktLine(`\u0003${reason}\n`)
      : toPktLine(`ERR ${reason}\n`),
  );
}

/** Maximum characters of one packet; a character of a ref name may take three bytes. */
const BAND_MAX = 16_000;
