import type { z } from "zod";
import { accountEndpoints } from "../../contract/vault/auth.ts";
import { cloudItemEndpoints } from "../../contract/vault/cloud/items.ts";
import type { itemDetail } from "../../contract/vault/cloud/shapes.ts";
import { AppError } from "../../errors.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import { Alert, Facts, Menu, Time } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { CONNECTIONS, toFolderPath, toItemPath } from "./addresses.ts";
import { Name, Status, toConfirmation, toKind, toSizeText } from "./elements.tsx";
import { type ShownFile, showPreview, toFramed } from "./preview.tsx";
import { assertDone } from "./uploads.tsx";
import {
  open,
  type SignedInContext,
  submit,
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

/** Folders that a file can be moved to, without a script. */
const TARGETS_MAX = "500";

/** The page of a file or folder of connected storage. Its id is in the query: it may have slashes. */
export function itemPages(): VaultPageRoute[] {
  const below = (path: string) => `${CONNECTIONS}/:connection/${path}` as const;
  return [
    open(below("item"), (context, { connection }) => showItem(context, connection)),
    submit(below("item"), changeItem),
    open(below("raw"), async (context, { connection }) =>
      toFramed(await getBytes(context, connection, "previewItem")),
    ),
    open(below("download"), async (context, { connection }) => ({
      kind: "file",
      answer: await getBytes(context, connection, "downloadItem"),
    })),
  ];
}

type Item = z.output<typeof itemDetail>;

const toParams = ({ request }: SignedInContext, connection: string) => ({
  connection_id: connection,
  item_id: request.query.get("id") ?? "",
});

async function getBytes(
  context: SignedInContext,
  connection: string,
  name: "previewItem" | "downloadItem",
): Promise<BytesAnswer> {
  const params = toParams(context, connection);
  return (await context.call(cloudItemEndpoints[name], { params })) as unknown as BytesAnswer;
}

async function showItem(
  context: SignedInContext,
  connection: string,
  failed?: string,
): Promise<VaultPageAnswer> {
  const { call, session } = context;
  const params = toParams(context, connection);
  const { body: item } = await call(cloudItemEndpoints.getItemDetail, { params });
  const { pdf_open_mode: pdfMode } = (await call(accountEndpoints.viewPreferences)).body;
  const query = `id=${encodeURIComponent(params.item_id)}`;
  const isFolder = item.kind === "folder";
  const file: ShownFile = {
    name: item.name,
    contentType: item.content_type,
    size: item.size,
    extractedText: item.extracted_text,
    rawPath: `${CONNECTIONS}/${connection}/raw?${query}`,
    content: { declared: cloudItemEndpoints.downloadItem, input: { params } },
  };
  return {
    kind: "page",
    title: item.name,
    status: failed === undefined ? 200 : 409,
    body: (
      <>
        <p className="crumbs">
          <a href={toFolderPath(connection, item.parent_ref ?? "")}>
            <Name>{item.display_name + item.location}</Name>
          </a>
        </p>
        <h1>
          <Name>{item.name}</Name>
        </h1>
        <Alert text={failed} />
        <div className="actions">
          {isFolder ? (
            <a className="button" href={toFolderPath(connection, params.item_id)}>
              Open
            </a>
          ) : (
            <a className="button" href={`${CONNECTIONS}/${connection}/download?${query}`} data-keep>
              Download
            </a>
          )}
        </div>
        <div className="columns">
          {isFolder ? null : (
            <section aria-label="Preview" className="preview">
              {await showPreview(context, file, pdfMode === "in_app")}
            </section>
          )}
          <section aria-label="Details">
            <Details item={item} />
            <Changes
              item={item}
              action={toItemPath(connection, params.item_id)}
              token={session.formToken}
              targets={await listTargets(context, connection, item)}
            />
          </section>
        </div>
      </>
    ),
  };
}

function Details({ item }: { item: Item }) {
  return (
    <>
      <Status
        id={item.id}
        status={item.analysis_status === "failed" ? "classification_failed" : item.analysis_status}
      />
      {item.is_stale ? (
        <p className="notice">The storage may have a newer version. Refresh the folder.</p>
      ) : null}
      {item.unsupported_analysis_reason === null ? null : (
        <p className="quiet">{item.unsupported_analysis_reason}</p>
      )}
      <Facts
        rows={[
          ["Kind", item.kind === "folder" ? "Folder" : toKind(item.content_type)],
          ["Size", item.size === null ? undefined : toSizeText(item.size)],
          [
            "Changed",
            item.modified_at === null ? undefined : <Time key="changed" at={item.modified_at} />,
          ],
          ["Storage", `${item.display_name} (${item.provider})`],
          ["Topics", item.topics.join(", ")],
        ]}
      />
    </>
  );
}

interface Target {
  readonly ref: string;
  readonly name: string;
}

/** Returns the folders beside an item, and those above it: a move of more steps is several moves. */
async function listTargets(
  { call }: SignedInContext,
  connection: string,
  item: Item,
): Promise<readonly Target[]> {
  const params = { connection_id: connection };
  const parentRef = item.parent_ref ?? "";
  const query = { parent_ref: parentRef, limit: TARGETS_MAX };
  const { body } = await call(cloudItemEndpoints.listItems, { params, query });
  const beside = body.items
    .filter(({ kind, provider_item_id: id }) => kind === "folder" && id !== item.provider_item_id)
    .map(({ provider_item_id: ref, name }) => ({ ref, name }));
  if (parentRef === "") return beside;
  const above = await call(cloudItemEndpoints.getItemDetail, {
    params: { ...params, item_id: parentRef },
  });
  const up = above.body.parent_ref ?? "";
  return [
    { ref: "", name: "the first folder of the storage" },
    ...(up === "" ? [] : [{ ref: up, name: "one folder up" }]),
    ...beside,
  ];
}

function Changes({
  item,
  action,
  token,
  targets,
}: {
  item: Item;
  action: string;
  token: string;
  targets: readonly Target[];
}) {
  const form = { action, token };
  const isFolder = item.kind === "folder";
  return (
    <>
      <Menu name="Rename">
        <Form {...form} className="row">
          <input
            name="name"
            defaultValue={item.name}
            required
            maxLength={255}
            aria-label="New name"
          />
          <button name="action" value="rename">
            Rename
          </button>
        </Form>
      </Menu>
      {targets.length === 0 ? null : (
        <Menu name="Move">
          <Form {...form} className="row">
            <select name="to" aria-label="Folder to move to">
              {targets.map(({ ref, name }) => (
                <option key={ref} value={ref}>
                  {name}
                </option>
              ))}
            </select>
            <button name="action" value="move">
              Move
            </button>
          </Form>
        </Menu>
      )}
      <Form {...form} className="inline">
        {isFolder ? null : (
          <button name="action" value="analyze">
            Analyse
          </button>
        )}
        <button name="action" value="delete" className="danger">
          Delete
        </button>
      </Form>
    </>
  );
}

async function changeItem(
  context: SignedInContext,
  { connection }: { readonly connection: string },
): Promise<VaultPageAnswer> {
  const { form, call, session } = context;
  const params = toParams(context, connection);
  const { body: item } = await call(cloudItemEndpoints.getItemDetail, { params });
  const here = toItemPath(connection, params.item_id);
  if (form.get("action") === "delete" && form.get("done") !== "yes")
    return toConfirmation({
      title: item.kind === "folder" ? "Delete this folder with all in it?" : "Delete this file?",
      children: (
        <p>
          <Name>{item.name}</Name>. It goes to the trash of the storage, where it has one.
        </p>
      ),
      action: here,
      token: session.formToken,
      fields: [
        ["action", "delete"],
        ["done", "yes"],
      ],
      submit: "Delete",
      back: here,
    });
  const tried = await tryForm(() => runAction(context, params));
  if ("refusal" in tried) return showItem(context, connection, toText(tried.refusal));
  return {
    kind: "redirect",
    to: tried.result ?? toFolderPath(connection, item.parent_ref ?? ""),
  };
}

/** Runs the action of a form. Returns the page to show next; undefined for the folder. */
async function runAction(
  { form, call }: SignedInContext,
  params: { readonly connection_id: string; readonly item_id: string },
): Promise<string | undefined> {
  switch (form.get("action")) {
    case "rename": {
      const body = { new_name: form.get("name") ?? "" };
      assertDone(await call(cloudItemEndpoints.renameItem, { params, body }));
      return undefined;
    }
    case "move": {
      const body = { destination_parent_ref: form.get("to") ?? "" };
      assertDone(await call(cloudItemEndpoints.moveItem, { params, body }));
      return undefined;
    }
    case "delete":
      assertDone(await call(cloudItemEndpoints.deleteItem, { params }));
      return undefined;
    case "analyze":
      assertDone(await call(cloudItemEndpoints.analyzeItem, { params }));
      return toItemPath(params.connection_id, params.item_id);
    default:
      throw new AppError("invalid_argument", "The page has no such form.");
  }
}
