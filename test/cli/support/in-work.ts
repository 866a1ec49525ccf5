import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fakeDaemon, type RecordedRequest } from "./fake-daemon.ts";
import { type FakeItem, type FakeStorage, fakeStorage, fakeStorages } from "./fake-storage.ts";
import { type FakeSystemOptions, type Ran, runCli, temporaryHome } from "./run-cli.ts";
import { signIn } from "./signed-in.ts";

/** A person's home with a folder `work` in it, and a daemon with one connection, `home`. */
export interface InWork {
  readonly home: string;
  /** The working directory. */
  readonly work: string;
  readonly storage: FakeStorage;
  /** The second connection, `away`; the first is `home`. Empty unless the test gives it items. */
  readonly away: FakeStorage;
  readonly requests: readonly RecordedRequest[];
  /** Runs `vault item VERB` with the words of this line; nothing is waited for. */
  readonly go: (line: string, more?: Partial<FakeSystemOptions>) => Promise<Ran>;
}

/** Uses a connection with these items from a folder with these files; a name that ends with a slash is a folder. */
export async function inWork(
  verb: string,
  {
    items = [],
    files = {},
    pageSize,
    away: awayItems,
  }: {
    readonly items?: FakeItem[];
    readonly away?: FakeItem[];
    readonly files?: Readonly<Record<string, string>>;
    readonly pageSize?: number | undefined;
  },
  use: (at: InWork) => Promise<void>,
): Promise<void> {
  await using home = await temporaryHome();
  const work = join(home.path, "work");
  await mkdir(work);
  for (const [path, text] of Object.entries(files)) {
    const isFolder = path.endsWith("/");
    await mkdir(join(work, isFolder ? path : dirname(path)), { recursive: true });
    if (!isFolder) await writeFile(join(work, path), text);
  }
  const storage = fakeStorage(items, pageSize);
  const away = fakeStorage(awayItems ?? [], pageSize, "c2");
  const answers = awayItems === undefined ? storage.answers : fakeStorages(storage, away);
  await using daemon = await fakeDaemon(answers);
  await signIn(home.path, { url: daemon.url, vault: {} });
  await use({
    home: home.path,
    work,
    storage,
    away,
    requests: daemon.requests,
    go: (line, more) =>
      runCli(["vault", "item", verb, ...line.split(" ")], {
        home: home.path,
        workingDirectory: work,
        hurried: true,
        ...more,
      }),
  });
}
