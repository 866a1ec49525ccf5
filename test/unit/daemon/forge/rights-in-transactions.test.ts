import { afterEach, beforeEach, expect, test } from "vitest";
import { createFollowers } from "../../../../daemon/forge/accounts/followers.service.ts";
import { createActions } from "../../../../daemon/forge/actions/actions.service.ts";
import { createArtifacts } from "../../../../daemon/forge/actions/artifacts/artifacts.service.ts";
import { createRunners } from "../../../../daemon/forge/actions/runners/runners.service.ts";
import { reopenLevel } from "../../../../daemon/forge/actions/secrets/levels.service.ts";
import { createSecrets } from "../../../../daemon/forge/actions/secrets/secrets.service.ts";
import { createVariables } from "../../../../daemon/forge/actions/secrets/variables.service.ts";
import type { AnyEndpoint } from "../../../../daemon/contract/endpoint.ts";
import { tagEndpoints } from "../../../../daemon/contract/forge/code/tags.ts";
import { artifactEndpoints } from "../../../../daemon/contract/forge/actions/artifacts.ts";
import { repositoryActionEndpoints } from "../../../../daemon/contract/forge/actions/repository-actions.ts";
import { repositorySecrets } from "../../../../daemon/contract/forge/actions/secrets.ts";
import {
  repositoryHooks,
  testRepositoryHook,
} from "../../../../daemon/contract/forge/hooks/repository-hooks.ts";
import { starEndpoints } from "../../../../daemon/contract/forge/repositories/stars.ts";
import type { ForgeCaller } from "../../../../daemon/forge/caller.ts";
import { type CodeDeps, createCodeAccess } from "../../../../daemon/forge/code/open-code.ts";
import { createDeliveryLog } from "../../../../daemon/forge/hooks/deliveries.service.ts";
import { createHooks } from "../../../../daemon/forge/hooks/hooks.service.ts";
import { createRepositoryHooks } from "../../../../daemon/forge/hooks/repository-hooks.service.ts";
import { reopenPlace, toPlaceId } from "../../../../daemon/forge/organizations/places.ts";
import { grantRepository } from "../../../../daemon/forge/repositories/open-repository.ts";
import { createStars } from "../../../../daemon/forge/repositories/stars.service.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import {
  type ForgeUser,
  insertUser,
  updateUser,
} from "../../../../storage/tables/forge/accounts/users.ts";
import { findRun, insertRun } from "../../../../storage/tables/forge/actions/runs.ts";
import { secretRows } from "../../../../storage/tables/forge/actions/secrets.ts";
import { toRunId, type RunId } from "../../../../storage/tables/forge/ids.ts";
import {
  deleteCollaborator,
  putCollaborator,
} from "../../../../storage/tables/forge/repositories/collaborators.ts";
import {
  type ForgeRepository,
  insertRepository,
  updateRepository,
} from "../../../../storage/tables/forge/repositories/repositories.ts";
import { newRepositoryRow, newUserRow } from "../../../support/forge/forge-rows.ts";
import { interruptOnce, openTestDatabase } from "../../../support/storage/database.ts";

// A right ends after a request has begun and before its transaction: the transaction itself refuses the change.

let db: Database;
let mira: ForgeUser;
let nora: ForgeUser;
let repository: ForgeRepository;
let run: RunId;

beforeEach(async () => {
  db = await openTestDatabase();
  await db.transaction(async (tx) => {
    mira = await insertUser(tx, newUserRow("mira"));
    nora = await insertUser(tx, newUserRow("nora"));
    const row = newRepositoryRow(mira, "cabin", { isEmpty: false, isPrivate: true });
    repository = await insertRepository(tx, row);
    await putCollaborator(tx, repository.id, { userId: nora.id, access: 3 });
    const inserted = await insertRun(tx, {
      repositoryId: repository.id,
      actorId: mira.id,
      event: "push",
      workflowFile: "ci.yml",
      workflowFolder: ".gitea/workflows",
      title: "t",
      ref: "refs/heads/main",
      headSha: "0".repeat(40),
      eventPayload: "{}",
      definition: undefined,
      status: "success",
      error: "",
      concurrencyGroup: "",
      isHeld: false,
      triggerKey: "k",
    });
    run = toRunId(inserted?.id);
  });
});
afterEach(() => db.close());

const callerOf = (user: ForgeUser): ForgeCaller => ({
  user,
  actor: user,
  method: "token",
  scope: "all",
});
const unused = <T>() => ({}) as T;

/** A database on which nora is no collaborator any more when a transaction begins. */
const withoutNora = () =>
  interruptOnce(db, () => db.transaction((tx) => deleteCollaborator(tx, repository.id, nora.id)));

/** Opens the repository for an operation, as the binder does. */
async function openAs(user: ForgeUser, { on, acceptsArchived }: AnyEndpoint) {
  if (on?.kind !== "repository") throw new Error("the operation is not on a repository");
  const grant = { caller: callerOf(user), permission: on, isChange: acceptsArchived !== true };
  return grantRepository(db, { repository, owner: mira }, grant);
}

const isMissing = { code: "not_found" };

test("a collaborator who is removed meanwhile neither deletes, cancels nor repeats a run", async () => {
  const change = (choose: (actions: ReturnType<typeof createActions>) => Promise<unknown>) => {
    const refuse = () => Promise.reject(new Error("the change was made"));
    const engine = { cancel: refuse } as unknown as Parameters<typeof createActions>[0]["engine"];
    const actions = createActions({
      db: withoutNora(),
      logs: unused(),
      engine,
      reruns: { rerun: refuse },
      starter: { approve: refuse },
    });
    return choose(actions);
  };
  const caller = callerOf(nora);
  const opened = await openAs(nora, repositoryActionEndpoints.rerunRun);
  for (const choose of [
    (actions: ReturnType<typeof createActions>) => actions.deleteRun(opened, run),
    (actions: ReturnType<typeof createActions>) => actions.cancelRun(opened, run),
    (actions: ReturnType<typeof createActions>) => actions.approveRun(opened, run, caller),
    (actions: ReturnType<typeof createActions>) => actions.rerun(opened, run, caller, "all"),
    (actions: ReturnType<typeof createActions>) =>
      actions.rerunJob(opened, { run, job_id: 1 }, caller),
  ]) {
    await db.transaction((tx) =>
      putCollaborator(tx, repository.id, { userId: nora.id, access: 3 }),
    );
    await expect(change(choose)).rejects.toMatchObject(isMissing);
  }
  expect(await findRun(db, run)).toBeDefined();
});

test("a collaborator who is removed meanwhile neither stars nor deletes artifacts", async () => {
  const stars = createStars({ db: withoutNora(), lists: unused() });
  const starred = await openAs(nora, starEndpoints.starRepository);
  await expect(stars.star(starred, callerOf(nora))).rejects.toMatchObject(isMissing);
  await db.transaction((tx) => putCollaborator(tx, repository.id, { userId: nora.id, access: 3 }));
  const artifacts = createArtifacts({ db: withoutNora(), store: unused(), addresses: unused() });
  const opened = await openAs(nora, artifactEndpoints.deleteArtifact);
  await expect(artifacts.remove(opened, 1)).rejects.toMatchObject({
    code: "not_found",
    message: expect.not.stringContaining("artifact"),
  });
});

test("a collaborator who is removed while a write waits for its turn commits nothing", async () => {
  const limiter: Pick<CodeDeps["limiter"], "acquire"> = {
    async acquire() {
      await db.transaction((tx) => deleteCollaborator(tx, repository.id, nora.id));
      return () => undefined;
    },
  };
  const access = createCodeAccess({
    db,
    git: unused(),
    locate: async () => "/nowhere",
    limiter: limiter as CodeDeps["limiter"],
  });
  const request = {
    opened: await openAs(nora, tagEndpoints.createTag),
    caller: callerOf(nora),
    address: "::1",
    signal: new AbortController().signal,
  };
  const write = access.write(request, () => Promise.reject(new Error("written")));
  await expect(write).rejects.toMatchObject(isMissing);
});

test("an account that hides meanwhile is not followed", async () => {
  const hide = () => db.transaction((tx) => updateUser(tx, mira, { visibility: "private" }));
  const followers = createFollowers({ db: interruptOnce(db, hide) });
  await expect(followers.follow("mira", callerOf(nora))).rejects.toMatchObject(isMissing);
});

test("an administrator who is removed meanwhile delivers no event again", async () => {
  const targets = { seal: () => "sealed", open: () => ({ url: "http://receiver.example" }) };
  const hooks = createHooks({
    db,
    targets: targets as unknown as Parameters<typeof createHooks>[0]["targets"],
  });
  const { hook } = await hooks.create(() => ({ kind: "repository", id: repository.id }), {
    type: "gitea",
    config: { url: "http://receiver.example", content_type: "json" },
    events: ["push"],
    branchFilter: "",
    authorizationHeader: "",
    isActive: true,
    name: "",
  });
  const late = withoutNora();
  const common = { enqueue: () => Promise.reject(new Error("delivered")), newUuid: () => "u" };
  const log = createDeliveryLog({ ...common, db: late });
  const caller = callerOf(nora);
  const opened = await openAs(nora, repositoryHooks.redeliver);
  await expect(
    log.redeliver(
      async (tx) => toPlaceId(await reopenPlace(tx, opened)),
      { hookId: hook.id, id: 1 as never },
      caller,
    ),
  ).rejects.toMatchObject(isMissing);
  await db.transaction((tx) => putCollaborator(tx, repository.id, { userId: nora.id, access: 3 }));
  const again = createRepositoryHooks({
    ...common,
    db: withoutNora(),
    hooks,
    describeHead: async () => ({}) as never,
  });
  await expect(
    again.test(await openAs(nora, testRepositoryHook), { id: hook.id, ref: "main" }, caller),
  ).rejects.toMatchObject(isMissing);
});

test("an owner who gives the repository away meanwhile changes no secret, variable or runner of it", async () => {
  const giveTo = (owner: ForgeUser) => updateRepository(db, repository.id, { ownerId: owner.id });
  const late = () => interruptOnce(db, () => giveTo(nora));
  await giveTo(mira);
  const level = reopenLevel(await openAs(mira, repositorySecrets.put));
  const sealer = { seal: () => "sealed" } as unknown as Parameters<
    typeof createSecrets
  >[0]["sealer"];
  const runners = () =>
    createRunners({ db: late(), clock: () => 0, registration: unused(), tasks: unused() });
  for (const change of [
    () => createSecrets({ db: late(), sealer }).put(level, "KEY", { data: "x" }),
    () => createSecrets({ db: late(), sealer }).delete(level, "KEY"),
    () => createVariables({ db: late() }).create(level, "KEY", { value: "x" }),
    () => createVariables({ db: late() }).edit(level, "KEY", { value: "x" }),
    () => createVariables({ db: late() }).delete(level, "KEY"),
    () => runners().edit(level, 1, true),
    () => runners().delete(level, 1),
  ]) {
    await giveTo(mira);
    const missing = { ...isMissing, message: expect.not.stringMatching(/secret|variable|runner/) };
    await expect(change()).rejects.toMatchObject(missing);
  }
  const all = { ownerId: undefined, repositoryId: repository.id };
  expect((await secretRows.list(db, all, { limit: 1, offset: 0 })).total).toBe(0);
});
