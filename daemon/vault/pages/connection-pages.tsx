import type { z } from "zod";
import { cloudConnectionEndpoints } from "../../contract/vault/cloud/connections.ts";
import { cloudItemEndpoints } from "../../contract/vault/cloud/items.ts";
import type { item as itemShape } from "../../contract/vault/cloud/shapes.ts";
import { AppError } from "../../errors.ts";
import { Alert, EmptyState, Menu, Time } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { ADD_CONNECTION, addConnectionPages } from "./add-connection-page.tsx";
import { UploadForm } from "./add-page.tsx";
import { CONNECTIONS, toFolderPath, toItemPath } from "./addresses.ts";
import { itemPages } from "./item-pages.tsx";
import { Day, Name, toSizeText } from "./elements.tsx";
import { trashPages } from "./connection-trash-page.tsx";
import { assertDone, showRefused, storeFiles } from "./uploads.tsx";
import {
  open,
  type SignedInContext,
  submit,
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

/** Items on one page of a folder. */
const PER_PAGE = "200";

/** Connected storages with their folders. */
export function connectionPages(): VaultPageRoute[] {
  return [
    open(CONNECTIONS, showConnections),
    ...addConnectionPages(),
    open(`${CONNECTIONS}/:connection`, (context, { connection }) => {
      const folder = context.request.query.get("folder") ?? "";
      return showFolder(context, { connection, folder });
    }),
    submit(`${CONNECTIONS}/:connection`, changeFolder, { takesFiles: true }),
    ...itemPages(),
    ...trashPages(),
  ];
}

const statuses = {
  connected: undefined,
  reauth_required: "must be connected again",
  offline: "does not answer",
} as const;

async function showConnections({ call }: SignedInContext): Promise<VaultPageAnswer> {
  const query = { per_page: "100" };
  const { items } = (await call(cloudConnectionEndpoints.listConnections, { query })).body;
  return {
    kind: "page",
    title: "Storage",
    body: (
      <>
        <div className="title">
          <h1>Storage</h1>
          <a className="button primary" href={ADD_CONNECTION}>
            Connect a storage
          </a>
        </div>
        {items.length === 0 ? (
          <EmptyState>
            No storage is connected. <a href={ADD_CONNECTION}>Connect one</a>: a WebDAV server, a
            bucket of S3, a drive of a vendor, or a folder of this server.
          </EmptyState>
        ) : (
          <ul className="list" data-rows>
            {items.map((each) => (
              <li key={each.id} data-row>
                <a href={toFolderPath(each.id)} data-open>
                  <Name>{each.display_name}</Name>
                </a>{" "}
                <span className="quiet">
                  {each.provider}
                  {each.quota?.used_bytes == null
                    ? ""
                    : `, ${toSizeText(each.quota.used_bytes)} used`}
                </span>{" "}
                {statuses[each.status] === undefined ? null : (
                  <span className="state bad">{statuses[each.status]}</span>
                )}
              </li>
            ))}
          </ul>
        )}
      </>
    ),
  };
}

interface FolderPlace {
  readonly connection: string;
  /** The provider's id of the folder; empty for the root. */
  readonly folder: string;
}

async function showFolder(
  context: SignedInContext,
  place: FolderPlace,
  failed?: string,
): Promise<VaultPageAnswer> {
  const { call, request, session } = context;
  const { connection, folder } = place;
  const params = { connection_id: connection };
  const found = (await call(cloudConnectionEndpoints.getConnection, { params })).body;
  const cursor = request.query.get("cursor");
  const query = { parent_ref: folder, limit: PER_PAGE, ...(cursor === null ? {} : { cursor }) };
  const listing = (await call(cloudItemEndpoints.listItems, { params, query })).body;
  const above =
    folder === ""
      ? undefined
      : (
          await call(cloudItemEndpoints.getItemDetail, {
            params: { connection_id: connection, item_id: folder },
          })
        ).body;
  const action = toFolderPath(connection, folder);
  const token = session.formToken;
  const title = above?.name ?? found.display_name;
  return {
    kind: "page",
    title,
    status: failed === undefined ? 200 : 409,
    body: (
      <>
        <p className="crumbs">
          <a href={CONNECTIONS}>Storage</a>
          {above === undefined ? null : (
            <>
              {" / "}
              <a href={toFolderPath(connection)}>
                <Name>{found.display_name}</Name>
              </a>
              {" / "}
              <a href={toFolderPath(connection, above.parent_ref ?? "")}>one folder up</a>
            </>
          )}
        </p>
        <h1>
          <Name>{title}</Name>
        </h1>
        <Alert text={failed} />
        {listing.error_message === null ? null : <p className="notice">{listing.error_message}</p>}
        <div className="actions">
          <span className="quiet">
            {listing.listed_at === null ? (
              "Not listed yet"
            ) : (
              <>
                Listed <Time at={listing.listed_at} />
              </>
            )}
          </span>
          <Form action={action} token={token} className="inline">
            <button name="action" value="refresh">
              Refresh
            </button>
          </Form>
          {found.capabilities?.trash === true ? (
            <a className="button" href={`${CONNECTIONS}/${connection}/trash`}>
              Trash
            </a>
          ) : null}
        </div>
        <Items connection={connection} items={listing.items} />
        {listing.next_cursor === null ? null : (
          <p>
            <a rel="next" href={toNextPath(place, listing.next_cursor)}>
              More
            </a>
          </p>
        )}
        <Menu name="New folder">
          <Form action={action} token={token} className="row">
            <input name="name" required maxLength={255} aria-label="Name of the folder" />
            <button name="action" value="mkdir">
              Make the folder
            </button>
          </Form>
        </Menu>
        <h2>Upload into this folder</h2>
        <UploadForm action={action} token={token} to={connection} folder={folder} />
      </>
    ),
  };
}

const toNextPath = ({ connection, folder }: FolderPlace, cursor: string) =>
  `${CONNECTIONS}/${connection}?${new URLSearchParams({ folder, cursor })}`;

function Items({
  connection,
  items,
}: {
  connection: string;
  items: readonly z.output<typeof itemShape>[];
}) {
  if (items.length === 0)
    return <EmptyState>The folder is empty. Upload files into it below.</EmptyState>;
  return (
    <table className="documents">
      <thead>
        <tr>
          <th>Name</th>
          <th className="number">Size</th>
          <th className="wide">Changed</th>
        </tr>
      </thead>
      <tbody data-rows>
        {items.map((each) => {
          const { provider_item_id: id, kind, name } = each;
          const isFolder = kind === "folder";
          return (
            <tr key={each.id} data-row>
              <td>
                <a
                  href={isFolder ? toFolderPath(connection, id) : toItemPath(connection, id)}
                  data-open
                >
                  <Name>{isFolder ? `${name}/` : name}</Name>
                </a>{" "}
                {isFolder ? (
                  <a
                    className="quiet"
                    href={toItemPath(connection, id)}
                    aria-label={`Change the folder ${name}`}
                  >
                    change
                  </a>
                ) : null}
              </td>
              <td className="number">{each.size === null ? "" : toSizeText(each.size)}</td>
              <td className="wide">
                {each.modified_at === null ? null : <Day at={each.modified_at} />}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

async function changeFolder(
  context: SignedInContext,
  { connection }: { readonly connection: string },
): Promise<VaultPageAnswer> {
  const { form, request, files, call } = context;
  const folder = request.query.get("folder") ?? "";
  const place = { connection, folder };
  const params = { connection_id: connection };
  const back = toFolderPath(connection, folder);
  switch (form.get("action")) {
    case "refresh": {
      const query = { parent_ref: folder, limit: "1", refresh: "true" };
      const tried = await tryForm(() => call(cloudItemEndpoints.listItems, { params, query }));
      return "refusal" in tried
        ? showFolder(context, place, toText(tried.refusal))
        : { kind: "redirect", to: back };
    }
    case "mkdir": {
      const body = { parent_ref: folder, name: form.get("name") ?? "" };
      const tried = await tryForm(async () =>
        assertDone(await call(cloudItemEndpoints.createFolder, { params, body })),
      );
      return "refusal" in tried
        ? showFolder(context, place, toText(tried.refusal))
        : { kind: "redirect", to: back };
    }
    case "upload": {
      const outcome = await storeFiles(files, async (file, filename) =>
        assertDone(
          await call(cloudItemEndpoints.uploadItem, {
            params,
            body: { fields: { parent_ref: folder, filename }, file: { ...file, field: "file" } },
          }),
        ),
      );
      return outcome.refused.length === 0
        ? { kind: "redirect", to: back }
        : showRefused(outcome, back);
    }
    default:
      throw new AppError("invalid_argument", "The page has no such form.");
  }
}
