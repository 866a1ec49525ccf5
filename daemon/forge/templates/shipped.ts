import type { Label } from "./label-sets.ts";

/**
 * Returns ignore files by name: the collection of github.com/github/gitignore (CC0 1.0) without its folders, from the
 * npm package `gitignr` 1.1.1, and croft's own for the 27 names of Gitea that the package lacks.
 */
export async function shippedIgnoreFiles(): Promise<ReadonlyMap<string, () => Promise<string>>> {
  const { default: files } = await import("./ignore-files.json", { with: { type: "json" } });
  return new Map(Object.entries(files).map(([name, text]) => [name, () => Promise.resolve(text)]));
}

interface LicenseFile {
  readonly default: { readonly licenseText: string };
}

const text = (load: () => Promise<LicenseFile>) => async () =>
  `${(await load()).default.licenseText.trim()}\n`;

/** License texts by SPDX identifier, from `spdx-license-list`, each loaded on demand. */
export const shippedLicenses: ReadonlyMap<string, () => Promise<string>> = new Map(
  Object.entries({
    "0BSD": () => import("spdx-license-list/licenses/0BSD.json", { with: { type: "json" } }),
    "AGPL-3.0": () =>
      import("spdx-license-list/licenses/AGPL-3.0.json", { with: { type: "json" } }),
    "Apache-2.0": () =>
      import("spdx-license-list/licenses/Apache-2.0.json", { with: { type: "json" } }),
    "BSD-2-Clause": () =>
      import("spdx-license-list/licenses/BSD-2-Clause.json", { with: { type: "json" } }),
    "BSD-3-Clause": () =>
      import("spdx-license-list/licenses/BSD-3-Clause.json", { with: { type: "json" } }),
    "BSD-3-Clause-Clear": () =>
      import("spdx-license-list/licenses/BSD-3-Clause-Clear.json", { with: { type: "json" } }),
    "BSL-1.0": () => import("spdx-license-list/licenses/BSL-1.0.json", { with: { type: "json" } }),
    "CC-BY-4.0": () =>
      import("spdx-license-list/licenses/CC-BY-4.0.json", { with: { type: "json" } }),
    "CC-BY-SA-4.0": () =>
      import("spdx-license-list/licenses/CC-BY-SA-4.0.json", { with: { type: "json" } }),
    "CC0-1.0": () => import("spdx-license-list/licenses/CC0-1.0.json", { with: { type: "json" } }),
    "EPL-1.0": () => import("spdx-license-list/licenses/EPL-1.0.json", { with: { type: "json" } }),
    "EPL-2.0": () => import("spdx-license-list/licenses/EPL-2.0.json", { with: { type: "json" } }),
    "EUPL-1.2": () =>
      import("spdx-license-list/licenses/EUPL-1.2.json", { with: { type: "json" } }),
    "GPL-2.0": () => import("spdx-license-list/licenses/GPL-2.0.json", { with: { type: "json" } }),
    "GPL-3.0": () => import("spdx-license-list/licenses/GPL-3.0.json", { with: { type: "json" } }),
    ISC: () => import("spdx-license-list/licenses/ISC.json", { with: { type: "json" } }),
    "LGPL-2.1": () =>
      import("spdx-license-list/licenses/LGPL-2.1.json", { with: { type: "json" } }),
    "LGPL-3.0": () =>
      import("spdx-license-list/licenses/LGPL-3.0.json", { with: { type: "json" } }),
    MIT: () => import("spdx-license-list/licenses/MIT.json", { with: { type: "json" } }),
    "MIT-0": () => import("spdx-license-list/licenses/MIT-0.json", { with: { type: "json" } }),
    "MPL-2.0": () => import("spdx-license-list/licenses/MPL-2.0.json", { with: { type: "json" } }),
    "MulanPSL-2.0": () =>
      import("spdx-license-list/licenses/MulanPSL-2.0.json", { with: { type: "json" } }),
    "OFL-1.1": () => import("spdx-license-list/licenses/OFL-1.1.json", { with: { type: "json" } }),
    "OSL-3.0": () => import("spdx-license-list/licenses/OSL-3.0.json", { with: { type: "json" } }),
    "UPL-1.0": () => import("spdx-license-list/licenses/UPL-1.0.json", { with: { type: "json" } }),
    Unlicense: () =>
      import("spdx-license-list/licenses/Unlicense.json", { with: { type: "json" } }),
    WTFPL: () => import("spdx-license-list/licenses/WTFPL.json", { with: { type: "json" } }),
    Zlib: () => import("spdx-license-list/licenses/Zlib.json", { with: { type: "json" } }),
  }).map(([key, load]) => [key, text(load)]),
);

const label = (name: string, color: string, description: string, exclusive = false): Label => ({
  name,
  color,
  description,
  exclusive,
});

const simple: readonly Label[] = [
  label("bug", "ee0701", "Something is not working"),
  label("duplicate", "cccccc", "This issue or pull request already exists"),
  label("enhancement", "84b6eb", "New feature"),
  label("help wanted", "128a0c", "Need some help"),
  label("invalid", "e6e6e6", "Something is wrong"),
  label("question", "cc317c", "More information is needed"),
  label("wontfix", "ffffff", "This won't be fixed"),
];

const scoped: readonly Label[] = [
  label("Kind/Bug", "ee0701", "It does not do what it should"),
  label("Kind/Feature", "0288d1", "It could do something it does not do yet"),
  label("Kind/Enhancement", "84b6eb", "It could do better what it does"),
  label("Kind/Security", "9c27b0", "About safety from attacks"),
  label("Kind/Testing", "795548", "About tests"),
  label("Kind/Documentation", "37474f", "About what is written for readers"),
  label("Compat/Breaking", "c62828", "What worked before will work differently"),
  label("Reviewed/Duplicate", "616161", "The same has been said elsewhere", true),
  label("Reviewed/Invalid", "546e7a", "There is nothing to do here", true),
  label("Reviewed/Confirmed", "795548", "Somebody has seen it too", true),
  label("Reviewed/Won't Fix", "eeeeee", "It will stay as it is", true),
  label("Status/Need More Info", "424242", "Something must be told before work can go on", true),
  label("Status/Blocked", "880e4f", "Something else must come first", true),
  label("Status/Abandoned", "222222", "Nobody works on it any more", true),
  label("Priority/Critical", "b71c1c", "Before everything else", true),
  label("Priority/High", "d32f2f", "Soon", true),
  label("Priority/Medium", "e64a19", "In its turn", true),
  label("Priority/Low", "4caf50", "When there is time", true),
];

export const shippedLabelSets: ReadonlyMap<string, () => Promise<readonly Label[]>> = new Map([
  ["Advanced", () => Promise.resolve(scoped)],
  ["Default", () => Promise.resolve(simple)],
]);
