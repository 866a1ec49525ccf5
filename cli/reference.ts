import { lineOf, type LoadedCommand, toFlagTerm } from "./tree.ts";

/** A command as `croft commands` and the reference pages show it. */
export interface CommandReference {
  readonly command: string;
  readonly summary: string;
  readonly usage: string;
  readonly aliases: readonly string[];
  readonly arguments: readonly { readonly name: string; readonly description: string }[];
  readonly flags: readonly { readonly name: string; readonly description: string }[];
  /** Names of the operations that it calls. */
  readonly operations: readonly string[];
}

export function toReference({
  line,
  summary,
  aliases,
  module,
  command,
}: LoadedCommand): CommandReference {
  return {
    command: `croft ${line}`,
    summary,
    usage: `${lineOf(command)} ${command.usage()}`,
    aliases,
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      description: argument.description,
    })),
    flags: command.options.map((option) => ({
      name: toFlagTerm(option.flags),
      description: option.description,
    })),
    operations: module.operations.map(({ name }) => name),
  };
}
