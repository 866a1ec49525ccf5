import { Option } from "commander";
import type { AnyOperation } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import type { CommandDefinition, Verb } from "./entry.ts";

/** The help of an argument or a flag, alone or with its rules. */
export type ValueSpec = string | ValueRules;

export interface ValueRules {
  readonly help: string;
  /** The words that it takes. */
  readonly choices?: readonly string[];
  /**
   * Reads the text. A flag's function also gets the value so far, for a flag that may be repeated. An argument is read when
   * the command runs, each word of a repeated argument by itself. @throws CliError `usage`
   */
  readonly parse?: (text: string, previous: never) => unknown;
  /** The value of an argument or a flag that is not given. */
  readonly default?: unknown;
  /** The flag must be given. */
  readonly required?: true;
  /** Left out of help, completion and documents. */
  readonly hidden?: true;
}

/** The arguments of a command in their order: `"<id>"`, `"[file]"` if it may be left out, `"[words...]"` if repeated. */
export type Arguments = Readonly<Record<string, ValueSpec>>;

/** The flags of a command in the order of its help: `"-d, --description <text>"`, `"--received"`, `"--no-start"`. */
export type Flags = Readonly<Record<string, ValueSpec>>;

/** What there is to know about a command apart from its name and summary. */
export interface CommandDetails<A extends Arguments, F extends Flags> extends Omit<
  CommandDefinition,
  "calls" | "define"
> {
  readonly args?: A;
  readonly flags?: F;
  /** The operations that it calls. Those that write give it `--dry-run`. */
  readonly calls?: readonly AnyOperation[];
  /** Text below the flags on its help page. */
  readonly note?: string;
  /** The arguments on its help page, where their names alone do not tell enough. */
  readonly usage?: string;
  /** Does the work. `options` are the values of arguments and flags under their names in camel case. */
  readonly run: RunOf<A, F>;
}

type RunOf<A extends Arguments, F extends Flags> = (
  cli: CliContext,
  options: OptionsOf<A, F>,
) => Promise<void> | void;

interface Naming {
  readonly aliases?: readonly string[];
  /** Left out of help, completion and documents. */
  readonly hidden?: true;
}

/** Declares a command among the `entries` of its group. */
export function command<const A extends Arguments = {}, const F extends Flags = {}>(
  name: string,
  summary: string,
  details: CommandDetails<A, F> & Naming,
): Verb;
/** Declares a command whose details are in another file, which is imported when the command is used. */
export function command(
  name: string,
  summary: string,
  load: () => Promise<CommandDefinition>,
  naming?: Naming,
): Verb;
export function command<A extends Arguments, F extends Flags>(
  name: string,
  summary: string,
  details: (CommandDetails<A, F> & Naming) | (() => CommandDefinition | Promise<CommandDefinition>),
  naming: Naming = typeof details === "function" ? {} : details,
): Verb {
  const { aliases = [], hidden = false } = naming;
  const load = typeof details === "function" ? details : () => commandDetails(details);
  return { kind: "verb", name, summary, aliases, hidden, load };
}

/** Declares the details of a command that has a file of its own. */
export function commandDetails<const A extends Arguments = {}, const F extends Flags = {}>(
  details: CommandDetails<A, F>,
): CommandDefinition {
  const { calls = [], note, usage, ...rest } = details;
  const args: Arguments = details.args ?? {};
  const flags = Object.entries<ValueSpec>(details.flags ?? {});
  return {
    ...rest,
    calls,
    define(command, cli, run = details.run) {
      if (usage !== undefined) command.usage(usage);
      for (const [text, spec] of Object.entries(args)) {
        const { help, default: fallback } = toRules(spec);
        command.argument(text, help, fallback);
      }
      for (const [text, spec] of flags) command.addOption(toOption(text, spec));
      if (note !== undefined) command.addHelpText("after", `\n${note}`);
      command.action((...words: readonly unknown[]) => {
        const options = { ...readArguments(args, words), ...command.opts() };
        return run(cli, options as never);
      });
    },
  };
}

function toRules(spec: ValueSpec): ValueRules {
  return typeof spec === "string" ? { help: spec } : spec;
}

function toOption(text: string, spec: ValueSpec): Option {
  const { help, choices, parse, default: fallback, required, hidden } = toRules(spec);
  const option = new Option(text, help);
  if (choices !== undefined) option.choices(choices);
  if (parse !== undefined) option.argParser(parse as (text: string, previous: unknown) => unknown);
  if (fallback !== undefined) option.default(fallback);
  if (required === true) option.makeOptionMandatory();
  return hidden === true ? option.hideHelp() : option;
}

/** The values of the arguments that are on the line, by their names. */
function readArguments(args: Arguments, words: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).flatMap(([text, spec], at) => {
      const word = words[at];
      if (word === undefined) return [];
      const parse = (toRules(spec).parse ?? ((one) => one)) as (text: string) => unknown;
      const value = Array.isArray(word)
        ? word.map((one: string) => parse(one))
        : parse(String(word));
      return [[toCamelCase(text.replaceAll(/^[<[]|(?:\.\.\.)?[>\]]$/g, "")), value]];
    }),
  );
}

function toCamelCase(name: string): string {
  return name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The values of a command's arguments and flags. One that may be left out and has no default is an optional member. */
export type OptionsOf<A extends Arguments, F extends Flags> = Merge<
  ArgumentValues<A> & FlagValues<F>
>;

/** The values of a group of flags that several commands share. */
export type FlagValues<F extends Flags> = Merge<
  {
    readonly [
      K in keyof F & string as IsPresent<F, K> extends true ? FlagName<K> : never
    ]: FlagValue<F, K>;
  } & {
    readonly [
      K in keyof F & string as IsPresent<F, K> extends true ? never : FlagName<K>
    ]?: FlagValue<F, K>;
  }
>;

type Merge<T> = { [K in keyof T]: T[K] };

type ArgumentValues<A extends Arguments> = {
  readonly [
    K in keyof A as K extends `[${infer N}]`
      ? N extends `${string}...`
        ? never
        : CamelCase<N>
      : never
  ]?: ParsedBy<A[K], string>;
} & {
  readonly [
    K in keyof A as K extends `<${infer N}...>` | `[${infer N}...]` ? CamelCase<N> : never
  ]: readonly ParsedBy<A[K], string>[];
} & {
  readonly [
    K in keyof A as K extends `<${infer N}>`
      ? N extends `${string}...`
        ? never
        : CamelCase<N>
      : never
  ]: ParsedBy<A[K], string>;
};

/** `--no-start` without `--start` is true unless it is given. */
type IsPresent<F extends Flags, K extends keyof F & string> = F[K] extends
  | { readonly required: true }
  | { readonly default: {} }
  ? true
  : LongOf<K> extends `no-${infer N}`
    ? N extends LongOf<keyof F & string>
      ? false
      : true
    : false;

type FlagValue<F extends Flags, K extends keyof F & string> =
  // Of each of two flags for one member, such as `--due <date>` and `--no-due`.
  K extends unknown
    ? LongOf<K> extends `no-${infer N}`
      ? N extends LongOf<keyof F & string>
        ? false
        : boolean
      : K extends `${string}<${string}...>`
        ? readonly string[]
        : K extends `${string}<${string}>`
          ? ParsedBy<F[K], string>
          : K extends `${string}[${string}]`
            ? ParsedBy<F[K], string> | true
            : true
    : never;

type ParsedBy<Spec, Text> = Spec extends undefined
  ? never
  : Spec extends { readonly parse: (text: string, previous: never) => infer V }
    ? V
    : Spec extends { readonly choices: readonly (infer Word)[] }
      ? Word
      : Text;

/** `no-start` of `--no-start`, `description` of `-d, --description <text>`. */
type LongOf<K extends string> = K extends `${string}--${infer Rest}`
  ? Rest extends `${infer Name} ${string}`
    ? Name
    : Rest
  : never;

type FlagName<K extends string> = CamelCase<
  LongOf<K> extends `no-${infer Name}` ? Name : LongOf<K>
>;

type CamelCase<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;
