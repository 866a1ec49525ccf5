import { execFile } from "node:child_process";
import {
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bundle } from "../../../bin/bundle.ts";

let root: string;
let output: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "croft bundle ")));
  output = join(root, "dist");
  await mkdir(output);
  await addFile(
    "bin/entry.ts",
    'const { main } = await import("../daemon/main.ts");\nawait main();\n',
  );
});

afterEach(() => rm(root, { recursive: true }));

test("the entry of croft and a chunk loaded later may share a module, and run resolves to the exit code", async () => {
  await copyFile(join(import.meta.dirname, "../../../bin/entry.ts"), join(root, "bin/entry.ts"));
  await addFile("cli/shared.ts", "export const words = { answer: 42 };");
  await addFile(
    "cli/program.ts",
    'import { words } from "./shared.ts";\nexport const program = () => words.answer;',
  );
  await addFile(
    "cli/main.ts",
    `import { words } from "./shared.ts";
     export const processSystem = () => process;
     export async function run(): Promise<number> {
       const { program } = await import("./program.ts");
       console.log(program(), words.answer);
       return 7;
     }`,
  );
  await expect(runBundle()).rejects.toMatchObject({ code: 7, stdout: "42 42\n" });
});

test.each(["decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent"])(
  "%s is called when only its refusal is of use",
  async (name) => {
    await addFile(
      "daemon/main.ts",
      `function isFit(text: string): boolean {
         try { ${name}(text); return true; } catch { return false; }
       }
       export function main(): void { console.log(isFit("a"), isFit("%zz\\ud800")); }`,
    );
    expect(await runBundle()).toBe("true false\n");
  },
);

test("characters beyond ASCII are bundled as escapes that mean the same", async () => {
  await addFile(
    "daemon/main.ts",
    `const é = { über: "ö…😀", ß: /^[\\—é-ü]+$/, ü: /^\\p{L}😀$/u };
     export function main(): void {
       console.log(é.über, é.ß.test("—é"), é.ü.test("ß😀"), \`→\${é.über.length > 3 ? \`×\${é.über}\` : "–"}\\\\é\`);
       console.log(String.raw\`a\${"ä"}b\`);
     }`,
  );
  expect(await runBundle()).toBe("ö…😀 true true →×ö…😀\\é\naäb\n");
  const names = (await readdir(output)).filter((name) => name.endsWith(".js"));
  for (const name of names)
    expect(await readFile(join(output, name), "utf8"), name).toMatch(/^[\0-\x7f]*$/);
});

test("a tagged template is bundled as it is written", async () => {
  await addFile(
    "daemon/main.ts",
    "export function main(): void { console.log(String.raw`é${1}ü`, `é`); }",
  );
  expect(await runBundle()).toBe("é1ü é\n");
});

test("a CommonJS package gets a folder for __dirname", async () => {
  await addFile("node_modules/engine/package.json", '{ "main": "index.js" }');
  await addFile(
    "node_modules/engine/index.js",
    'const path = require("path"); exports.at = path.isAbsolute(__dirname + "/");',
  );
  await addFile(
    "daemon/main.ts",
    `import engine from "engine";
     export function main(): void { console.log(engine.at); }`,
  );
  expect(await runBundle()).toBe("true\n");
});

test("a folder named beside the code is the same folder in the bundle", async () => {
  await addFile("storage/migrations/0001_common.sql", "select 1;");
  await addFile(
    "daemon/main.ts",
    `import { readdirSync, readFileSync } from "node:fs";
     const folder = new URL("../storage/migrations/", import.meta.url);
     export function main(): void {
       for (const name of readdirSync(folder)) console.log(name, readFileSync(new URL(name, folder), "utf8"));
     }`,
  );
  expect(await runBundle()).toBe("0001_common.sql select 1;\n");
});

test("a file named beside the code is copied alone", async () => {
  await addFile("daemon/words.txt", "common words");
  await addFile("daemon/secret.txt", "not asked for");
  await addFile(
    "daemon/main.ts",
    `import { readFileSync } from "node:fs";
     export function main(): void {
       console.log(readFileSync(new URL("./words.txt", import.meta.url), "utf8"));
     }`,
  );
  expect(await runBundle()).toBe("common words\n");
  expect(await readdir(join(output, "daemon"))).toEqual(["words.txt"]);
});

test("a script named beside the code is a worker thread's entry, bundled like the rest", async () => {
  await addFile("daemon/answer.ts", "export const answer: number = 42;");
  await addFile(
    "daemon/answer.worker.ts",
    `import { parentPort } from "node:worker_threads";
     import { answer } from "./answer.ts";
     parentPort?.postMessage(answer);`,
  );
  await addFile(
    "daemon/main.ts",
    `import { Worker } from "node:worker_threads";
     export async function main(): Promise<void> {
       const worker = new Worker(new URL("./answer.worker.ts", import.meta.url));
       console.log(await new Promise((resolve) => worker.once("message", resolve)));
     }`,
  );
  expect(await runBundle()).toBe("42\n");
});

test("Node's own modules are taken by name, never imported whole: that would load Node's fetch with node:http", async () => {
  await addFile(
    "daemon/main.ts",
    `import "node:os";
     import process from "node:process";
     import * as path from "node:path";
     import url, { pathToFileURL as toUrl } from "node:url";
     import { request } from "node:http";
     export function main(): void {
       console.log(typeof process.pid, path.join("a", "b"), url.pathToFileURL === toUrl, typeof request);
     }`,
  );
  expect(await runBundle()).toBe("number a/b true function\n");
  const chunks = (await readdir(output)).filter((name) => name.endsWith(".js"));
  const texts = await Promise.all(chunks.map((name) => readFile(join(output, name), "utf8")));
  expect(texts.join()).not.toMatch(/(from|import)\s*["'`]node:/);
});

test("an address in a comment is a comment", async () => {
  await addFile(
    "daemon/main.ts",
    `/** Like new URL("./gone.worker.ts", import.meta.url). */
     export const main = (): void => console.log("fine"); // import.meta.dirname`,
  );
  expect(await runBundle()).toBe("fine\n");
});

test("a missing file in a URL literal fails the build", async () => {
  await addFile(
    "daemon/main.ts",
    'export const main = () => new URL("./gone.txt", import.meta.url);',
  );
  await expect(bundle(root, output)).rejects.toThrow(/gone\.txt/);
});

test.each(["import.meta.dirname", "new URL(name, import.meta.url)", "import.meta.filename"])(
  "%s fails the build: it would mean another place in a chunk",
  async (expression) => {
    await addFile(
      "daemon/main.ts",
      `export const main = (name = "x"): unknown => [name, ${expression}];`,
    );
    await expect(bundle(root, output)).rejects.toThrow(
      /daemon\/main\.ts: import\.meta is of use only as/,
    );
  },
);

test("fails the build when a package is not installed", async () => {
  await addFile(
    "daemon/main.ts",
    'import words from "missing-words";\nexport const main = () => words;',
  );
  await expect(bundle(root, output)).rejects.toThrow(/missing-words/);
});

async function addFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

async function runBundle(): Promise<string> {
  await bundle(root, output);
  const { stdout } = await promisify(execFile)(process.execPath, [join(output, "entry.js")], {
    cwd: tmpdir(),
  });
  return stdout;
}
