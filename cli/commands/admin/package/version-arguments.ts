import type { Command } from "commander";

/** The version that a command is about. */
export interface PackageVersionOptions {
  readonly owner: string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
}

/** Gives a command the arguments that name a version. */
export function takeVersion(
  command: Command,
  run: (options: PackageVersionOptions) => Promise<void>,
): void {
  command
    .argument("<owner>", "the user or organization")
    .argument("<type>", "such as generic or npm")
    .argument("<name>", "the package, with its scope if it has one")
    .argument("<version>", "the version")
    .action((owner: string, type: string, name: string, version: string) =>
      run({ owner, type, name, version }),
    );
}
