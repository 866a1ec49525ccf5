import type { z } from "zod";
import type { document as documentSchema } from "../../../daemon/contract/vault/documents.ts";
import { type Column, size, time } from "../../output/cells.ts";
import { describeMissingText } from "./missing-text.ts";

/** A document as the API sends it. */
export type WireDocument = z.output<typeof documentSchema>;

/** Columns of lists of documents. */
export const documentColumns: readonly Column<Omit<WireDocument, "extracted_text">>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "name", cell: ({ filename }) => filename },
  { header: "size", cell: ({ size_bytes: bytes }) => size(bytes) },
  { header: "topics", cell: ({ topics }) => topics },
  {
    header: "status",
    cell: ({ status, status_reason: reason }) =>
      reason === null ? status : `${status}: ${reason}`,
  },
  { header: "created", cell: ({ created_at: created }) => time(created) },
];

/** Lines of one document. */
export const documentLines: readonly Column<WireDocument>[] = [
  ...documentColumns,
  { header: "type", cell: ({ content_type: type }) => type },
  { header: "storage", cell: ({ storage_backend: storage }) => storage },
  { header: "sha256", cell: ({ sha256 }) => sha256 },
  { header: "classified as", cell: ({ classification }) => classification?.topic },
  { header: "because of", cell: ({ classification }) => classification?.words },
  {
    header: "missing text",
    cell: ({ status_reason: reason, extracted_text: text }) => describeMissingText(reason, text),
  },
  { header: "text", cell: ({ extracted_text: text }) => text },
];
