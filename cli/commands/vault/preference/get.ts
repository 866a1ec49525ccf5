import type { Command } from "commander";
import type { viewPreferences as viewPreferencesEndpoint } from "../../../../daemon/contract/vault/auth.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { preferenceColumns } from "./preference-columns.ts";

const viewPreferences = operation<typeof viewPreferencesEndpoint>(
  "vault.auth.preference.view",
  "GET",
  "/api/auth/me/preferences",
);

export const operations = [viewPreferences];
export const output = resourceOf(viewPreferences);

export function define(command: Command, cli: CliContext, run = runPreferenceGet): void {
  command.action(() => run(cli));
}

/** Prints the caller's preferences. */
async function runPreferenceGet(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(viewPreferences);
  await cli.output.resource(body, preferenceColumns);
}
