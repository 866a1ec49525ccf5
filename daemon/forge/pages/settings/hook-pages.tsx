import { adminHookEndpoints, type WireHook } from "../../../contract/forge/hooks/admin-hooks.ts";
import { hookEventWords, hookTypes } from "../../../contract/forge/hooks/fields.ts";
import { organizationHooks, ownHooks } from "../../../contract/forge/hooks/owner-hooks.ts";
import {
  repositoryHooks,
  testRepositoryHook,
} from "../../../contract/forge/hooks/repository-hooks.ts";
import { Facts, State, Time } from "../../../pages/elements.tsx";
import type { ForgePageRoute } from "../forge-page.ts";
import type { Level } from "./level-pages.tsx";
import {
  ActionForm,
  ActionMenu,
  DeleteEntry,
  Entries,
  readChecks,
  readFlag,
  readText,
  type SettingsField,
} from "./settings-form.tsx";
import {
  type Request,
  settingsPage,
  type SettingsPlace,
  toAddress,
  toWindow,
  type View,
} from "./settings-page.tsx";

const hooksOf = {
  repository: repositoryHooks,
  organization: organizationHooks,
  own: ownHooks,
  instance: {
    list: adminHookEndpoints.listHooks,
    create: adminHookEndpoints.createHook,
    get: adminHookEndpoints.getHook,
    edit: adminHookEndpoints.editHook,
    delete: adminHookEndpoints.deleteHook,
    listDeliveries: adminHookEndpoints.listDeliveries,
    getDelivery: adminHookEndpoints.getDelivery,
    redeliver: adminHookEndpoints.redeliver,
  },
};

/** The webhooks of one level, and each with its deliveries. */
export function hookPages<Opened>(place: SettingsPlace<Opened>, level: Level): ForgePageRoute[] {
  const hooks = hooksOf[level];
  const list = `${place.base}/hooks`;
  return [
    ...settingsPage(place, {
      at: "hooks",
      title: "Webhooks",
      show: showHooks,
      actions: { create, delete: remove },
    }),
    ...settingsPage(place, {
      at: "hooks/:id",
      tab: "hooks",
      title: "Webhook",
      show: showHook,
      actions: {
        edit,
        async redeliver(request) {
          const params = { ...request.params, delivery_id: readText(request, "delivery") };
          await request.call(hooks.redeliver, { params });
        },
        ...(level === "repository" ? { test } : {}),
        async delete(request) {
          await request.call(hooks.delete, { params: request.params });
          return { to: toAddress(list, request.params) };
        },
      },
    }),
  ];

  async function showHooks(view: View) {
    const { body, total } = await view.call(hooks.list, {
      params: view.params,
      query: { ...toWindow(view), ...(level === "instance" ? { type: "all" } : {}) },
    });
    return (
      <>
        <Entries
          view={view}
          label="Webhooks"
          empty="No webhooks."
          total={total}
          entries={body.map((hook) => ({
            key: hook.id,
            name: (
              <a href={`${view.home}/${hook.id}`}>
                <bdi>{hook.name || hook.config["url"]}</bdi>
              </a>
            ),
            note: `${hook.type}${hook.active ? "" : " · inactive"} · ${hook.events.join(", ")}`,
            tools: (
              <DeleteEntry view={view} hidden={{ id: String(hook.id) }} submit="Delete the hook" />
            ),
          }))}
        />
        <ActionMenu
          name="New webhook"
          view={view}
          action="create"
          submit="Add webhook"
          tone="primary"
          fields={{
            type: { label: "Kind", type: "select", options: hookTypes },
            ...hookFields,
            ...(level === "instance"
              ? { system: { label: "For every event of this server", type: "check" } as const }
              : {}),
          }}
          values={{
            type: "gitea",
            content_type: "json",
            active: true,
            events: ["push"],
            system: true,
          }}
        />
      </>
    );
  }

  async function create(request: Request): Promise<void> {
    const isSystem = readFlag(request, "system");
    const { config, ...rest } = readHook(request);
    await request.call(hooks.create, {
      params: request.params,
      body: {
        ...rest,
        type: readText(request, "type"),
        authorization_header: readText(request, "authorization_header"),
        config: {
          ...config,
          ...(level === "instance" ? { is_system_webhook: String(isSystem) } : {}),
        },
      },
    });
  }

  async function edit(request: Request): Promise<void> {
    const header = readText(request, "authorization_header");
    await request.call(hooks.edit, {
      params: request.params,
      query: { keep_authorization_header: "true" },
      body: {
        ...readHook(request),
        ...(header === "" ? {} : { authorization_header: header }),
      },
    });
  }

  async function remove(request: Request): Promise<void> {
    const params = { ...request.params, id: readText(request, "id") };
    await request.call(hooks.delete, { params });
  }

  async function test({ call, params }: Request): Promise<void> {
    await call(testRepositoryHook, { params });
  }

  async function showHook(view: View) {
    const { params, call } = view;
    const { body: hook } = await call(hooks.get, { params });
    const { body: deliveries, total } = await call(hooks.listDeliveries, {
      params,
      query: toWindow(view),
    });
    const chosen = view.context.request.query.get("delivery");
    return (
      <>
        <ActionMenu
          name="Edit"
          view={view}
          action="edit"
          submit="Save webhook"
          fields={hookFields}
          values={toValues(hook)}
        />
        <Facts
          rows={[
            ["Kind", hook.type],
            ["Address", hook.config["url"]],
            ["Events", hook.events.join(", ")],
            ["State", hook.active ? "active" : "inactive"],
          ]}
        />
        <div className="tools">
          {level === "repository" ? (
            <ActionForm view={view} action="test" submit="Send a test delivery" isInline />
          ) : null}
          <DeleteEntry view={view} hidden={{}} submit="Delete the hook" />
        </div>
        {chosen === null ? null : await showDelivery(view, chosen)}
        <h3>Deliveries</h3>
        <Entries
          view={view}
          label="Deliveries"
          empty="No deliveries."
          total={total}
          entries={deliveries.map((delivery) => ({
            key: delivery.id,
            name: <a href={`${view.home}?delivery=${delivery.id}`}>{delivery.event}</a>,
            note: (
              <>
                <State word={delivery.state} /> {delivery.response_status} {delivery.error}{" "}
                <Time at={delivery.created_at} />
              </>
            ),
            tools: (
              <ActionForm
                view={view}
                action="redeliver"
                submit="Redeliver"
                hidden={{ delivery: String(delivery.id) }}
                isInline
              />
            ),
          }))}
        />
      </>
    );
  }

  async function showDelivery({ call, params }: View, id: string) {
    const { body } = await call(hooks.getDelivery, { params: { ...params, delivery_id: id } });
    return (
      <section aria-label="Delivery">
        <h3>{`Delivery ${body.uuid}`}</h3>
        <h4>Request</h4>
        <pre tabIndex={0}>{toMessage(body.request)}</pre>
        <h4>Response</h4>
        <pre tabIndex={0}>
          {body.response === null ? (body.error ?? "None.") : toMessage(body.response)}
        </pre>
      </section>
    );
  }
}

const hookFields = {
  url: { label: "Address", max: 2048 },
  content_type: { label: "Format", type: "select", options: ["json", "form"] },
  secret: { label: "Secret; empty keeps it", type: "password", isOptional: true },
  authorization_header: {
    label: "Authorization header; empty keeps it",
    type: "password",
    isOptional: true,
  },
  branch_filter: { label: "Branches, as a pattern", isOptional: true },
  events: { label: "Events", type: "checks", options: hookEventWords },
  active: { label: "Active", type: "check" },
} as const satisfies Record<string, SettingsField>;

function readHook(request: Request) {
  const secret = request.form.get("secret") ?? "";
  return {
    config: {
      url: readText(request, "url"),
      content_type: readText(request, "content_type"),
      ...(secret === "" ? {} : { secret }),
    },
    events: readChecks(request, "events"),
    branch_filter: readText(request, "branch_filter"),
    active: readFlag(request, "active"),
  };
}

const toValues = (hook: WireHook) => ({
  url: hook.config["url"] ?? "",
  content_type: hook.config["content_type"] ?? "json",
  branch_filter: hook.branch_filter,
  events: hook.events,
  active: hook.active,
});

const toMessage = ({
  headers,
  body,
}: {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}) =>
  `${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n")}\n\n${body}`;
