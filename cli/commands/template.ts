import type { z } from "zod";
import type { labelTemplate, licenseListEntry } from "../../daemon/contract/forge/templates.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import type { Column } from "../output/cells.ts";
import { wholeList } from "../output/pages.ts";
import { listOf, resourceOf } from "../output/spec.ts";
import { type Entry, noun } from "../tree/entry.ts";
import { command } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  noun("gitignore", "Templates for .gitignore files", [
    command("list", "List .gitignore templates", {
      aliases: ["ls"],
      calls: [forge.listGitignoreTemplates],
      output: listOf(forge.listGitignoreTemplates),
      examples: [
        ["List the templates", "croft template gitignore list"],
        ["Print their names", "croft template gitignore list --jq '.[]'"],
      ],
      /** Prints the names of ignore-file templates. */
      async run(cli) {
        const { body } = await cli.client.call(
          forge.listGitignoreTemplates,
          {},
          withoutCredentials,
        );
        await printNames(cli, body);
      },
    }),
    command("view", "Print a .gitignore template", {
      args: { "<name>": "the template, such as Node" },
      calls: [forge.getGitignoreTemplate],
      output: resourceOf(forge.getGitignoreTemplate),
      examples: [
        ["Print a template", "croft template gitignore view Node"],
        ["Write it to a file", "croft template gitignore view Node > .gitignore"],
      ],
      /** Prints the text of an ignore file. */
      async run(cli, { name }) {
        const { body } = await cli.client.call(
          forge.getGitignoreTemplate,
          { params: { name } },
          withoutCredentials,
        );
        await printText(cli, body.source, body);
      },
    }),
  ]),
  noun("label", "Label sets", [
    command("list", "List label sets", {
      aliases: ["ls"],
      calls: [forge.listLabelTemplates],
      output: listOf(forge.listLabelTemplates),
      examples: [
        ["List label sets", "croft template label list"],
        ["Print their names", "croft template label list --jq '.[]'"],
      ],
      /** Prints the names of label sets. */
      async run(cli) {
        const { body } = await cli.client.call(forge.listLabelTemplates, {}, withoutCredentials);
        await printNames(cli, body);
      },
    }),
    command("view", "Show the labels of a set", {
      args: { "<name>": "the set, such as Default" },
      calls: [forge.getLabelTemplate],
      output: listOf(forge.getLabelTemplate),
      examples: [
        ["Show the labels of a set", "croft template label view Default"],
        [
          "Print names and colours",
          "croft template label view Default --template '{{.name}} {{.color}}'",
        ],
      ],
      /** Prints the labels of a set in their order. */
      async run(cli, { name }) {
        const { body } = await cli.client.call(
          forge.getLabelTemplate,
          { params: { name } },
          withoutCredentials,
        );
        await cli.output.list(wholeList(body), labelColumns);
      },
    }),
  ]),
  noun("license", "Licenses", [
    command("list", "List license templates", {
      aliases: ["ls"],
      calls: [forge.listLicenseTemplates],
      output: listOf(forge.listLicenseTemplates),
      examples: [
        ["List licenses", "croft template license list"],
        ["Print their keys", "croft template license list --jq '.[].key'"],
      ],
      /** Prints the available licenses. */
      async run(cli) {
        const { body } = await cli.client.call(forge.listLicenseTemplates, {}, withoutCredentials);
        await cli.output.list(wholeList(body), licenseColumns);
      },
    }),
    command("view", "Print a license", {
      args: { "<key>": "the license, such as MIT" },
      calls: [forge.getLicenseTemplate],
      output: resourceOf(forge.getLicenseTemplate),
      examples: [
        ["Print a license", "croft template license view MIT"],
        ["Write it to a file", "croft template license view MIT > LICENSE"],
      ],
      /** Prints the text of a license with its placeholders. */
      async run(cli, { key }) {
        const { body } = await cli.client.call(
          forge.getLicenseTemplate,
          { params: { name: key } },
          withoutCredentials,
        );
        await printText(cli, body.body, body);
      },
    }),
  ]),
];

const labelColumns: readonly Column<z.infer<typeof labelTemplate>>[] = [
  { header: "name", cell: ({ name }) => name },
  { header: "color", cell: ({ color }) => color },
  { header: "exclusive", cell: ({ exclusive }) => exclusive },
  { header: "description", cell: ({ description }) => description },
];

const licenseColumns: readonly Column<z.infer<typeof licenseListEntry>>[] = [
  { header: "key", cell: ({ key }) => key },
  { header: "url", cell: ({ url }) => url },
];

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
