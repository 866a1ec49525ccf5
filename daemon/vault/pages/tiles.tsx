import { Readable } from "node:stream";
import { documentEndpoints } from "../../contract/vault/documents.ts";
import type { BytesAnswer } from "../../http/handle.ts";
import { isDrawable } from "../cloud/bytes/previewable.ts";
import { toDocumentPath } from "./addresses.ts";
import { Choose, DocumentLink, type WireDocument } from "./document-list.tsx";
import { Status, toKind, toSizeText } from "./elements.tsx";
import { type SignedInContext, tryForm, type VaultPageAnswer } from "./vault-page.ts";

/** Documents as tiles: a small picture where there is one, else an icon of the kind. */
export function Tiles({ documents }: { documents: readonly WireDocument[] }) {
  return (
    <ul className="tiles" data-rows>
      {documents.map((each) => (
        <li key={each.id} data-row>
          <Thumbnail document={each} />
          <div className="found">
            <Choose id={each.id} name={each.filename} />
            <DocumentLink document={each} />
          </div>
          <span className="quiet">{toSizeText(each.size_bytes)}</span>{" "}
          <Status id={each.id} status={each.status} />
        </li>
      ))}
    </ul>
  );
}

/** The picture lies over the icon: of a file that cannot be drawn, the icon is seen. */
function Thumbnail({ document: { id, content_type: type } }: { document: WireDocument }) {
  const kind = toKind(type);
  return (
    <div className="thumbnail" aria-hidden="true">
      <svg viewBox="0 0 24 24">
        <path d={icons[kind] ?? SHEET} />
      </svg>
      {kind}
      {isDrawable(type) ? (
        <img src={`${toDocumentPath(id)}/thumbnail`} alt="" loading="lazy" />
      ) : null}
    </div>
  );
}

const SHEET = "M6 2.5h8l4 4v15H6zM14 2.5v4h4";
const LINES = "M9 11h6M9 14h6M9 17h4";

/** Paths in a square of 24, by the kinds of `toKind`. */
const icons: Readonly<Record<string, string>> = {
  Picture: "M3 4.5h18v15H3zM3 16l5-5 4 4 3-3 6 6M15.5 9.5a1.25 1.25 0 1 0 0-.01",
  Audio: "M9 17.5V5.5l10-2v12M9 17.5a2.5 2.5 0 1 1-.01-.01M19 15.5a2.5 2.5 0 1 1-.01-.01",
  Video: "M3 5.5h18v13H3zM10 9v6l5-3z",
  PDF: `${SHEET}M9 17v-5h1.5a1.5 1.5 0 0 1 0 3H9`,
  Archive: "M3 4.5h18v4H3zM4.5 8.5v11h15v-11M10 12h4",
  Table: "M3 4.5h18v15H3zM3 9.5h18M3 14.5h18M9 4.5v15",
  Slides: "M3 4.5h18v11H3zM12 15.5v4M8 19.5h8",
  Text: `${SHEET}${LINES}`,
  Mail: "M3 5.5h18v13H3zM3 6.5l9 7 9-7",
  HTML: "M8 7l-5 5 5 5M16 7l5 5-5 5",
  Markdown: `${SHEET}${LINES}`,
  Code: "M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14",
};

/** A pixel through which the icon of a tile is seen. */
const CLEAR = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=",
  "base64",
);

/** Sends the thumbnail of a document. Where there is none, a clear pixel: browsers draw over the icon when a picture is missing. */
export async function sendThumbnail(
  call: SignedInContext["call"],
  id: string,
): Promise<VaultPageAnswer> {
  const params = { document_id: id };
  const tried = await tryForm(
    () => call(documentEndpoints.getDocumentThumbnail, { params }),
    ["not_found"],
  );
  if ("result" in tried) return { kind: "file", answer: tried.result as unknown as BytesAnswer };
  return { kind: "file", answer: CLEAR_ANSWER };
}

const CLEAR_ANSWER: BytesAnswer = {
  status: 200,
  headers: { "Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff" },
  bytes: {
    size: CLEAR.length,
    contentType: "image/png",
    etag: undefined,
    lastModified: undefined,
    buffer: CLEAR,
    open: async () => Readable.from([CLEAR]),
  },
};
