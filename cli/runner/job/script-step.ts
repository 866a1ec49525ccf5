import { writeFile } from "node:fs/promises";
import { join, posix, win32 } from "node:path";
import { type ShellCommand, toShellCommand } from "./shells.ts";
import { type Performed, runProgram, StepError, type StepRun } from "./step-run.ts";

/** A script of a `run` step whose expressions are evaluated. */
export interface PreparedScript {
  readonly text: string;
  readonly command: ShellCommand;
  /** As the step names it, relative to the workspace. */
  readonly folder: string;
}

/** Evaluates the script of a step, its shell and its folder. @throws StepError for an unknown shell */
export async function prepareScript(
  { session, frame, step, contexts }: Pick<StepRun, "session" | "frame" | "step" | "contexts">,
  template: string,
): Promise<PreparedScript> {
  const { place, evaluation } = session;
  const text = await evaluation.text(template, contexts);
  const shell = await evaluation.text(step.shell ?? frame.defaults.shell ?? "", contexts);
  const folder = await evaluation.text(
    step.workingDirectory ?? frame.defaults.workingDirectory ?? "",
    contexts,
  );
  const command = toShellCommand(shell, text, shell !== "" || (await place.hasProgram("bash")));
  if (command === undefined)
    throw new StepError(
      `the shell ${JSON.stringify(shell)} is unknown: bash, sh, pwsh, python, or a command with {0}`,
    );
  return { text, command, folder };
}

/** Runs the script of a `run` step. */
export async function runScript(
  run: StepRun,
  { command, folder }: PreparedScript,
): Promise<Performed> {
  const { place, folders, newName } = run.session;
  const path = join(folders.temp, `${newName("script-")}${command.extension}`);
  await writeFile(path, command.script, { mode: 0o700 });
  const paths = place.workspace.startsWith("/") ? posix : win32;
  return runProgram(run, {
    argv: command.argv(place.toStepPath(path)),
    cwd: paths.resolve(place.workspace, folder),
    env: {},
  });
}
