import { shareEndpoints } from "../../contract/vault/shares.ts";
import { EmptyState, Pager, Tabs, Time } from "../../pages/elements.tsx";
import { toPageNumber } from "../../pages/page.ts";
import { HOME, SHARED, toDocumentPath } from "./addresses.ts";
import { Name } from "./elements.tsx";
import { open, type VaultPageRoute } from "./vault-page.ts";

const PER_PAGE = 50;

/** The documents that others share with the caller, and those that the caller shares. */
export const sharedPage: VaultPageRoute = open(SHARED, async ({ request, call, session }) => {
  const isGiven = request.query.get("by") === "me";
  const page = toPageNumber(request);
  const query = { page: String(page), per_page: String(PER_PAGE) };
  const endpoint = isGiven ? shareEndpoints.listShares : shareEndpoints.listReceivedShares;
  const { items, total } = (await call(endpoint, { query })).body;
  return {
    kind: "page",
    title: "Shared",
    body: (
      <>
        <h1>Shared</h1>
        <Tabs
          label="Shares"
          current={isGiven ? "me" : "others"}
          tabs={[
            { key: "others", text: "With me", href: SHARED },
            { key: "me", text: "By me", href: `${SHARED}?by=me` },
          ]}
        />
        {items.length === 0 ? (
          <EmptyState>
            {isGiven ? (
              <>
                You share no documents. Open one, or choose several in <a href={HOME}>Documents</a>,
                and press Share.
              </>
            ) : (
              <>
                Nobody shares a document with you. People who do so name your handle,{" "}
                <Name>{session.caller.handle}</Name>, or your e-mail address.
              </>
            )}
          </EmptyState>
        ) : (
          <ul className="list" data-rows>
            {items.map((each) => (
              <li key={each.id} data-row>
                <a href={toDocumentPath(each.document_id)} data-open>
                  <Name>{each.filename}</Name>
                </a>{" "}
                <span className="quiet">
                  {isGiven ? `with ${each.recipient_handle}` : `by ${each.owner_handle}`},{" "}
                  {each.permission === "view" ? "to look at" : "to download"}, since{" "}
                  <Time at={each.created_at} />
                </span>
              </li>
            ))}
          </ul>
        )}
        <Pager page={page} limit={PER_PAGE} total={total} query={request.query} />
      </>
    ),
  };
});
