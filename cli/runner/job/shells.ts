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
export function splitWords(text: string): string[] {
  return [...text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, one?: string, two?: string) => one ?? two ?? ""),
  );
}
