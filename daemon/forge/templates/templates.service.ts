// daemon/forge/templates: texts that new repositories begin with: ignore files, label sets, licenses.
// May import: daemon/contract, daemon/errors.ts, daemon/forge/{handle,refusals,urls}.ts, spdx-license-list, yaml.
// Start here; where the shipped texts come from is in shipped.ts, an operator's own in custom.ts.
import { readCustomTexts } from "./custom.ts";
import { type Label, parseLabelSet } from "./label-sets.ts";
import { shippedIgnoreFiles, shippedLabelSets, shippedLicenses } from "./shipped.ts";

/** Shipped templates with an operator's own over them. Names are exact, case and all. */
export interface Templates {
  /** Sorted by byte value. */
  listIgnoreFiles(): Promise<readonly string[]>;
  findIgnoreFile(name: string): Promise<string | undefined>;
  /** Sorted by byte value. */
  listLabelSets(): Promise<readonly string[]>;
  findLabelSet(name: string): Promise<readonly Label[] | undefined>;
  /** SPDX identifiers, sorted by byte value. */
  listLicenses(): Promise<readonly string[]>;
  /** The text with its placeholders unfilled. */
  findLicense(key: string): Promise<string | undefined>;
}

/**
 * Templates, loaded when first asked for and kept. Files in `gitignore`, `labels` and `licenses` below
 * `customDirectory` add to the shipped ones or stand in for those of the same name; a file that is not text, or a
 * label set that cannot be read, is reported and left out. Changed files are seen after a restart.
 */
export function createTemplates(deps: {
  /** The `custom` folder of the data directory; need not exist. */
  readonly customDirectory: string;
  readonly warn: (message: string) => void;
}): Templates {
  const read = (folder: string) => readCustomTexts(`${deps.customDirectory}/${folder}`, deps.warn);
  const ignoreFiles = once(async () =>
    merge(await shippedIgnoreFiles(), toTexts(await read("gitignore"))),
  );
  const licenses = once(async () => merge(shippedLicenses, toTexts(await read("licenses"))));
  const labelSets = once(async () => {
    const custom = new Map<string, () => Promise<readonly Label[]>>();
    for (const [fileName, text] of await read("labels")) {
      const labels = parseLabelSet(text);
      if (labels === undefined) deps.warn(`labels/${fileName} is no label set`);
      else custom.set(fileName.replace(/\.ya?ml$/, ""), () => Promise.resolve(labels));
    }
    return merge(shippedLabelSets, custom);
  });

  return {
    listIgnoreFiles: async () => [...(await ignoreFiles()).keys()],
    findIgnoreFile: async (name) => (await ignoreFiles()).get(name)?.(),
    listLabelSets: async () => [...(await labelSets()).keys()],
    findLabelSet: async (name) => (await labelSets()).get(name)?.(),
    listLicenses: async () => [...(await licenses()).keys()],
    findLicense: async (key) => (await licenses()).get(key)?.(),
  };
}

type Loaders<T> = ReadonlyMap<string, () => Promise<T>>;

function toTexts(files: ReadonlyMap<string, string>): Loaders<string> {
  return new Map([...files].map(([name, text]) => [name, () => Promise.resolve(text)]));
}

/** Both in the order of their names' bytes; of two with one name the custom one. */
function merge<T>(shipped: Loaders<T>, custom: Loaders<T>): Loaders<T> {
  const both = [...new Map([...shipped, ...custom])];
  return new Map(
    both.sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other))),
  );
}

function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => (loading ??= load());
}
