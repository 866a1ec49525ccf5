import { writeFile } from "node:fs/promises";
import { join, posix, win32 } from "node:path";
import { toShellCommand } from "./shells.ts";
import { type Performed, runProgram, StepError, type StepRun } from "./step-run.ts";

/** Runs the script of a `run` step. */
export async function runScript(run: StepRun, template: string): Promise<Performed> {
  const { session, frame, step, contexts } = run;
  const { place, evaluation, folders } = session;
  const script = await evaluation.text(template, contexts);
  const shell = await evaluation.text(step.shell ?? frame.defaults.shell ?? "", contexts);
  const folder = await evaluation.text(
    step.workingDirectory ?? frame.defaults.workingDirectory ?? "",
    contexts,
  );
  const command = toShellCommand(shell, script, shell !== "" || (await place.hasProgram("bash")));
  if (command === undefined)
    throw new StepError(
      `the shell ${JSON.stringify(shell)} is unknown: bash, sh, pwsh, python, or a command with {0}`,
    );
  const path = join(folders.temp, `${session.newName("script-")}${command.extension}`);
  await writeFile(path, command.script, { mode: 0o700 });
  const paths = place.workspace.startsWith("/") ? posix : win32;
  return runProgram(run, {
    argv: command.argv(place.toStepPath(path)),
    cwd: paths.resolve(place.workspace, folder),
    env: {},
  });
}
