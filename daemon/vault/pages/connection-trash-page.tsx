import { cloudTrashEndpoints } from "../../contract/vault/cloud/trash.ts";
import { AppError } from "../../errors.ts";
import { Alert, EmptyState, Time } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { CONNECTIONS, toFolderPath } from "./addresses.ts";
import { Name, toConfirmation, toSizeText } from "./elements.tsx";
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

/** The trash of a connected storage. */
export function trashPages(): VaultPageRoute[] {
  return [
    open(`${CONNECTIONS}/:connection/trash`, (context, { connection }) =>
      showTrash(context, connection),
    ),
    submit(`${CONNECTIONS}/:connection/trash`, changeTrash),
  ];
}

async function showTrash(
  { call, request, session }: SignedInContext,
  connection: string,
  failed?: string,
): Promise<VaultPageAnswer> {
  const cursor = request.query.get("cursor");
  const answer = await call(cloudTrashEndpoints.listTrash, {
    params: { connection_id: connection },
    query: cursor === null ? {} : { cursor },
  });
  assertDone(answer);
  const { items, next_cursor: next } = answer.body;
  const form = { action: `${CONNECTIONS}/${connection}/trash`, token: session.formToken };
  return {
    kind: "page",
    title: "Trash",
    status: failed === undefined ? 200 : 409,
    body: (
      <>
        <p className="crumbs">
          <a href={toFolderPath(connection)}>Back to the storage</a>
        </p>
        <h1>Trash</h1>
        <Alert text={failed} />
        {items.length === 0 && next === null ? (
          <EmptyState>
            The trash is empty. What you delete in this storage can be restored from here.
          </EmptyState>
        ) : (
          <Form {...form}>
            <button name="action" value="empty" className="danger">
              Empty the trash
            </button>
          </Form>
        )}
        <ul className={items.length === 0 ? undefined : "list after"}>
          {items.map((each) => (
            <li key={each.trash_id}>
              <Name>{each.name}</Name>{" "}
              <span className="quiet">
                {[
                  ...(each.location === null ? [] : [`from ${each.location}`]),
                  ...(each.size === null ? [] : [toSizeText(each.size)]),
                ].join(", ")}
                {each.deleted_at === null ? null : (
                  <>
                    {each.location === null && each.size === null ? "" : ", "}
                    deleted <Time at={each.deleted_at} />
                  </>
                )}
              </span>{" "}
              <Form {...form} className="inline">
                <input type="hidden" name="id" value={each.trash_id} />
                <button
                  className="link"
                  name="action"
                  value="restore"
                  aria-label={`Restore ${each.name}`}
                >
                  Restore
                </button>
              </Form>
            </li>
          ))}
        </ul>
        {next === null ? null : (
          <p>
            <a rel="next" href={`${form.action}?cursor=${encodeURIComponent(next)}`}>
              More
            </a>
          </p>
        )}
      </>
    ),
  };
}

async function changeTrash(
  context: SignedInContext,
  { connection }: { readonly connection: string },
): Promise<VaultPageAnswer> {
  const { form, call, session } = context;
  const params = { connection_id: connection };
  const here = `${CONNECTIONS}/${connection}/trash`;
  if (form.get("action") === "empty" && form.get("done") !== "yes")
    return toConfirmation({
      title: "Empty the trash?",
      children: <p>Its files are removed for ever.</p>,
      action: here,
      token: session.formToken,
      fields: [
        ["action", "empty"],
        ["done", "yes"],
      ],
      submit: "Empty the trash",
      back: here,
    });
  const tried = await tryForm(async () => {
    switch (form.get("action")) {
      case "restore": {
        const body = { trash_id: form.get("id") ?? "" };
        return assertDone(await call(cloudTrashEndpoints.restoreTrashed, { params, body }));
      }
      case "empty":
        return assertDone(await call(cloudTrashEndpoints.emptyTrash, { params }));
      default:
        throw new AppError("invalid_argument", "The page has no such form.");
    }
  });
  return "refusal" in tried
    ? showTrash(context, connection, toText(tried.refusal))
    : { kind: "redirect", to: here };
}
