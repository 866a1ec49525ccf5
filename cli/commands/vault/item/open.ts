import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vault } from "../../../client/operations.ts";
import { CliError, usageError } from "../../../errors.ts";
import { resourceOf } from "../../../output/spec.ts";
import { toItemAddress, createItemFinder, findItem } from "../../../support/items.ts";
import { createLocalFiles } from "./local-files.ts";
import { toFileName } from "../../../support/file-names.ts";
import { explainFailure, findSource, isFolder } from "./lookup.ts";
import { saveItem } from "./save-file.ts";
import { trackTransfer } from "./transfer.ts";
import { commandDetails } from "../../../tree/command.ts";

export const openItem = commandDetails({
  args: { "<item>": "CONNECTION:/path, or an item's id" },
  flags: {
    "--print": "print the URL of its content instead; requests to it need the vault's access token",
  },
  calls: [
    vault.listConnections,
    vault.listItems,
    vault.getItemDetail,
    vault.openItem,
    vault.downloadItem,
  ],
  output: resourceOf(vault.openItem),
  completions: { item: "items" },
  examples: [
    ["Open a copy with the system's program", "croft vault item open Papers:/2026/report.pdf"],
    ["Print the address only", "croft vault item open Papers:/2026/report.pdf --print"],
  ],
  /**
   * Records that a file was opened, downloads it to a temporary folder, and opens it in the system's default program.
   * Prints the URL instead with `print`, in machine output, and where standard output is not a terminal.
   */
  async run(cli, { item: word, print = false }) {
    const finder = createItemFinder(cli);
    const found = await findItem(finder, word);
    const params = { connection_id: found.connection.id, item_id: found.id };
    const isPrinted = print || cli.output.isMachine || !cli.io.isOutputTerminal;
    const source = isPrinted ? found : await findSource(cli, finder, toItemAddress(word));
    if (!isPrinted && isFolder(source))
      throw usageError(`${word} is a folder`, "name a file in it");
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
  },
});
