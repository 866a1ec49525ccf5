import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { digestOf, imageOf, toDescriptor } from "../../support/forge/container-client.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { skipUnless } from "../../support/skip.ts";

let daemon: TestDaemon;
let folder: string;
const people = createForgePeople(() => daemon);
const run = promisify(execFile);
const hasSkopeo = spawnSync("skopeo", ["--version"]).status === 0;

beforeAll(async () => {
  daemon = await startTestDaemon();
  folder = await mkdtemp(join(tmpdir(), "croft-skopeo-"));
  await people.newUser("mira");
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const LAYER = "the bytes of a layer";
const CONFIG = JSON.stringify({
  os: "linux",
  architecture: "amd64",
  rootfs: { type: "layers", diff_ids: [digestOf(LAYER)] },
});

/** Writes an image as a folder in the layout of the image specification. */
async function writeImage(path: string) {
  const manifest = imageOf([LAYER], {}, CONFIG);
  await mkdir(join(path, "blobs/sha256"), { recursive: true });
  for (const bytes of [LAYER, CONFIG, manifest.text])
    await writeFile(join(path, "blobs", digestOf(bytes).replace(":", "/")), bytes);
  const named = { "org.opencontainers.image.ref.name": "latest" };
  const index = { ...toDescriptor(manifest.text, manifest.type), annotations: named };
  await writeFile(join(path, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  await writeFile(
    join(path, "index.json"),
    JSON.stringify({ schemaVersion: 2, manifests: [index] }),
  );
  return manifest;
}

skipUnless(hasSkopeo, "skopeo is not installed")(
  "skopeo pushes, inspects, pulls, converts and deletes an image",
  async () => {
    const { host } = new URL(daemon.url);
    const image = `docker://${host}/mira/tools/demo`;
    const credentials = `mira:${await people.newToken("mira", ["write:package"])}`;
    const skopeo = async (...words: string[]) => (await run("skopeo", words)).stdout;
    const manifest = await writeImage(join(folder, "image"));
    const push = ["copy", "--dest-tls-verify=false", "--dest-creds", credentials];
    // Layers are kept as they are, not compressed: the manifest keeps its digest.
    const source = `oci:${join(folder, "image")}:latest`;
    await skopeo(...push, "--preserve-digests", source, `${image}:1.0`);
    await skopeo(...push, "--format", "v2s2", source, `${image}:docker`);
    const inspected = JSON.parse(await skopeo("inspect", "--tls-verify=false", `${image}:1.0`));
    expect(inspected).toMatchObject({
      Digest: manifest.digest,
      Architecture: "amd64",
      Layers: [digestOf(LAYER)],
    });
    const listed = JSON.parse(await skopeo("list-tags", "--tls-verify=false", image));
    expect(listed.Tags).toEqual(["1.0", "docker"]);
    const pulled = join(folder, "pulled");
    await skopeo("copy", "--src-tls-verify=false", `${image}@${manifest.digest}`, `dir:${pulled}`);
    expect(await readFile(join(pulled, digestOf(LAYER).slice(7)), "utf8")).toBe(LAYER);
    const copy = ["copy", "--src-tls-verify=false", ...push.slice(1)];
    await skopeo(...copy, `${image}:1.0`, `docker://${host}/mira/copied:1.0`);
    await skopeo("delete", "--tls-verify=false", "--creds", credentials, `${image}:1.0`);
    const left = JSON.parse(await skopeo("list-tags", "--tls-verify=false", image));
    expect(left.Tags).toEqual(["docker"]);
    await expect(
      skopeo("copy", "--dest-tls-verify=false", source, `${image}:refused`),
    ).rejects.toMatchObject({ stderr: expect.stringContaining("unauthorized") });
  },
  60_000,
);
