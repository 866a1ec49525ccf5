import type { z } from "zod";
import { type aiConfig, aiConfigEndpoints } from "../../contract/vault/ai-config.ts";
import { jobEndpoints } from "../../contract/vault/jobs.ts";
import { AppError } from "../../errors.ts";
import { Alert, EmptyState, Menu, Pager, State, Tabs, Time } from "../../pages/elements.tsx";
import { Form } from "../../pages/form.tsx";
import { toPageNumber } from "../../pages/page.ts";
import { AdminTabs, AI, JOBS } from "./admin-tabs.tsx";
import {
  open,
  type SignedInContext,
  submit,
  toText,
  tryForm,
  type VaultPageAnswer,
  type VaultPageRoute,
} from "./vault-page.ts";

const PER_PAGE = 50;

/** The AI providers and the background jobs, for administrators. */
export function systemPages(): VaultPageRoute[] {
  return [
    open(AI, (context) => showAi(context)),
    submit(AI, changeAi),
    open(JOBS, (context) => showJobs(context)),
    submit(JOBS, changeJob),
  ];
}

type Provider = z.output<typeof aiConfig>["providers"][number];

const providerNames: Readonly<Record<Provider["provider_id"], string>> = {
  openai: "OpenAI",
  anthropic: "Anthropic",
  ollama: "Ollama",
  openai_compatible: "Compatible with OpenAI",
};

async function showAi(
  { call, session, form }: SignedInContext,
  said?: { readonly text: string; readonly isGood: boolean },
): Promise<VaultPageAnswer> {
  const { body } = await call(aiConfigEndpoints.viewAiConfig);
  return {
    kind: "page",
    title: "AI",
    status: said?.isGood === false ? 422 : 200,
    body: (
      <>
        <h1>AI</h1>
        <AdminTabs current="ai" />
        {said?.isGood === true ? (
          <p className="notice" role="status">
            {said.text}
          </p>
        ) : (
          <Alert text={said?.text} />
        )}
        <p>
          {body.active_provider_id === null
            ? "No provider is active: topics are chosen by words on this server."
            : `${providerNames[body.active_provider_id]} is active.`}
        </p>
        {body.providers.map((each) => (
          <ProviderForm
            key={each.provider_id}
            provider={each}
            token={session.formToken}
            typed={form.get("provider_id") === each.provider_id ? form : undefined}
          />
        ))}
      </>
    ),
  };
}

function ProviderForm({
  provider,
  token,
  typed,
}: {
  provider: Provider;
  token: string;
  /** The form that was sent and is shown again; the key in it is not. */
  typed: SignedInContext["form"] | undefined;
}) {
  const { provider_id: id } = provider;
  const valueOf = (name: "base_url" | "model_name" | "embedding_model_name") =>
    typed?.get(name) ?? provider[name] ?? "";
  const hasTypedKey = (typed?.get("api_key") ?? "") !== "";
  return (
    <Menu
      name={providerNames[id] + (provider.is_active ? " (active)" : "")}
      isOpen={typed !== undefined}
    >
      <Form action={AI} token={token} className="stack">
        <input type="hidden" name="provider_id" value={id} />
        <label>
          {toKeyLabel(provider.has_api_key, hasTypedKey)}
          <input type="password" name="api_key" maxLength={4096} autoComplete="off" />
        </label>
        <label>
          Address
          <input name="base_url" defaultValue={valueOf("base_url")} maxLength={2048} />
        </label>
        <label>
          Model
          <input name="model_name" defaultValue={valueOf("model_name")} maxLength={200} />
        </label>
        <label>
          Model for the search by meaning
          <input
            name="embedding_model_name"
            defaultValue={valueOf("embedding_model_name")}
            maxLength={200}
          />
        </label>
        <div className="actions">
          <button name="action" value="test">
            Test
          </button>
          <button name="action" value="save" className="primary">
            Save and use
          </button>
          {provider.is_active ? (
            <button name="action" value="off">
              Do not use
            </button>
          ) : null}
        </div>
      </Form>
    </Menu>
  );
}

function toKeyLabel(hasKey: boolean, hasTypedKey: boolean): string {
  if (hasTypedKey) return "API key; type it again to save it";
  return hasKey ? "API key; empty keeps the stored one" : "API key";
}

async function changeAi(context: SignedInContext): Promise<VaultPageAnswer> {
  const { form, call } = context;
  const text = (name: string) => (form.get(name) ?? "").trim();
  const fields = ["api_key", "base_url", "model_name"].map((name) => [name, text(name)] as const);
  const body = {
    provider_id: text("provider_id"),
    ...Object.fromEntries(fields.filter(([, value]) => value !== "")),
    embedding_model_name: text("embedding_model_name") || null,
  };
  if (form.get("action") === "test") {
    const tested = await tryForm(() => call(aiConfigEndpoints.testAiConnection, { body }));
    return "refusal" in tested
      ? showAi(context, { text: toText(tested.refusal), isGood: false })
      : showAi(context, { text: tested.result.body.message, isGood: tested.result.body.ok });
  }
  const isActive = form.get("action") === "save";
  const saved = await tryForm(() =>
    call(aiConfigEndpoints.setAiConfig, { body: { ...body, is_active: isActive } }),
  );
  return "refusal" in saved
    ? showAi(context, { text: toText(saved.refusal), isGood: false })
    : { kind: "redirect", to: AI };
}

const states = ["waiting", "running", "dead"] as const;
const stateNames = { waiting: "Waiting", running: "Running", dead: "Failed" } as const;

async function showJobs(context: SignedInContext, failed?: string): Promise<VaultPageAnswer> {
  const { request, call, session } = context;
  const state = states.find((each) => each === request.query.get("state"));
  const page = toPageNumber(request);
  const query = { page: String(page), per_page: String(PER_PAGE), ...(state && { state }) };
  const { items, total } = (await call(jobEndpoints.listJobs, { query })).body;
  return {
    kind: "page",
    title: "Jobs",
    status: failed === undefined ? 200 : 409,
    body: (
      <>
        <h1>Jobs</h1>
        <AdminTabs current="jobs" />
        <Alert text={failed} />
        <Tabs
          label="State"
          current={state ?? "all"}
          tabs={[
            { key: "all", text: "All", href: JOBS },
            ...states.map((each) => ({
              key: each,
              text: stateNames[each],
              href: `${JOBS}?state=${each}`,
            })),
          ]}
        />
        {items.length === 0 ? <EmptyState>No jobs.</EmptyState> : null}
        <ul className={items.length === 0 ? undefined : "list"}>
          {items.map((each) => (
            <li key={each.id}>
              {each.description} <State word={each.state === "dead" ? "failure" : each.state} />{" "}
              <span className="quiet">
                {each.kind}, due <Time at={each.run_at} />
                {each.attempts === 0 ? "" : `, attempt ${each.attempts}`}
              </span>{" "}
              {each.last_error === null ? null : <p className="quiet">{each.last_error}</p>}
              {each.state === "running" ? null : (
                <Form action={JOBS} token={session.formToken} className="inline">
                  <input type="hidden" name="job" value={each.id} />
                  <button
                    className="link"
                    name="action"
                    value="retry"
                    aria-label={`Run now: ${each.description}`}
                  >
                    Run now
                  </button>
                  {/* A scheduled task cannot be deleted: without it the schedule would stop. */}
                  {each.kind.startsWith("schedule.") ? null : (
                    <button
                      className="link"
                      name="action"
                      value="cancel"
                      aria-label={`Delete: ${each.description}`}
                    >
                      Delete
                    </button>
                  )}
                </Form>
              )}
            </li>
          ))}
        </ul>
        <Pager page={page} limit={PER_PAGE} total={total} query={request.query} />
      </>
    ),
  };
}

async function changeJob(context: SignedInContext): Promise<VaultPageAnswer> {
  const { form, call } = context;
  const params = { job_id: form.get("job") ?? "" };
  const tried = await tryForm(async () => {
    switch (form.get("action")) {
      case "retry":
        return call(jobEndpoints.retryJob, { params });
      case "cancel":
        return call(jobEndpoints.cancelJob, { params });
      default:
        throw new AppError("invalid_argument", "The page has no such form.");
    }
  }, ["conflict", "not_found"]);
  return "refusal" in tried
    ? showJobs(context, toText(tried.refusal))
    : { kind: "redirect", to: JOBS };
}
