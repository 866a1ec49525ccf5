import type { Command } from "commander";
import type { ResolvedSetting } from "../../../daemon/settings/resolve.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { wholeList } from "../../output/pages.ts";
import { type FieldType, shapeList } from "../../output/spec.ts";

/** The fields of one setting. */
export const settingFields: Readonly<Record<string, FieldType>> = {
  key: "string",
  value: {},
  source: { enum: ["flag", "environment", "environment_file", "file", "default"] },
  origin: "string?",
  secret: "boolean",
};

export const operations = [] as const;
export const output = shapeList(settingFields);

export function define(command: Command, cli: CliContext, run = runConfigList): void {
  command.action(() => run(cli));
}

/** Prints all settings as they are resolved; secrets as stars. */
async function runConfigList(cli: CliContext): Promise<void> {
  const { readAllSettings } = await import("../../profile/settings.ts");
  const { values } = readAllSettings(cli.system, cli.flags, {});
  await cli.output.list(wholeList(values), settingColumns);
}

export const settingColumns: readonly Column<ResolvedSetting>[] = [
  { header: "key", cell: ({ key }) => key },
  { header: "value", cell: ({ value }) => toText(value) },
  { header: "source", cell: ({ source }) => source },
  { header: "origin", cell: ({ origin }) => origin },
];

function toText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(String).join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
