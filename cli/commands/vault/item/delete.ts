import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shapeList } from "../../../output/spec.ts";
import { finishBatch, resultFields, runBatch } from "../../batch.ts";
import { createItemFinder, findItem } from "../find-item.ts";
import { refusingClearly } from "./find-source.ts";
import { toPatient } from "./patient.ts";

export const operations = [
  vault.listConnections,
  vault.listItems,
  vault.getItemDetail,
  vault.deleteItem,
];
export const output = shapeList({
  ...resultFields,
  kind: "string?",
  reason: "string?",
  provider_item_id: "string?",
  item_kind: "string?",
  is_folder: "boolean?",
});
export const completions = { items: "items" } as const;
export const destructive = true;

/** What the command was given. */
export interface ItemDeleteOptions {
  readonly items: readonly string[];
}

export function define(command: Command, cli: CliContext, run = runItemDelete): void {
  command
    .argument("<items...>", "CONNECTION:/path, or an item's id")
    .action((items: readonly string[]) => run(cli, { items }));
}

/** Deletes items, one after the other, into the provider's trash where it has one. Of several, those that can be are. */
async function runItemDelete(cli: CliContext, { items }: ItemDeleteOptions): Promise<void> {
  await cli.prompts.confirm(
    items.length === 1 ? `Delete ${items[0]}?` : `Delete these ${items.length} items?`,
  );
  const patient = items.length === 1 ? cli : toPatient(cli, await cli.progress());
  const finder = createItemFinder(patient);
  const results = await runBatch(items, async (word) => {
    const found = await findItem(finder, word);
    const params = { connection_id: found.connection.id, item_id: found.id };
    const deleting = patient.client.call(vault.deleteItem, { params });
    return (await deleting.catch(refusingClearly(patient, word, found))).body;
  });
  await finishBatch(cli, results, "deleted", [
    { header: "deleted", cell: ({ item }) => item },
    { header: "kind", cell: ({ item_kind: kind }) => kind },
    { header: "how", cell: ({ reason }) => reason },
    { header: "error", cell: ({ error }) => error?.message },
  ]);
}
