import { documentEndpoints } from "../../contract/vault/documents.ts";
import { Pager, Table, Time } from "../../pages/elements.tsx";
import { toPageNumber } from "../../pages/page.ts";
import { toDocumentPath } from "./addresses.ts";
import { Name, toDetails } from "./elements.tsx";
import {
  open,
  type SignedInContext,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

const PER_PAGE = 50;

/** The events of a document. */
export const eventPage: VaultPageRoute = open("/vault/d/:id/events", showEvents);

/** What happened to a document: uploads, changes, shares and links. */
async function showEvents(
  { call, request }: SignedInContext,
  { id }: { readonly id: string },
): Promise<VaultPageAnswer> {
  const page = toPageNumber(request);
  const query = { page: String(page), per_page: String(PER_PAGE) };
  const params = { document_id: id };
  const { filename } = (await call(documentEndpoints.getDocument, { params })).body;
  const { items, total } = (await call(documentEndpoints.listDocumentEvents, { params, query }))
    .body;
  return {
    kind: "page",
    title: `Events of ${filename}`,
    body: (
      <>
        <p className="crumbs">
          <a href={toDocumentPath(id)}>
            <Name>{filename}</Name>
          </a>
        </p>
        <h1>Events</h1>
        <Table
          label="Events"
          columns={["Time", "Event", "By", "Details"]}
          rows={items.map((each) => ({
            key: String(each.id),
            cells: [
              <Time key="at" at={each.created_at} />,
              each.event_type,
              each.actor_handle ?? "",
              <bdi key="details">{toDetails(each.metadata)}</bdi>,
            ],
          }))}
        />
        <Pager page={page} limit={PER_PAGE} total={total} query={request.query} />
      </>
    ),
  };
}
