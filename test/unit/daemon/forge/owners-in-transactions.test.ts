import { afterEach, beforeEach, expect, test } from "vitest";
import { packages, team as teamRole } from "../../../../daemon/contract/permission.ts";
import type { ForgeCaller } from "../../../../daemon/forge/caller.ts";
import type { GrantedPackages, GrantedTeam } from "../../../../daemon/forge/opened.ts";
import { grantTeam } from "../../../../daemon/forge/organizations/organization-access.ts";
import { createTeamRepositories } from "../../../../daemon/forge/organizations/team-repositories.service.ts";
import { createTeams } from "../../../../daemon/forge/organizations/teams.service.ts";
import { grantPackages } from "../../../../daemon/forge/packages/access.ts";
import { createContainerBlobs } from "../../../../daemon/forge/packages/containers/blobs.service.ts";
import { createContainerManifests } from "../../../../daemon/forge/packages/containers/manifests.service.ts";
import { createContainerUploads } from "../../../../daemon/forge/packages/containers/uploads.service.ts";
import { createGenericPackages } from "../../../../daemon/forge/packages/generic.service.ts";
import { createNpmRegistry } from "../../../../daemon/forge/packages/npm/npm.service.ts";
import { createPackages } from "../../../../daemon/forge/packages/packages.service.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { insertOwnersTeam } from "../../../../storage/tables/forge/accounts/orgs.ts";
import {
  deleteTeamMember,
  findTeamByName,
  type ForgeTeam,
  insertTeamMember,
} from "../../../../storage/tables/forge/accounts/teams.ts";
import { insertUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { newUserRow } from "../../../support/forge/forge-rows.ts";
import { interruptOnce, openTestDatabase } from "../../../support/storage/database.ts";

// An owner of an organization is removed after a request has begun and before its transaction: the transaction itself
// refuses the change of packages and teams.

let db: Database;
let caller: ForgeCaller;
let owners: ForgeTeam;
let granted: GrantedPackages;
let opened: GrantedTeam;

beforeEach(async () => {
  db = await openTestDatabase();
  await db.transaction(async (tx) => {
    const user = await insertUser(tx, newUserRow("nora"));
    caller = { user, actor: user, method: "token", scope: "all" };
    const works = await insertUser(tx, newUserRow("works", { kind: "organization" }));
    await insertOwnersTeam(tx, works.id, user.id);
    const found = await findTeamByName(tx, works.id, "Owners");
    if (found === undefined) throw new Error("the organization has no owners");
    owners = found;
  });
  granted = await grantPackages(db, "works", { caller, permission: packages("write") });
  opened = await grantTeam(db, owners.id, { caller, permission: teamRole("owner") });
});
afterEach(() => db.close());

const unused = <T>() => ({}) as T;
const emit = () => Promise.reject(new Error("the change was made"));

/** Makes changes, each on a database on which nora owns nothing any more when the transaction begins. */
async function expectRefusals(changes: readonly ((late: Database) => Promise<unknown>)[]) {
  const remove = () => db.transaction((tx) => deleteTeamMember(tx, owners.id, caller.user.id));
  for (const change of changes) {
    await db.transaction((tx) => insertTeamMember(tx, owners, caller.user.id));
    const refused = { code: "forbidden", message: expect.stringMatching(/packages|owner|team/) };
    await expect(change(interruptOnce(db, remove))).rejects.toMatchObject(refused);
  }
}

test("an owner who is removed meanwhile changes no package of the organization", async () => {
  const at = { type: "generic", name: "box", version: "1", filename: "lid" };
  const npmAt = { name: "box", filename: "box-1.0.0.tgz", revision: "1-1", tag: "next" };
  const digest = `sha256:${"0".repeat(64)}`;
  const image = { owner: "works", name: "box", reference: "next", digest, upload: "none" };
  const limits = { blobBytesMax: 10, ownerBytesMax: 10 };
  const room = unused<never>();
  const common = { store: unused<never>(), emit, limits, room, uploadBytesMax: 10, clock: () => 0 };
  const more = { compute: unused<never>(), urls: unused<never>(), newUuid: () => "u" };
  const npm = (late: Database) => createNpmRegistry({ ...common, ...more, db: late });
  const blobs = (late: Database) => createContainerBlobs({ ...common, db: late });
  const uploads = (late: Database) =>
    createContainerUploads({ ...common, ...more, db: late, blobs: blobs(late) });
  const part = { body: unused<never>(), declaredBytes: 0, range: undefined };
  const begun = { digest: "", mount: "", from: "", reaches: () => true, part };
  await expectRefusals([
    (late) => createPackages({ db: late, emit }).remove(granted, at, caller),
    (late) => createPackages({ db: late, emit }).removeAll(granted, at, caller),
    (late) => createPackages({ db: late, emit }).link(granted, at, "hut", caller),
    (late) => createGenericPackages({ ...common, db: late }).removeFile(granted, at, caller),
    (late) => createGenericPackages({ ...common, db: late }).removeVersion(granted, at, caller),
    (late) => npm(late).unpublish(granted, npmAt, caller),
    (late) => npm(late).removeTarball(granted, npmAt, caller),
    (late) => npm(late).deleteTag(granted, npmAt),
    (late) =>
      createContainerManifests({ ...common, ...more, db: late }).remove(granted, image, caller),
    (late) => blobs(late).remove(granted, image),
    (late) => uploads(late).begin(granted, image, begun, caller),
    (late) => uploads(late).cancel(granted, image),
  ]);
});

test("an owner who is removed meanwhile changes no team of the organization", async () => {
  const teams = (late: Database) => createTeams({ db: late, emit });
  const repositories = (late: Database) =>
    createTeamRepositories({ db: late, lists: unused<never>() });
  const at = { org: "works", repo: "hut" };
  await expectRefusals([
    (late) => teams(late).edit(opened, { description: "changed" }),
    (late) => teams(late).remove(opened),
    (late) => teams(late).addMember(opened, "nora"),
    (late) => teams(late).removeMember(opened, "nora"),
    (late) => repositories(late).add(opened, at),
    (late) => repositories(late).remove(opened, at),
  ]);
});
