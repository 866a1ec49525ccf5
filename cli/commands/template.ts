import type { z } from "zod";
import type { labelTemplate, licenseListEntry } from "../../daemon/contract/forge/templates.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, resourceOf } from "../output/spec.ts";
import { type CommandModule, type Entry, noun, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  noun("gitignore", "Templates for .gitignore files", [
    verb("list", "List .gitignore templates", () => listGitignores, {
      aliases: ["ls"],
    }),
    verb("view", "Print a .gitignore template", () => viewGitignore),
  ]),
  noun("label", "Label sets", [
    verb("list", "List label sets", () => listLabelSets, { aliases: ["ls"] }),
    verb("view", "Show the labels of a set", () => viewLabelSet),
  ]),
  noun("license", "Licenses", [
    verb("list", "List license templates", () => listLicenses, { aliases: ["ls"] }),
    verb("view", "Print a license", () => viewLicense),
  ]),
];

const listGitignores = {
  operations: [forge.listGitignoreTemplates],
  output: listOf(forge.listGitignoreTemplates),
  define(command, cli, run = runGitignoreList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the names of ignore-file templates. */
async function runGitignoreList(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.listGitignoreTemplates, {}, withoutCredentials);
  await printNames(cli, body);
}

export const viewGitignore = {
  operations: [forge.getGitignoreTemplate],
  output: resourceOf(forge.getGitignoreTemplate),
  define(command, cli, run = runGitignoreView): void {
    command
      .argument("<name>", "the template, such as Node")
      .action((name: string) => run(cli, { name }));
  },
} satisfies CommandModule;

/** Prints the text of an ignore file. */
async function runGitignoreView(
  cli: CliContext,
  { name }: { readonly name: string },
): Promise<void> {
  const { body } = await cli.client.call(
    forge.getGitignoreTemplate,
    { params: { name } },
    withoutCredentials,
  );
  await printText(cli, body.source, body);
}

const listLabelSets = {
  operations: [forge.listLabelTemplates],
  output: listOf(forge.listLabelTemplates),
  define(command, cli, run = runLabelList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the names of label sets. */
async function runLabelList(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.listLabelTemplates, {}, withoutCredentials);
  await printNames(cli, body);
}

const labelColumns: readonly Column<z.infer<typeof labelTemplate>>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "color", cell: ({ color }) => color },
  { header: "exclusive", cell: ({ exclusive }) => exclusive },
  { header: "description", cell: ({ description }) => description },
];

export const viewLabelSet = {
  operations: [forge.getLabelTemplate],
  output: listOf(forge.getLabelTemplate),
  define(command, cli, run = runLabelView): void {
    command
      .argument("<name>", "the set, such as Default")
      .action((name: string) => run(cli, { name }));
  },
} satisfies CommandModule;

/** Prints the labels of a set in their order. */
async function runLabelView(cli: CliContext, { name }: { readonly name: string }): Promise<void> {
  const { body } = await cli.client.call(
    forge.getLabelTemplate,
    { params: { name } },
    withoutCredentials,
  );
  await cli.output.list(wholeList(body), labelColumns);
}

const licenseColumns: readonly Column<z.infer<typeof licenseListEntry>>[] = [
  { header: "key", cell: ({ key }) => key },
  { header: "url", cell: ({ url }) => url },
];

const listLicenses = {
  operations: [forge.listLicenseTemplates],
  output: listOf(forge.listLicenseTemplates),
  define(command, cli, run = runLicenseList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the available licenses. */
async function runLicenseList(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.listLicenseTemplates, {}, withoutCredentials);
  await cli.output.list(wholeList(body), licenseColumns);
}

export const viewLicense = {
  operations: [forge.getLicenseTemplate],
  output: resourceOf(forge.getLicenseTemplate),
  define(command, cli, run = runLicenseView): void {
    command
      .argument("<key>", "the license, such as MIT")
      .action((key: string) => run(cli, { key }));
  },
} satisfies CommandModule;

/** Prints the text of a license with its placeholders. */
async function runLicenseView(cli: CliContext, { key }: { readonly key: string }): Promise<void> {
  const { body } = await cli.client.call(
    forge.getLicenseTemplate,
    { params: { name: key } },
    withoutCredentials,
  );
  await printText(cli, body.body, body);
}

/** Templates are open to anonymous callers: no sign-in is needed, and no credentials are sent. */
const withoutCredentials = { authorization: "none" } as const;

/** Prints names one a line; machine modes print them as one array. */
async function printNames(cli: CliContext, names: readonly string[]): Promise<void> {
  await cli.output.text(names.map((name) => `${name}\n`).join(""), names);
}

/** Prints a template's text, which can be redirected into a file; machine modes print the whole answer. */
async function printText(cli: CliContext, text: string, answer: object): Promise<void> {
  await cli.output.page(text, answer);
}
