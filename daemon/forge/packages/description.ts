import { parseColumn } from "../../../storage/engine/json-column.ts";
import type { WirePackageDescription } from "../../contract/forge/packages/admin-packages.ts";
import { npmMetadataSchema } from "./npm/manifest.ts";
import { listAddresses, pypiMetadataSchema } from "./pypi/metadata.ts";

const COLUMN = "forge_package_versions.metadata";
/** Maximum characters of a member and number of dependencies that are shown. */
const LINE_MAX = 1_000;
const DEPENDENCIES_MAX = 200;

const nothing: WirePackageDescription = {
  summary: "",
  readme: "",
  readme_type: "",
  license: "",
  home_page: "",
  requires: "",
  dependencies: [],
};

/** Returns what people read of a version; empty for a type whose metadata has nothing to read. */
export function toDescription(type: string, metadata: string): WirePackageDescription {
  if (type === "npm") return describeNpm(metadata);
  if (type === "pypi") return describePypi(metadata);
  return nothing;
}

function describeNpm(text: string): WirePackageDescription {
  const { manifest, readme } = parseColumn(npmMetadataSchema, text, COLUMN);
  const engines = toTexts(manifest["engines"]);
  return {
    summary: toLine(manifest["description"]),
    readme,
    readme_type: "text/markdown",
    license: toLine(manifest["license"]),
    home_page: toLine(manifest["homepage"]),
    requires: engines["node"] ?? "",
    dependencies: Object.entries(toTexts(manifest["dependencies"])).map(
      ([name, range]) => `${name}@${range}`,
    ),
  };
}

function describePypi(text: string): WirePackageDescription {
  const metadata = parseColumn(pypiMetadataSchema, text, COLUMN);
  return {
    summary: metadata.summary,
    readme: metadata.readme,
    // As the packaging tools assume.
    readme_type: metadata.readmeType || "text/x-rst",
    license: metadata.license,
    home_page: listAddresses(metadata)[0] ?? "",
    requires: metadata.requiresPython,
    dependencies: metadata.requiresDist,
  };
}

const toLine = (value: unknown): string =>
  typeof value === "string" ? value.slice(0, LINE_MAX).toWellFormed() : "";

/** Returns the first members of an object that are texts. */
function toTexts(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, DEPENDENCIES_MAX)
      .map(([name, text]) => [toLine(name), toLine(text)]),
  );
}
