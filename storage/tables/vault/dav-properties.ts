import type { Queries, Transaction } from "../../engine/database.ts";
import { optional, text, textId } from "../columns.ts";
import { type Condition, sql } from "../condition.ts";
import { defineTable, type RecordOf } from "../table.ts";
import type { DocumentId } from "./ids.ts";

const properties = defineTable("vault_dav_properties", {
  id: text(),
  itemId: optional(text()),
  documentId: optional(textId<DocumentId>()),
  namespace: text(),
  name: text(),
  /** XML: the whole element. */
  value: text(),
});
/** A property that a WebDAV client has set. */
export type DavProperty = RecordOf<typeof properties>;

/** The row that has properties: an item of a connection, or a document. */
export type PropertyHolder =
  | { readonly itemId: string; readonly documentId?: undefined }
  | { readonly documentId: DocumentId; readonly itemId?: undefined };

function ofHolder({ itemId, documentId }: PropertyHolder): Condition {
  return documentId === undefined ? sql`item_id = ${itemId}` : sql`document_id = ${documentId}`;
}

/** Returns the properties of several items and documents. */
export async function listDavProperties(
  db: Queries,
  holders: readonly PropertyHolder[],
): Promise<DavProperty[]> {
  const itemIds = holders.flatMap(({ itemId }) => itemId ?? []);
  const documentIds = holders.flatMap(({ documentId }) => documentId ?? []);
  const order = { order: "namespace, name" };
  return [
    ...(itemIds.length > 0 ? await properties.list(db, sql`item_id IN (${itemIds})`, order) : []),
    ...(documentIds.length > 0
      ? await properties.list(db, sql`document_id IN (${documentIds})`, order)
      : []),
  ];
}

/** Writes a property in the place of the one of its name. */
export async function putDavProperty(
  tx: Transaction,
  holder: PropertyHolder,
  property: Pick<DavProperty, "id" | "namespace" | "name" | "value">,
): Promise<void> {
  await deleteDavProperty(tx, holder, property);
  await properties.insert(tx, { ...holder, ...property });
}

/** Deletes a property, if there is one of its name. */
export async function deleteDavProperty(
  tx: Transaction,
  holder: PropertyHolder,
  { namespace, name }: Pick<DavProperty, "namespace" | "name">,
): Promise<void> {
  await properties.delete(
    tx,
    sql`${ofHolder(holder)} AND namespace = ${namespace} AND name = ${name}`,
  );
}

/** Deletes all properties of an item or a document. */
export async function deleteDavProperties(db: Queries, holder: PropertyHolder): Promise<void> {
  await properties.delete(db, ofHolder(holder));
}
