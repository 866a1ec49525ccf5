import { vault } from "../../client/operations.ts";
import { vaultPages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { size, time } from "../../output/cells.ts";
import { listOf, resourceOf } from "../../output/spec.ts";
import { findDocumentId, findDocumentOperations } from "../../support/find-document.ts";
import { toIfMatchHeader } from "../../support/if-match.ts";
import { assertWaitFlags, waitFlags } from "../../support/wait.ts";
import { commandDetails } from "../../tree/command.ts";
import { documentLines } from "./document-columns.ts";
import { toVersionNumber, waitForDocument } from "./document-transfer.ts";
import { type Content, openSource } from "./item/send-file.ts";
import { trackTransfer } from "./item/transfer.ts";

const idHelp = "the document's id, or its name if only one has it";

export const replaceDocument = commandDetails({
  args: { "<id>": idHelp, "<file>": "a file, or - for standard input" },
  flags: {
    "--if-match <sha256>": "only if the content has this SHA-256",
    ...waitFlags("wait until the text is extracted again"),
  },
  calls: [...findDocumentOperations, vault.replaceDocumentContent, vault.getDocument],
  output: resourceOf(vault.getDocument),
  completions: { id: "documents" },
  examples: [
    [
      "Replace the content of a document",
      "croft vault document replace 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 report.pdf",
    ],
    [
      "Only if nobody else has replaced it",
      "croft vault document replace 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 report.pdf --if-match 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    ],
  ],
  /** Replaces the bytes; the content before is kept as a version. @throws CliError `stale` when `--if-match` does not hold */
  async run(cli, { id: word, file, ifMatch, ...flags }) {
    assertWaitFlags(flags);
    const id = await findDocumentId(cli, word);
    const source = await openSource(cli, file);
    const progress = await cli.progress();
    await trackTransfer(progress, file, (shown) => {
      shown.begin(source.size);
      return sendContent(cli, id, source, ifMatch, shown.update);
    }).finally(() => {
      progress.finish();
      source.close?.();
    });
    const replaced =
      flags.wait === true
        ? await waitForDocument(cli, id, flags.timeout)
        : (await cli.client.call(vault.getDocument, { params: { document_id: id } })).body;
    await cli.output.resource(replaced, documentLines);
  },
});

async function sendContent(
  cli: CliContext,
  id: string,
  source: Content,
  ifMatch: string | undefined,
  onProgress: (sent: number) => void,
): Promise<void> {
  const { stream } = await cli.client.exchange(
    vault.replaceDocumentContent,
    { params: { document_id: id } },
    {
      contentType: "application/octet-stream",
      headers: {
        "If-Match": ifMatch === undefined ? "*" : toIfMatchHeader(ifMatch),
        ...(source.size === undefined ? {} : { "Content-Length": String(source.size) }),
      },
      body: () => {
        let sent = 0;
        const bytes = source.open();
        bytes.on("data", (chunk: Uint8Array) => onProgress((sent += chunk.byteLength)));
        return bytes.pause();
      },
      canRestart: source.canRestart,
    },
  );
  // The response is read to its end, so that the connection is free for the next request.
  await Array.fromAsync(stream);
}

export const listVersions = commandDetails({
  args: { "<id>": idHelp },
  calls: [...findDocumentOperations, vault.listDocumentVersions],
  output: listOf(vault.listDocumentVersions, "items"),
  completions: { id: "documents" },
  examples: [
    [
      "List the contents that a document has had",
      "croft vault document versions 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8",
    ],
    [
      "Print their numbers",
      "croft vault document versions 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 --jq '.[].number'",
    ],
  ],
  async run(cli, { id: word }) {
    const id = await findDocumentId(cli, word);
    const input = { params: { document_id: id }, query: {} };
    await cli.output.list(vaultPages(cli.client, vault.listDocumentVersions, input), [
      { header: "version", cell: ({ number }) => number },
      { header: "current", cell: ({ is_current: isCurrent }) => isCurrent },
      { header: "size", cell: ({ size_bytes: bytes }) => size(bytes) },
      { header: "type", cell: ({ content_type: type }) => type },
      { header: "stored", cell: ({ created_at: created }) => time(created) },
      { header: "sha256", cell: ({ sha256 }) => sha256 },
    ]);
  },
});

export const restoreVersion = commandDetails({
  args: {
    "<id>": idHelp,
    "<version>": { help: "the number of an earlier content", parse: toVersionNumber },
  },
  calls: [...findDocumentOperations, vault.restoreDocumentVersion],
  output: resourceOf(vault.restoreDocumentVersion),
  completions: { id: "documents" },
  examples: [
    [
      "Return to an earlier content",
      "croft vault document restore 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 2",
    ],
    [
      "Show the request only",
      "croft vault document restore 0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8 2 --dry-run",
    ],
  ],
  /** Makes an earlier content the present one; the content before is kept as a version. */
  async run(cli, { id: word, version }) {
    const id = await findDocumentId(cli, word);
    const params = { document_id: id, number: String(version) };
    const restoring = cli.client.call(vault.restoreDocumentVersion, { params });
    const { body } = await restoring.catch((error: unknown) => {
      if (!(error instanceof CliError) || error.code !== "not_found") throw error;
      throw new CliError("not_found", `${word} has no version ${version}`, {
        ...error.details,
        hint: `"croft vault document versions ${id}" lists them; deleted documents are restored by "croft vault document trash restore"`,
      });
    });
    await cli.output.resource(body, documentLines);
  },
});
