// daemon/forge/templates: texts for new repositories: ignore files, label sets, licenses. Shipped texts are in shipped.ts.
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Label, parseLabelSet } from "./label-sets.ts";
import { shippedIgnoreFiles, shippedLabelSets, shippedLicenses } from "./shipped.ts";

/** Shipped templates and an operator's own, which take precedence. Names are case-sensitive. */
export type Templates = ReturnType<typeof createTemplates>;

/**
 * Loads templates on first use and keeps them until a restart. Files in `gitignore`, `labels` and `licenses` below
 * `customDirectory` add to the shipped ones or replace those of the same name. Warns about files that are not text and
 * label sets that do not parse, and skips them.
 */
export function createTemplates(deps: {
  /** The `custom` folder of the data directory; optional. */
  readonly customDirectory: string;
  readonly warn: (message: string) => void;
}) {
  const read = (folder: string) => readCustomTexts(`${deps.customDirectory}/${folder}`, deps.warn);
  const ignoreFiles = once(async () =>
    merge(await shippedIgnoreFiles(), toTexts(await read("gitignore"))),
  );
  const licenses = once(async () => merge(shippedLicenses, toTexts(await read("licenses"))));
  const labelSets = once(async () => {
    const custom = new Map<string, () => Promise<readonly Label[]>>();
    for (const [fileName, text] of await read("labels")) {
      const labels = parseLabelSet(text);
      if (labels === undefined) deps.warn(`custom template labels/${fileName} is not a label set`);
      else custom.set(fileName.replace(/\.ya?ml$/, ""), () => Promise.resolve(labels));
    }
    return merge(shippedLabelSets, custom);
  });

  return {
    /** Names sorted by byte value. */
    listIgnoreFiles: async (): Promise<readonly string[]> => [...(await ignoreFiles()).keys()],
    findIgnoreFile: async (name: string): Promise<string | undefined> =>
      (await ignoreFiles()).get(name)?.(),
    /** Names sorted by byte value. */
    listLabelSets: async (): Promise<readonly string[]> => [...(await labelSets()).keys()],
    findLabelSet: async (name: string): Promise<readonly Label[] | undefined> =>
      (await labelSets()).get(name)?.(),
    /** SPDX identifiers, sorted by byte value. */
    listLicenses: async (): Promise<readonly string[]> => [...(await licenses()).keys()],
    /** Returns the text with its placeholders. */
    findLicense: async (key: string): Promise<string | undefined> =>
      (await licenses()).get(key)?.(),
  };
}

type Loaders<T> = ReadonlyMap<string, () => Promise<T>>;

function toTexts(files: ReadonlyMap<string, string>): Loaders<string> {
  return new Map([...files].map(([name, text]) => [name, () => Promise.resolve(text)]));
}

/** Merges shipped and custom texts, sorted by the bytes of their names; a custom text replaces a shipped one. */
function merge<T>(shipped: Loaders<T>, custom: Loaders<T>): Loaders<T> {
  const both = [...new Map([...shipped, ...custom])];
  return new Map(
    both.sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other))),
  );
}

/** Loads a value when it is first asked for, and again after a failure. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
}

/** Larger files are skipped. */
const FILE_BYTES_MAX = 256 * 1024;
const FILES_MAX = 2_000;

/**
 * Reads the text files of a folder by name, without hidden files, links and folders. A missing folder is empty. Warns
 * about files that are too large or not UTF-8, and skips them.
 */
async function readCustomTexts(
  folder: string,
  warn: (message: string) => void,
): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const name of (await listFiles(folder)).slice(0, FILES_MAX)) {
    const path = join(folder, name);
    if ((await stat(path)).size > FILE_BYTES_MAX) {
      warn(`custom template ${name} is larger than ${FILE_BYTES_MAX} bytes`);
      continue;
    }
    const text = decodeText(await readFile(path));
    if (text === undefined) warn(`custom template ${name} is not UTF-8 text`);
    else texts.set(name, text);
  }
  return texts;
}

async function listFiles(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && !entry.name.startsWith("."))
      .map(({ name }) => name);
  } catch (error) {
    if (
      error instanceof Error &&
      "code" in error &&
      (error.code === "ENOENT" || error.code === "ENOTDIR")
    )
      return [];
    throw error;
  }
}

function decodeText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8: the caller warns.
    return undefined;
  }
}
