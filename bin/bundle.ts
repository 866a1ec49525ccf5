import { cp, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build } from "rolldown";
import { escapeNonAscii, locateFiles, omitDevtools, takeBuiltins } from "./bundle-plugins.ts";
import { collectLicenses } from "./licenses.ts";

/**
 * Packages that stay packages at run time, because they load native addons or data beside their code, each with those that it
 * needs, and the files of them that are used. They travel with the bundle in a `node_modules` of its own, so that npm installs
 * nothing with croft: the whole packages are several times as large, and where no addon fits the machine's Node, which may be
 * too old for croft, npm would try to compile one.
 */
const carriedPackages: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "better-sqlite3": { "better-sqlite3": ["package.json", "LICENSE", "lib", "prebuilds"] },
  argon2: {
    argon2: ["package.json", "LICENSE", "argon2.cjs", "prebuilds"],
    "@phc/format": ["package.json", "license", "index.js"],
    "node-gyp-build": ["package.json", "LICENSE", "index.js", "node-gyp-build.js"],
  },
  keytar: { keytar: ["package.json", "LICENSE.md", "lib", "prebuilds"] },
  "tesseract.js-core": {
    "tesseract.js-core": [
      "package.json",
      "LICENSE",
      "tesseract-core-simd-lstm.js",
      "tesseract-core-simd-lstm.wasm",
    ],
  },
  "pdfjs-dist": {
    "pdfjs-dist": [
      "package.json",
      "LICENSE",
      "legacy/build/pdf.min.mjs",
      "legacy/build/pdf.worker.min.mjs",
      "cmaps",
      "standard_fonts",
      "wasm/LICENSE_JBIG2",
      "wasm/LICENSE_OPENJPEG",
      "wasm/LICENSE_PDFJS_JBIG2",
      "wasm/LICENSE_PDFJS_OPENJPEG",
      "wasm/jbig2.wasm",
      "wasm/openjpeg.wasm",
    ],
  },
  "@embedpdf/pdfium": {
    "@embedpdf/pdfium": [
      "package.json",
      "LICENSE",
      "LICENSE.pdfium",
      "dist/index.js",
      "dist/pdfium.wasm",
    ],
  },
  "swagger-ui-dist": {
    "swagger-ui-dist": [
      "package.json",
      "LICENSE",
      "NOTICE",
      "absolute-path.js",
      "swagger-ui-bundle.js",
      "swagger-ui-bundle.js.LICENSE.txt",
      "swagger-ui.css",
    ],
  },
  "@tesseract.js-data/eng": {
    "@tesseract.js-data/eng": ["package.json", "index.js", "4.0.0_best_int/eng.traineddata.gz"],
  },
};

/** Optional native halves of `pg` and `ssh2`, which these ask for by name and do without. */
const absentPackages = ["pg-native", "cpu-features", /\/sshcrypto\.node$/];

/**
 * Functions that the minifier assumes to be free of side effects and removes when their result is unused. They may be called
 * only because they throw, as to test whether a path can be decoded.
 */
const throwing = ["decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent"];

/**
 * Bundles croft from the sources in `root` into the empty folder `output`: `entry.js`, one chunk for each group of modules
 * that commands load lazily, one file for each worker thread, and the data files that the code reads.
 *
 * Code finds a file beside it with a literal `new URL("./file-or-folder", import.meta.url)`, which names the same file in the
 * sources, in the bundle and in the executable; a `.ts` file named that way is a worker thread's entry. Any other use of
 * `import.meta` fails the build, since it would not survive the move into a chunk.
 */
export async function bundle(root: string, output: string): Promise<void> {
  const dataFiles = new Set<string>();
  const result = await build({
    cwd: root,
    input: { entry: join(root, "bin", "entry.ts") },
    platform: "node",
    external: [
      ...Object.keys(carriedPackages).map((name) => new RegExp(`^${name}(/|$)`)),
      ...absentPackages,
    ],
    transform: {
      define: {
        "process.env.NODE_ENV": '"production"',
        // CommonJS packages need it and fail without it, as the jq engine does on load.
        __dirname: "import.meta.dirname",
        ...Object.fromEntries(throwing.map((name) => [name, `globalThis.${name}`])),
      },
    },
    plugins: [omitDevtools(), locateFiles(root, dataFiles), takeBuiltins(), escapeNonAscii()],
    logLevel: "warn",
    onLog(level, log, report) {
      if (log.code === "UNRESOLVED_IMPORT") throw new Error(`${log.message}\nrun "npm ci" first`);
      report(level, log);
    },
    // A module that one command loads lazily and another at once: right for the sources, and no matter in the bundle.
    checks: { ineffectiveDynamicImport: false },
    output: {
      dir: output,
      format: "esm",
      // Names stay: a stack trace in the log must say which function failed, and mangling would save two milliseconds at most.
      minify: { compress: true, mangle: false, codegen: true },
      entryFileNames: "[name].js",
      // All chunks lie side by side, so that one relative address is right in each of them.
      chunkFileNames: "[name]-[hash].js",
      // Loading a file costs a quarter of a millisecond, however small it is. So the modules that every command loads
      // are one file, and those that the daemon loads at once are another. Each group takes the module with all its
      // static imports, so nothing lazy is drawn in.
      codeSplitting: {
        groups: [
          { name: "start", test: /[\\/]bin[\\/]entry\.ts$/, priority: 4 },
          { name: "program", test: /[\\/]cli[\\/]program\.ts$/, priority: 3 },
        ],
      },
    },
  });
  const chunks = result.output.filter((file) => file.type === "chunk");
  const modules = chunks.flatMap((chunk) => chunk.moduleIds);
  const imports = chunks.flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports]);
  const carried = Object.entries(carriedPackages)
    .filter(([name]) => imports.some((path) => path === name || path.startsWith(`${name}/`)))
    .flatMap(([, packages]) => Object.entries(packages));
  await writeFile(
    join(output, "third-party-licenses.txt"),
    `${await collectLicenses([...modules, ...carried.map(([name]) => join(root, "node_modules", name, "index.js"))])}\n`,
  );
  await writeFile(join(output, "package.json"), `${JSON.stringify({ type: "module" })}\n`);
  const carriedFiles = carried.flatMap(([name, paths]) =>
    paths.map((path) => `node_modules/${name}/${path}`),
  );
  for (const path of [...dataFiles, ...carriedFiles]) {
    await mkdir(dirname(join(output, path)), { recursive: true });
    await cp(join(root, path), join(output, path), { recursive: true });
  }
}
