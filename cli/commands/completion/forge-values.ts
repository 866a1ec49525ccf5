import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { type RepositoryName, toRepositoryName } from "../../support/repository.ts";
import type { ForgeValueKind } from "../../tree/entry.ts";
import type { Candidate, Question } from "./question.ts";

/** Lists values; some of them may not begin with the typed text. */
export type ValueFinder = (cli: CliContext, question: Question) => Promise<readonly Candidate[]>;

/** One page of the maximum size. A shell shows no more values; more typing narrows them. */
const PAGE = { page: 1, limit: 50 };

/** Finds values of each kind with at most two requests. */
export const forgeValues: Readonly<Record<ForgeValueKind, ValueFinder>> = {
  async users({ client }, question) {
    const repository = findRepository(question);
    try {
      const { body } = await client.call(forge.listUsers, {
        query: { ...PAGE, q: question.typed },
      });
      return body.map(({ username, full_name: name }) => toCandidate(username, name));
    } catch (error) {
      // Only administrators may list users; for others the repository's collaborators are listed.
      if (repository === undefined) throw error;
      const { body } = await client.call(forge.listAssignableUsers, { params: repository });
      return body.map(({ username, full_name: name }) => toCandidate(username, name));
    }
  },
  organizations: listOrganizations,
  async owners(cli) {
    const { body } = await cli.client.call(forge.getCurrentUser);
    return [toCandidate(body.username, body.full_name), ...(await listOrganizations(cli))];
  },
  repositories: (cli, { typed }) => listRepositories(cli, typed, ""),
  async issues(cli, { typed }) {
    const [name = "", index] = typed.split("#");
    if (index === undefined) return listRepositories(cli, typed, "#");
    const { body } = await cli.client.call(forge.listIssues, {
      params: toRepositoryName(name),
      query: { ...PAGE, state: "all" },
    });
    return body.map(({ number, title }) => toCandidate(`${name}#${number}`, title));
  },
  runs: (cli, { typed }) =>
    listBelowRepository(cli, typed, async (params) => {
      const { body } = await cli.client.call(forge.listRepositoryRuns, { params, query: PAGE });
      return body.workflow_runs.map(({ id, display_title: title }) => ({ id, title }));
    }),
  run_jobs: (cli, { typed }) =>
    listBelowRepository(cli, typed, async (params) => {
      const { body } = await cli.client.call(forge.listRepositoryJobs, { params, query: PAGE });
      return body.jobs.map(({ id, name }) => ({ id, title: name }));
    }),
  async threads({ client }) {
    const { body } = await client.call(forge.listNotifications, { query: { ...PAGE, all: true } });
    return body.map(({ id, subject }) => toCandidate(id, subject?.title));
  },
  async hooks({ client }, question) {
    const repository = findRepository(question);
    const { body } =
      repository === undefined
        ? await client.call(forge.listHooks, { query: { ...PAGE, type: "all" } })
        : await client.call(forge.listRepositoryHooks, { params: repository, query: PAGE });
    return body.map(({ id, config }) => toCandidate(id, config["url"]));
  },
  async cron_tasks({ client }) {
    const { body } = await client.call(forge.listCronTasks, { query: PAGE });
    return body.map(({ name, schedule }) => toCandidate(name, schedule));
  },
  async runners({ client }, question) {
    const repository = findRepository(question);
    const org = question.flags.get("--org");
    const { body } =
      repository !== undefined
        ? await client.call(forge.listRepositoryRunners, { params: repository, query: PAGE })
        : org === undefined
          ? await client.call(forge.listRunners, { query: PAGE })
          : await client.call(forge.listOrganizationRunners, { params: { org }, query: PAGE });
    return body.runners.map(({ id, name }) => toCandidate(id, name));
  },
  async teams(cli, { typed }) {
    const [org = "", name] = typed.split("/");
    const { body } =
      name === undefined
        ? await cli.client.call(forge.listOwnTeams, { query: PAGE })
        : await cli.client.call(forge.listTeams, { params: { org }, query: PAGE });
    return body.map((team) =>
      toCandidate(`${team.organization.name}/${team.name}`, team.permission),
    );
  },
  async labels({ client }, question) {
    const place = question.args[0] ?? "";
    const repository = findRepository(question);
    const { body } =
      repository === undefined
        ? await client.call(forge.listOrgLabels, { params: { org: place }, query: PAGE })
        : await client.call(forge.listLabels, { params: repository, query: PAGE });
    return body.map(({ name, description }) => toCandidate(name, description));
  },
  async milestones({ client }, question) {
    const { body } = await client.call(forge.listMilestones, {
      params: getRepository(question),
      query: PAGE,
    });
    return body.map(({ title, state }) => toCandidate(title, state));
  },
  async branches({ client }, question) {
    const { body } = await client.call(forge.listBranches, {
      params: getRepository(question),
      query: PAGE,
    });
    return body.map(({ name, commit }) => toCandidate(name, commit.message.split("\n")[0]));
  },
  async tags({ client }, question) {
    const { body } = await client.call(forge.listTags, {
      params: getRepository(question),
      query: PAGE,
    });
    return body.map(({ name, message }) => toCandidate(name, message.split("\n")[0]));
  },
  async releases({ client }, question) {
    const { body } = await client.call(forge.listReleases, {
      params: getRepository(question),
      query: PAGE,
    });
    return body.map(({ tag_name: tag, name }) => toCandidate(tag, name));
  },
  async wiki_pages({ client }, question) {
    const { body } = await client.call(forge.listWikiPages, {
      params: getRepository(question),
      query: PAGE,
    });
    return body.map(({ title, sub_url: name }) => toCandidate(title, name));
  },
  async workflows({ client }, question) {
    const { body } = await client.call(forge.listWorkflows, { params: getRepository(question) });
    return body.workflows.map(({ id, name }) => toCandidate(id, name));
  },
  async tokens({ client }) {
    const { body: user } = await client.call(forge.getCurrentUser);
    const params = { username: user.username };
    const { body } = await client.call(forge.listTokens, { params, query: PAGE });
    return body.map(({ name, scopes }) => toCandidate(name, scopes.join(" ")));
  },
  async ssh_keys({ client }) {
    const { body } = await client.call(forge.listOwnKeys, { query: PAGE });
    return body.map(({ id, title }) => toCandidate(id, title));
  },
  async deploy_keys({ client }, question) {
    const { body } = await client.call(forge.listDeployKeys, {
      params: getRepository(question),
      query: PAGE,
    });
    return body.map(({ id, title }) => toCandidate(id, title));
  },
  async badges({ client }) {
    const { body } = await client.call(forge.listBadges, { query: PAGE });
    return body.map(({ slug, description }) => toCandidate(slug, description));
  },
};

function toCandidate(value: string | number, description: string | undefined): Candidate {
  return { value: String(value), description: description ?? "" };
}

/** Administrators see all organizations, others their own. */
async function listOrganizations({ client }: CliContext): Promise<readonly Candidate[]> {
  const own = await client.call(forge.listOwnOrganizations, { query: PAGE });
  const all = await client.call(
    forge.listOrganizations,
    { query: PAGE },
    { accept: ({ status }) => status === 403 },
  );
  const found = Array.isArray(all.body) ? [...own.body, ...all.body] : own.body;
  return found.map(({ name, full_name: description }) => toCandidate(name, description));
}

/** Repositories that the caller may read, the newest changes first, each with `end` after its name. */
async function listRepositories(
  { client }: CliContext,
  typed: string,
  end: string,
): Promise<readonly Candidate[]> {
  const [, name = ""] = typed.split("/");
  const { body } = await client.call(forge.searchRepositories, {
    query: { ...PAGE, q: name, sort: "updated", order: "desc" },
  });
  return body.data.map(({ full_name: fullName, description }) =>
    toCandidate(`${fullName}${end}`, description),
  );
}

/** Completes `OWNER/NAME/ID`: first the repository, then the ids that `list` returns for it. */
async function listBelowRepository(
  cli: CliContext,
  typed: string,
  list: (
    repository: RepositoryName,
  ) => Promise<readonly { readonly id: number; readonly title: string }[]>,
): Promise<readonly Candidate[]> {
  const above = findAbove(typed);
  if (above === undefined) return listRepositories(cli, typed, "/");
  const found = await list(toRepositoryName(above));
  return found.map(({ id, title }) => toCandidate(`${above}/${id}`, title));
}

/** The repository in `OWNER/NAME/…`; undefined while its name is being typed. */
function findAbove(typed: string): string | undefined {
  const [owner, repo, ...rest] = typed.split("/");
  return rest.length === 0 ? undefined : `${owner}/${repo}`;
}

/** The repository that a line names before the value: with `--repo`, or as its first argument. */
function findRepository({ args, flags }: Question): RepositoryName | undefined {
  const [repository] = (flags.get("--repo") ?? args[0] ?? "").split("#");
  const [owner = "", repo = ""] = (repository ?? "").split("/");
  return owner === "" || repo === "" ? undefined : { owner, repo };
}

/** @throws Error when the line names no repository */
function getRepository(question: Question): RepositoryName {
  const found = findRepository(question);
  if (found === undefined) throw new Error("the line names no repository");
  return found;
}
