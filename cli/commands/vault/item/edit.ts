import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vault } from "../../../client/operations.ts";
import { CliError, DryRun, toCliError, usageError } from "../../../errors.ts";
import { resourceOf } from "../../../output/spec.ts";
import { editorFlag, findEditor, hashOf, runEditor } from "../../../support/editor.ts";
import { toItemAddress, createItemFinder } from "../../../support/items.ts";
import { ifMatchFlag } from "../../../support/if-match.ts";
import { createLocalFiles } from "./local-files.ts";
import { toFileName } from "../../../support/file-names.ts";
import { assertVersion, findSource, isFolder } from "./lookup.ts";
import { replaceFile } from "./send-file.ts";
import { saveItem } from "./save-file.ts";
import { commandDetails } from "../../../tree/command.ts";

export const edit = commandDetails({
  args: { "<item>": "CONNECTION:/path/to/file, or an item's id" },
  flags: {
    ...ifMatchFlag("only if the file has this etag"),
    ...editorFlag,
  },
  calls: [
    vault.listConnections,
    vault.listItems,
    vault.getItemDetail,
    vault.downloadItem,
    vault.replaceContent,
  ],
  output: resourceOf(vault.replaceContent),
  completions: { item: "items" },
  examples: [
    ["Edit a file with $EDITOR", "croft vault item edit Papers:/notes.md"],
    ["Edit it without a person", "croft vault item edit Papers:/notes.md --editor touch"],
    [
      "Only if it is still the version that was read",
      "croft vault item edit Papers:/notes.md --editor touch --if-match Ngql6_oY79GfYOskMsEdU-IVhv8",
    ],
  ],
  /**
   * Downloads a file, opens it in an editor and replaces it when it was changed, if it still is the version that was downloaded.
   * Otherwise, and when the editor fails, an edited file is kept, and the error says where.
   */
  async run(cli, { item: word, editor, ifMatch: etag }) {
    const program = findEditor(cli, editor);
    const found = await findSource(cli, createItemFinder(cli), toItemAddress(word));
    if (isFolder(found)) throw usageError(`${word} is a folder`, "only files have bytes");
    const { connection, id } = found;
    const item = etag === undefined ? found.item : await assertVersion(cli, word, found, etag);
    if (item === undefined) throw new CliError("not_found", `${word} does not exist`);
    const folder = await mkdtemp(join(tmpdir(), "croft-edit-"));
    const path = join(folder, toFileName(item.name, cli.system.platform));
    let original: string | undefined;
    // The editor may have saved before it failed. A file that cannot be read may contain changes too.
    const isUnedited = async () => original === undefined || (await hashOf(path)) === original;
    let isSaved = false;
    try {
      const params = { connection_id: connection.id, item_id: id };
      await saveItem(
        cli,
        { params, name: item.name },
        {
          path,
          mayReplace: false,
          files: createLocalFiles(),
          onBegin: () => undefined,
          onProgress: () => undefined,
        },
      );
      await chmod(path, 0o600);
      original = await hashOf(path);
      await runEditor(cli, program, path);
      if (await isUnedited()) {
        isSaved = true;
        const same = { kind: "unchanged", provider_item_id: id, name: item.name };
        return await cli.output.done(same, `${word} was not changed.`);
      }
      const progress = { begin: () => undefined, update: () => undefined };
      const replaced = await replaceFile(cli, connection.id, item, path, progress);
      isSaved = true;
      await cli.output.done({ ...replaced }, `Replaced ${word}.`);
    } catch (error) {
      isSaved ||= await isUnedited().catch(() => false);
      if (isSaved) throw error;
      if (error instanceof DryRun) {
        isSaved = true;
        throw error;
      }
      const failure = toCliError(error);
      throw new CliError(failure.code, failure.message, {
        ...failure.details,
        hint: `your version is kept in ${path}`,
      });
    } finally {
      if (isSaved) await rm(folder, { recursive: true, force: true });
    }
  },
});
