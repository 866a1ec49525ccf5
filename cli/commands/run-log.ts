import type { WireJob } from "../../daemon/contract/forge/actions/shapes.ts";
import { forge } from "../client/operations.ts";
import { CliError, usageError } from "../errors.ts";
import { shape } from "../output/spec.ts";
import { toRunName, readJobLog } from "../support/runs.ts";
import { commandDetails } from "../tree/command.ts";

/** Polling interval of a growing log. */
const FOLLOW_EVERY_MS = 1_000;

export const printLog = commandDetails({
  args: { "<job>": { help: "the job as OWNER/NAME/ID", parse: toRunName } },
  flags: {
    "--follow": "print new lines until the job ends",
    "--step <step>": "only this step: its name, or its number from 1",
  },
  calls: [forge.getJobLog, forge.getJob],
  output: shape({ log: "string" }),
  examples: [
    ["Print the log of a job", "croft admin job log keeper/notes/42"],
    ["Save it to a file", "croft admin job log keeper/notes/42 > job.log"],
    ["Print the log of a job", "croft run log keeper/notes/42"],
    ["Save it to a file", "croft run log keeper/notes/42 > job.log"],
  ],
  /** Prints a log as it arrives. With `follow`, polls for further rows until the job has ended. */
  async run(cli, { job: runName, ...flags }) {
    if (flags.follow === true && flags.step !== undefined)
      throw usageError("give --follow or --step, not both");
    const { owner, repo, id, follow, step } = { ...runName, ...flags };

    if (follow === true && cli.output.isMachine)
      throw usageError(
        "--follow prints lines as they arrive, so it does not go with machine output",
      );
    const whole: string[] = [];
    let rows = 0;
    let lastReason = "";
    for (;;) {
      // Fetched before the rows, so that the response has every row until the end of the job.
      const { body: job } = await cli.client.call(forge.getJob, {
        params: { owner, repo, job_id: id },
      });
      if (job.runner_name === undefined) {
        const reason = toReasonWithoutLog(job);
        if (follow !== true)
          throw new CliError("not_found", `the job has no log: ${reason}`, {
            hint:
              job.status === "completed"
                ? undefined
                : '--follow waits for it; "croft runner list" shows the runners',
          });
        if (reason !== lastReason) cli.io.note(`No log yet: ${reason}.`);
        lastReason = reason;
      }
      const range = step === undefined ? { from: rows } : toStepRange(job, step);
      if (range !== undefined && (follow !== true || job.runner_name !== undefined))
        for await (const text of readJobLog(cli.client, { owner, repo, id }, range)) {
          rows += text.split("\n").length - 1;
          if (cli.output.isMachine) whole.push(text);
          else await cli.output.text(text, undefined);
        }
      if (follow !== true || job.status === "completed") break;
      await cli.system.sleep(FOLLOW_EVERY_MS, cli.signal);
    }
    if (cli.output.isMachine) await cli.output.text("", { log: whole.join("") });
  },
});

/** Explains why a job that no runner has taken has no log. */
function toReasonWithoutLog({ status, conclusion, labels }: WireJob): string {
  if (status === "completed") return `no runner took it (${conclusion})`;
  return status === "queued"
    ? `it waits for a runner with the labels ${labels.join(", ")}`
    : "it waits for other jobs";
}

/** Returns the rows of a step; undefined when it has no rows. Those of a running step extend to the end of the log. */
function toStepRange(
  { steps }: WireJob,
  step: string,
): { readonly from: number; readonly rows: number } | undefined {
  const found = steps.find(
    ({ name, number }) => name === step || (/^\d+$/.test(step) && number === Number(step) - 1),
  );
  if (found === undefined) {
    const names = steps.map(({ name, number }) => `${number + 1} ${name}`).join(", ");
    throw new CliError("not_found", `the job has no step ${step}`, { hint: `its steps: ${names}` });
  }
  const isRunning = found.status === "in_progress";
  if (!isRunning && found.log_length === 0) return undefined;
  return { from: found.log_index, rows: isRunning ? 0 : found.log_length };
}
