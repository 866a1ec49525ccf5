import { sendRequest } from "../send-request.ts";
import type { TestAnswer, TestDaemon, TestRequest } from "../daemon.ts";
import { connectFolder, startFolderDaemon } from "./local-folders.ts";
import type { VaultPerson } from "./vault-person.ts";

/** An account with the folder `Files` connected, and a machine token for WebDAV. */
export interface DavAccount {
  readonly daemon: TestDaemon;
  readonly person: VaultPerson;
  readonly other: VaultPerson;
  readonly token: string;
  /** The connected folder on disk. */
  readonly folder: string;
  /** Sends a request below `/dav/`; `href` is encoded already. */
  dav(method: string, href: string, init?: TestRequest): Promise<TestAnswer>;
  stop(): Promise<void>;
}

export async function startDavAccount(
  env: Readonly<Record<string, string>> = {},
): Promise<DavAccount> {
  const folders = await startFolderDaemon(env);
  const { daemon, mira, noah, stop } = folders;
  const { folder } = await connectFolder(folders, mira, "Files");
  const token = await createDavToken(mira, "write");
  return {
    daemon,
    person: mira,
    other: noah,
    token,
    folder,
    dav: (method, href, init = {}) =>
      sendRequest(daemon.url, `/dav/${href}`, { basic: `${mira.email}:${token}`, method, ...init }),
    stop,
  };
}

export async function createDavToken(
  person: VaultPerson,
  scope: "read" | "write",
): Promise<string> {
  const made = await person.request("/api/auth/tokens", { json: { name: `dav ${scope}`, scope } });
  return made.json.token;
}
