import type { WireCron } from "../../../daemon/contract/forge/cron.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { CliError } from "../../errors.ts";
import { BACKUP_LOG_HINT, readBackupState } from "../../support/backup-state.ts";
import { assertEnabled } from "../../support/cron-tasks.ts";
import { type Column, time } from "../../output/cells.ts";
import { findFirst } from "../../output/pages.ts";
import { listOf, shape } from "../../output/spec.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List scheduled tasks", {
    aliases: ["ls"],
    calls: [forge.listCronTasks],
    output: listOf(forge.listCronTasks),
    examples: [
      ["List scheduled tasks", "croft admin cron list"],
      ["Print the next run of each", "croft admin cron list --template '{{.name}} {{.next}}'"],
    ],
    /** Prints the scheduled tasks. */
    async run(cli) {
      await cli.output.list(forgePages(cli.client, forge.listCronTasks, {}), columns);
    },
  }),
  command("run", "Run a scheduled task now", {
    args: { "<task>": "the task's name" },
    calls: [forge.listCronTasks, forge.runCronTask],
    output: shape({ started: "boolean", task: "string" }),
    examples: [
      ["Run a task now", "croft admin cron run update_mirrors"],
      ["Show the request only", "croft admin cron run update_mirrors --dry-run"],
    ],
    /** Starts a task. A long one continues after the command ends; one that is running is not started again. */
    async run(cli, { task }) {
      const tasks = forgePages(cli.client, forge.listCronTasks, {});
      const known = await findFirst(tasks, ({ name }) => name === task);
      if (known !== undefined) assertEnabled(known);
      try {
        await cli.client.call(forge.runCronTask, { params: { task } });
      } catch (error) {
        if (!(error instanceof CliError) || error.code !== "not_found") throw error;
        const hint =
          task === "backup_home"
            ? 'set backup_folder or backup_url first: "croft config set backup_folder FOLDER", then restart the daemon'
            : '"croft admin cron list" lists the tasks';
        throw new CliError("not_found", `there is no task ${task}`, { ...error.details, hint });
      }
      // Gitea's API does not report the outcome of a task, but a failed backup must not look like a backup.
      const state = task === "backup_home" ? await readBackupState(cli) : undefined;
      if (state === "failed")
        throw new CliError("storage_unusable", "the backup failed", { hint: BACKUP_LOG_HINT });
      const sentence = state === "running" ? `${task} is still running.` : `Ran ${task}.`;
      await cli.output.done({ started: true, task }, sentence);
    },
  }),
];

const columns: readonly Column<WireCron>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "schedule", cell: ({ schedule }) => schedule },
  { header: "next", cell: ({ next }) => time(next) },
  { header: "previous", cell: ({ prev }) => time(prev) },
  { header: "runs", cell: ({ exec_times: runs }) => runs },
];
