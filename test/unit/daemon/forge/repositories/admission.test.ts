import { afterEach, beforeEach, expect, test } from "vitest";
import { organization, repository } from "../../../../../daemon/contract/permission.ts";
import type { ForgeCaller } from "../../../../../daemon/forge/caller.ts";
import { createHooks } from "../../../../../daemon/forge/hooks/hooks.service.ts";
import { grantOrganization } from "../../../../../daemon/forge/organizations/organization-access.ts";
import { reopenPlace, toPlaceId } from "../../../../../daemon/forge/organizations/places.ts";
import { grantRepository } from "../../../../../daemon/forge/repositories/open-repository.ts";
import {
  createRepositoriesService,
  type RepositoriesDeps,
} from "../../../../../daemon/forge/repositories/repositories.service.ts";
import { createGenerator } from "../../../../../daemon/forge/repositories/templates/generate.service.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { createGit } from "../../../../../storage/git/git.ts";
import {
  findUserById,
  type ForgeUser,
  insertUser,
} from "../../../../../storage/tables/forge/accounts/users.ts";
import {
  deleteTeamMember,
  insertTeam,
  insertTeamMember,
} from "../../../../../storage/tables/forge/accounts/teams.ts";
import { listHooksOf } from "../../../../../storage/tables/forge/hooks/hooks.ts";
import {
  deleteCollaborator,
  putCollaborator,
} from "../../../../../storage/tables/forge/repositories/collaborators.ts";
import {
  findRepositoryByName,
  type ForgeRepository,
  insertRepository,
  updateRepository,
} from "../../../../../storage/tables/forge/repositories/repositories.ts";
import type { TeamId } from "../../../../../storage/tables/forge/ids.ts";
import { newRepositoryRow, newUserRow } from "../../../../support/forge/forge-rows.ts";
import { interruptOnce, openTestDatabase } from "../../../../support/storage/database.ts";

// A right that ends while a request does its slow work: the request changes nothing.

let db: Database;
let guild: ForgeUser;
let rita: ForgeUser;
let teamId: TeamId;
let template: ForgeRepository;

beforeEach(async () => {
  db = await openTestDatabase();
  await db.transaction(async (tx) => {
    guild = await insertUser(tx, newUserRow("guild", { kind: "organization" }));
    rita = await insertUser(tx, newUserRow("rita"));
    const mira = await insertUser(tx, newUserRow("mira"));
    ({ id: teamId } = await insertTeam(tx, {
      orgId: guild.id,
      name: "makers",
      description: "",
      access: 1,
      includesAllRepositories: false,
      canCreateRepositories: true,
      visibility: "public",
      units: new Map([["repo.code", 1]]),
    }));
    await insertTeamMember(tx, { id: teamId, orgId: guild.id }, rita.id);
    const row = newRepositoryRow(mira, "mould", { isTemplate: true });
    template = await insertRepository(tx, row);
    await putCollaborator(tx, template.id, { userId: rita.id, access: 3 });
  });
});
afterEach(() => db.close());

const callerOf = (user: ForgeUser): ForgeCaller => ({
  user,
  actor: user,
  method: "token",
  scope: "all",
});

/** The dependencies of a creation whose files are created while `change` happens. */
function depsDuring(change: () => Promise<unknown>, undone: string[]): RepositoriesDeps {
  const files = {
    exists: async () => false,
    create: async () => {
      await change();
      return { path: ".croft/new-1", sizeKib: 1 };
    },
    undo: async (path: string) => void undone.push(path),
  };
  const moves = { completeAt: async () => undefined, complete: async () => true };
  return {
    db,
    clock: Date.now,
    newId: () => "1",
    files,
    moves,
    templates: {},
    events: {},
    commitEmail: ({ email }: ForgeUser) => email,
  } as unknown as RepositoriesDeps;
}

const options = {
  name: "shed",
  description: "",
  isPrivate: false,
  isTemplate: false,
  issueLabels: "",
  autoInit: false,
  gitignores: "",
  license: "",
  readme: "",
  defaultBranch: "",
  trustModel: "",
  objectFormat: "",
};

const leave = () => db.transaction((tx) => deleteTeamMember(tx, teamId, rita.id));

test("a member who leaves the team while the files are created gets no repository", async () => {
  const undone: string[] = [];
  const caller = callerOf(rita);
  const opened = await grantOrganization(db, "guild", {
    caller,
    permission: organization("viewer"),
  });
  const create = (change: () => Promise<unknown>) => {
    const repositories = createRepositoriesService(depsDuring(change, undone));
    return repositories.createInOrganization(opened, options, caller);
  };
  await expect(create(leave)).rejects.toMatchObject({ code: "forbidden" });
  expect(await findRepositoryByName(db, guild.id, "shed")).toBeUndefined();
  expect(undone).toEqual([".croft/new-1"]);
});

test("a repository is not made of a template whose rights end while it is copied", async () => {
  const takes = {
    content: false,
    topics: false,
    labels: false,
    webhooks: false,
    protectedBranch: true,
    gitHooks: false,
    avatar: false,
  };
  const undone: string[] = [];
  const generate = async (change: () => Promise<unknown>) => {
    const run = createGenerator({
      ...depsDuring(change, undone),
      git: createGit({ searchPath: "" }),
      urls: { publicUrl: () => "http://forge.example" },
      locate: async () => "/",
      copyHooks: async () => undefined,
    });
    const wanted = { ...options, owner: "guild", takes };
    const permission = repository("code", "read", { evenOff: true });
    const grant = { caller: callerOf(rita), permission, isChange: false };
    const owner = await findUserById(db, template.ownerId);
    if (owner === undefined) throw new Error("the owner is missing");
    const opened = await grantRepository(db, { repository: template, owner }, grant);
    return run(opened, wanted, callerOf(rita), new AbortController().signal);
  };
  await expect(generate(leave)).rejects.toMatchObject({ code: "forbidden" });
  await db.transaction((tx) => insertTeamMember(tx, { id: teamId, orgId: guild.id }, rita.id));
  const demote = () => db.transaction((tx) => deleteCollaborator(tx, template.id, rita.id));
  await expect(generate(demote)).rejects.toMatchObject({ code: "forbidden" });
  const close = () => updateRepository(db, template.id, { isTemplate: false });
  await db.transaction((tx) => putCollaborator(tx, template.id, { userId: rita.id, access: 3 }));
  await expect(generate(close)).rejects.toMatchObject({ code: "unprocessable" });
  expect(await findRepositoryByName(db, guild.id, "shed")).toBeUndefined();
  expect(undone).toHaveLength(3);
});

test("a hook is not created by a person who meanwhile no longer administers the repository", async () => {
  const demote = () => db.transaction((tx) => deleteCollaborator(tx, template.id, rita.id));
  const interrupted = interruptOnce(db, demote);
  const targets = { seal: () => "sealed", open: () => ({ url: "" }) };
  const hooks = createHooks({
    db: interrupted,
    targets: targets as unknown as Parameters<typeof createHooks>[0]["targets"],
  });
  const owner = await findUserById(db, template.ownerId);
  if (owner === undefined) throw new Error("the owner is missing");
  const permission = repository("any", "admin");
  const grant = { caller: callerOf(rita), permission, isChange: false };
  const opened = await grantRepository(db, { repository: template, owner }, grant);
  const input = {
    type: "gitea",
    config: { url: "http://receiver.example/", content_type: "json" },
    events: ["push"],
    branchFilter: "",
    authorizationHeader: "",
    isActive: true,
    name: "",
  };
  const create = hooks.create(async (tx) => toPlaceId(await reopenPlace(tx, opened)), input);
  await expect(create).rejects.toMatchObject({ code: "forbidden" });
  const home = { kind: "repository", id: template.id } as const;
  expect((await listHooksOf(db, home, { limit: 1, offset: 0 })).total).toBe(0);
});
