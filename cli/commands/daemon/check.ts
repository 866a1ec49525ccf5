import { CliError, exitCodeOf } from "../../errors.ts";
import type { Column } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { unpagedList } from "../../output/spec.ts";
import { toDaemonFailure } from "../../support/daemon-failures.ts";
import { version } from "../../version.ts";
import { commandDetails } from "../../tree/command.ts";

/** A finding in the output. */
interface ShownFinding {
  readonly part: string;
  readonly name: string;
  readonly problem: string;
  readonly repaired: boolean;
}

export const checkDaemon = commandDetails({
  flags: {
    "--repair":
      "move damaged objects to quarantine, delete orphans, damaged cache files and leftovers of uploads; the daemon must be stopped",
  },
  output: unpagedList({
    part: { enum: ["database", "object", "repository", "cache", "upload"] },
    name: "string",
    problem: "string",
    repaired: "boolean",
  }),
  examples: [
    ["Check the home", "croft daemon check"],
    ["Repair what is damaged, while the daemon is stopped", "croft daemon check --repair"],
  ],
  /** Checks the home and prints its faults. Exits with code 1 when a fault remains unrepaired. */
  async run(cli, { repair = false }) {
    const { readAllSettings } = await import("../../profile/settings.ts");
    const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
    const { check } = await import("../../../daemon/main.ts");
    const { pid, userId, stderr, processMark } = cli.system;
    const process = { pid, mark: processMark(pid), userId };
    const input = { settings, paths, version, clock: cli.clock, process, logTo: stderr };
    const counts = { database: 0, object: 0, repository: 0, cache: 0, upload: 0 };
    const showsProgress = cli.io.isErrorTerminal && !cli.output.isMachine;
    const findings: ShownFinding[] = [];
    try {
      const found = check(input, {
        repair,
        signal: cli.signal,
        onProgress(part, name) {
          counts[part] += 1;
          if (showsProgress) cli.io.draw(`Checking ${part} ${name}`);
        },
      });
      for await (const { part, name, problem, isRepaired } of found)
        findings.push({ part, name, problem, repaired: isRepaired });
    } catch (error) {
      throw toDaemonFailure(error, {
        not_found: "not_found",
        conflict: "already_running",
        invalid_argument: "unsupported",
      });
    } finally {
      if (showsProgress) cli.io.draw("");
    }
    await cli.output.list(wholeList(findings), columns);
    const left = findings.filter(({ repaired }) => !repaired).length;
    const checked = `${counts.object} objects, ${counts.repository} repositories, ${counts.cache} cache files and ${counts.upload} unfinished uploads`;
    if (left === 0) return cli.io.note(`Checked the database, ${checked}.`);
    const hint = repair
      ? '"croft daemon restore" restores what a backup contains'
      : '"croft daemon check --repair" repairs what it can, "croft daemon restore" restores what a backup contains';
    const problems = left === 1 ? "1 problem" : `${left} problems`;
    cli.io.warn(`Found ${problems} in the database, ${checked}; ${hint}.`);
    cli.finishWith(exitCodeOf(new CliError("checks_failed", "")));
  },
});

const columns: readonly Column<ShownFinding>[] = [
  { header: "part", cell: ({ part }) => part },
  { header: "name", cell: ({ name }) => name },
  { header: "problem", cell: ({ problem }) => problem },
  { header: "repaired", cell: ({ repaired }) => repaired },
];
