import { DryRun } from "../../errors.ts";
import { toSizeText } from "../../output/cells.ts";
import { shape } from "../../output/spec.ts";
import { toDaemonFailure } from "../../support/daemon-failures.ts";
import { version } from "../../version.ts";
import { commandDetails } from "../../tree/command.ts";

export const collectGarbage = commandDetails({
  output: shape({ objects: "integer", bytes: "integer" }),
  writes: true,
  examples: [
    ["Get disk space back at once, while the daemon is stopped", "croft daemon gc"],
    ["Show how much that is", "croft daemon gc --dry-run"],
  ],
  /**
   * Deletes the bytes of deleted files of a stopped home, which a running daemon keeps for a day. @throws CliError
   * `already_running`; `not_found` without a home; `unsupported` when the database or the objects are on a server
   */
  async run(cli) {
    const { readAllSettings } = await import("../../profile/settings.ts");
    const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
    const { collectGarbage: collect } = await import("../../../daemon/main.ts");
    const { pid, userId, stderr, processMark } = cli.system;
    const process = { pid, mark: processMark(pid), userId };
    const input = { settings, paths, version, clock: cli.clock, process, logTo: stderr };
    const isDryRun = cli.flags.dryRun;
    const deleted = await collect(input, { isDryRun, signal: cli.signal }).catch(
      (error: unknown) => {
        throw toDaemonFailure(error, {
          not_found: "not_found",
          conflict: "already_running",
          invalid_argument: "unsupported",
        });
      },
    );
    if (isDryRun) throw new DryRun({ gc: { data: paths.dataDirectory, ...deleted } });
    const { objects, bytes } = deleted;
    await cli.output.done({ objects, bytes }, `Deleted ${objects} objects, ${toSizeText(bytes)}.`);
  },
});
