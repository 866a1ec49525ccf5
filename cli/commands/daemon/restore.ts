import { resolve } from "node:path";
import type { CliContext } from "../../context.ts";
import { DryRun } from "../../errors.ts";
import { shape } from "../../output/spec.ts";
import { toDaemonFailure } from "../../support/daemon-failures.ts";
import type { CommandModule } from "../../tree/entry.ts";
import { version } from "../../version.ts";

export interface DaemonRestoreOptions {
  /** `latest`, a name, or a path. */
  readonly copy: string;
}

export const restoreDaemon = {
  operations: [],
  output: shape({
    restored: "boolean",
    copy: "string",
    kept: "string?",
    data: "string",
  }),
  writes: true,
  destructive: true,
  define(command, cli, run = runDaemonRestore): void {
    command
      .argument("[copy]", "a copy of croft.db: latest, its name in backups/, or its path", "latest")
      .action((copy: string) => run(cli, { copy }));
  },
} satisfies CommandModule;

/**
 * Puts a copy in the place of this home's database, which is kept beside the copies. Files, repositories and keys stay as
 * they are. @throws CliError `already_running` while a daemon runs on this home, `not_found` for a copy that is not there
 */
async function runDaemonRestore(cli: CliContext, { copy }: DaemonRestoreOptions): Promise<void> {
  const { readAllSettings } = await import("../../profile/settings.ts");
  const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
  const data = paths.dataDirectory;
  const from = /[\\/]/.test(copy) ? resolve(cli.system.workingDirectory, copy) : copy;
  if (cli.flags.dryRun) throw new DryRun({ restore: { copy: from, data } });
  await cli.prompts.confirm(`Put ${from} in the place of the database in ${data}?`);
  const { restore } = await import("../../../daemon/main.ts");
  const { pid, userId, stderr, processMark } = cli.system;
  const process = { pid, mark: processMark(pid), userId };
  const restored = await restore(
    { settings, paths, version, clock: cli.clock, process, logTo: stderr },
    from,
  ).catch((error: unknown) => {
    throw toDaemonFailure(error, {
      conflict: "already_running",
      not_found: "not_found",
      invalid_argument: "unsupported",
    });
  });
  const kept = restored.kept === null ? "" : `; what was there is kept as ${restored.kept}`;
  await cli.output.done(
    { restored: true, ...restored, data },
    `Restored the database of ${data} from ${restored.copy}${kept}.`,
  );
}
