import type { Command } from "commander";
import { type RepositoryName, toRepositoryName } from "../repo-name.ts";

/** A hook of a repository, as a line names it. */
export interface RepositoryHookName extends RepositoryName {
  readonly id: string;
}

/** Adds the arguments that name a hook of a repository. */
export function addHookArguments(command: Command): Command {
  return command
    .argument("<repository>", "the repository as OWNER/NAME")
    .argument("<hook>", "the hook's id");
}

/** Both arguments as one. @throws CliError `usage` */
export function toHookName(repository: string, id: string): RepositoryHookName {
  return { ...toRepositoryName(repository), id };
}
