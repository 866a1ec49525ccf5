import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, usageError } from "../../../errors.ts";
import { resourceOf } from "../../../output/spec.ts";
import { toItemAddress, createItemFinder, findItem } from "../../../support/items.ts";
import type { CommandModule } from "../../../tree/entry.ts";
import { createLocalFiles } from "./local-files.ts";
import { toFileName } from "../../../support/file-names.ts";
import { explainFailure, findSource, isFolder } from "./lookup.ts";
import { saveItem } from "./save-file.ts";
import { trackTransfer } from "./transfer.ts";

interface ItemOpenOptions {
  readonly item: string;
  /** Print the URL of the bytes and open nothing. */
  readonly print: boolean;
}

export const openItem = {
  operations: [
    vault.listConnections,
    vault.listItems,
    vault.getItemDetail,
    vault.openItem,
    vault.downloadItem,
  ],
  output: resourceOf(vault.openItem),
  completions: { item: "items" },
  define(command, cli, run = runItemOpen): void {
    command
      .argument("<item>", "CONNECTION:/path, or an item's id")
      .option(
        "--print",
        "print the URL of its content instead; requests to it need the vault's access token",
      )
      .action((item: string, flags: { readonly print?: true }) =>
        run(cli, { item, print: flags.print === true }),
      );
  },
} satisfies CommandModule;

/**
 * Records that a file was opened, downloads it to a temporary folder, and opens it in the system's default program.
 * Prints the URL instead with `print`, in machine output, and where standard output is not a terminal.
 */
async function runItemOpen(cli: CliContext, { item: word, print }: ItemOpenOptions): Promise<void> {
  const finder = createItemFinder(cli);
  const found = await findItem(finder, word);
  const params = { connection_id: found.connection.id, item_id: found.id };
  const isPrinted = print || cli.output.isMachine || !cli.io.isOutputTerminal;
  const source = isPrinted ? found : await findSource(cli, finder, toItemAddress(word));
  if (!isPrinted && isFolder(source)) throw usageError(`${word} is a folder`, "name a file in it");
  const asking = cli.client.call(vault.openItem, { params });
  const { body } = await asking.catch(explainFailure(cli, word, found));
  if (isPrinted) {
    const { url: server } = await cli.client.target();
    return cli.output.text(`${server}${body.url}\n`, body);
  }
  const folder = await mkdtemp(join(tmpdir(), "croft-open-"));
  const name = source.item?.name ?? "item";
  const path = join(folder, toFileName(name, cli.system.platform));
  const progress = await cli.progress();
  await trackTransfer(progress, name, (shown) =>
    saveItem(
      cli,
      { params, name },
      {
        path,
        mayReplace: false,
        files: createLocalFiles(),
        onBegin: shown.begin,
        onProgress: shown.update,
      },
    ),
  ).finally(() => progress.finish());
  if (!cli.system.openFile(path))
    throw new CliError("unsupported", "this session has no desktop to open files on", {
      hint: `the file is in ${path}; --print prints its address`,
    });
  cli.io.note(`Opened a copy, ${path}; changes in it stay there. "croft vault item edit" edits.`);
}
