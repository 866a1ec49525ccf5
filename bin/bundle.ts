import { cp, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { isBuiltin } from "node:module";
import { build } from "rolldown";
import { parseSync } from "rolldown/utils";
import type { Plugin } from "rolldown";
import { collectLicenses } from "./licenses.ts";

/** Packages that stay packages at run time, because they load a native addon that lies beside their code. */
export const nativePackages = ["better-sqlite3", "argon2", "keytar"];

/** Never installed: the optional native half of `pg`, which it asks for by name. */
const absentPackages = ["pg-native"];

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
    external: [...nativePackages, ...absentPackages],
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
    plugins: [omitDevtools(), locateFiles(root, dataFiles), takeBuiltins()],
    logLevel: "warn",
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
      // A file costs a quarter of a millisecond to load, however small: what every command loads is one file, and so is
      // what the daemon loads at once. Each group takes the module with all its static imports, so nothing lazy is drawn in.
      codeSplitting: {
        groups: [
          { name: "start", test: /[\\/]bin[\\/]entry\.ts$/, priority: 4 },
          { name: "program", test: /[\\/]cli[\\/]program\.ts$/, priority: 3 },
        ],
      },
    },
  });
  const modules = result.output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  await writeFile(join(output, "third-party-licenses.txt"), `${await collectLicenses(modules)}\n`);
  await writeFile(join(output, "package.json"), `${JSON.stringify({ type: "module" })}\n`);
  for (const path of dataFiles) {
    await mkdir(dirname(join(output, path)), { recursive: true });
    await cp(join(root, path), join(output, path), { recursive: true });
  }
}

/** Every file below `folder`, as paths relative to it with forward slashes, in a stable order. */
export async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => toSlashes(relative(folder, join(entry.parentPath, entry.name))))
    .toSorted();
}

/** Ink imports this development tool only with DEV=true in its environment; it is not installed. */
function omitDevtools(): Plugin {
  return {
    name: "croft:omit-devtools",
    resolveId: { filter: { id: /^react-devtools-core$/ }, handler: (id) => `\0${id}` },
    load: { filter: { id: /^\0react-devtools-core$/ }, handler: () => "export default undefined;" },
  };
}

function locateFiles(root: string, dataFiles: Set<string>): Plugin {
  const address = /new URL\(\s*"(\.[^"]*)"\s*,\s*import\.meta\.url,?\s*\)/g;
  return {
    name: "croft:locate-files",
    transform: {
      filter: { id: { include: /\.tsx?$/, exclude: /node_modules/ }, code: /import\.meta/ },
      async handler(code, id) {
        const replacements: { text: string; by: string }[] = [];
        for (const [text, target = ""] of code.matchAll(address)) {
          const path = toSlashes(relative(root, join(dirname(id), target)));
          if (/\.tsx?$/.test(target)) {
            const fileName = `${path.replaceAll("/", "-").replace(/\.tsx?$/, "")}.js`;
            this.emitFile({ type: "chunk", id: join(root, path), fileName });
            replacements.push({ text, by: `new URL("./${fileName}", import.meta.url)` });
          } else {
            await stat(join(root, path));
            dataFiles.add(path);
            const ending = target.endsWith("/") ? "/" : "";
            replacements.push({ text, by: `new URL("./${path}${ending}", import.meta.url)` });
          }
        }
        const rest = code.replaceAll(address, "");
        if (rest.includes("import.meta")) {
          this.error(
            `${relative(root, id)}: import.meta is of use only as new URL("./literal", import.meta.url)`,
          );
        }
        return replacements.reduce((result, { text, by }) => result.replaceAll(text, by), code);
      },
    },
  };
}

/**
 * Turns `import { a } from "node:b"` into a read of just `a`. As an import, Node would read everything that the module
 * exports, and some of that is made when it is read: `node:http` costs 40 ms that way, of which `fetch` takes most, and
 * `node:tls` 20 ms.
 */
function takeBuiltins(): Plugin {
  return {
    name: "croft:take-builtins",
    renderChunk(code, chunk) {
      const { program } = parseSync(chunk.fileName, code);
      const imports = program.body.filter((node) => node.type === "ImportDeclaration");
      let result = code;
      for (const { start, end, source, specifiers } of imports.toReversed()) {
        if (!isBuiltin(source.value)) continue;
        const module = `globalThis.process.getBuiltinModule(${JSON.stringify(source.value)})`;
        const reads = specifiers.map(({ local, ...specifier }) => {
          if (!("imported" in specifier) || toName(specifier.imported) === "default")
            return `${local.name} = ${module}`;
          return `${local.name} = ${module}[${JSON.stringify(toName(specifier.imported))}]`;
        });
        // `var`, as functions of this chunk may be called by another one before this line is reached.
        const statement = reads.length === 0 ? "" : `var ${reads.join(", ")};`;
        result = result.slice(0, start) + statement + result.slice(end);
      }
      return result;
    },
  };
}

function toName(name: { type: string; name?: string; value?: string }): string | undefined {
  return name.name ?? name.value;
}

function toSlashes(path: string): string {
  return path.split(sep).join("/");
}
