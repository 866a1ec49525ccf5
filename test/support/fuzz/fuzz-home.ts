import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestDaemon, type LogLine, type TestDaemon } from "../daemon.ts";
import { createForgePeople } from "../forge/forge-people.ts";
import { DEPLOY_KEYS } from "../forge/route-requests.ts";
import { createPerson } from "../vault/vault-person.ts";
import { STRONG } from "../vault/vault-accounts.ts";

/** The credentials that a request may carry, as its headers. */
export type Callers = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A home with objects of every kind, of which each daemon under test gets a copy. */
export interface FuzzHome extends AsyncDisposable {
  /** Starts a daemon on a copy, with callers that are signed in; `env` is settings beside those of the home. */
  start(
    env?: Readonly<Record<string, string>>,
  ): Promise<{ readonly daemon: TestDaemon; readonly callers: Callers }>;
}

/** Values for members and parameters, by their name, that exist in the home. */
export const existing: Readonly<Record<string, readonly string[]>> = {
  owner: ["mira", "mira", "works", "keeper"],
  repo: ["hut", "hut", "cabin"],
  org: ["works"],
  username: ["mira", "noah", "keeper", "works"],
  user: ["mira", "noah"],
  member: ["mira", "noah"],
  collaborator: ["noah", "mira"],
  assignee: ["mira"],
  assignees: ["mira", "noah"],
  reviewers: ["noah"],
  login: ["mira"],
  handle: ["mira", "noah"],
  target: ["noah"],
  task: ["delete_old_actions", "git_gc_repos"],
  name: ["hut", "Home", "MIT", "Go", "pack", "Default", "text.txt"],
  type: ["generic", "npm", "container"],
  version: ["1.0.0", "1.0.1"],
  filename: ["text.txt", "pack-1.0.0.tgz"],
  scope: ["@mira"],
  revision: ["1"],
  tag: ["v1", "r1", "latest"],
  tag_name: ["v1", "r1", "v2"],
  ref: ["main", "next", "heads/main", "v1"],
  branch: ["main", "next"],
  base: ["main"],
  head: ["next", "pull", "noah:main"],
  basehead: ["main...next", "main..pull"],
  new_branch_name: ["newer"],
  old_branch_name: ["main"],
  filepath: ["README.md", "docs", ".gitea/workflows/w.yml"],
  path: ["README.md", "new.txt"],
  archive: ["main.zip", "main.tar.gz"],
  workflow_id: ["w.yml"],
  attempt: ["1"],
  position: ["1", "2"],
  number: ["1", "2"],
  secretname: ["KEY"],
  variablename: ["AREA"],
  rule: ["kept"],
  topic: ["topic"],
  reference: ["latest"],
  file: ["r1/text.txt", "Home.md", "smile.png"],
  size: ["4"],
  oid: [createHash("sha256").update("text").digest("hex")],
  secret: ["0".repeat(32)],
  provider: ["local_folder", "webdav", "google_drive"],
  date: ["2026-11-27"],
  permission: ["read", "write", "admin"],
  state: ["open", "closed"],
  content: ["heart", "eGVy", "text"],
  do: ["merge", "squash"],
  event: ["APPROVED", "COMMENT"],
  password: [STRONG, "user-password"],
  email: ["mira@example.org"],
  color: ["#ff0000"],
};

/** The media type of Git LFS. */
export const LFS = "application/vnd.git-lfs+json";
const LARGE_FILE = {
  text: "text",
  size: 4,
  oid: createHash("sha256").update("text").digest("hex"),
};

const FORGE_PASSWORD = "user-password";
/** The client to which access tokens of the vault are bound. */
const CLIENT = { "User-Agent": "croft-test", "Accept-Language": "*" } as const;
const SETTINGS = { CROFT_RATE_LIMITS: "off" } as const;

/** The answer to a failed request is judged, so its line in the log is expected. */
const isFailedRequest = ({ message }: LogLine) => message === "request";

export async function createFuzzHome(): Promise<FuzzHome> {
  const files = await mkdtemp(join(tmpdir(), "croft-fuzz-files-"));
  const home = await mkdtemp(join(tmpdir(), "croft-fuzz-"));
  const env = { ...SETTINGS, CROFT_LOCAL_ROOTS: files };
  // A new home is not the template of the other tests: it is removed with its copies.
  const first = await startTestDaemon({ env, home });
  const keeper = { token: first.first?.forge.token ?? "", password: first.first?.password ?? "" };
  const tokens = await fill(first, files);
  await first[Symbol.asyncDispose]();
  return {
    async start(more = {}) {
      const copy = await mkdtemp(join(tmpdir(), "croft-fuzz-"));
      await cp(home, copy, { recursive: true });
      const daemon = await startTestDaemon({
        env: { ...env, ...more },
        home: copy,
        expectErrors: isFailedRequest,
      });
      return {
        daemon: {
          ...daemon,
          async [Symbol.asyncDispose]() {
            try {
              await daemon[Symbol.asyncDispose]();
            } finally {
              await rm(copy, { recursive: true, force: true });
            }
          },
        },
        callers: await signIn(daemon, keeper, tokens),
      };
    },
    async [Symbol.asyncDispose]() {
      for (const folder of [home, files]) await rm(folder, { recursive: true, force: true });
    },
  };
}

type Tokens = Readonly<Record<string, string>>;

async function signIn(
  daemon: TestDaemon,
  keeper: { readonly token: string; readonly password: string },
  tokens: Tokens,
): Promise<Callers> {
  const mira = createPerson(daemon, "mira", "192.0.2.1");
  await mira.signIn();
  const login = await daemon.request("/api/auth/login", {
    json: { email: "keeper@croft.localhost", password: keeper.password },
    headers: CLIENT,
  });
  const basic = (user: string, password: string) => ({
    Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
  });
  const token = (secret: string | undefined) => ({ Authorization: `token ${secret ?? ""}` });
  const bearer = (secret: string) => ({ Authorization: `Bearer ${secret}` });
  return {
    anonymous: {},
    "site administrator": token(keeper.token),
    user: token(tokens["mira"]),
    "other user": token(tokens["noah"]),
    "narrow token": token(tokens["narrow"]),
    "public-only token": token(tokens["public"]),
    "user by password": basic("mira", FORGE_PASSWORD),
    "administrator by password": basic("keeper", keeper.password),
    "vault user": { ...CLIENT, ...bearer(mira.accessToken) },
    "vault user with cookie": {
      ...CLIENT,
      ...bearer(mira.accessToken),
      Cookie: `refresh_token=${mira.refreshToken}`,
    },
    "vault administrator": { ...CLIENT, ...bearer(String(login.json?.access_token)) },
    "machine token": bearer(tokens["machine"] ?? ""),
    "wrong token": token("0123456789abcdef0123456789abcdef01234567"),
    "wrong bearer": bearer("eyJhbGciOiJub25lIn0.e30."),
    "broken credentials": { Authorization: "Basic \u00ff:" },
  };
}

/** Makes people and an object of each kind. Returns their tokens. */
async function fill(daemon: TestDaemon, files: string): Promise<Tokens> {
  const people = createForgePeople(() => daemon);
  for (const user of ["mira", "noah"]) await people.newUser(user);
  const made = async (method: string, at: string, json?: unknown) => {
    const answer = await people.by("mira", method, at, json);
    if (answer.status >= 300) throw new Error(`${method} ${at}: ${answer.status} ${answer.text}`);
    return answer.json;
  };
  const path = "/repos/mira/hut";
  await made("POST", "/orgs", { username: "works" });
  await made("POST", "/orgs/works/teams", { name: "team", units_map: { "repo.code": "write" } });
  for (const [at, name, isPrivate] of [
    ["/user/repos", "hut", false],
    ["/user/repos", "cabin", true],
    ["/orgs/works/repos", "hut", true],
  ] as const)
    await made("POST", at, { name, private: isPrivate, auto_init: true, template: !isPrivate });
  await made("PATCH", path, { has_actions: true });
  await made("PUT", `${path}/collaborators/noah`, { permission: "write" });
  await people.by("noah", "POST", `${path}/forks`, {});
  const workflow =
    "on: [workflow_dispatch]\njobs:\n  one:\n    runs-on: x\n    steps:\n      - run: echo\n";
  await made("POST", `${path}/contents/.gitea/workflows/w.yml`, {
    content: Buffer.from(workflow).toString("base64"),
  });
  for (const branch of ["next", "pull"])
    await made("POST", `${path}/contents/${branch}.txt`, {
      content: "eA==",
      new_branch: branch,
    });
  await made("POST", `${path}/tags`, { tag_name: "v1", message: "first" });
  let comment: { readonly id: number } = { id: 0 };
  for (const title of ["first", "second"]) {
    const issue = await made("POST", `${path}/issues`, { title, body: "text" });
    comment = await made("POST", `${path}/issues/${issue.number}/comments`, { body: "text @noah" });
    await made("POST", `${path}/issues/${issue.number}/times`, { time: 60 });
  }
  const pull = await made("POST", `${path}/pulls`, { title: "text", head: "pull", base: "main" });
  await made("POST", `${path}/pulls/${pull.number}/reviews`, {
    body: "text",
    event: "COMMENT",
    comments: [{ path: "pull.txt", body: "text", new_position: 1 }],
  });
  await made("POST", "/user/applications/oauth2", {
    name: "text",
    redirect_uris: ["http://127.0.0.1/"],
  });
  const label = await made("POST", `${path}/labels`, { name: "bug", color: "ff0000" });
  await made("POST", `${path}/milestones`, { title: "text" });
  await made("POST", "/orgs/works/labels", { name: "bug", color: "ff0000" });
  await made("POST", `${path}/issues/1/labels`, { labels: [label.id] });
  await made("POST", `${path}/keys`, { title: "key", key: DEPLOY_KEYS[0] });
  await made("POST", "/user/keys", { title: "key", key: DEPLOY_KEYS[1] });
  const hook = {
    type: "gitea",
    config: { url: "http://127.0.0.1:9/", content_type: "json" },
  };
  for (const owner of [path, "/orgs/works", "/user"]) await made("POST", `${owner}/hooks`, hook);
  for (const owner of [`${path}/`, "/orgs/works/", "/user/"]) {
    await made("PUT", `${owner}actions/secrets/KEY`, { data: "x" });
    await made("POST", `${owner}actions/variables/AREA`, { value: "x" });
  }
  await made("PUT", `${path}/topics/topic`);
  await made("POST", `${path}/branch_protections`, { rule_name: "kept" });
  await made("POST", `${path}/tag_protections`, {
    name_pattern: "kept",
    whitelist_usernames: ["mira"],
  });
  const release = await made("POST", `${path}/releases`, { tag_name: "r1" });
  await made("POST", `${path}/wiki/new`, { title: "Home", content_base64: "eA==" });
  const token = people.tokenOf("mira");
  for (const at of ["issues/1", `issues/comments/${comment.id}`, `releases/${release.id}`]) {
    const body = new FormData();
    body.append("attachment", new File(["text"], "text.txt"));
    await daemon.request(`/api/v1${path}/${at}/assets`, { method: "POST", body, token });
  }
  const lfs = { method: "POST", token, headers: { Accept: LFS, "Content-Type": LFS } };
  await daemon.request(`/mira/hut.git/info/lfs/objects/${LARGE_FILE.oid}/${LARGE_FILE.size}`, {
    ...lfs,
    method: "PUT",
    body: LARGE_FILE.text,
  });
  await daemon.request("/mira/hut.git/info/lfs/locks", { ...lfs, body: '{"path":"text.bin"}' });
  await daemon.request("/api/packages/mira/generic/pack/1.0.0/text.txt", {
    method: "PUT",
    body: "text",
    token,
  });
  return {
    mira: token,
    noah: people.tokenOf("noah"),
    narrow: await people.newToken("mira", ["read:misc"]),
    public: await people.newToken("mira", ["all", "public-only"]),
    machine: await fillVault(daemon, files),
  };
}

/** Makes two accounts of the vault with an object of each kind. Returns a machine token. */
async function fillVault(daemon: TestDaemon, files: string): Promise<string> {
  const mira = createPerson(daemon, "mira", "192.0.2.1");
  const noah = createPerson(daemon, "noah", "192.0.2.2");
  for (const person of [mira, noah]) {
    await person.register();
    await person.signIn();
  }
  // An account does not get a folder that was there before it.
  const folder = join(files, "mira", "box");
  await mkdir(join(folder, "docs"), { recursive: true });
  await writeFile(join(folder, "text.txt"), "text");
  const made = async (path: string, json: unknown) => {
    const answer = await mira.request(path, { json });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.json;
  };
  const upload = async (name: string) => {
    const body = new FormData();
    body.append("file", new File([`text of ${name}`], name));
    return (await mira.request("/api/documents/upload", { method: "POST", body })).json;
  };
  const document = await upload("text.txt");
  const deleted = await upload("deleted.txt");
  await mira.request(`/api/documents/${deleted.id}`, { method: "DELETE" });
  await made("/api/topics", { name: "Letters" });
  await made("/api/shares", { document_id: document.id, recipient_handle: "noah" });
  await made("/api/links", { kind: "download", document_id: document.id });
  await made("/api/links", { kind: "upload" });
  await made("/api/cloud/connections", {
    provider: "local_folder",
    display_name: "files",
    settings: { root: folder },
  });
  return (await made("/api/auth/tokens", { name: "fuzz", scope: "write" })).token;
}
