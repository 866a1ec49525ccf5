import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, test } from "vitest";
import { acceptForge } from "../../../cli/runner/actions/run-action.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "croft-bundles-"));
  await mkdir(join(folder, "action", "dist"), { recursive: true });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A script with the host test of the artifact client, as bundlers write it. */
const bundle = (quote: string, error = "GHESNotSupportedError") =>
  `class ${error} extends Error {}
const isTrustworthy = (host) => host.endsWith(".localhost");
function isGhes(host) {
  const hostname = host.trimEnd().toUpperCase();
  return hostname !== "GITHUB.COM" && !hostname.endsWith(".GHE.COM") && !hostname.endsWith( ${quote}.LOCALHOST${quote} );
}
[isGhes("forge.example"), isTrustworthy("forge.example")].join();`;

async function patch(text: string): Promise<string> {
  const path = join(folder, "action", "dist", "index.js");
  await writeFile(path, text);
  await acceptForge(join(folder, "action"), ["dist/index.js", "dist/absent.js"]);
  return readFile(path, "utf8");
}

test.each(["'", '"', "`"])(
  "the artifact client of a fetched action accepts the forge's host, quoted by %s",
  async (quote) => {
    expect(runInNewContext(bundle(quote))).toBe("true,false");
    expect(runInNewContext(await patch(bundle(quote)))).toBe("false,false");
  },
);

test("a script without the artifact client stays as it is", async () => {
  const other = bundle('"', "SomeOtherError");
  expect(await patch(other)).toBe(other);
});

test("a script outside of the action's repository stays as it is", async () => {
  const outside = join(folder, "outside.js");
  await writeFile(outside, bundle('"'));
  await symlink(outside, join(folder, "action", "dist", "link.js"));
  await acceptForge(join(folder, "action"), ["dist/link.js", "../outside.js"]);
  expect(await readFile(outside, "utf8")).toBe(bundle('"'));
});
