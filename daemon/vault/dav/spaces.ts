import type { Database } from "../../../storage/engine/database.ts";
import { type Connection, listConnections } from "../../../storage/tables/vault/connections.ts";
import type { VaultCaller } from "../caller.ts";
import { isJunk, type JunkFiles } from "./junk-files.ts";
import { DOCUMENTS, type LockPlace } from "./lock-places.ts";
import type { ChangedPlace } from "./locks.service.ts";
import { DavRefusal } from "./refusals.ts";
import type { DavPath } from "./target.ts";
import { type DavFolder, type DavResource, type DavSpace, toSegments } from "./tree.ts";

/** An account with more connections reaches the oldest ones. */
const CONNECTIONS_MAX = 1_000;

/** What is at a path. */
export interface Found {
  /** With the names that listings have, where the client has sent them in the other form of Unicode. */
  readonly path: DavPath;
  /** For locks; empty for the root. */
  readonly place: string;
  readonly resource: DavResource | undefined;
  /** The folder that holds it, or would; undefined for the root, and without such a folder. */
  readonly folder: DavFolder | undefined;
}

/** Everything that an account reaches. */
export interface DavTree {
  find(path: DavPath): Promise<Found>;
  /** Returns the path of a place in a space that exists. */
  toPath(place: string): Promise<DavPath>;
}

export interface DavTreesDeps {
  readonly db: Database;
  readonly openConnection: (caller: VaultCaller, connection: Connection) => DavFolder;
  readonly openDocuments: (caller: VaultCaller) => DavFolder;
  readonly junk: Pick<JunkFiles, "find">;
}

/** Creates the function that opens the tree of an account, for one request. */
export function createDavTrees({ db, openConnection, openDocuments, junk }: DavTreesDeps) {
  return (caller: VaultCaller): DavTree => {
    let known: Promise<ReadonlyMap<string, DavSpace>> | undefined;
    const getSpaces = () => (known ??= listSpaces(caller));

    const root: DavFolder = {
      kind: "folder",
      name: "croft",
      holder: undefined,
      find: async (name) => (await getSpaces()).get(name.normalize("NFC"))?.open(),
      async *list() {
        yield [...(await getSpaces()).values()].map((space) => space.open());
      },
      createFile: refuse,
      createFolder: refuse,
      remove: refuse,
      removeIfEmpty: refuse,
    };

    return {
      async find(path) {
        if (path.length === 0) return { path, place: "", resource: root, folder: undefined };
        let resource: DavResource | undefined = root;
        let folder: DavFolder | undefined;
        const names: string[] = [];
        for (const name of path) {
          folder = resource?.kind === "folder" ? resource : undefined;
          resource = await folder?.find(name);
          names.push(resource?.name ?? name);
        }
        const place = await toPlace(path);
        if (resource === undefined && folder !== undefined && isJunk(path.at(-1) ?? ""))
          resource = await junk.find(caller.userId, place);
        return { path: names, place, resource, folder };
      },
      async toPath(place) {
        const [id, ...rest] = place.split("/");
        const space = [...(await getSpaces()).values()].find((each) => each.id === id);
        return space === undefined ? rest : [space.name, ...rest];
      },
    };

    async function toPlace(path: DavPath): Promise<string> {
      // Both forms of a name have one place: a lock may cover too much and never too little.
      const [name = "", ...rest] = path.map((each) => each.normalize("NFC"));
      const space = (await getSpaces()).get(name);
      return [space?.id ?? name, ...rest].join("/");
    }
  };

  async function listSpaces(caller: VaultCaller): Promise<ReadonlyMap<string, DavSpace>> {
    const page = { limit: CONNECTIONS_MAX, offset: 0 };
    const { connections } = await listConnections(db, caller.userId, page);
    // A connection of the name of the documents gets a number.
    const named = toSegments(connections, ({ displayName }) => displayName, [DOCUMENTS]);
    const spaces = [...named].map(([name, connection]): [string, DavSpace] => [
      name,
      {
        id: connection.id,
        name,
        open: () => ({ ...openConnection(caller, connection), name }),
      },
    ]);
    const documents = { id: DOCUMENTS, name: DOCUMENTS, open: () => openDocuments(caller) };
    return new Map([[DOCUMENTS, documents], ...spaces]);
  }
}

function refuse(): Promise<never> {
  return Promise.reject(
    new DavRefusal(403, 'This folder holds connections. "croft vault connection" makes them.'),
  );
}

/** Returns what is at a path, or would be, as locks see it. */
export function toLockPlace({ place, resource }: Pick<Found, "place" | "resource">): LockPlace {
  return { place, resourceId: resource?.kind === "file" ? resource.id : undefined };
}

/** The change of a place that appears or disappears with everything below it. */
export function toWholeChange(found: Found, changesFolder = true): ChangedPlace {
  return { ...toLockPlace(found), isDeep: true, changesFolder };
}
