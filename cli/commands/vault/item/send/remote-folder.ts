import { vault } from "../../../../client/operations.ts";
import type { CliContext } from "../../../../context.ts";
import { CliError, DryRun } from "../../../../errors.ts";
import type { WireItem } from "../../find-item.ts";
import { readFolder } from "../read-folder.ts";

/** A folder of a connection that a tree is put into. */
export interface RemoteFolder {
  readonly connectionId: string;
  /** Empty for the top. */
  readonly id: string;
  /** As an address, without a slash at its end. */
  readonly text: string;
  /** What is in it already, by name; listed at the provider when it is first asked for. */
  items(): Promise<ReadonlyMap<string, WireItem>>;
}

/** A folder that is there, or with `isNew` one that was just made. */
export function openRemoteFolder(
  cli: CliContext,
  facts: Pick<RemoteFolder, "connectionId" | "id" | "text">,
  isNew = false,
): RemoteFolder {
  let reading: Promise<ReadonlyMap<string, WireItem>> | undefined;
  return {
    ...facts,
    items: () => (reading ??= isNew ? Promise.resolve(new Map()) : read()),
  };

  async function read(): Promise<ReadonlyMap<string, WireItem>> {
    const { items, failure } = await readFolder(cli, facts.connectionId, facts.id, true);
    if (failure !== undefined) throw failure;
    return new Map(items.map((item) => [toKey(item.name), item]));
  }
}

/** The item of this name in a folder. The vault keeps names in one spelling, disks in any. */
export async function findIn(folder: RemoteFolder, name: string): Promise<WireItem | undefined> {
  return (await folder.items()).get(toKey(name));
}

/** The folder of this name in another one, made when it is missing. @throws CliError `name_collision` for a file's name */
async function enterRemoteFolder(
  cli: CliContext,
  parent: RemoteFolder,
  name: string,
): Promise<RemoteFolder> {
  const { connectionId } = parent;
  const text = `${parent.text}/${name}`;
  const there = await findIn(parent, name);
  if (there?.kind === "folder")
    return openRemoteFolder(cli, { connectionId, id: there.provider_item_id, text });
  if (there !== undefined) throw new CliError("name_collision", `${text} is a file`);
  const { body } = await cli.client.call(vault.createFolder, {
    params: { connection_id: connectionId },
    body: { parent_ref: parent.id, name },
  });
  if (body.kind !== "folder")
    throw new CliError("unexpected_answer", "the daemon's answer is unknown");
  // The vault gives a taken name a counter: somebody else made the folder meanwhile.
  if (toKey(body.name) !== toKey(name))
    throw new CliError("name_collision", `${text} was made by somebody else meanwhile`, {
      hint: `an empty ${parent.text}/${body.name} was made beside it; repeat the upload`,
    });
  return openRemoteFolder(cli, { connectionId, id: body.provider_item_id, text }, true);
}

/** The same with `--dry-run`: a folder that is missing stands for itself, so that what would be put into it can be told. */
export async function enterOrPlan(
  cli: CliContext,
  parent: RemoteFolder,
  name: string,
): Promise<{ readonly folder: RemoteFolder; readonly plan: DryRun | undefined }> {
  try {
    return { folder: await enterRemoteFolder(cli, parent, name), plan: undefined };
  } catch (error) {
    if (!(error instanceof DryRun)) throw error;
    const text = `${parent.text}/${name}`;
    const facts = { connectionId: parent.connectionId, id: `(the id of ${text})`, text };
    return { folder: openRemoteFolder(cli, facts, true), plan: error };
  }
}

function toKey(name: string): string {
  return name.normalize("NFC");
}
