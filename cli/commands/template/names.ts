import type { CliContext } from "../../context.ts";

/** Templates are for everybody: asking for them needs no signing in, and sends no credentials. */
export const withoutCredentials = { authorization: "none" } as const;

/** Prints names one a line; machine modes print them as one array. */
export async function printNames(cli: CliContext, names: readonly string[]): Promise<void> {
  await cli.output.text(names.map((name) => `${name}\n`).join(""), names);
}

/** Prints a template's text, which can be redirected into a file; machine modes print the whole answer. */
export async function printText(cli: CliContext, text: string, answer: object): Promise<void> {
  await cli.output.text(text, answer);
}
