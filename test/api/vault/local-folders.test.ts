import { mkdir, mkdtemp, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestAnswer, type TestDaemon } from "../../support/daemon.ts";
import { withDatabaseFile } from "../../support/skip.ts";
import { createPerson, type VaultPerson } from "../../support/vault/vault-person.ts";

let daemon: TestDaemon;
let root: string;
let mira: VaultPerson;
let noah: VaultPerson;
let keeper: string;
let people = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "croft-roots-"));
  await mkdir(join(root, "photos"));
  await writeFile(join(root, "photos", "old.txt"), "older than every account");
  daemon = await startTestDaemon({ env: { CROFT_LOCAL_ROOTS: root, CROFT_RATE_LIMITS: "off" } });
  keeper = await signInKeeper();
  mira = await addPerson("mira");
  noah = await addPerson("noah");
});

afterAll(async () => {
  await daemon?.[Symbol.asyncDispose]();
  await rm(root, { recursive: true });
});

async function signInKeeper(): Promise<string> {
  const { json } = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: daemon.first?.password },
  });
  return json.access_token;
}

async function addPerson(handle: string, at = daemon): Promise<VaultPerson> {
  const person = createPerson(at, handle, `192.0.2.${++people}`);
  expect((await person.register()).status).toBe(201);
  await person.signIn();
  return person;
}

function connect(person: VaultPerson, folder: string): Promise<TestAnswer> {
  return person.request("/api/cloud/connections", {
    json: { provider: "local_folder", display_name: folder, settings: { root: folder } },
  });
}

const idOf = async (person: VaultPerson): Promise<string> =>
  (await person.request("/api/auth/me")).json.id;

async function namesIn(person: VaultPerson, connection: TestAnswer, parent = "") {
  const query = `?refresh=true&parent_ref=${encodeURIComponent(parent)}`;
  const path = `/api/cloud/connections/${connection.json.id}/items${query}`;
  const { json } = await person.request(path);
  return [json.refresh_state, json.items?.map(({ name }: { name: string }) => name)];
}

async function setGrants(person: VaultPerson, folders: readonly string[]): Promise<TestAnswer> {
  const path = `/api/admin/users/${await idOf(person)}/local-folders`;
  return daemon.request(path, { method: "PUT", bearer: keeper, json: { folders } });
}

async function upload(person: VaultPerson, connection: TestAnswer, name: string, text: string) {
  const form = new FormData();
  form.set("file", new File([text], name));
  return person.request(`/api/cloud/connections/${connection.json.id}/items/upload`, {
    body: form,
  });
}

describe("an account's own folder", () => {
  test("an account's own folder is made on demand below the local root, for the daemon's user only", async () => {
    const made = await connect(mira, ".");
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    expect((await stat(join(root, "mira"))).mode & 0o777).toBe(0o700);
    expect((await upload(mira, made, "note.txt", "mine")).json.kind).toBe("uploaded");
    expect(await readFile(join(root, "mira", "note.txt"), "utf8")).toBe("mine");
  });

  test("resolves a relative root below the account's own folder, and refuses a missing folder there", async () => {
    await mkdir(join(root, "mira", "papers"), { recursive: true });
    expect((await connect(mira, "papers")).status).toBe(201);
    expect((await connect(mira, join(root, "mira", "papers"))).status).toBe(201);
    const missing = await connect(mira, "missing");
    expect([missing.status, missing.json.reason]).toEqual([422, "folder_missing"]);
  });

  test("an account's own folder is the same folder for any case of the handle", async () => {
    const olga = await addPerson("Olga");
    expect((await connect(olga, ".")).status).toBe(201);
    expect((await stat(join(root, "olga"))).isDirectory()).toBe(true);
  });

  test.each([
    ["the folder of another account", () => join(root, "mira")],
    ["a folder in the folder of another account", () => join(root, "mira", "papers")],
    ["the local root", () => root],
    ["the folder above the own one", () => ".."],
    ["a way back up", () => "../mira/papers"],
    ["a way back up that begins in the own folder", () => join(root, "noah", "..", "mira")],
    ["a name in another case", () => join(root, "Mira")],
    ["a folder whose name begins like the own one", () => join(root, "noah2")],
    ["a folder outside", () => "/etc"],
  ])("never reaches %s", async (_what, folder) => {
    await mkdir(join(root, "mira", "papers"), { recursive: true });
    await mkdir(join(root, "noah2"), { recursive: true });
    const answer = await connect(noah, folder());
    expect([answer.status, answer.json.reason]).toEqual([422, "outside_allowed_roots"]);
  });

  test("symbolic links do not lead out of an account's own folder, neither as a root nor below one", async () => {
    const made = await connect(noah, ".");
    expect(made.status).toBe(201);
    await mkdir(join(root, "mira"), { recursive: true });
    await writeFile(join(root, "mira", "secret.txt"), "mira's");
    await symlink(join(root, "mira"), join(root, "noah", "link"));
    expect((await connect(noah, "link")).status).toBe(422);
    await noah.request(`/api/cloud/connections/${made.json.id}/items?refresh=true`);
    const path = `/api/cloud/connections/${made.json.id}/items/link%2Fsecret.txt/download`;
    const answer = await noah.request(path);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).not.toContain("mira's");
  });

  test("an account's own folder is refused when it is a symbolic link itself", async () => {
    const pia = await addPerson("pia");
    await symlink(join(root, "mira"), join(root, "pia"));
    const answer = await connect(pia, ".");
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect((await pia.request("/api/cloud/connections")).json.total).toBe(0);
  });

  test("an account's own folder is not a folder that was there before the account", async () => {
    const photos = await addPerson("photos");
    const answer = await connect(photos, ".");
    expect([answer.status, answer.json.reason]).toEqual([422, "folder_older_than_account"]);
    expect(answer.json.detail).toContain("administrator");
    expect((await setGrants(photos, [join(root, "photos")])).status).toBe(200);
    expect((await connect(photos, ".")).status).toBe(201);
  });

  test("an account's own folder of a deleted account is not given to a later one with the same handle", async () => {
    const first = await addPerson("rosa");
    await upload(first, await connect(first, "."), "diary.txt", "private");
    await deleteUser(first);
    const second = await addPerson("Rosa");
    for (const folder of [".", join(root, "rosa")]) {
      const answer = await connect(second, folder);
      expect(answer.status).toBe(422);
      expect(["folder_of_deleted_account", "outside_allowed_roots"]).toContain(answer.json.reason);
    }
    await utimes(join(root, "rosa"), new Date(), new Date());
    expect((await connect(second, ".")).status).toBe(422);
    // Once an administrator has removed the files there, the folder is created again.
    await rm(join(root, "rosa"), { recursive: true });
    const made = await connect(second, ".");
    expect(made.status).toBe(201);
    expect(await namesIn(second, made)).toEqual(["fresh", []]);
  });

  test("an account's own folder of a deleted account that never connected one is not given to a later one either", async () => {
    const first = await addPerson("sven");
    await mkdir(join(root, "sven"));
    await deleteUser(first);
    const answer = await connect(await addPerson("sven"), ".");
    expect([answer.status, answer.json.reason]).toEqual([422, "folder_of_deleted_account"]);
  });

  async function deleteUser(person: VaultPerson): Promise<void> {
    const path = `/api/admin/users/${await idOf(person)}`;
    expect((await daemon.request(path, { method: "DELETE", bearer: keeper })).status).toBe(200);
  }
});

describe("folders that an administrator grants", () => {
  const shared = () => join(root, "shared");

  test("folders that an administrator grants can be connected by the named account only, until they are deleted again", async () => {
    await mkdir(shared(), { recursive: true });
    await writeFile(join(shared(), "plan.txt"), "x");
    expect((await connect(mira, shared())).status).toBe(422);
    const granted = await setGrants(mira, ["shared"]);
    expect([granted.status, granted.json]).toEqual([200, { folders: [shared()] }]);
    const made = await connect(mira, shared());
    expect(made.status).toBe(201);
    expect(await namesIn(mira, made)).toEqual(["fresh", ["plan.txt"]]);
    expect((await connect(noah, shared())).status).toBe(422);

    const path = `/api/admin/users/${await idOf(mira)}/local-folders`;
    expect((await daemon.request(path, { bearer: keeper })).json).toEqual({ folders: [shared()] });
    expect((await setGrants(mira, [])).json).toEqual({ folders: [] });
    const base = `/api/cloud/connections/${made.json.id}`;
    const answer = await mira.request(`${base}/items?refresh=true`);
    expect([answer.status, answer.text]).toEqual([
      422,
      expect.stringContaining("no longer allowed"),
    ]);
  });

  test("grants of folders are recorded with the previous grants", async () => {
    await setGrants(mira, [shared()]);
    await setGrants(mira, []);
    const { json } = await daemon.request("/api/admin/audit?event_type=admin&user_handle=mira", {
      bearer: keeper,
    });
    expect(json.items[0]).toMatchObject({
      event_type: "admin.local_folders_changed",
      metadata: { folders: [], previous_folders: [shared()] },
    });
  });

  test.each([
    ["the local root", () => root, "contains a local root"],
    ["a folder above it", () => join(root, ".."), "contains a local root"],
    ["a folder outside", () => "/etc", "does not lie below"],
    ["a way outside", () => "shared/../../etc", "does not lie below"],
    ["another account's own folder", () => join(root, "noah"), "account noah"],
    ["a folder in it, in another case", () => join(root, "NOAH", "x"), "account noah"],
  ])("cannot be %s", async (_what, folder, text) => {
    const answer = await setGrants(mira, [shared(), folder()]);
    expect([answer.status, answer.json.detail]).toMatchObject([
      422,
      [{ loc: ["body", "folders", 1], msg: expect.stringContaining(text) }],
    ]);
  });

  test("folders that an administrator grants do not become the own folder of a later account with that name", async () => {
    expect((await setGrants(mira, [join(root, "later")])).status).toBe(200);
    await connect(mira, join(root, "later"));
    const later = await addPerson("later");
    const answer = await connect(later, ".");
    expect([answer.status, answer.json.reason]).toEqual([422, "folder_of_another_account"]);
    await setGrants(mira, []);
  });

  test("folders that an administrator grants are for administrators to see and change, and unknown users are not found", async () => {
    const path = `/api/admin/users/${await idOf(mira)}/local-folders`;
    expect((await noah.request(path)).status).toBe(403);
    const put = { method: "PUT", json: { folders: [] } };
    expect((await noah.request(path, put)).status).toBe(403);
    const unknown = "/api/admin/users/01a1fdff-ed3d-7ce1-8986-d032f4367fd1/local-folders";
    expect((await daemon.request(unknown, { bearer: keeper })).status).toBe(404);
    expect((await daemon.request(unknown, { bearer: keeper, ...put })).status).toBe(404);
  });
});

describe("connections from before folders belonged to accounts", () => {
  withDatabaseFile(
    "work for their owner and never show the folders of other accounts",
    async () => {
      await using old = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
      const files = join(old.home, "files");
      const ann = await addPerson("ann", old);
      const made = await connect(ann, ".");
      expect(made.status).toBe(201);
      await old.stop();
      // The mark that the migration sets on connections of an earlier croft.
      const database = new DatabaseSync(join(old.home, "croft.db"));
      database.exec("UPDATE vault_connections SET is_below_local_roots = 1, facts = NULL");
      database.exec("DELETE FROM vault_local_folder_owners");
      database.close();
      await writeFile(join(files, "letter.txt"), "ann's");
      await mkdir(join(files, "letters"));

      await using daemonAgain = await startTestDaemon({
        home: old.home,
        env: { CROFT_RATE_LIMITS: "off" },
      });
      const annAgain = createPerson(daemonAgain, "ann", "192.0.2.200");
      await annAgain.signIn();
      expect(await namesIn(annAgain, made)).toEqual(["fresh", ["ann", "letters", "letter.txt"]]);
      const ben = await addPerson("ben", daemonAgain);
      const own = await connect(ben, ".");
      expect(own.status).toBe(201);
      await upload(ben, own, "private.txt", "ben's");
      expect(await namesIn(annAgain, made)).toEqual(["fresh", ["ann", "letters", "letter.txt"]]);
      const base = `/api/cloud/connections/${made.json.id}`;
      for (const [path, init] of [
        ["/items/ben%2Fprivate.txt/download", {}],
        ["/items/BEN%2Fprivate.txt/download", {}],
        ["/items/ben%2Fprivate.txt/rename", { method: "PATCH", json: { new_name: "x" } }],
        ["/items/ben", { method: "DELETE" }],
        ["/items/ben/move", { json: { destination_parent_ref: "letters" } }],
        ["/items/letter.txt/move", { json: { destination_parent_ref: "ben" } }],
        ["/folders", { json: { parent_ref: "ben", name: "x" } }],
      ] as const) {
        const answer = await annAgain.request(base + path, init);
        expect([path, answer.status >= 400]).toEqual([path, true]);
        expect(answer.text).not.toContain("ben's");
      }
      expect(await readFile(join(files, "ben", "private.txt"), "utf8")).toBe("ben's");
      // The folder of a handle that lies in such a connection already is not taken away from its owner.
      const letters = await addPerson("letters", daemonAgain);
      const answer = await connect(letters, ".");
      expect([answer.status, answer.json.reason]).toEqual([422, "folder_of_another_account"]);
      const foreign = await connect(ben, join(files, "ann"));
      expect([foreign.status, foreign.json.reason]).toEqual([422, "outside_allowed_roots"]);
    },
  );
});
