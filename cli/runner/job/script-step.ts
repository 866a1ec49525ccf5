import { join, posix, win32 } from "node:path";
import { createJobFile } from "../files/job-files.ts";
import { StepError } from "./step-error.ts";
import { type Performed, runProgram, type StepRun } from "./step-run.ts";

/** A script of a `run` step whose expressions are evaluated. */
export interface PreparedScript {
  readonly text: string;
  readonly command: ShellCommand;
  /** As the step names it, relative to the workspace. */
  readonly folder: string;
}

/** Evaluates the script of a step, its shell and its folder. @throws StepError for an unknown shell */
export async function prepareScript(
  { session, frame, step, contexts, signal }: StepRun,
  template: string,
): Promise<PreparedScript> {
  const { place, evaluation } = session;
  const text = await evaluation.text(template, contexts);
  const shell = await evaluation.text(step.shell ?? frame.defaults.shell ?? "", contexts);
  const folder = await evaluation.text(
    step.workingDirectory ?? frame.defaults.workingDirectory ?? "",
    contexts,
  );
  const command = toShellCommand(
    shell,
    text,
    shell !== "" || (await place.hasProgram("bash", signal)),
  );
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
  const path = join(folders.scripts, `${newName("script-")}${command.extension}`);
  await createJobFile(path, command.script, 0o700);
  const paths = place.workspace.startsWith("/") ? posix : win32;
  return runProgram(run, {
    argv: command.argv(place.toStepPath(path)),
    cwd: paths.resolve(place.workspace, folder),
    env: {},
  });
}

/** How the script of a `run` step is started. */
export interface ShellCommand {
  /** Ending of the script's file name. */
  readonly extension: string;
  /** The command as it is shown, with `{0}` for the script. */
  readonly shown: string;
  /** Text of the script's file. */
  readonly script: string;
  /** Program and arguments for a script at this path. */
  readonly argv: (path: string) => readonly string[];
}

const BASH = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "{0}"];

/**
 * Returns the command of a shell: `bash`, `sh`, `pwsh`, `python`, or any command with `{0}` for the script. The default
 * is that of `bash`, as for Gitea's runner, or of `sh` without bash. Returns undefined for an unknown shell.
 */
export function toShellCommand(
  shell: string | undefined,
  script: string,
  hasBash: boolean,
): ShellCommand | undefined {
  const of = (words: readonly string[], extension = ".sh", text = script): ShellCommand => ({
    extension,
    shown: words.join(" "),
    script: `${text}\n`,
    argv: (path) => words.map((word) => word.replaceAll("{0}", path)),
  });
  switch (shell) {
    case undefined:
    case "":
      return of(hasBash ? BASH : ["sh", "-e", "{0}"]);
    case "bash":
      return of(BASH);
    case "sh":
      return of(["sh", "-e", "{0}"]);
    case "python":
      return of(["python", "{0}"], ".py");
    case "pwsh":
      return of(["pwsh", "-command", ". '{0}'"], ".ps1", toPowerShell(script));
    default:
      return shell.includes("{0}") ? of(splitWords(shell)) : undefined;
  }
}

/** A failing command ends the script, and its code is that of the last program. */
function toPowerShell(script: string): string {
  return [
    "$ErrorActionPreference = 'stop'",
    script,
    "if ((Test-Path -LiteralPath variable:\\LASTEXITCODE)) { exit $LASTEXITCODE }",
  ].join("\n");
}

/** Splits a command into words; quotes keep blanks. */
function splitWords(text: string): string[] {
  return [...text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, one?: string, two?: string) => one ?? two ?? ""),
  );
}
